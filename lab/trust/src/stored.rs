//! Comparisons of stored runs: false alarms where nothing changed but the time, and the power that
//! remains with the variance between runs in the interval.

use chronoscope_statistics::{
    ASSUMED, ASSUMED_IN_TAIL, Between, Case, Rules, SplitMix64, Verdict, compare,
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

/// The scatter that a comparison knows of: learned from earlier runs, or assumed.
fn between(history: &[Vec<f64>], assumed: f64) -> Between {
    let figure = |run: &Vec<f64>| {
        let logs: Vec<f64> = run.iter().map(|value| value.ln()).collect();
        trimmed_mean(&logs).map_or(f64::NAN, f64::exp)
    };
    let figures: Vec<f64> = history.iter().map(figure).collect();
    Between::learned(&figures).unwrap_or_else(|| Between::assumed(assumed))
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
    /// The scatter that is assumed without a history.
    assumed: f64,
}

fn has_regression(family: &[Runs]) -> bool {
    verdicts(family).contains(&Verdict::Regression)
}

fn verdicts(family: &[Runs]) -> Vec<Verdict> {
    let cases: Vec<Case> = family
        .iter()
        .map(|Runs { a, b, history, assumed }| Case {
            a,
            b,
            between: Some(between(history, *assumed)),
            ..Case::default()
        })
        .collect();
    compare(&cases, &Rules::default()).into_iter().map(|one| one.verdict).collect()
}

/// The p50 and the p99 of two runs at random places of one recording, with earlier runs of it; B's
/// p99 is multiplied by `tail`.
fn pair(repetitions: &Repetitions, random: &mut SplitMix64, known: usize, tail: f64) -> Vec<Runs> {
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
    let runs: Vec<[Vec<f64>; 2]> = taken.iter().map(run).collect();
    (0..2)
        .map(|statistic| {
            let of = |run: &[Vec<f64>; 2]| run[statistic].clone();
            let scale = if statistic == 1 { tail } else { 1.0 };
            Runs {
                a: of(&runs[0]),
                b: of(&runs[1]).iter().map(|value| value * scale).collect(),
                history: runs[2..].iter().map(of).collect(),
                assumed: [ASSUMED, ASSUMED_IN_TAIL][statistic],
            }
        })
        .collect()
}

fn recorded(effort: Effort) -> Vec<Row> {
    let repetitions = Repetitions::recorded();
    let mut random = SplitMix64::new(71);
    let rounds = effort.choose(200, 10_000);
    let mut rows = Vec::new();
    for known in [0, 3, 5, 10] {
        let alarms = (0..rounds)
            .filter(|_| has_regression(&pair(&repetitions, &mut random, known, 1.0)))
            .count();
        let scatter = scatter(known);
        let statement = format!("recorded A/A, p50 and p99, {scatter}: false alarm");
        rows.push(Row::at_most(statement, 0.02, alarms, rounds));
    }
    let found =
        (0..rounds).filter(|_| has_regression(&pair(&repetitions, &mut random, 0, 20.0))).count();
    let statement = "recorded, scatter assumed: a tail times 20 is found";
    rows.push(Row::at_least(statement, 0.7, found, rounds));
    rows
}

/// Studies of 34 equal cases whose runs differ by 10 %, and whose repetitions scatter by 3 %.
fn simulated(effort: Effort) -> Vec<Row> {
    let mut random = SplitMix64::new(81);
    let rounds = effort.choose(30, 2_000);
    let mut rows = Vec::new();
    for known in [0, 3, 10] {
        let alarms = (0..rounds)
            .filter(|_| {
                let mut run = || {
                    let level = lognormal(&mut random, 0.10);
                    (0..REPETITIONS).map(|_| level * lognormal(&mut random, 0.03)).collect()
                };
                let family: Vec<Runs> = (0..34)
                    .map(|_| Runs {
                        a: run(),
                        b: run(),
                        history: (0..known).map(|_| run()).collect(),
                        assumed: ASSUMED,
                    })
                    .collect();
                has_regression(&family)
            })
            .count();
        let scatter = scatter(known);
        let statement = format!("34 equal cases, runs differ by 10 %, {scatter}: false alarm");
        rows.push(Row::at_most(statement, 0.02, alarms, rounds));
    }
    rows
}
