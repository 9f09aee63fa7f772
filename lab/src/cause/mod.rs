//! Why the worst sample of a series is so long, as far as what was recorded beside it shows that. Where it does not, nothing is
//! said: a likely cause is none.

mod board;
pub mod schedule;
mod window;

use window::Taken;

use crate::{
    run::{CaseResult, SeriesResult},
    units::show,
};

/// What is known of it, a sentence each.
pub fn of(case: &CaseResult, series: &SeriesResult) -> Vec<String> {
    let taken = Taken::with_worst(case, series);
    let by_trace = |taken: &Taken| [schedule::told(case, series, taken), board::told(case, series, taken)];
    let by_trace = taken.iter().flat_map(by_trace);
    [stolen(case)].into_iter().chain(by_trace).flatten().collect()
}

/// What a hypervisor took is known of whole repetitions only.
fn stolen(case: &CaseResult) -> Option<String> {
    let stolen = case.figure("steal")?.max;
    let told = show(stolen * 1e6, "ns");
    (stolen > 0.0)
        .then(|| format!("The hypervisor took up to {told} from a repetition: the worst may be the machine's."))
}
