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
pub(crate) mod window;

use window::RepetitionSamples;

use crate::timeline::ftrace;
use chronoscope_run::{CaseResult, SeriesResult};
use chronoscope_units::{count, show};

/// Returns the causes that the recordings show, a sentence each; empty if they show none.
pub fn sentences(case: &CaseResult, series: &SeriesResult) -> Vec<String> {
    let whole = [stolen(case), throttled(case)].into_iter().flatten();
    whole.chain(traced(case, series)).collect()
}

/// Returns the causes that a trace of the kernel shows, a sentence each; empty if it shows none.
pub fn traced(case: &CaseResult, series: &SeriesResult) -> Vec<String> {
    let Some(repetition) = RepetitionSamples::with_worst(case, series) else { return Vec::new() };
    let all = [
        split::sentence(case, series, &repetition),
        timerlat::sentence(case, series, &repetition),
        noise::sentence(case, series, &repetition),
        schedule::sentence(case, series, &repetition),
        stack::sentence(case, series, &repetition),
        board::sentence(case, series, &repetition),
    ];
    all.into_iter().flatten().collect()
}

/// Returns whether the kernel's trace of a case was recorded.
pub fn is_traced(case: &CaseResult) -> bool {
    case.parameters.get("trace").is_some_and(|trace| *trace == "yes")
}

/// The sentence of a case whose trace was recorded and shows no cause of the worst sample: with the
/// part of the trace that was kept, if it is not whole. `None` for a case without a trace.
pub fn unknown(case: &CaseResult) -> Option<String> {
    if !is_traced(case) {
        return None;
    }
    Some(match ftrace::lacks(case) {
        Some(lacks) => format!("The trace shows no cause of the worst: {lacks}"),
        None => "The trace shows no cause of the worst".to_owned(),
    })
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
