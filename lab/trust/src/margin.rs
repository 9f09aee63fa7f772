//! The test against the threshold in comparisons in turn: *regression* where B is slower by the
//! threshold or less, the power beyond it, and the sentences on open statistics: the range of a
//! slowdown and the numbers of pairs that settle it.

use chronoscope_statistics::{
    Case, Comparison, Rules, SplitMix64, Verdict, compare, compare::alpha, needed::Unsettled,
    significance::Difference,
};

use crate::{
    Effort, Row, Tally,
    draw::{Repetitions, lognormal, normal},
};

/// The series of a study, and the statistics of each.
const SERIES: usize = 34;
const STATISTICS: usize = 3;

/// The threshold of [`Rules::default`].
const THRESHOLD: f64 = 0.05;

pub fn rows(effort: Effort) -> Vec<Row> {
    let mut rows = at_the_margin(effort);
    rows.extend(power(effort));
    rows.extend(sentences(effort));
    rows
}

/// Draws A and B of a statistic: B's logarithm is greater by `shift` than A's, and each pair has
/// this noise.
fn sides(
    random: &mut SplitMix64,
    pairs: usize,
    noise: f64,
    shift: f64,
    draw: fn(&mut SplitMix64, f64) -> f64,
) -> (Vec<f64>, Vec<f64>) {
    (0..pairs).map(|_| (draw(random, noise), draw(random, noise) * shift.exp())).unzip()
}

fn in_turn(family: &[(Vec<f64>, Vec<f64>)]) -> Vec<Comparison> {
    let cases: Vec<Case> =
        family.iter().map(|(a, b)| Case { a, b, interleaved: true, ..Case::default() }).collect();
    compare(&cases, &Rules::default())
}

fn has_regression(all: &[Comparison]) -> bool {
    all.iter().any(|one| one.verdict == Verdict::Regression)
}

/// A Pareto tail of exponent 2 on `noise`.
fn pareto(random: &mut SplitMix64, noise: f64) -> f64 {
    (noise * (random.unit().powf(-0.5) - 2.0)).exp()
}

/// The time of a random one of two paths. The slower path takes 1 + 4 × `noise`.
fn bimodal(random: &mut SplitMix64, noise: f64) -> f64 {
    lognormal(random, noise / 4.0) * if random.unit() < 0.3 { 1.0 + 4.0 * noise } else { 1.0 }
}

type Draw = fn(&mut SplitMix64, f64) -> f64;
const DRAWS: [(&str, Draw); 3] =
    [("lognormal", lognormal), ("Pareto", pareto), ("one of two paths", bimodal)];

fn at_the_margin(effort: Effort) -> Vec<Row> {
    let mut random = SplitMix64::new(91);
    let rounds = effort.choose(200, 3_000);
    let mut rows = Vec::new();
    for (name, draw) in DRAWS {
        for (slower, noise, pairs) in [(0.05, 0.02, 10), (0.05, 0.05, 20), (0.049, 0.10, 5)] {
            let wrong = (0..rounds)
                .filter(|_| {
                    let one = sides(&mut random, pairs, noise, f64::ln_1p(slower), draw);
                    has_regression(&in_turn(&[one]))
                })
                .count();
            let statement = format!(
                "B slower by {} %, {name} noise {} %, {pairs} pairs: \"regression\"",
                slower * 100.0,
                noise * 100.0
            );
            rows.push(Row::at_most(statement, 0.02, wrong, rounds));
        }
    }
    let rounds = effort.choose(10, 300);
    for pairs in [5, 10, 30] {
        let wrong = (0..rounds)
            .filter(|_| {
                let family: Vec<_> = (0..SERIES * STATISTICS)
                    .map(|_| sides(&mut random, pairs, 0.05, THRESHOLD.ln_1p(), lognormal))
                    .collect();
                has_regression(&in_turn(&family))
            })
            .count();
        let statement = format!(
            "{SERIES} series × {STATISTICS}, all slower by 5 %, {pairs} pairs: any \"regression\""
        );
        rows.push(Row::at_most(statement, 0.02, wrong, rounds));
    }
    let recorded = Repetitions::recorded();
    let wrong = (0..rounds)
        .filter(|_| {
            let mut family = recorded.study(&mut random, SERIES, 10, 1.0);
            family.iter_mut().flat_map(|(_, b)| b).for_each(|value| *value *= 1.0 + THRESHOLD);
            has_regression(&in_turn(&family))
        })
        .count();
    let statement = format!("recorded, {SERIES} series × 2, all slower by 5 %: any \"regression\"");
    rows.push(Row::at_most(statement, 0.02, wrong, rounds));
    rows
}

