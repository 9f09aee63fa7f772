//! Decisions on stored runs: yes, no, and not decided.

use super::answer::load;
use crate::answer::{Answer, decision::Decision, rules};
use crate::outcomes::Outcomes;
use chronoscope_run::{Quantity, Run, Status};
use chronoscope_statistics::Interval;

/// The stored run with all limits held, on an idle machine.
fn held() -> Run {
    let mut run = load("rt-acceptance");
    run.context.load = [0.0; 3].into();
    run.cases.remove(0);
    for case in &mut run.cases {
        let noise = ["load", "steal", "reference loop before", "reference loop after"];
        case.figures.retain(|figure| !noise.contains(&&*figure.name));
        for series in &mut case.series {
            let median = series.summary.p50.unwrap();
            series.p50_interval = Some(Interval { low: median, high: median });
        }
        case.limits.clear();
        case.verdict.status = Status::Pass;
        case.verdict.reasons.clear();
    }
    run.cases[1].limits = load("rt-acceptance").cases[2].limits.clone();
    run
}

fn title(run: &Run) -> String {
    Answer::from_run(run).title.replace(['\u{a0}', '\u{202f}'], " ")
}

fn decision(run: &Run) -> Decision {
    Decision::on(run, &rules(run)).unwrap()
}

#[test]
fn one_miss_is_enough_whatever_else_is_open() {
    let mut run = load("rt-acceptance");
    assert_eq!(decision(&run), Decision::No);
    run.cases[3].verdict.status = Status::Inconclusive;
    assert_eq!((decision(&run), decision(&run).status()), (Decision::No, Status::LimitMissed));
    assert_eq!(
        title(&run),
        "No: 9 of 11 500 starts came more than 500 µs late, the worst by 2.41 ms"
    );
    // A limit that is no deadline.
    run.cases.drain(..3);
    run.cases[0].verdict.status = Status::LimitMissed;
    run.cases[0].limits[0].at_most = Some(Quantity(-1.0));
    assert_eq!(title(&run), "No: inversion protocol=inheritance slope is -0.000, limit ≤ -1");
}

#[test]
fn late_starts_that_are_allowed_are_no_reason() {
    let mut run = load("rt-acceptance");
    for case in &mut run.cases {
        case.limits.retain(|limit| ["misses", "p99"].contains(&&*limit.statistic));
        for limit in &mut case.limits {
            let most = if &*limit.statistic == "misses" { 100.0 } else { 1000.0 };
            limit.at_most = Some(Quantity(most));
        }
    }
    let title = title(&run);
    assert!(title.starts_with("No: ") && title.ends_with(", limit ≤ 1 µs"), "{title}");
    assert!(!title.contains("late"), "{title}");
}

#[test]
fn cases_with_different_deadlines_have_none_in_the_title() {
    let mut run = held();
    let mut series = run.cases.iter_mut().flat_map(|case| &mut case.series);
    let deadline = series.find_map(|series| series.deadline.as_mut()).unwrap();
    *deadline *= 2.0;
    let found = title(&run);
    assert!(found.contains(" starts came after their deadlines; the worst was "), "{found}");
    let list = crate::answer::decision::figures(&run).unwrap();
    assert_eq!(list.rows[0].cells[0], "starts after their deadlines");
    assert_eq!((list.rows[1].cells[2].as_str(), list.rows[1].status), ("–", Status::Pass));
}

/// A case on two processors has a series for each, and one with the starts of both.
#[test]
fn starts_on_several_processors_are_counted_once() {
    let run = load("isolated");
    assert_eq!(
        title(&run),
        "No: 7 of 4 000 starts came more than 500 µs late, the worst by 1.69 ms"
    );
    let line = Answer::from_run(&run).late.unwrap();
    let late = line.places[0].repetitions.iter().map(|one| one.late.len());
    assert_eq!((line.places[0].late, late.collect::<Vec<_>>()), (7, vec![0, 7]));
    // 4000 starts of 11.87142 µs on average.
    let seconds = Outcomes::of_run(&run).all[2].seconds.unwrap();
    assert!((seconds - 0.047_485_68).abs() < 1e-9, "{seconds}");
}

#[test]
fn limits_that_differ_are_shown_as_a_range() {
    let mut run = held();
    run.cases[0].limits = run.cases[1].limits.clone();
    let cells = |run: &Run, row: usize| {
        let list = crate::answer::decision::figures(run).unwrap();
        list.rows[row].cells[2].replace('\u{a0}', " ")
    };
    assert_eq!([cells(&run, 0), cells(&run, 2)], ["0", "50 µs"]);
    for limit in &mut run.cases[0].limits {
        limit.at_most = Some(Quantity(if &*limit.statistic == "misses" { 3.0 } else { 100e3 }));
    }
    assert_eq!([cells(&run, 0), cells(&run, 2)], ["0 to 3 each", "50 µs to 100 µs"]);
}

#[test]
fn the_cause_is_looked_for_by_the_study_or_its_file() {
    let mut run = load("rt-acceptance");
    let next = |run: &Run| decision(run).next(run).unwrap().action;
    let words = ["/usr/bin/chronoscope", "run", "my study.toml", "-a", "3"];
    run.context.command = words.map(Into::into).into();
    assert_eq!(next(&run), "chronoscope run 'my study.toml' --set trace=yes");
    run.context.command = ["chronoscope", "merge", "a.json"].map(Into::into).into();
    assert_eq!(next(&run), "chronoscope run rt-acceptance --set trace=yes");
}

#[test]
fn yes_needs_every_case_and_a_machine_that_can_be_trusted() {
    let mut run = held();
    assert_eq!(decision(&run), Decision::Yes);
    assert!(title(&run).starts_with("Yes, in this run: 0 of "), "{}", title(&run));

    run.context.load = [3.0; 3].into();
    assert!(title(&run).starts_with("Not decided: all limits hold, but load 3"), "{}", title(&run));
    assert_eq!(decision(&run).status(), Status::Inconclusive);

    run.cases[1].verdict.status = Status::Inconclusive;
    run.cases[1].verdict.reasons = vec!["a switch was missing".into()];
    assert_eq!(title(&run), "Not decided: wakeup: a switch was missing");

    let mut run = held();
    run.cases[1].limits.clear();
    assert_eq!(title(&run), "Not decided: there is no limit that a case with evidence could miss");
}

/// The times that a run kept are a time line; a run of before tells the places in sentences.
#[test]
fn late_starts_are_shown_at_their_times_where_those_are_known() {
    let mut run = load("rt-acceptance");
    let answer = Answer::from_run(&run);
    let line = answer.late.unwrap();
    let late: usize = line.places[0].repetitions.iter().map(|one| one.late.len()).sum();
    assert_eq!((line.places[0].late, late, line.places[0].repetitions.len()), (9, 9, 5));
    assert!(answer.also.is_empty(), "{:?}", answer.also);

    for series in run.cases.iter_mut().flat_map(|case| &mut case.series) {
        series.late.clear();
    }
    let answer = Answer::from_run(&run);
    assert!(answer.late.is_none());
    assert_eq!(answer.also[0], "period idle=halt: 9 late, worst 2.41\u{a0}ms");
}
