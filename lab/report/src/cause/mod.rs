//! Explains the worst sample of a series from the recordings of the same case. It claims a cause
//! only if the recordings prove it, and knows nothing of the report.

mod account;
mod board;
mod noise;
pub mod parts;
pub mod schedule;
mod split;
mod stack;
mod timerlat;
mod window;

use window::RepetitionSamples;

use chronoscope_run::{CaseResult, SeriesResult};
use chronoscope_units::{count, show};

/// Returns the causes that the recordings show, a sentence each; empty if they show none.
pub fn sentences(case: &CaseResult, series: &SeriesResult) -> Vec<String> {
    let repetition = RepetitionSamples::with_worst(case, series);
    let by_trace = |repetition: &RepetitionSamples| {
        [
            split::sentence(case, series, repetition),
            timerlat::sentence(case, series, repetition),
            noise::sentence(case, series, repetition),
            schedule::sentence(case, series, repetition),
            stack::sentence(case, series, repetition),
            board::sentence(case, series, repetition),
        ]
    };
    let by_trace = repetition.iter().flat_map(by_trace);
    [stolen(case), throttled(case)].into_iter().chain(by_trace).flatten().collect()
}

/// Steal time is known for whole repetitions only.
fn stolen(case: &CaseResult) -> Option<String> {
    let stolen = case.figure("steal")?.max;
    let shown = show(stolen * 1e6, "ns");
    (stolen > 0.0).then(|| {
        format!(
            "The hypervisor took up to {shown} from a repetition: the worst may be the machine's."
        )
    })
}

/// Thermal throttling is known for whole repetitions only.
fn throttled(case: &CaseResult) -> Option<String> {
    let times = case.figure("thermal throttling")?.max;
    let shown = count(times);
    (times > 0.0).then(|| {
        format!("Heat slowed the processor, up to {shown} times in a repetition: the worst may be the machine's.")
    })
}
