//! Answers of stored runs of all studies: their text on a terminal of 80 columns, and the room that
//! they take on any terminal.
//!
//! The runs in `fixtures/` were measured once, most of them with few samples, and hold the
//! parts that an answer reads. `CHRONOSCOPE_BLESS=1 cargo test -p chronoscope-report answer` writes the texts
//! beside them again.

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use crate::answer::{Answer, TITLE, explain, rules, terminal};
use crate::{
    Paint, Screen, format::EVIDENCE, format::EXPLANATION, format::FULL, format::RunWriter, html,
};
use chronoscope_run::{Answering, CaseResult, Limit, Quantity, Run, answer::Layout, sample};
use serde::Deserialize;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/answer/fixtures")
}

/// The names of the fixtures, which are also the names of their studies.
pub(crate) fn names() -> Vec<String> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let runs = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let mut names: Vec<String> =
        runs.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn studies() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

/// The rules of a study's file for its answer.
fn rules_of_study(name: &str) -> Option<Answering> {
    #[derive(Deserialize)]
    struct Study {
        answer: Option<Answering>,
    }
    let text = fs::read_to_string(studies().join(format!("{name}.toml"))).unwrap();
    toml::from_str::<Study>(&text).unwrap().answer
}

pub(crate) fn load(name: &str) -> Run {
    let text = fs::read_to_string(folder().join(format!("{name}.json"))).unwrap();
    let run: Run = serde_json::from_str(&text).unwrap();
    Run { answering: rules_of_study(name), ..run }
}

fn screen() -> Screen {
    Screen { run: Some("7".to_owned()), ..Screen::plain() }
}

/// All runs: the studies' runs, a run of each kind of case, and runs that answer nothing.
pub(crate) fn runs() -> Vec<Run> {
    let mut empty = sample::run();
    empty.cases.clear();
    let mut refused = sample::run();
    refused.cases.drain(..5);
    let mut long = sample::full();
    long.title = "A question that is longer than any line of a terminal ".repeat(9).into();
    for case in &mut long.cases {
        case.label = "a=label that=is longer=than any=column ".repeat(9).into();
        case.verdict.reasons = vec!["A reason that is longer than a line. ".repeat(9).into(); 9];
    }
    let made = [sample::run(), sample::full(), empty, refused, long];
    names().iter().map(|name| load(name)).chain(made).collect()
}

#[test]
fn no_title_of_a_study_is_longer_than_100_characters() {
    for name in names() {
        let run = load(&name);
        let title = Answer::from_run(&run).title;
        assert!(title.chars().count() <= TITLE, "{name}: {title}");
    }
}

#[test]
fn every_study_has_its_answer() {
    let files = fs::read_dir(studies()).unwrap().map(|entry| entry.unwrap().path());
    let studies: BTreeSet<String> =
        files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(studies.into_iter().collect::<Vec<_>>(), names());
    for name in names() {
        let text = terminal::render(&load(&name), &screen());
        let file = folder().join(format!("{name}.txt"));
        if env::var_os("CHRONOSCOPE_BLESS").is_some() {
            fs::write(&file, &text).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap();
        assert_eq!(text, expected, "{name}: {}", file.display());
    }
}

/// The part of an answer that a document shows.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    /// The title and the trust.
    Head,
}

/// The answers in the README: the command, the stored run, and the part that is shown.
const IN_README: [(&str, &str, Part); 7] = [
    (
        "worst switch --set tasks=2 --target freertos@cortex-m4,tandem@cortex-m4",
        "readme/worst",
        Part::Whole,
    ),
    ("run microcontrollers", "microcontrollers", Part::Head),
    ("run rt-acceptance", "rt-acceptance", Part::Head),
    ("run tandem", "tandem", Part::Head),
    ("run p2", "p2-tornado", Part::Head),
    ("watch app.elf --chip stm32f405 --clock 84MHz", "readme/own", Part::Head),
    ("run quick", "quick", Part::Whole),
];

