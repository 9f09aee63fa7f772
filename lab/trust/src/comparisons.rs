//! Comparisons in turn: false alarms of families of equal cases, the power to find a slower case,
//! the meaning of a pass, the coverage of the ratio's interval, and the price of looking more than
//! once.

use chronoscope_statistics::{Case, Comparison, Rules, SplitMix64, Verdict, compare, sequential};

use crate::{
    Effort, Row,
    draw::{Repetitions, correlated, lognormal},
};

/// The cases of a study, as in `vm-load`.
const STUDY: usize = 34;

/// A statistic of a case on both sides.
type Sides = (Vec<f64>, Vec<f64>);

pub fn rows(effort: Effort) -> Vec<Row> {
    let mut rows = simulated(effort);
    rows.extend(passes(effort));
    rows.extend(coverage(effort));
    rows.extend(recorded(effort));
    rows.extend(looks(effort));
    rows
}

fn judged(family: &[Sides], look: Option<usize>) -> Vec<Comparison> {
    let cases: Vec<Case> =
        family.iter().map(|(a, b)| Case { a, b, interleaved: true, ..Case::default() }).collect();
    compare(&cases, &Rules { look, ..Rules::default() })
}

fn has_regression(all: &[Comparison]) -> bool {
    all.iter().any(|one| one.verdict == Verdict::Regression)
}

fn count(rounds: usize, mut holds: impl FnMut() -> bool) -> usize {
    (0..rounds).filter(|_| holds()).count()
}

/// A study of 20 cases with lognormal noise; B of the first is slower by `ratio`.
fn study(random: &mut SplitMix64, noise: f64, ratio: f64, pairs: usize) -> Vec<Sides> {
    let side = |random: &mut SplitMix64, level: f64| -> Vec<f64> {
        (0..pairs).map(|_| level * lognormal(random, noise)).collect()
    };
    (0..20)
        .map(|case| {
            let level = 100.0 * (case + 1) as f64;
            let slower = if case == 0 { ratio } else { 1.0 };
            (side(random, level), side(random, level * slower))
        })
        .collect()
}

/// Slows 7 % of all repetitions by 5 to 50 %, as neighbours on a shared machine do.
fn disturb(random: &mut SplitMix64, study: &mut [Sides]) {
    for value in study.iter_mut().flat_map(|(a, b)| a.iter_mut().chain(b)) {
        if random.unit() < 0.07 {
            *value *= 1.05 + 0.45 * random.unit();
        }
    }
}

/// Multiplies both sides of each pair by a common speed that varies by 10 % (σ) between pairs.
fn drift(random: &mut SplitMix64, study: &mut [Sides]) {
    let pairs = study.first().map_or(0, |(a, _)| a.len());
    let speeds: Vec<f64> = (0..pairs).map(|_| lognormal(random, 0.10)).collect();
    for (a, b) in study {
        for ((a, b), speed) in a.iter_mut().zip(b).zip(&speeds) {
            (*a, *b) = (*a * speed, *b * speed);
        }
    }
}

fn simulated(effort: Effort) -> Vec<Row> {
    let mut random = SplitMix64::new(20);
    let rounds = effort.choose(40, 2_000);
    let mut rows = Vec::new();
    for noise in [0.02, 0.10] {
        let alarms =
            count(rounds, || has_regression(&judged(&study(&mut random, noise, 1.0, 10), None)));
        let statement = format!("20 equal cases, noise {} %, 10 pairs: false alarm", noise * 100.0);
        rows.push(Row::at_most(statement, 0.02, alarms, rounds));
    }
    let (mut found, mut alarms) = (0, 0);
    for _ in 0..rounds {
        let [mut slower, mut equal] = [1.1, 1.0].map(|ratio| study(&mut random, 0.007, ratio, 10));
        disturb(&mut random, &mut slower);
        disturb(&mut random, &mut equal);
        found += usize::from(judged(&slower, None)[0].verdict == Verdict::Regression);
        alarms += usize::from(has_regression(&judged(&equal, None)));
    }
    let beside = "beside neighbours, 20 cases, 10 pairs";
    rows.push(Row::at_most(format!("{beside}: false alarm"), 0.02, alarms, rounds));
    rows.push(Row::at_least(format!("{beside}: 10 % slower is found"), 0.85, found, rounds));
    for (noise, pairs, least) in [(0.02, 10, 0.20), (0.02, 20, 0.85), (0.05, 20, 0.10)] {
        let found = count(rounds, || {
            let study = study(&mut random, noise, 1.1, pairs);
            judged(&study, None)[0].verdict == Verdict::Regression
        });
        let statement =
            format!("10 % slower among 20 cases, noise {} %, {pairs} pairs: found", noise * 100.0);
        rows.push(Row::at_least(statement, least, found, rounds));
    }
    let rounds = effort.choose(20, 1_000);
    let found = count(rounds, || {
        let mut study = study(&mut random, 0.02, 1.1, 10);
        drift(&mut random, &mut study);
        judged(&study, None)[0].verdict == Verdict::Regression
    });
    rows.push(Row::at_least(
        "the same in drift of 10 %, noise 2 %, 10 pairs: found",
        0.20,
        found,
        rounds,
    ));
    rows
}

