//! Findings as sentences, and the answer of a whole comparison.

use super::*;
use crate::{
    comparison::StatisticLine, comparison::in_a_word, comparison::sentence::answer,
    comparison::sentence::of_line, comparison::sentence::up_to,
};
use chronoscope_statistics::{Interval, Settled};

/// The p50 line of two equal cases, with another finding, ratio and interval.
fn statistic(finding: Finding, ratio: Option<f64>, low: f64) -> StatisticLine {
    let line = &lines(&case(A, 1.0, &vec![]), &case(B, 1.0, &vec![]), false)[0];
    let mut one = line.statistics[0].clone();
    one.finding = finding;
    one.figures.ratio = ratio;
    one.figures.interval = Some(Interval { low, high: 1.01 });
    one
}

#[test]
fn a_statistic_is_said_by_its_finding_and_ratio() {
    use Finding::{Improvement, Inconclusive, Pass, Regression};
    // The threshold is 5 %: B is the same if it is faster by no more than that, 1 ÷ 1.05.
    let (inside, outside) = (1.0 / 1.05, 0.95);
    let table = [
        (Regression, Some(1.15), 1.0, "slower at the median (× 1.15)", "regression"),
        (Regression, Some(1.99), 1.0, "slower at the median (× 1.99)", "regression"),
        (Regression, Some(2.0), 1.0, "2.0 × longer at the median", "regression"),
        (Regression, Some(9.94), 1.0, "9.9 × longer at the median", "regression"),
        (Regression, Some(10.0), 1.0, "10 × longer at the median", "regression"),
        (Regression, Some(41.7), 1.0, "42 × longer at the median", "regression"),
        (Regression, Some(1.0002), 1.0, "slower at the median (× 1.0002)", "regression"),
        (Regression, None, 1.0, "more than 0 at the median", "regression"),
        (Improvement, Some(0.8), 1.0, "faster at the median (× 0.80)", "improvement"),
        (Improvement, Some(0.51), 1.0, "faster at the median (× 0.51)", "improvement"),
        (Improvement, Some(0.5), 1.0, "2.0 × shorter at the median", "improvement"),
        (Improvement, Some(0.0), 1.0, "down to 0 at the median", "improvement"),
        (Pass, Some(1.0), inside, "same at the median", "same"),
        (Pass, Some(1.0), outside, "not slower at the median", "not slower"),
        (Inconclusive, Some(1.0), 1.0, "inconclusive at the median", "inconclusive"),
    ];
    for (finding, ratio, low, text, word) in table {
        let one = statistic(finding, ratio, low);
        assert_eq!(in_a_word(&one), word, "{text}");
        let sentence = of_line(&[one], finding, true);
        assert_eq!(sentence, format!("{text}: {}", finding.words()));
    }
    // Without an interval, an exact figure that passes is the same.
    let mut exact = statistic(Pass, Some(1.0), outside);
    exact.figures.interval = None;
    assert_eq!(in_a_word(&exact), "same");
    assert_eq!(of_line(&[], Pass, true), "");
}

#[test]
fn words_that_repeat_are_left_out() {
    let median = statistic(Finding::Regression, Some(1.15), 1.0);
    let tail = StatisticLine { at: "at p99", ..statistic(Finding::Regression, Some(1.25), 1.0) };
    let other = StatisticLine { at: "at p99", ..statistic(Finding::Improvement, Some(0.02), 1.0) };
    assert_eq!(
        of_line(&[median.clone(), tail], Finding::Regression, true),
        "slower at the median (× 1.15), at p99 (× 1.25): regression"
    );
    assert_eq!(
        of_line(&[median, other], Finding::Mixed, true),
        "slower at the median (× 1.15), 50 × shorter at p99: mixed"
    );
}

#[test]
fn an_open_statistic_says_how_much_and_how_many() {
    let open = |at_most: Option<f64>, range: Option<(usize, Option<usize>)>| StatisticLine {
        at_most,
        settled_by: range.map(|(from, to)| Settled { from, to }),
        ..statistic(Finding::NoRegressionShown, Some(1.0), 0.9)
    };
    let said = |statistics: &[StatisticLine], pairs: bool| {
        of_line(statistics, Finding::NoRegressionShown, pairs)
    };
    let (few, many) =
        (open(Some(0.12), Some((20, Some(20)))), open(Some(0.3), Some((35, Some(90)))));
    assert_eq!(
        said(&[few.clone(), many], true),
        "at the median up to + 12 % cannot be excluded, at the median up to + 30 % cannot be \
         excluded: no regression shown; 35 to 90 pairs would settle it"
    );
    assert_eq!(
        said(&[few.clone(), open(None, None)], false),
        "at the median up to + 12 % cannot be excluded, at the median nothing can be excluded: \
         no regression shown; no number of repetitions of each side would settle it"
    );
    let endless = open(Some(0.12), Some((20, None)));
    assert!(said(&[endless], true).ends_with("; 20 or more pairs would settle it"));
    // A statistic that is settled needs no more.
    let settled = statistic(Finding::Pass, Some(1.0), 1.0);
    assert!(said(&[settled, few], true).ends_with("; 20 pairs would settle it"));
}

