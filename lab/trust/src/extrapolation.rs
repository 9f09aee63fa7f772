//! Extrapolated maxima: the limit that the model gives, and the gates that withhold it.

use chronoscope_statistics::{SplitMix64, extrapolate, extreme::untested_limit};

use crate::{Effort, Row, recorded::RECORDINGS};

/// Samples of a simulated run, and the tenth that is fitted.
const SAMPLES: usize = 600_000;
const FITTED: usize = SAMPLES / 10;

pub fn rows(effort: Effort) -> Vec<Row> {
    let mut rows = Vec::new();
    let rounds = effort.choose(8, 200);
    for (words, shape) in [("an exponential tail", 0.0), ("a heavy tail, shape 0.2", 0.2)] {
        let (mut passed, mut held, mut untested) = (0, 0, 0);
        for round in 0..rounds as u64 {
            let samples = simulated(round, shape);
            let (fitted, rest) = samples.split_at(FITTED);
            let max = max(rest);
            let is_below = |limit: f64| usize::from(max <= limit);
            untested += untested_limit(fitted, rest.len() as f64).map_or(0, is_below);
            if effort == Effort::Quick {
                continue;
            }
            let result = extrapolate(fitted, rest.len() as f64);
            if let (true, Some(model)) = (result.failed.is_empty(), result.model) {
                passed += 1;
                held += is_below(model.at_horizon.upper);
            }
        }
        let model = format!("{words}: the model's limit holds for nine times as long");
        rows.push(Row::at_least(model, 0.95, untested, rounds));
        if effort == Effort::Full {
            let gates = format!("{words}: all gates pass");
            rows.push(Row::at_least(gates, 0.40, passed, rounds));
            let limit = format!("{words}: the limit that is shown holds");
            rows.push(Row::at_least(limit, 0.95, held, passed));
        }
    }
    rows.extend(recorded(effort));
    rows
}

/// Fits each tenth of a recording and bounds the maximum of the others.
fn recorded(effort: Effort) -> Vec<Row> {
    let (mut rounds, mut held, mut shown, mut shown_wrong) = (0, 0, 0, 0);
    for recording in RECORDINGS.iter().rev().take(effort.choose(1, RECORDINGS.len())) {
        let samples = recording.samples();
        let samples = &samples[..samples.len() / effort.choose(6, 1)];
        let parts = effort.choose(1, 4);
        for part in samples.chunks_exact(samples.len() / parts) {
            let length = part.len() / 10;
            for start in (0..10).map(|tenth| tenth * length) {
                let (before, rest) = part.split_at(start);
                let (fitted, after) = rest.split_at(length);
                let truth = max(before).max(max(after));
                let horizon = (part.len() - length) as f64;
                let Some(limit) = untested_limit(fitted, horizon) else { continue };
                rounds += 1;
                held += usize::from(truth <= limit);
                if effort == Effort::Full {
                    let gated = extrapolate(fitted, horizon).failed.is_empty();
                    shown += usize::from(gated);
                    shown_wrong += usize::from(gated && truth > limit);
                }
            }
        }
    }
    let mut rows = vec![Row::at_least(
        "recorded: the model's limit from a tenth holds for the rest",
        0.92,
        held,
        rounds,
    )];
    if effort == Effort::Full {
        rows.push(Row::at_most("recorded: all gates pass", 0.10, shown, rounds));
        let wrong = "recorded: a limit is shown and wrong";
        rows.push(Row::at_most(wrong, 0.02, shown_wrong, rounds));
    }
    rows
}

/// Independent samples with a generalised Pareto distribution of scale 1000.
fn simulated(seed: u64, shape: f64) -> Vec<f64> {
    let mut random = SplitMix64::new(seed);
    let tail = chronoscope_statistics::pareto::Pareto { shape, scale: 1000.0 };
    (0..SAMPLES).map(|_| tail.exceeded_with(random.unit())).collect()
}

fn max(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