/// A pass is a statement too: a case that is truly slower by more than the threshold seldom passes.
fn passes(effort: Effort) -> Vec<Row> {
    let mut random = SplitMix64::new(31);
    let rounds = effort.choose(500, 20_000);
    let mut rows = Vec::new();
    for (slower, noise, pairs) in [(1.10, 0.10, 5), (1.05001, 0.02, 5), (1.05001, 0.02, 20)] {
        let passed = count(rounds, || {
            let side = |random: &mut SplitMix64, level: f64| -> Vec<f64> {
                (0..pairs).map(|_| level * lognormal(random, noise)).collect()
            };
            let sides = (side(&mut random, 1.0), side(&mut random, slower));
            let verdict = judged(&[sides], None)[0].verdict;
            matches!(verdict, Verdict::Pass | Verdict::Improvement)
        });
        let (percent, noise) = ((slower - 1.0) * 100.0, noise * 100.0);
        let statement = format!("{percent:.0} % slower, noise {noise} %, {pairs} pairs: \"same\"");
        rows.push(Row::at_most(statement, 0.025, passed, rounds));
    }
    rows
}

fn coverage(effort: Effort) -> Vec<Row> {
    let mut random = SplitMix64::new(41);
    let rounds = effort.choose(1_000, 20_000);
    let mut rows = Vec::new();
    for pairs in [5, 10, 30] {
        let covered = count(rounds, || {
            // A third of the repetitions has a tail: exponential on the logarithmic scale.
            let value = |random: &mut SplitMix64| {
                let tail =
                    if random.unit() < 0.33 { -0.5 * (1.0 - random.unit()).ln() } else { 0.0 };
                lognormal(random, 0.05) * tail.exp()
            };
            let sides: Vec<(f64, f64)> =
                (0..pairs).map(|_| (value(&mut random), 1.3 * value(&mut random))).collect();
            let interval = judged(&[sides.into_iter().unzip()], None)[0].interval;
            interval.is_some_and(|ends| ends.low <= 1.3 && 1.3 <= ends.high)
        });
        let statement = format!("interval of B / A, {pairs} pairs, heavy tails: covers");
        rows.push(Row::at_least(statement, 0.93, covered, rounds));
    }
    rows
}

