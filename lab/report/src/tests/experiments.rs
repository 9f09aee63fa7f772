//! The answer of every experiment, of one, two and five targets, and of one and several values of a
//! parameter: the first screen and the page's title have the finding.
//!
//! The runs in `fixtures/experiments/` were measured once by the program; each file has the command.
//! The findings of the experiments stand in the table below, which is not the program's own rules.
//! `CHRONOSCOPE_SHOW=1 cargo test -p chronoscope-report experiments -- --nocapture` prints all titles.

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use crate::{Screen, answer::terminal, html};
use chronoscope_run::{CaseResult, Run, SeriesResult};
use chronoscope_suite::experiments::EXPERIMENTS;

/// A finding: an experiment, the series that has it, and the statistic.
struct Finding {
    experiment: &'static str,
    series: Place,
    statistic: fn(&SeriesResult) -> Option<f64>,
}

/// The place of a finding in a case.
enum Place {
    First,
    Last,
    /// All of them: a kernel's operations.
    Every,
    Named(&'static str),
    /// A figure beside the series.
    Figure(&'static str),
}

fn median(series: &SeriesResult) -> Option<f64> {
    // Of few samples there is the longest alone.
    series.summary.p50.or(series.summary.max)
}

fn worst(series: &SeriesResult) -> Option<f64> {
    series.summary.max
}

const fn finding(
    experiment: &'static str,
    series: Place,
    statistic: fn(&SeriesResult) -> Option<f64>,
) -> Finding {
    Finding { experiment, series, statistic }
}

/// The figures that the experiments' pages ask for.
const FINDINGS: [Finding; 23] = [
    finding("delay", Place::First, worst),
    finding("period", Place::First, worst),
    finding("switch", Place::First, median),
    finding("ticks", Place::First, median),
    finding("spawn", Place::First, median),
    finding("interrupt", Place::First, worst),
    finding("masked", Place::Figure("masked"), worst),
    finding("noise", Place::First, worst),
    finding("wakeup", Place::First, worst),
    finding("message", Place::First, median),
    finding("transaction", Place::First, median),
    finding("latency", Place::First, median),
    finding("inversion", Place::Last, median),
    finding("interference", Place::Figure("latency stretched"), worst),
    finding("log", Place::First, median),
    finding("pipeline", Place::First, median),
    finding("fault", Place::First, median),
    finding("chain", Place::Last, median),
    finding("taskset", Place::Last, worst),
    finding("image", Place::Named("text"), worst),
    finding("operations", Place::Every, median),
    finding("crowded", Place::First, worst),
    finding("worst", Place::First, worst),
];

impl Finding {
    /// The values of a case: one, unless every series counts.
    fn values(&self, case: &CaseResult) -> Vec<f64> {
        let measured: Vec<&SeriesResult> = case.measured().collect();
        let series = match self.series {
            Place::First => measured.into_iter().take(1).collect(),
            Place::Last => measured.into_iter().rev().take(1).collect(),
            Place::Every => measured,
            Place::Named(name) => {
                measured.into_iter().filter(|series| *series.name == *name).collect()
            }
            Place::Figure(name) => {
                let figures = case.figures.iter().filter(|figure| *figure.name == *name);
                return figures.map(|figure| figure.value).collect();
            }
        };
        series.into_iter().filter_map(self.statistic).collect()
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/answer/fixtures/experiments")
}

fn load(experiment: &str) -> Run {
    let text = fs::read_to_string(folder().join(format!("{experiment}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The run with its first targets and values of the parameter that varies, of those with
/// evidence.
fn part(run: &Run, targets: usize, values: usize) -> Option<Run> {
    let proven = || run.cases.iter().filter(|case| case.is_proven());
    let all: BTreeSet<&str> = proven().map(|case| case.target.as_str()).collect();
    let labels: BTreeSet<String> = proven().map(|case| case.label.to_string()).collect();
    if all.len() < targets || labels.len() < values {
        return None;
    }
    let targets: BTreeSet<String> = match targets {
        // Two that compare: the last kernels of the alphabet on one machine.
        2 => all.iter().rev().take(2).map(|&target| target.to_owned()).collect(),
        _ => all.iter().take(targets).map(|&target| target.to_owned()).collect(),
    };
    let labels: BTreeSet<String> = labels.into_iter().take(values).collect();
    let mut part = run.clone();
    part.cases.retain(|case| {
        targets.contains(case.target.as_str()) && labels.contains(&case.label.to_string())
    });
    Some(part)
}

/// A number as a screen has it: whole, with spaces between thousands, or below ten with two decimals.
fn digits_on_screen(value: f64) -> String {
    if value.fract() != 0.0 && value < 10.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// The text as a reader sees it, on one line.
fn flat(text: &str) -> String {
    let text = text.replace(['\u{a0}', '\u{202f}', '\n'], " ").replace('\u{2060}', "");
    text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn title_of(page: &str) -> String {
    let start = page.find("<h1").unwrap();
    let rest = &page[start..];
    let rest = &rest[rest.find('>').unwrap() + 1..];
    let mut text = String::new();
    let mut is_tag = false;
    for character in rest[..rest.find("</h1>").unwrap()].chars() {
        match character {
            '<' => is_tag = true,
            '>' => is_tag = false,
            other if !is_tag => text.push(other),
            _ => {}
        }
    }
    flat(&text.replace("&gt;", ">").replace("&#39;", "'"))
}

#[test]
fn every_experiment_has_its_finding_and_its_runs() {
    let named: BTreeSet<&str> = FINDINGS.iter().map(|finding| finding.experiment).collect();
    let all: BTreeSet<&str> = EXPERIMENTS.iter().map(|spec| spec.name).collect();
    assert_eq!(named, all);
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<String> =
        files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(files.into_iter().collect::<Vec<_>>(), all.into_iter().collect::<Vec<_>>());
}

#[test]
fn the_finding_is_on_the_first_screen_and_in_the_title() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for finding in &FINDINGS {
        let whole = load(finding.experiment);
        for (targets, values) in [(1, 1), (1, 2), (2, 1), (2, 2), (5, 1), (5, 2)] {
            let Some(run) = part(&whole, targets, values) else { continue };
            count += 1;
            let screen = Screen { columns: Some(80), run: Some("7".to_owned()), ..Screen::plain() };
            let text = terminal::render(&run, &screen);
            let first = flat(&text);
            let title = title_of(&html::render(&[(String::new(), &run)]));
            let place = format!("{} × {targets} × {values}", finding.experiment);
            if env::var_os("CHRONOSCOPE_SHOW").is_some() {
                println!("{place}: {title}");
            }
            if let Err(why) = holds(finding, &run, &title, &first) {
                wrong.push(format!("{place}: {why}\n  {title}\n{text}"));
            }
        }
    }
    assert!(count >= 90, "{count}");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The least and the greatest finding among cases that are compared are in the title, and the title
/// is on the screen.
fn holds(finding: &Finding, run: &Run, title: &str, screen: &str) -> Result<(), String> {
    if !screen.contains(title) {
        return Err("the screen lacks the title".to_owned());
    }
    let found: Vec<(&CaseResult, f64)> = run
        .cases
        .iter()
        .filter(|case| case.is_proven())
        .flat_map(|case| finding.values(case).into_iter().map(move |value| (case, value)))
        .collect();
    let has = |value: f64| {
        let text = digits_on_screen(value);
        let is_whole = |place: usize| {
            let before = title[..place].chars().next_back();
            let after = title[place + text.len()..].chars().next();
            [before, after].into_iter().flatten().all(|one| !one.is_ascii_digit())
        };
        title.match_indices(&text).any(|(place, _)| is_whole(place))
    };
    let ends = |values: &[f64]| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        (least, most)
    };
    // Kernels of one machine under one label, machines of one kernel, or labels of one target.
    let groups = |of: &dyn Fn(&CaseResult) -> String| {
        let keys: BTreeSet<String> = found.iter().map(|(case, _)| of(case)).collect();
        keys.into_iter()
            .map(|key| found.iter().filter(|(case, _)| of(case) == key).map(|one| one.1).collect())
            .collect::<Vec<Vec<f64>>>()
    };
    let all: Vec<f64> = found.iter().map(|one| one.1).collect();
    let (least, most) = ends(&all);
    // Where all are within a tenth, one figure stands for all.
    if most <= least * 1.1 {
        let near = all.iter().any(|value| has(*value)) || has((least + most) / 2.0);
        return if near { Ok(()) } else { Err(format!("{least} to {most}")) };
    }
    let by_label = groups(&|case| case.label.to_string());
    let by_target = groups(&|case| case.target.to_string());
    let is_shown = |values: &Vec<f64>| {
        let (least, most) = ends(values);
        values.len() > 1 && has(least) && has(most) && most > least * 1.02
    };
    if by_label.iter().chain(&by_target).chain([&all]).any(is_shown) {
        return Ok(());
    }
    Err(format!("by label {by_label:?}, by target {by_target:?}"))
}
