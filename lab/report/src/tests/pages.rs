//! Pages of all studies' runs, of samples, and of comparisons between them.
//!
//! `CHRONOSCOPE_PAGES=FOLDER cargo test -p chronoscope-report all_pages` writes them, so that a change
//! of the code that renders them can be checked page by page.

use std::{env, fs, path::Path};

use crate::{
    comparison::{
        CompareOptions, Comparison, History, Pairing, Side, StatisticChoice, compare, match_cases,
    },
    html::{comparison, render, team, tests::check},
    tests::answer::{load, names, runs},
};
use chronoscope_run::{Domain, Role, Run, Unit, history::CaseRow, sample};

/// A copy of a run whose every second case is slower by `factor`, the others faster by a hundredth.
fn changed(run: &Run, factor: f64) -> Run {
    let mut run = run.clone();
    for (index, case) in run.cases.iter_mut().enumerate() {
        let factor = if index % 2 == 0 { factor } else { 0.99 };
        for series in &mut case.series {
            let summary = &mut series.summary;
            for value in [&mut summary.min, &mut summary.p50, &mut summary.p99, &mut summary.max] {
                *value = value.map(|value| value * factor);
            }
            series.histogram.iter_mut().for_each(|bucket| bucket.0 *= factor);
            for repetition in &mut series.by_repetition {
                repetition.p50 *= factor;
                repetition.max *= factor;
                repetition.p99 = repetition.p99.map(|value| value * factor);
            }
        }
    }
    run
}

fn compared(a: &Run, b: &Run, name: &str) -> Comparison {
    let (pairs, only_in_a, only_in_b) = match_cases(a, b, &Pairing::Alike, |_| true);
    let (judge, history) =
        (&StatisticChoice::read(&["p50", "p99", "max"]).unwrap(), &History::default());
    let options = CompareOptions {
        interleaved: true,
        threshold: 0.05,
        judge,
        history,
        conditions: &[],
        look: None,
        in_turn: &|_, _| None,
    };
    let lines = compare(&pairs, &options);
    let side = |name: &str| Side { name: name.into(), context: a.context.clone(), trace: None };
    let comparison = Comparison::new([side("runs/a"), side(name)], &options, lines);
    Comparison { only_in_a, only_in_b, ..comparison }.concluded(false)
}

/// The rows that a store would hold of a run that was repeated.
fn rows(run: &Run) -> Vec<CaseRow> {
    let row = |number: i64| {
        run.cases.iter().flat_map(move |case| {
            case.series.iter().map(move |series| CaseRow {
                run: number,
                started: "2026-01-31T12:00:00Z".into(),
                host: run.context.host.clone(),
                key: case.key().into(),
                label: case.label.clone(),
                series: series.name.clone(),
                unit: series.unit.name().into(),
                nominal: series.nominal,
                p50: series.summary.p50.map(|p50| {
                    let noise = f64::from([0, 3, -2, 1, -3, 2, -1][(number % 7) as usize]);
                    p50 * (1.0 + 0.001 * noise) * if number > 12 { 1.3 } else { 1.0 }
                }),
                status: case.verdict.status.words().into(),
                machine: if number % 2 == 0 { "desk".into() } else { "".into() },
                experiment: case.experiment.clone(),
            })
        })
    };
    (1..=20).flat_map(row).collect()
}

/// All pages, each with a name for its file.
fn pages() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for (index, run) in runs().iter().enumerate() {
        pages.push((format!("run-{index}"), render(&[(String::new(), run)])));
    }
    for name in names() {
        let run = load(&name);
        let other = changed(&run, 1.3);
        let named = [("runs/a".to_owned(), &run), ("runs/<b>".to_owned(), &other)];
        pages.push((format!("two-{name}"), render(&named)));
        let one = compared(&run, &other, "runs/<b>");
        let rows = rows(&run);
        pages.push((format!("compare-{name}"), comparison::render(&[one], &rows)));
        let (mut first, mut last) = (run.clone(), other.clone());
        first.cases.truncate(1);
        last.cases.truncate(1);
        let one = compared(&first, &last, "b");
        pages.push((format!("compare-one-{name}"), comparison::render(&[one], &[])));
        let several = [1.0, 1.02, 0.8].map(|factor| compared(&run, &changed(&run, factor), "<b>"));
        pages.push((format!("compare-several-{name}"), comparison::render(&several, &[])));
        pages.push((format!("team-{name}"), team::render(&rows, " of <all>", &|run| run > 9)));
    }
    let [a, b] = [sample::run(), sample::full()];
    let one = compared(&a, &b, "b");
    pages.push(("compare-samples".to_owned(), comparison::render(&[one], &rows(&a))));
    pages
}

#[test]
fn all_pages_are_whole() {
    let folder = env::var_os("CHRONOSCOPE_PAGES");
    for (name, page) in pages() {
        if let Some(folder) = &folder {
            fs::create_dir_all(folder).unwrap();
            fs::write(Path::new(folder).join(format!("{name}.html")), &page).unwrap();
        }
        check(&page);
    }
}

/// A ranking in the time of a model shows each estimate with the longest that is possible.
#[test]
fn a_modelled_ranking_shows_its_bounds() {
    let mut run = load("microcontrollers");
    for case in &mut run.cases {
        let Some(clock) = case.clock.as_mut() else { continue };
        clock.domain = Domain::Modelled;
        for series in &mut case.series {
            series.unit = Unit::Nanoseconds;
        }
        let measured: Vec<_> = case.measured().cloned().collect();
        for (words, factor) in [("at least", 0.5), ("at most", 1.5)] {
            case.series.extend(measured.iter().cloned().map(|mut series| {
                series.name = format!("{}, {words}", series.name).into();
                series.role = Role::Auxiliary;
                let bound = series.summary.max.map(|most| most * factor);
                (series.summary.min, series.summary.max) = (bound, bound);
                series
            }));
        }
    }
    let page = render(&[("run".to_owned(), &run)]);
    assert!(page.contains("Estimate, and the longest that the model allows"));
    assert!(page.matches("<i class=\"at\"").count() > 20);
    // tandem's semaphore switch takes 102 at most, so that the model allows 153 ns.
    assert!(page.contains("≤\u{a0}0.15"), "{page}");
    // Counts stay as they are.
    assert!(page.contains("best"));
}
