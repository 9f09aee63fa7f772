//! The finding on a whole comparison, and its words.

use super::*;

#[test]
fn the_whole_is_its_worst_line() {
    use Finding::{
        Improvement, Inconclusive, Mixed, NoRegressionShown, NotOffered, Pass, Regression,
    };
    let line = |finding: Finding| {
        let [line] =
            <[Line; 1]>::try_from(lines(&case(A, 1.0, &vec![]), &case(B, 1.0, &vec![]), false))
                .unwrap();
        Line { finding, ..line }
    };
    // The findings of the lines, whether a case vanished, and the whole with its exit statuses:
    // usually, and with --strict.
    let table: [(&[Finding], bool, Finding, [u8; 2]); 14] = [
        (&[], false, Inconclusive, [4, 4]),
        (&[Pass], false, Pass, [0, 0]),
        (&[Improvement], false, Improvement, [0, 0]),
        (&[Pass, Improvement], false, Pass, [0, 0]),
        (&[NotOffered, Pass], false, NotOffered, [0, 0]),
        (&[NoRegressionShown, Pass], false, NoRegressionShown, [0, 4]),
        (&[Inconclusive, NoRegressionShown], false, Inconclusive, [4, 4]),
        (&[Inconclusive, Regression, Pass], false, Regression, [3, 3]),
        (&[Inconclusive, Mixed], false, Mixed, [3, 3]),
        (&[Mixed, Regression], false, Regression, [3, 3]),
        // A case that only A has was not measured again.
        (&[Pass], true, Inconclusive, [4, 4]),
        (&[Regression], true, Regression, [3, 3]),
        (&[Mixed], true, Mixed, [3, 3]),
        (&[], true, Inconclusive, [4, 4]),
    ];
    for (findings, vanished, finding, codes) in table {
        let lines: Vec<Line> = findings.iter().copied().map(line).collect();
        let only_in_a = if vanished { vec!["gone".to_owned()] } else { Vec::new() };
        assert_eq!(whole(&lines, &only_in_a), finding, "{findings:?} {vanished}");
        let found = [false, true].map(|strict| finding.status(strict).exit_code());
        assert_eq!(found, codes, "{findings:?} {vanished}");
    }
    let words = [Pass, Improvement, NotOffered, NoRegressionShown, Inconclusive, Mixed, Regression];
    assert_eq!(
        words.map(Finding::words),
        [
            "pass",
            "improvement",
            "not offered",
            "no regression shown",
            "inconclusive",
            "mixed",
            "regression"
        ]
    );
}

/// Only a strict comparison fails where no regression is excluded.
#[test]
fn the_words_of_an_open_comparison_depend_on_strictness() {
    let wide = case(B, 1.03, &vec![medians(B.map(|one| 1.03 + (one - 1.0) * 20.0))]);
    let of = |strict: bool| {
        let a = case(A, 1.0, &vec![]);
        let judge = &StatisticChoice::default();
        let options = CompareOptions {
            interleaved: true,
            threshold: 0.05,
            judge,
            history: &History::default(),
            conditions: &[],
            look: None,
            in_turn: &|_, _| None,
        };
        let lines = compare(&[Pair { label: String::new(), a: &a, b: &wide }], &options);
        let side =
            |name: &str| Side { name: name.into(), context: Context::default(), trace: None };
        Comparison::new([side("a"), side("b")], &options, lines).concluded(strict)
    };
    let (usual, strict) = (of(false), of(true));
    assert_eq!((usual.finding, strict.finding), (Finding::NoRegressionShown, usual.finding));
    assert_eq!((usual.verdict, usual.words()), (Status::Pass, "no regression shown"));
    assert_eq!((strict.verdict, strict.words()), (Status::Inconclusive, "inconclusive"));
    let same = Comparison { finding: Finding::Pass, ..of(false) };
    assert_eq!(same.words(), "pass");
}
