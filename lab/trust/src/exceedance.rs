//! Checks the statement on maxima by rank: a later run of the same length exceeds the maximum of a
//! run with a chance of 50 %, and a later run of nine times the length with 90 %.

use chronoscope_statistics::chance_of_new_maximum;

use crate::{Effort, Row, recorded::RECORDINGS};

pub fn rows(effort: Effort) -> Vec<Row> {
    let recordings = effort.choose(1, RECORDINGS.len());
    let recordings = || RECORDINGS.iter().rev().take(recordings).map(|one| one.samples());
    // The later run's length in lengths of the first run, its words, and the allowed difference
    // between the chance and the share found.
    let cases = [(1, "as long again", 0.10), (9, "nine times as long", 0.07)];
    let rows = cases.map(|(times, words, within)| {
        let (mut exceeded, mut rounds) = (0, 0);
        for samples in recordings() {
            for stretches in [20, 60, 180] {
                let length = samples.len() / (stretches * (times + 1));
                for part in samples.chunks_exact(length * (times + 1)) {
                    let (seen, more) = part.split_at(length);
                    exceeded += usize::from(max(more) > max(seen));
                    rounds += 1;
                }
            }
        }
        let chance = chance_of_new_maximum(1.0, times as f64).unwrap_or(f64::NAN);
        let statement = format!("recorded: a run {words} exceeds the maximum");
        Row::about(statement, chance, within, exceeded, rounds)
    });
    rows.to_vec()
}

fn max(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
