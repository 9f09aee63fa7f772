//! The sentence on a program under watch: its first mark, by the limit on its longest round.

use std::fmt;

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
    let [longest, allowed] = span::both(series.summary.max?, bound, series.unit.name());
    let missed = missed(series, bound);
    Some(match (missed.count, series.summary.count) {
        (0, 1) => format!("the only round of {name} took {longest}, within {allowed}"),
        (0, _) => {
            format!("all {count} rounds of {name} are within {allowed}; the longest took {longest}")
        }
        _ => format!(
            "{missed} of {count} rounds of {name} took over {allowed}: {median}{longest} the longest"
        ),
    })
}

/// A number of rounds.
struct Rounds {
    count: u64,
    /// There may be more.
    is_least: bool,
}

impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = if self.is_least { "at least " } else { "" };
        write!(f, "{words}{}", span::grouped(self.count as f64))
    }
}

/// The rounds that took longer than `bound`. A series of very many keeps only the first ones one by one.
fn missed(series: &SeriesResult, bound: f64) -> Rounds {
    let kept = series.samples.iter().filter(|(_, length)| *length > bound).count();
    let longest = u64::from(series.summary.max.is_some_and(|max| max > bound));
    let count = longest.max(kept as u64);
    let is_least = count > 0 && (series.samples.len() as u64) < series.summary.count;
    Rounds { count, is_least }
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

#[cfg(test)]
mod tests {
    use chronoscope_run::{Quantity, sample};

    use super::*;

    /// A run of a watch with rounds of these lengths in ns, of which the first ones are kept, and a limit.
    fn run(kept: &[f64], count: u64, max: f64, bound: f64) -> Run {
        let mut case = sample::case(WATCH, "");
        case.series.truncate(1);
        let series = &mut case.series[0];
        series.name = "loop".into();
        series.samples = kept.iter().map(|length| (0.0, *length)).collect();
        (series.summary.count, series.summary.max) = (count, Some(max));
        case.limits = vec![Limit {
            statistic: "max".into(),
            series: Some("loop".into()),
            at_most: Some(Quantity(bound)),
            at_least: None,
            exhaustive: false,
        }];
        Run { cases: vec![case], ..sample::run() }
    }

    fn words(run: &Run) -> String {
        sentence(run, WATCH).unwrap().replace('\u{a0}', " ")
    }

    #[test]
    fn a_limit_is_shown_in_the_digits_that_decide() {
        let within = words(&run(&[1_630.0, 1_600.0], 2, 1_630.0, 1_640.0));
        assert_eq!(within, "all 2 rounds of loop are within 1.64 µs; the longest took 1.63 µs");
        let over = words(&run(&[1_643.0, 1_600.0], 2, 1_643.0, 1_640.0));
        assert!(over.starts_with("1 of 2 rounds of loop took over 1.64 µs: "), "{over}");
        assert!(over.ends_with("1.643 µs the longest"), "{over}");
        let near = words(&run(&[1_646.0, 1_600.0], 2, 1_646.0, 1_645.6));
        assert!(near.starts_with("1 of 2 rounds of loop took over 1.6456 µs: "), "{near}");
    }

    #[test]
    fn a_round_that_was_not_kept_counts() {
        let over = words(&run(&[150e3, 160e3], 3, 350e3, 200e3));
        assert!(over.starts_with("at least 1 of 3 rounds of loop took over 200 µs: "), "{over}");
    }
}
