//! Explains the worst sample of a series from the recordings of the same case. It claims a cause
//! only if the recordings prove it, and knows nothing of the report.

mod account;
mod board;
mod noise;
pub mod parts;
pub mod schedule;
mod split;
mod timerlat;
mod window;

use window::Taken;

use chronoscope_run::{CaseResult, SeriesResult};
use chronoscope_units::{count, show};

/// Returns the causes that the recordings show, a sentence each; empty if they show none.
pub fn of(case: &CaseResult, series: &SeriesResult) -> Vec<String> {
    let taken = Taken::with_worst(case, series);
    let by_trace = |taken: &Taken| {
        [
            split::sentence(case, series, taken),
            timerlat::sentence(case, series, taken),
            noise::sentence(case, series, taken),
            schedule::sentence(case, series, taken),
            board::sentence(case, series, taken),
        ]
    };
    let by_trace = taken.iter().flat_map(by_trace);
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
