//! Comparisons of stored runs: false alarms where nothing changed but the time, and the power that
//! remains with the variance between runs in the interval.

use chronoscope_statistics::{
    ASSUMED, Between, Case, Comparison, Rules, SplitMix64, Verdict, compare,
    significance::trimmed_mean,
};

use crate::{
    Effort, Row,
    draw::{Repetitions, lognormal},
};

/// The repetitions of a run.
const REPETITIONS: usize = 5;

pub fn rows(effort: Effort) -> Vec<Row> {
    let mut rows = recorded(effort);
    rows.extend(simulated(effort));
    rows
}

/// The scatter that a comparison knows of: learned from earlier runs, or without them assumed of
/// the median and unknown of other statistics.
fn between(history: &[Vec<f64>], is_median: bool) -> Between {
    let figure = |run: &Vec<f64>| {
        let logs: Vec<f64> = run.iter().map(|value| value.ln()).collect();
        trimmed_mean(&logs).map_or(f64::NAN, f64::exp)
    };
    let figures: Vec<f64> = history.iter().map(figure).collect();
    Between::learned(&figures)
        .unwrap_or_else(|| if is_median { Between::assumed(ASSUMED) } else { Between::unknown() })
}

fn scatter(known: usize) -> String {
    match known {
        0 => "scatter assumed".to_owned(),
        runs => format!("learned from {runs} runs"),
    }
}

/// Two runs of a statistic, and earlier runs of it.
struct Runs {
    a: Vec<f64>,
    b: Vec<f64>,
    history: Vec<Vec<f64>>,
    /// Only the median of a case without a history has an assumed scatter.
    is_median: bool,
}

fn has_regression(family: &[Runs]) -> bool {
    compared(family).iter().any(|one| one.verdict == Verdict::Regression)
}

fn compared(family: &[Runs]) -> Vec<Comparison> {
    let cases: Vec<Case> = family
        .iter()
        .map(|Runs { a, b, history, is_median }| Case {
            a,
            b,
            between: Some(between(history, *is_median)),
            ..Case::default()
        })
        .collect();
    compare(&cases, &Rules::default())
}

/// The statistics of two runs at random places of one recording, with earlier runs of it; each of
/// B's statistics is multiplied by its factor.
fn pair(
    repetitions: &Repetitions,
    random: &mut SplitMix64,
    known: usize,
    factors: [f64; 3],
) -> Vec<Runs> {
    let counts = repetitions.counts();
    let recording = random.below(counts.len());
    let places = counts[recording] / REPETITIONS;
    let mut taken: Vec<usize> = Vec::new();
    while taken.len() < known + 2 {
        let place = random.below(places);
        if !taken.contains(&place) {
            taken.push(place);
        }
    }
    let run = |place: &usize| repetitions.run(recording, place * REPETITIONS, REPETITIONS);
    let runs: Vec<[Vec<f64>; 3]> = taken.iter().map(run).collect();
    factors
        .into_iter()
        .enumerate()
        .map(|(statistic, factor)| {
            let of = |run: &[Vec<f64>; 3]| run[statistic].clone();
            Runs {
                a: of(&runs[0]),
                b: of(&runs[1]).iter().map(|value| value * factor).collect(),
                history: runs[2..].iter().map(of).collect(),
                is_median: statistic == 0,
            }
        })
        .collect()
}

const EQUAL: [f64; 3] = [1.0; 3];

/// Repetitions of 10,000 samples, of which p50, p99 and p99.9 are judged.
fn recorded(effort: Effort) -> Vec<Row> {
    let repetitions = Repetitions::of_samples(10_000);
    let mut random = SplitMix64::new(71);
    let mut rows = Vec::new();
    let rounds = effort.choose(200, 3_000);
    for known in [0, 3, 5, 10] {
        let alarms = (0..rounds)
            .filter(|_| has_regression(&pair(&repetitions, &mut random, known, EQUAL)))
            .count();
        let statement = format!("recorded A/A, one series × 3, {}: false alarm", scatter(known));
        rows.push(Row::at_most(statement, 0.02, alarms, rounds));
    }
    let families = effort.choose(10, 500);
    for known in [0, 3, 10] {
        let alarms = (0..families)
            .filter(|_| {
                let all = || pair(&repetitions, &mut random, known, EQUAL);
                let family: Vec<Runs> = std::iter::repeat_with(all).take(34).flatten().collect();
                has_regression(&family)
            })
            .count();
        let statement = format!("recorded A/A, 34 series × 3, {}: false alarm", scatter(known));
        rows.push(Row::at_most(statement, 0.02, alarms, families));
    }
    for (known, least) in [(0, 0.8), (10, 0.5)] {
        let found = (0..rounds)
            .filter(|_| {
                let family = pair(&repetitions, &mut random, known, [2.0, 1.0, 1.0]);
                compared(&family)[0].verdict == Verdict::Regression
            })
            .count();
        let statement =
            format!("recorded, one series, {}: doubled median is found", scatter(known));
        rows.push(Row::at_least(statement, least, found, rounds));
    }
    let found = (0..rounds)
        .filter(|_| {
            let family = pair(&repetitions, &mut random, 10, [1.0, 20.0, 1.0]);
            has_regression(&family)
        })
        .count();
    let statement = "recorded, learned from 10 runs: a p99 times 20 is found";
    rows.push(Row::at_least(statement, 0.4, found, rounds));
    rows
}

/// Studies of 34 cases whose runs differ by 10 %, and whose repetitions scatter by 3 %; all are
/// slower by `slower`.
fn simulated(effort: Effort) -> Vec<Row> {
    let mut random = SplitMix64::new(81);
    let rounds = effort.choose(20, 600);
    let mut rows = Vec::new();
    for (known, slower) in [(0, 0.0), (3, 0.0), (10, 0.0), (0, 0.05), (10, 0.05), (0, 1.0)] {
        let mut first = 0;
        let alarms = (0..rounds)
            .filter(|_| {
                let mut run = |scale: f64| {
                    let level = scale * lognormal(&mut random, 0.10);
                    (0..REPETITIONS).map(|_| level * lognormal(&mut random, 0.03)).collect()
                };
                let family: Vec<Runs> = (0..34)
                    .map(|case| Runs {
                        a: run(1.0),
                        // Only one case is slower by more than the threshold.
                        b: run(if slower > 0.05 && case > 0 { 1.0 } else { 1.0 + slower }),
                        history: (0..known).map(|_| run(1.0)).collect(),
                        is_median: true,
                    })
                    .collect();
                let found = compared(&family);
                first += usize::from(found[0].verdict == Verdict::Regression);
                found.iter().any(|one| one.verdict == Verdict::Regression)
            })
            .count();
        let scatter = scatter(known);
        rows.push(match slower {
            slower if slower > 0.05 => {
                let statement = format!("the same, {scatter}: one doubled median of 34 is found");
                Row::at_least(statement, 0.3, first, rounds)
            }
            slower => {
                let (percent, what) = (slower * 100.0, "false alarm");
                let statement =
                    format!("34 cases, runs differ by 10 %, all + {percent} %, {scatter}: {what}");
                Row::at_most(statement, 0.02, alarms, rounds)
            }
        });
    }
    rows
}
