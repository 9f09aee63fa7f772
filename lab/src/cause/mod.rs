//! Why the worst sample of a series is so long, as far as what was recorded beside it shows that. Where it does not, nothing is
//! said: a likely cause is none.

mod board;
pub mod schedule;
mod window;

use window::Taken;

use crate::{
    run::{CaseResult, SeriesResult},
    units::{count, show},
};

/// What is known of it, a sentence each.
pub fn of(case: &CaseResult, series: &SeriesResult) -> Vec<String> {
    let taken = Taken::with_worst(case, series);
    let by_trace =
        |taken: &Taken| [schedule::told(case, series, taken), board::told(case, series, taken)];
    let by_trace = taken.iter().flat_map(by_trace);
    [stolen(case), throttled(case)].into_iter().chain(by_trace).flatten().collect()
}

/// What a hypervisor took is known of whole repetitions only.
fn stolen(case: &CaseResult) -> Option<String> {
    let stolen = case.figure("steal")?.max;
    let told = show(stolen * 1e6, "ns");
    (stolen > 0.0).then(|| {
        format!(
            "The hypervisor took up to {told} from a repetition: the worst may be the machine's."
        )
    })
}

/// Neither is it known in which sample a processor was too hot.
fn throttled(case: &CaseResult) -> Option<String> {
    let times = case.figure("thermal throttling")?.max;
    let told = count(times);
    (times > 0.0).then(|| {
        format!("Heat slowed the processor, up to {told} times in a repetition: the worst may be the machine's.")
    })
}