/// The text of a stored run's answer.
fn text_of(name: &str, part: Part) -> String {
    let text = fs::read_to_string(folder().join(format!("{name}.json"))).unwrap();
    let run: Run = serde_json::from_str(&text).unwrap();
    let answering = if name.contains('/') { None } else { rules_of_study(name) };
    let run = Run { answering, ..run };
    let text = terminal::render(&run, &screen());
    match part {
        Part::Whole => text,
        Part::Head => {
            // The head of the rows is the next dim line after the context.
            let coloured = terminal::render(&run, &Screen { paint: Paint::Coloured, ..screen() });
            let rows = coloured.lines().skip(2).position(|line| line.starts_with("\x1b[2m"));
            text.lines().skip(2).take(rows.unwrap()).map(|line| format!("{line}\n")).collect()
        }
    }
}

/// The README shows the program's own output.
#[test]
fn the_answers_of_the_readme_are_the_program_s() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let mut readme = fs::read_to_string(&file).unwrap();
    for (command, name, part) in IN_README {
        let begin = format!("```text\n$ ./chronoscope {command}\n");
        let (before, after) = readme.split_once(&begin).unwrap_or_else(|| panic!("{begin}"));
        let (old, rest) = after.split_once("```").unwrap();
        let text = text_of(name, part);
        if env::var_os("CHRONOSCOPE_BLESS").is_some() {
            readme = format!("{before}{begin}{text}```{rest}");
        } else {
            assert_eq!(old, text, "{command}");
        }
    }
    if env::var_os("CHRONOSCOPE_BLESS").is_some() {
        fs::write(&file, readme).unwrap();
    }
}

#[test]
fn an_answer_fits_its_screen() {
    for run in runs() {
        for columns in [40, 57, 62, 80, 100, 132, 200] {
            let screen = Screen { columns: Some(columns), ..screen() };
            let text = terminal::render(&run, &screen);
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.len() <= 24, "{columns}: {} lines\n{text}", lines.len());
            for line in lines {
                assert!(line.chars().count() <= columns, "{columns}: {line}\n{text}");
                assert_eq!(line, line.trim_end(), "{columns}");
            }
        }
    }
}

/// A soak with a deadline and a trace: `run period -i 1000 -D 20s -b 200 --set trace=yes`.
#[test]
fn a_note_says_which_case_has_it_or_that_all_have() {
    let mut run = sample::run();
    run.cases.truncate(1);
    run.cases[0].log = vec!["a note".into()];
    let notes = |run: &Run| {
        let problems = Answer::from_run(run).problems;
        let notes = problems.iter().filter(|problem| problem.status.is_none());
        notes.map(|note| note.words()).collect::<Vec<_>>()
    };
    let name =
        format!("{} {} {}", run.cases[0].experiment, run.cases[0].target, run.cases[0].label);
    assert_eq!(notes(&run), [format!("note: a note ({})", name.trim_end())]);
    run.cases.push(run.cases[0].clone());
    assert_eq!(notes(&run), ["note: a note (all cases)"]);
    // The own notes of many cases are below the figures.
    run.cases[1].log.clear();
    run.cases.push(run.cases[1].clone());
    assert_eq!(notes(&run).len(), 1);
    run.cases.push(run.cases[1].clone());
    assert!(notes(&run).is_empty());
}

#[test]
fn misses_and_what_the_trace_lacks_are_on_the_first_screen() {
    let text = fs::read_to_string(folder().join("experiments/period.json")).unwrap();
    let mut run: Run = serde_json::from_str(&text).unwrap();
    run.cases.truncate(1);
    let case = &mut run.cases[0];
    case.series[0].misses = Some(chronoscope_statistics::MissRate::new(12, 200));
    case.parameters.insert("trace".into(), "yes".into());
    let screen = |run: &Run| terminal::render(run, &screen()).replace('\n', " ");
    let whole = screen(&run);
    assert!(whole.contains("12 of 200 missed the deadline; a periodic task starts"), "{whole}");
    assert!(whole.contains("The trace shows no cause of the worst "), "{whole}");
    assert!(!whole.contains("No limits were set"), "{whole}");
    run.cases[0].log.push("of the trace's 6315 KiB the last 2047 were kept".into());
    let cut = screen(&run);
    assert!(cut.contains("of the worst: of the trace's 6315 KiB the last 2047 were kept"), "{cut}");
}

