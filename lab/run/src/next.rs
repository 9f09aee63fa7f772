//! Predictions of the next run of a case, by rank over the runs of the same case on the same
//! machine. The module knows the form of a run; the caller finds the runs.

use std::collections::BTreeMap;

use chronoscope_statistics::Prediction;

use crate::{NextRun, Run, SeriesResult, Status};

/// A statistic of a series that is predicted.
type Figure = fn(&SeriesResult) -> Option<f64>;

const FIGURES: [Figure; 5] = [
    |series| series.summary.p50,
    |series| series.summary.p99,
    |series| series.summary.p999,
    |series| series.summary.max,
    |series| series.misses?.rate,
];

impl Run {
    /// Sets the predictions of each measured series of a wall clock, from this run and `earlier`
    /// runs on the same machine. Only cases that passed or missed a limit count, and of them those
    /// whose repetitions are as many and whose samples are about as many: the largest of more
    /// samples is larger.
    pub fn predict(&mut self, earlier: &[Run]) {
        let mut known: BTreeMap<(String, String), Vec<&SeriesResult>> = BTreeMap::new();
        let is_usable = |status: Status| matches!(status, Status::Pass | Status::LimitMissed);
        let cases = earlier.iter().flat_map(|run| &run.cases);
        for case in cases.filter(|case| is_usable(case.verdict.status)) {
            for series in case.measured() {
                known.entry((case.key(), series.name.to_string())).or_default().push(series);
            }
        }
        for case in &mut self.cases {
            let key = case.key();
            if case.is_deterministic() || !is_usable(case.verdict.status) {
                continue;
            }
            for series in &mut case.series {
                let before = known.get(&(key.clone(), series.name.to_string()));
                let alike: Vec<&SeriesResult> = before
                    .into_iter()
                    .flatten()
                    .copied()
                    .filter(|one| one.unit == series.unit && is_as_long(one, series))
                    .collect();
                let [p50, p99, p999, max, misses] = FIGURES.map(|figure| {
                    let all = alike.iter().copied().chain([&*series]).map(figure);
                    Prediction::new(&all.collect::<Option<Vec<f64>>>()?)
                });
                series.next = Some(NextRun { p50, p99, p999, max, misses });
            }
        }
    }
}

fn is_as_long(one: &SeriesResult, other: &SeriesResult) -> bool {
    let ratio = one.summary.count as f64 / other.summary.count as f64;
    one.by_repetition.len() == other.by_repetition.len() && (0.9..=1.1).contains(&ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn three_runs_of_a_case_predict_the_next() {
        let run = |p99: f64| {
            let mut run = sample::run();
            for series in run.cases.iter_mut().flat_map(|case| &mut case.series) {
                series.summary.p99 = Some(p99);
            }
            run
        };
        let next = |earlier: &[Run]| {
            let mut newest = run(300.0);
            newest.predict(earlier);
            newest.cases[0].measured().next().unwrap().next.unwrap()
        };
        assert_eq!(next(&[run(100.0)]).p99, None, "two runs say nothing");
        let found = next(&[run(100.0), run(500.0)]).p99.unwrap();
        assert_eq!(found, Prediction { low: 100.0, high: 500.0, runs: 3 });
        // Runs of another length do not count.
        let mut longer = run(900.0);
        longer.cases[0].series.iter_mut().for_each(|series| series.summary.count *= 2);
        assert_eq!(next(&[run(100.0), longer]).p99, None);
    }
}
