//! The sentence on a program under watch: its first mark, by the limit on its longest round.

use chronoscope_run::{CaseResult, Limit, Run, SeriesResult, names::WATCH};

use super::span::{self, Span};

/// The sentence on a run's watch; `None` without one, or without a figure.
pub fn sentence(run: &Run, experiment: &str) -> Option<String> {
    let mut cases = run.cases.iter().filter(|case| case.experiment == WATCH && case.is_proven());
    let case = cases.next().filter(|_| experiment == WATCH)?;
    let series = judged(case)?;
    let words = |name| Some(Span::of_case(case, Some(series), name)?.words());
    let longest = words("max")?;
    let median =
        words("p50").map_or_else(String::new, |median| format!("{median} at the median, "));
    let (name, count) = (&series.name, span::grouped(series.summary.count as f64));
    let Some(bound) = bound(case, series) else {
        return Some(format!("{name}: {median}{longest} the longest of {count} rounds"));
    };
    let allowed = span::amount(bound, series.unit.name(), false);
    let missed = series.samples.iter().filter(|(_, length)| *length > bound).count();
    Some(match (missed, series.summary.count) {
        (0, 1) => format!("the only round of {name} took {longest}, within {allowed}"),
        (0, _) => {
            format!("all {count} rounds of {name} are within {allowed}; the longest took {longest}")
        }
        _ => format!(
            "{} of {count} rounds of {name} took over {allowed}: {median}{longest} the longest",
            span::grouped(missed as f64)
        ),
    })
}

/// The first series with a limit on its longest round, else the first.
pub(super) fn judged(case: &CaseResult) -> Option<&SeriesResult> {
    let bounded = case.measured().find(|series| bound(case, series).is_some());
    bounded.or_else(|| case.measured().next())
}

/// The longest length that is allowed.
pub(super) fn bound(case: &CaseResult, series: &SeriesResult) -> Option<f64> {
    let is_its = |limit: &&Limit| {
        limit.series.as_deref() == Some(&*series.name) && &*limit.statistic == "max"
    };
    Some(case.limits.iter().find(is_its)?.at_most?.0)
}