#[test]
fn no_number_is_cut_and_no_two_touch() {
    let folder = folder().join("experiments");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let experiments =
        files.map(|path| serde_json::from_str::<Run>(&fs::read_to_string(path).unwrap()).unwrap());
    let studies = names();
    for run in studies.iter().map(|name| load(name)).chain(experiments) {
        for columns in [60, 72, 80, 100, 132, 200] {
            let text = terminal::render(&run, &Screen { columns: Some(columns), ..screen() });
            let letters: Vec<char> = text.chars().collect();
            for three in letters.windows(3) {
                let [before, sign, after] = three else { unreachable!() };
                let is_cut = *sign == '…' && (before.is_ascii_digit() || after.is_ascii_digit());
                assert!(!is_cut, "{columns}: {text}");
                // A unit ends a number, and a digit begins the next.
                let touch =
                    before.is_ascii_digit() && sign.is_alphabetic() && after.is_ascii_digit();
                let is_name = "@prvmhxePf".contains(*sign);
                assert!(!touch || is_name, "{columns}: {before}{sign}{after}\n{text}");
            }
        }
    }
}

/// All that is behind an answer has the width of the terminal, too.
#[test]
fn figures_evidence_and_reasons_fit_the_width() {
    for run in runs() {
        for columns in [60, 80, 132] {
            let screen = Screen { columns: Some(columns), ..screen() };
            for format in [FULL, EVIDENCE, EXPLANATION] {
                let RunWriter::One(render) = format.writer else { unreachable!() };
                let text = render(&run, &screen).unwrap();
                for line in text.lines() {
                    let wide = line.chars().count() > columns;
                    assert!(!wide || !line.trim().contains(' '), "{columns}: {line}");
                }
            }
        }
    }
}

#[test]
fn a_pipe_has_the_width_of_80_and_no_colour() {
    for run in runs() {
        let plain = terminal::render(&run, &screen());
        assert!(!plain.contains('\x1b'));
        assert_eq!(plain, terminal::render(&run, &Screen { columns: Some(80), ..screen() }));
        let coloured = Screen { paint: Paint::Coloured, ..screen() };
        let mut text = terminal::render(&run, &coloured);
        assert!(text.contains("\x1b[1m"), "the title is bold");
        while let Some((before, after)) = text.split_once('\x1b') {
            text = format!("{before}{}", after.split_once('m').unwrap().1);
        }
        assert_eq!(text, plain);
    }
}

#[test]
fn a_dumb_terminal_gets_letters_for_drawings() {
    let run = load("quick");
    let text = terminal::render(&run, &Screen { dumb: true, ..screen() });
    assert!(!text.contains(['●', '┃', '○', '─', '→']), "{text}");
    assert!(text.contains("o|--x") || text.contains("o-|"), "{text}");
}

#[test]
fn what_has_no_room_is_named() {
    let narrow = |name: &str, columns| {
        terminal::render(&load(name), &Screen { columns: Some(columns), ..screen() })
    };
    assert!(
        narrow("quick", 66).contains("left out for want of width: track\n"),
        "{}",
        narrow("quick", 66)
    );
    assert!(narrow("quick", 44).contains("track, p99"), "{}", narrow("quick", 44));
    let ranking = narrow("microcontrollers", 90);
    assert!(
        ranking.contains("left out for want of width: the figures that do not rank\n"),
        "{ranking}"
    );
    let list = narrow("p4-linux-rt", 48);
    assert!(list.contains("left out for want of width: here / published"), "{list}");
}

