//! The speed of the machines, by their reference loops.

use super::*;

#[test]
fn a_machine_at_another_speed_explains_a_difference() {
    use Finding::{Inconclusive, Pass, Regression};
    let at = |speed: f64| vec![loops(1e6 * speed, 1e6 * speed)];
    let message = |percent: &str, machine: &str, verdict: &str| {
        format!(
            "the reference loop took {percent} with B, so the machine was {machine}; at equal speed, p50 would be: \
             {verdict}"
        )
    };
    let slower = |verdict| message("20.0 % longer", "slower", verdict);
    let faster = |verdict| message("20.0 % shorter", "faster", verdict);
    let doubt = |message: String| format!("in doubt: {message}");
    // B's scale, B's reference loop, and the outcome.
    let table = [
        (1.2, 1.2, Inconclusive, Some(doubt(slower("pass")))),
        (1.2, 1.1, Regression, None),
        (1.0, 0.8, Inconclusive, Some(doubt(faster("regression")))),
        (1.0, 1.2, Pass, Some(slower("improvement"))),
        (0.8, 0.8, Pass, Some(faster("pass"))),
        // Loops within a percent are of one speed.
        (1.2, 1.0095, Regression, None),
    ];
    for (scale, speed, finding, reason) in table {
        let in_turn = (finding == Inconclusive).then_some(IN_TURN);
        let reasons: Vec<&str> = reason.as_deref().into_iter().chain(in_turn).collect();
        let line = expect(scale, vec![], at(speed), finding, &reasons);
        assert!((line.reference.unwrap() - speed).abs() < 1e-9);
        // In turns, both sides ran at the same speed.
        let in_turns = lines(&case(A, 1.0, &vec![]), &case(B, scale, &at(speed)), true);
        assert!(in_turns[0].reasons.is_empty(), "{:?}", in_turns[0]);
    }
    // Counts do not depend on the machine's speed.
    let count =
        |speed: f64| vec![("/series/0/unit", json!("count")), loops(1e6 * speed, 1e6 * speed)];
    expect(1.2, count(1.0), count(1.2), Regression, &[]);
    // Without a loop on both sides, the values stand as measured.
    let line = expect(1.2, vec![("/figures", json!([]))], at(1.2), Regression, &[]);
    assert_eq!(line.reference, None);
}

#[test]
fn the_reference_is_the_geometric_mean_of_both_loops() {
    let of = |before, after| reference(&case(A, 1.0, &vec![loops(before, after)]));
    assert_eq!(of(4e6, 9e6), Some(6e6));
    assert_eq!(of(0.0, 9e6), None);
    assert_eq!(of(-1.0, 9e6), None);
    for (ratio, is_steady) in
        [(1.0, true), (1.0099, true), (1.0102, false), (0.9901, true), (0.99, false)]
    {
        assert_eq!(steady(ratio), is_steady, "{ratio}");
    }
}

/// A pass needs a pass or an improvement, both as measured and at equal speed.
#[test]
fn a_pass_needs_both_verdicts() {
    use chronoscope_statistics::{
        Verdict::Improvement, Verdict::Open, Verdict::Pass, Verdict::Regression,
    };
    let doubt = Regression.doubted();
    for (measured, adjusted, expected) in [
        (Pass, Pass, Pass),
        (Pass, Improvement, Pass),
        (Improvement, Pass, Pass),
        (Pass, Open, Open),
        (Open, Pass, Open),
        (Improvement, Open, Open),
        (Regression, Pass, doubt),
        (Open, Regression, doubt),
        (doubt, Regression, doubt),
        (Open, doubt, Open),
    ] {
        let found = super::super::agreed(measured, adjusted);
        assert_eq!(found, expected, "{measured:?} {adjusted:?}");
    }
}
