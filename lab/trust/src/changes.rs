//! Changes of level in a history: false alarms, power, and the place.

use chronoscope_statistics::{SplitMix64, change::changes};

use crate::{
    Effort, Row,
    alerts::heavy,
    draw::{correlated, normal},
};

/// The scatter between runs: 5 %.
const SCATTER: f64 = 0.05;

pub fn rows(effort: Effort) -> Vec<Row> {
    let rounds = effort.choose(500, 5_000);
    let mut rows = Vec::new();
    for (words, draw) in [
        ("scattered by 5 %", normal as fn(&mut SplitMix64) -> f64),
        ("heavy-tailed", heavy),
        ("in whole ticks", |random| (2.0 * normal(random)).round()),
    ] {
        for runs in [20, 60, 200] {
            let statement = format!("{runs} runs, {words}: a change is found where none is");
            let found = (0..rounds).filter(|round| {
                let mut random = SplitMix64::new((round * 1000 + runs) as u64);
                let figures: Vec<f64> = (0..runs).map(|_| figure(draw(&mut random))).collect();
                !changes(&figures, 0.0).is_empty()
            });
            rows.push(Row::at_most(statement, 0.01, found.count(), rounds));
        }
    }
    let found = (0..rounds).filter(|round| {
        let noise = correlated(&mut SplitMix64::new(*round as u64), 0.3, 60);
        let figures: Vec<f64> = noise.into_iter().map(figure).collect();
        !changes(&figures, 0.0).is_empty()
    });
    let statement = "60 runs, neighbours correlated by 0.3: the same";
    rows.push(Row::at_most(statement, 0.12, found.count(), rounds));
    for (runs, last, least) in [(20, 10, 0.8), (60, 10, 0.9), (200, 10, 0.9)] {
        let places: Vec<Option<usize>> =
            (0..rounds).map(|round| place(runs, last, 0.15, round as u64)).collect();
        let near =
            |place: &&Option<usize>| place.is_some_and(|place| place.abs_diff(runs - last) <= 2);
        let statement =
            format!("the last {last} of {runs} runs slower by 15 %: found, within two runs");
        rows.push(Row::at_least(statement, least, places.iter().filter(near).count(), rounds));
    }
    rows
}

fn figure(noise: f64) -> f64 {
    1000.0 * (1.0 + SCATTER * noise)
}

/// The place of the last change in runs scattered by 5 % of which the `last` are slower by
/// `slower`.
fn place(runs: usize, last: usize, slower: f64, seed: u64) -> Option<usize> {
    let mut random = SplitMix64::new(seed);
    let figures: Vec<f64> = (0..runs)
        .map(|run| figure(normal(&mut random)) * if run < runs - last { 1.0 } else { 1.0 + slower })
        .collect();
    changes(&figures, 0.0).last().map(|change| change.at)
}