#[test]
fn a_growth_has_digits_for_its_size() {
    for (share, text) in [
        (0.0, "up to + 0.0 %"),
        (0.0994, "up to + 9.9 %"),
        (0.1, "up to + 10 %"),
        (0.5, "up to + 50 %"),
        (9.99, "up to + 999 %"),
        (10.0, "up to × 11"),
        (123.4, "up to × 124"),
    ] {
        assert_eq!(up_to(share), text);
    }
}

/// A line with this finding and sentence; without a sentence, with this reason.
fn line(finding: Finding, sentence: &str, reason: Option<&str>) -> Line {
    let [line] =
        <[Line; 1]>::try_from(lines(&case(A, 1.0, &vec![]), &case(B, 1.0, &vec![]), false))
            .unwrap();
    let reasons = reason.into_iter().map(str::to_owned).collect();
    Line { finding, sentence: sentence.to_owned(), reasons, ..line }
}

fn answer_of(lines: Vec<Line>, only_in_a: &[&str]) -> String {
    let judge = &StatisticChoice::default();
    let history = &History::default();
    let options = CompareOptions {
        interleaved: true,
        threshold: 0.05,
        judge,
        history,
        conditions: &[],
        look: None,
        in_turn: &|_, _| None,
    };
    let side = |name: &str| Side { name: name.into(), context: Context::default(), trace: None };
    let mut comparison = Comparison::new([side("a"), side("b")], &options, lines);
    comparison.only_in_a = only_in_a.iter().map(|key| (*key).to_owned()).collect();
    answer(&comparison.concluded(false))
}

#[test]
fn the_answer_is_the_only_sentence_or_the_worst_finding() {
    use Finding::{
        Improvement, Inconclusive, Mixed, NoRegressionShown, NotOffered, Pass, Regression,
    };
    let said = |finding: Finding| line(finding, "a sentence", None);
    let because = |finding: Finding| line(finding, "", Some("a reason"));
    let name = said(Pass).name();
    let table = [
        (vec![said(Regression)], "a sentence".to_owned()),
        (vec![because(Inconclusive)], "inconclusive: a reason".to_owned()),
        (vec![line(NotOffered, "", None)], "not offered".to_owned()),
        (
            vec![said(Pass), said(Pass)],
            "pass: none of 2 series is slower by more than 5 %".to_owned(),
        ),
        (
            vec![said(Pass), said(Improvement), said(Improvement)],
            "pass: none of 3 series is slower by more than 5 %; 2 faster".to_owned(),
        ),
        (
            vec![said(Improvement), said(Improvement)],
            "pass: none of 2 series is slower by more than 5 %; 2 faster".to_owned(),
        ),
        (
            vec![said(Pass), because(NotOffered), because(NotOffered)],
            "not offered: 2 of 3 series".to_owned(),
        ),
        (
            vec![said(Pass), said(NoRegressionShown)],
            format!("no regression shown, and none excluded in 1 of 2 series: {name}: a sentence"),
        ),
        (
            vec![said(Pass), because(Inconclusive)],
            format!("inconclusive: 1 of 2 series: {name}: a reason"),
        ),
        (
            vec![line(Inconclusive, "", None), said(Pass)],
            format!("inconclusive: 1 of 2 series: {name}"),
        ),
        (
            vec![said(Mixed), said(Pass)],
            format!("mixed: 1 of 2 series are slower and faster: {name}: a sentence"),
        ),
        (
            vec![said(Pass), said(Regression), said(Regression)],
            format!("regression: 2 of 3 series are slower: {name}: a sentence"),
        ),
        (vec![], "inconclusive: nothing was compared".to_owned()),
    ];
    for (lines, text) in table {
        assert_eq!(answer_of(lines, &[]), text);
    }
    // A case of A alone was not measured in B; a regression is worse than that.
    for (lines, text) in [
        (vec![said(Pass)], "inconclusive: 2 not measured in B".to_owned()),
        (vec![], "inconclusive: 2 not measured in B".to_owned()),
        (
            vec![said(Regression)],
            format!("regression: 1 of 1 series are slower: {name}: a sentence"),
        ),
        (vec![because(Inconclusive)], format!("inconclusive: 1 of 1 series: {name}: a reason")),
    ] {
        assert_eq!(answer_of(lines, &["one", "two"]), text);
    }
}
