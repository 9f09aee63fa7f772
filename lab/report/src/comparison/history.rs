//! The scatter between runs of a case, learned from the store's earlier runs of the same machine.

use std::collections::BTreeMap;

use serde::Serialize;

use chronoscope_run::{
    CaseResult, Run, SeriesResult, Status, compared::COMPARED_STATISTICS,
    compared::ComparedStatistic,
};
use chronoscope_statistics::{Between, typical};

/// The figures of earlier runs: for each case, series and statistic a figure of each run.
#[derive(Debug, Default)]
pub struct History(BTreeMap<(String, String, &'static str), Vec<f64>>);

/// The scatter between runs with which a statistic was judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BetweenRuns {
    /// The scatter as one standard deviation: 0.15 is 15 %. Infinite, and null in JSON, if unknown.
    pub scatter: f64,
    /// The number of runs from which it was learned; `None` if it is assumed or unknown.
    pub runs: Option<usize>,
}

impl From<Between> for BetweenRuns {
    fn from(between: Between) -> Self {
        Self { scatter: between.share(), runs: between.runs }
    }
}

impl History {
    /// Adds an earlier run on the machine. Only cases that passed or missed a limit
    /// count.
    pub fn add(&mut self, run: &Run) {
        let usable = run
            .cases
            .iter()
            .filter(|case| matches!(case.verdict.status, Status::Pass | Status::LimitMissed));
        for case in usable {
            for series in case.measured() {
                for statistic in COMPARED_STATISTICS {
                    let values = statistic.values(&series.by_repetition).unwrap_or_default();
                    if let Some(figure) = typical(&values, false) {
                        let key = (case.key(), series.name.to_string(), statistic.name);
                        self.0.entry(key).or_default().push(figure);
                    }
                }
            }
        }
    }

    /// The scatter of a statistic between runs of `a` and `b`: the greater of the two, if they are
    /// different cases. If fewer than three runs of a case are known, the scatter of the median is
    /// assumed, and others are unknown.
    pub fn between(
        &self,
        a: &CaseResult,
        b: &CaseResult,
        series: &SeriesResult,
        statistic: &ComparedStatistic,
    ) -> Between {
        let learned = |case: &CaseResult| {
            let key = (case.key(), series.name.to_string(), statistic.name);
            Between::learned(self.0.get(&key)?)
        };
        // A baseline's figures are of B's case.
        let of_a = if is_baseline(a) { learned(b) } else { learned(a) };
        match (of_a, learned(b)) {
            (Some(a), Some(b)) if a.deviation > b.deviation => a,
            (Some(_), Some(b)) => b,
            _ => statistic.scatter.map_or_else(Between::unknown, Between::assumed),
        }
    }
}

/// Returns whether a case is of a baseline, which has no target.
pub(super) fn is_baseline(case: &CaseResult) -> bool {
    case.target.is_empty()
}