/// The power of the test, and so the price of the promise above.
fn power(effort: Effort) -> Vec<Row> {
    let mut random = SplitMix64::new(92);
    let rounds = effort.choose(100, 1_000);
    let cases = [
        (0.10, 0.02, 10, 0.80),
        (0.10, 0.05, 20, 0.50),
        (0.10, 0.05, 40, 0.90),
        (0.20, 0.05, 10, 0.85),
        (0.20, 0.10, 20, 0.75),
    ];
    let row = |(slower, noise, pairs, least): (f64, f64, usize, f64)| {
        let found = (0..rounds)
            .filter(|_| {
                let one = sides(&mut random, pairs, noise, slower.ln_1p(), lognormal);
                has_regression(&in_turn(&[one]))
            })
            .count();
        let statement = format!(
            "one case slower by {:.0} %, noise {} %, {pairs} pairs: found",
            slower * 100.0,
            noise * 100.0
        );
        Row::at_least(statement, least, found, rounds)
    };
    cases.into_iter().map(row).collect()
}

/// The sentences, in studies of 34 series whose true changes scatter by 5 % about none: a third of
/// them have not changed.
fn sentences(effort: Effort) -> Vec<Row> {
    let mut rows = Vec::new();
    let rounds = effort.choose(4, 60);
    for (name, draw) in DRAWS {
        let mut random = SplitMix64::new(93);
        let [mut regression, mut same, mut slower, mut up_to, mut interval] =
            [(); 5].map(|()| Tally::default());
        let mut settled = Tally::default();
        for _ in 0..rounds {
            let truths: Vec<f64> = (0..SERIES)
                .map(|case| if case % 3 == 0 { 0.0 } else { 0.05 * normal(&mut random) })
                .collect();
            let family: Vec<_> =
                truths.iter().map(|truth| sides(&mut random, 10, 0.03, *truth, draw)).collect();
            for (truth, one) in truths.into_iter().zip(in_turn(&family)) {
                let ratio = truth.exp();
                let is = |verdict| one.verdict == verdict;
                regression.add(is(Verdict::Regression).then_some((ratio <= 1.05, f64::NAN)));
                same.add(is(Verdict::Pass).then_some((ratio > 1.05, f64::NAN)));
                let corrected = one.corrected.filter(|ends| is(Verdict::Open) && ends.low > 1.0);
                slower.add(
                    corrected
                        .map(|ends| (ratio < ends.low || ends.high < ratio, ends.high - ends.low)),
                );
                let at_most = one.at_most.filter(|_| is(Verdict::Open));
                up_to.add(at_most.map(|share| (ratio > 1.0 + share, share)));
                interval.add(
                    one.interval
                        .map(|ends| (ratio < ends.low || ends.high < ratio, ends.high - ends.low)),
                );
                if name != "lognormal" {
                    continue;
                }
                let true_number = needed(truth, 0.03, 10);
                settled.add(one.settled_by.map(|range| {
                    // A number up to the present one settles the case with the next pair.
                    let from = true_number.is_some_and(|number| number.max(11) < range.from);
                    let to =
                        range.to.is_some_and(|to| true_number.is_none_or(|number| number > to));
                    (from || to, range.to.map_or(f64::NAN, |to| to as f64 / range.from as f64))
                }));
            }
        }
        let mut row = |sentence: &str, most: f64, tally: &Tally| {
            rows.push(Row::wrong(format!("in turn, {name}: {sentence}"), most, tally));
        };
        row("\"regression\"", 0.02, &regression);
        row("\"same\" or \"not slower\"", 0.05, &same);
        row("\"slower by x–y %, open\"", 0.05, &slower);
        row("\"up to + x % cannot be excluded\"", 0.05, &up_to);
        row("the interval of B / A", 0.07, &interval);
        if name == "lognormal" {
            row("\"n–m pairs would settle it\"", 0.20, &settled);
        }
    }
    rows
}

/// The number of pairs that settles a case of a family with these true figures with a chance of
/// 80 %. Each side has the noise; trimming from ten pairs on adds a tenth to its variance.
fn needed(shift: f64, noise: f64, pairs: usize) -> Option<usize> {
    let variance = 1.1 * 2.0 * noise.powi(2) / pairs as f64;
    let unsettled = Unsettled {
        difference: Difference { value: shift, variance, freedom: 0.6 * pairs as f64 - 1.0 },
        repetitions: pairs,
        fixed: 0.0,
        threshold: THRESHOLD.ln_1p(),
        interval_rate: 0.05,
        test_rate: alpha(SERIES) / SERIES as f64,
    };
    unsettled.needed(shift, variance)
}