fn recorded(effort: Effort) -> Vec<Row> {
    let recorded = Repetitions::recorded();
    let mut random = SplitMix64::new(51);
    let mut rows = Vec::new();
    let rounds = effort.choose(100, 4_000);
    for (pairs, least) in [(10, 0.45), (20, 0.65)] {
        let found = count(rounds, || {
            let family = recorded.case(&mut random, pairs, 2.0);
            has_regression(&judged(&family, None))
        });
        let statement = format!("recorded p50 and p99, {pairs} pairs: doubled p99 is found");
        rows.push(Row::at_least(statement, least, found, rounds));
    }
    let alarms =
        count(rounds, || has_regression(&judged(&recorded.case(&mut random, 10, 1.0), None)));
    rows.push(Row::at_most("recorded A/A, one case, 10 pairs: false alarm", 0.02, alarms, rounds));
    let found =
        count(rounds, || has_regression(&judged(&recorded.case(&mut random, 10, 20.0), None)));
    rows.push(Row::at_least("recorded, 10 pairs: a tail times 20 is found", 0.93, found, rounds));
    for (at, name) in ["p50", "p99"].into_iter().enumerate() {
        for pairs in [5, 10, 20] {
            let covered = count(rounds, || {
                let family = recorded.case(&mut random, pairs, 1.0);
                let interval = judged(&family[at..=at], None)[0].interval;
                interval.is_some_and(|ends| ends.low <= 1.0 && 1.0 <= ends.high)
            });
            let statement = format!("recorded A/A, interval of {name}, {pairs} pairs: covers");
            rows.push(Row::at_least(statement, 0.93, covered, rounds));
        }
    }
    let rounds = effort.choose(12, 1_000);
    for (pairs, least) in [(10, 0.0), (20, 0.25), (30, 0.4)] {
        let found = count(rounds, || {
            let family = recorded.study(&mut random, STUDY, pairs, 2.0);
            judged(&family, None)[1].verdict == Verdict::Regression
        });
        let statement =
            format!("recorded study of {STUDY} cases, {pairs} pairs: doubled p99 is found");
        rows.push(Row::at_least(statement, least, found, rounds));
    }
    for pairs in [10, 30] {
        let alarms = count(rounds, || {
            has_regression(&judged(&recorded.study(&mut random, STUDY, pairs, 1.0), None))
        });
        let statement = format!("recorded A/A of {STUDY} cases, {pairs} pairs: false alarm");
        rows.push(Row::at_most(statement, 0.02, alarms, rounds));
    }
    rows
}

/// Comparisons that go on until they are settled, up to 200 pairs.
fn looks(effort: Effort) -> Vec<Row> {
    let mut random = SplitMix64::new(61);
    let rounds = effort.choose(60, 3_000);
    let side = |random: &mut SplitMix64, level: f64| -> Vec<f64> {
        (0..200).map(|_| level * lognormal(random, 0.05)).collect()
    };
    let alike = |random: &mut SplitMix64, level: f64, correlation: f64| -> Vec<f64> {
        let noise = correlated(random, correlation, 200);
        noise.into_iter().map(|one| level * (0.05 * one).exp()).collect()
    };
    let mut until_sure = |ratio: f64, cases: usize, correlation: f64| -> Vec<Verdict> {
        let mut sides = |level: f64| match correlation {
            0.0 => side(&mut random, level),
            correlation => alike(&mut random, level, correlation),
        };
        let all: Vec<Sides> = (0..cases).map(|_| (sides(1.0), sides(ratio))).collect();
        let mut verdicts = vec![Verdict::Open; cases];
        let (mut pairs, mut look) = (10, 1);
        while pairs <= 200 && verdicts.contains(&Verdict::Open) {
            let now: Vec<Sides> =
                all.iter().map(|(a, b)| (a[..pairs].to_vec(), b[..pairs].to_vec())).collect();
            let found = judged(&now, Some(look));
            for (verdict, found) in verdicts.iter_mut().zip(found) {
                if *verdict == Verdict::Open {
                    *verdict = found.verdict;
                }
            }
            (pairs, look) = (sequential::next(pairs), look + 1);
        }
        verdicts
    };
    let mut rows = Vec::new();
    let alarms = count(rounds, || until_sure(1.0, 5, 0.0).contains(&Verdict::Regression));
    rows.push(Row::at_most("until sure, 5 equal cases: false alarm", 0.02, alarms, rounds));
    for correlation in [0.5, 0.9] {
        for (ratio, words) in [(1.0, "equal"), (1.05, "5 % slower")] {
            let alarms =
                count(rounds, || until_sure(ratio, 1, correlation) == [Verdict::Regression]);
            let statement =
                format!("until sure, {words}, pairs correlated by {correlation}: \"regression\"");
            let most = if correlation > 0.5 { 0.10 } else { 0.02 };
            rows.push(Row::at_most(statement, most, alarms, rounds));
        }
    }
    let passed = count(rounds, || until_sure(1.05001, 1, 0.0) == [Verdict::Pass]);
    rows.push(Row::at_most("until sure, 5 % slower: \"same\"", 0.025, passed, rounds));
    let settled = count(rounds, || until_sure(1.0, 1, 0.0) == [Verdict::Pass]);
    rows.push(Row::at_least("until sure, equal, noise 5 %: settled as same", 0.9, settled, rounds));
    let found = count(rounds, || until_sure(1.1, 1, 0.0) == [Verdict::Regression]);
    rows.push(Row::at_least("until sure, 10 % slower: settled as regression", 0.8, found, rounds));
    rows
}