/// An image that grew is no slower.
#[test]
fn a_missed_limit_makes_a_kernel_slower_where_it_is_of_time() {
    let mut run = load("tandem");
    let title = |run: &Run| Answer::from_run(run).title;
    let page = |run: &Run| html::render(&[(String::new(), run)]);
    assert!(page(&run).contains("<h2>Did tandem get slower?</h2>"));
    let miss = |run: &mut Run, experiment: &str| {
        let limited =
            |case: &&mut CaseResult| case.experiment == experiment && !case.limits.is_empty();
        let case = run.cases.iter_mut().find(limited).unwrap();
        case.limits[0].at_most = Some(Quantity(1.0));
    };
    miss(&mut run, "image");
    let found = title(&run);
    assert!(found.starts_with("tandem misses 1 of 41 limits: image "), "{found}");
    assert!(page(&run).contains("<h2>Does tandem keep its limits?</h2>"));
    miss(&mut run, "switch");
    let found = title(&run);
    assert!(found.starts_with("tandem got slower in 1 of 41 limits: switch "), "{found}");
    assert!(found.ends_with("; 1 more missed"), "{found}");
    let page = page(&run);
    assert!(page.contains("<h2>Did tandem get slower?</h2>"));
    assert!(page.contains("1 of 41 limits missed. 1 more missed, not of time."));
    // Too short is not slower.
    let limits = run.cases.iter_mut().flat_map(|case| &mut case.limits);
    for limit in limits.filter(|limit| limit.at_most == Some(Quantity(1.0))) {
        (limit.at_most, limit.at_least) = (None, Some(Quantity(1e9)));
    }
    let found = title(&run);
    assert!(found.starts_with("tandem misses 2 of 41 limits: "), "{found}");
}

#[test]
fn limits_are_counted_in_the_title() {
    let mut run = sample::run();
    run.cases.truncate(1);
    run.answering = Some(Answering { layout: Layout::Limits, ..Answering::default() });
    let mut title = |bounds: &[f64]| {
        let limit = |bound: &f64| Limit {
            statistic: "p50".into(),
            series: None,
            at_most: Some(Quantity(*bound)),
            at_least: None,
            exhaustive: false,
        };
        run.cases[0].limits = bounds.iter().map(limit).collect();
        Answer::from_run(&run).title
    };
    for (bounds, begin) in [
        (vec![1e9], "The only limit holds: switch "),
        (vec![1.0], "The only limit is missed: switch "),
        (vec![1e9, 1e9], "All 2 limits hold; nearest: switch "),
        (vec![1e9, 1.0], "1 of 2 limits is missed: switch "),
        (vec![1.0, 1.0], "2 of 2 limits are missed; farthest: switch "),
    ] {
        let found = title(&bounds);
        assert!(found.starts_with(begin), "{found}");
    }
}

#[test]
fn the_duration_of_an_imported_run_is_unknown() {
    let mut run = sample::run();
    run.context.seconds = 0.0;
    let last = |run: &Run| Answer::from_run(run).context.pop();
    assert_eq!(last(&run).as_deref(), Some("6 cases in 0 s"));
    run.context.imported = sample::full().context.imported;
    assert_eq!(last(&run).as_deref(), Some("6 cases"));
}

#[test]
fn a_run_without_evidence_says_why() {
    let mut run = sample::run();
    run.cases.drain(..4);
    let text = terminal::render(&run, &screen());
    for line in [
        "Nothing was measured in 2 cases: 1 inconclusive, 1 not offered\n",
        "! Trust nothing yet. 1 of 1 case measured nothing.",
        "inconclusive: rounds of high: 11, not 12 (inversion linux@host",
        "not offered: coroutines are not offered by this kernel (interrupt linux@host)",
    ] {
        assert!(text.replace("\n  ", " ").contains(line), "{line}\n{text}");
    }
}

#[test]
fn an_explanation_has_all_reasons_and_the_words() {
    let mut run = sample::run();
    run.notes = "How to read it.".into();
    let text = explain::render(&run, &screen());
    for part in [
        "How far to trust it\n",
        "    inversion linux@host protocol=ceiling\n",
        "How to read it.",
        "  p99: Of 100 samples",
        "report 7 --evidence",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_run_keeps_the_rules_of_its_study() {
    let mut run = load("quick");
    assert_eq!(rules(&run).layout, Layout::Latencies);
    run.answering = Some(Answering { question: "Why?".into(), ..Answering::default() });
    assert_eq!(Answer::from_run(&run).context[0], "Why?");
    run.answering = None;
    run.study = "a study of one's own".into();
    assert_eq!(Answer::from_run(&run).context[0], run.title.to_string());
}
