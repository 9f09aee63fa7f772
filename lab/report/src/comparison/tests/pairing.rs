//! Tests of the pairs of cases of A and B.

use super::*;

#[test]
fn cases_of_two_targets_or_of_two_values_can_be_paired() {
    let case = |label: &str, target: &str| {
        let mut case = sample::case("period", label);
        case.target = target.into();
        case
    };
    let run = |target: &str, label: &str| Run {
        cases: vec![case(label, target), case("load=none", target)],
        ..sample::run()
    };
    let (full, rt) = (run("linux-full@vm", "load=mmap"), run("linux-rt@vm", "load=mmap"));
    let pairing = Pairing::choose(None, &full, &rt).unwrap();
    let (pairs, only_in_a, only_in_b) = match_cases(&full, &rt, &pairing, |_| true);
    assert_eq!(pairing.note(&pairs).unwrap(), "A is linux-full@vm, B is linux-rt@vm");
    let labels: Vec<&str> = pairs.iter().map(|pair| pair.label.as_str()).collect();
    assert_eq!(labels, ["load=mmap", "load=none"]);
    assert!(only_in_a.is_empty() && only_in_b.is_empty());
    assert_eq!(Pairing::choose(None, &full, &full).unwrap(), Pairing::Alike);
    // A parameter is ignored on request only, and its value is left out of the label.
    let other = run("linux-full@vm", "load=udp");
    let of = |asked: Option<&str>| Pairing::choose(asked, &full, &other).unwrap();
    assert_eq!(match_cases(&full, &other, &of(None), |_| true).0.len(), 1);
    let (pairs, ..) = match_cases(&full, &other, &of(Some("load")), |_| true);
    let met: Vec<_> =
        pairs.iter().map(|pair| (pair.label.as_str(), &pair.b.parameters["load"])).collect();
    assert_eq!(met, [("", &"udp".into()), ("", &"none".into())]);
    assert_eq!(of(Some("load")).note(&pairs), None, "the pairs differ in different values");
    assert_eq!(of(Some("load")).note(&pairs[..1]).unwrap(), "A is load=mmap, B is load=udp");
    let error = Pairing::choose(Some("lode"), &full, &other).unwrap_err().to_string();
    assert!(error.starts_with("`--pair lode`: no case has such a parameter"), "{error}");
    assert!(error.contains("load"), "{error}");
}

#[test]
fn cases_meet_by_everything_that_was_asked_for() {
    let case = |label: &str, target: &str| {
        let mut case = sample::case("switch", label);
        case.target = target.into();
        case
    };
    let run = |cases: Vec<CaseResult>| Run { cases, ..sample::run() };
    let a = run(vec![
        case("tasks=2", "x@host"),
        case("tasks=2", "x@host"),
        case("tasks=3", "x@host"),
        case("tasks=9", "x@host"),
    ]);
    let b = run(vec![
        case("tasks=2", "x@host"),
        case("tasks=4", "x@host"),
        case("tasks=2", "x@host"),
        case("tasks=9", "x@host"),
    ]);
    let (pairs, only_in_a, only_in_b) =
        match_cases(&a, &b, &Pairing::Alike, |case| case.label != "tasks=9");
    let place = |all: &Run, one: &CaseResult| {
        all.cases.iter().position(|case| std::ptr::eq(case, one)).unwrap()
    };
    let met: Vec<_> = pairs
        .iter()
        .map(|pair| (pair.label.as_str(), place(&a, pair.a), place(&b, pair.b)))
        .collect();
    assert_eq!(met, [("tasks=2", 0, 0), ("tasks=2", 1, 2)]);
    assert_eq!(only_in_a, ["switch x@host tasks=3"]);
    assert_eq!(only_in_b, ["switch x@host tasks=4"]);
    // With several targets, the label names the target; without a label in A, B's serves.
    let two = run(vec![case("tasks=2", "x@host"), case("tasks=2", "y@host")]);
    let (pairs, ..) = match_cases(&two, &two, &Pairing::Alike, |_| true);
    let labels: Vec<_> = pairs.iter().map(|pair| pair.label.as_str()).collect();
    assert_eq!(labels, ["x@host tasks=2", "y@host tasks=2"]);
}

/// A parameter that only one side has prevents a pair, unless the sides are two targets.
#[test]
fn a_parameter_of_one_side_alone_counts_on_one_target() {
    let case = |target: &str, parameters: &[(&str, &str)]| {
        let mut case = sample::case("period", "");
        case.target = target.into();
        case.parameters =
            parameters.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        case
    };
    let (few, more) = ([("load", "none")], [("load", "none"), ("cpu", "1")]);
    let met = |pairing: &Pairing, a: CaseResult, b: CaseResult| {
        let run = |case: CaseResult| Run { cases: vec![case], ..sample::run() };
        !match_cases(&run(a), &run(b), pairing, |_| true).0.is_empty()
    };
    let of_load = Pairing::Parameter("load".to_owned());
    assert!(met(&Pairing::Alike, case("x@host", &more), case("x@host", &more)));
    assert!(!met(&Pairing::Alike, case("x@host", &few), case("x@host", &more)));
    assert!(!met(&Pairing::Alike, case("x@host", &more), case("y@host", &more)));
    assert!(met(&Pairing::Target, case("x@host", &few), case("y@host", &more)));
    assert!(!met(&Pairing::Target, case("x@host", &few), case("y@host", &[("load", "udp")])));
    assert!(met(&of_load, case("x@host", &few), case("x@host", &[("load", "udp")])));
    assert!(!met(&of_load, case("x@host", &few), case("x@host", &more)));
    assert!(!met(&of_load, case("x@host", &few), case("y@host", &[("load", "udp")])));
}

/// A note names both sides, so it needs each of them to be the same in all pairs.
#[test]
fn a_note_holds_for_both_sides_of_all_pairs() {
    let case = |target: &str| {
        let mut case = sample::case("period", "");
        case.target = target.into();
        case
    };
    let (x, y, z) = (case("x@host"), case("y@host"), case("z@host"));
    let note = |pairs: &[(&CaseResult, &CaseResult)]| {
        let pairs: Vec<_> =
            pairs.iter().map(|&(a, b)| Pair { label: String::new(), a, b }).collect();
        Pairing::Target.note(&pairs)
    };
    assert_eq!(note(&[(&x, &y), (&x, &y)]).unwrap(), "A is x@host, B is y@host");
    assert_eq!(note(&[(&x, &y), (&x, &z)]), None);
    assert_eq!(note(&[(&x, &y), (&z, &y)]), None);
    assert_eq!(Pairing::Alike.note(&[Pair { label: String::new(), a: &x, b: &y }]), None);
}
