//! Decisions on stored runs: yes, no, and not decided.

use super::answer::load;
use crate::answer::{Answer, decision::Decision, rules};
use chronoscope_run::{Quantity, Run, Status};

/// The stored run with all limits held, on an idle machine.
fn held() -> Run {
    let mut run = load("rt-acceptance");
    run.context.load = [0.0; 3].into();
    run.cases.remove(0);
    for case in &mut run.cases {
        let noise = ["load", "steal", "reference loop before", "reference loop after"];
        case.figures.retain(|figure| !noise.contains(&&*figure.name));
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
        "No: 8 of 11 500 starts came more than 500 µs late, the worst by 783 µs"
    );
    // A limit that is no deadline.
    run.cases.drain(..3);
    run.cases[0].verdict.status = Status::LimitMissed;
    run.cases[0].limits[0].at_most = Some(Quantity(-1.0));
    assert_eq!(title(&run), "No: inversion protocol=inheritance slope is -0.001, limit ≤ -1");
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
