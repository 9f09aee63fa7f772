//! Why the worst sample of a series is so long, as far as what was recorded beside it shows that. Where it does not, nothing is
//! said: a likely cause is none.

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
    let beside = taken.and_then(|taken| schedule::told(case, series, &taken));
    [stolen(case), beside].into_iter().flatten().collect()
}

/// What a hypervisor took is known of whole repetitions only.
fn stolen(case: &CaseResult) -> Option<String> {
    let stolen = case.figure("steal")?.max;
    let told = show(stolen * 1e6, "ns");
    (stolen > 0.0)
        .then(|| format!("The hypervisor took up to {told} from a repetition: the worst may be the machine's."))
}
