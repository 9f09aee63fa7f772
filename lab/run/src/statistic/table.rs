//! The table of statistics. Limits, published figures, CSV, tables, pages and Google Benchmark's
//! counters take the statistics' names, units and values from here.

use chronoscope_statistics::{Interval, Slope};
use chronoscope_units::OneLine;

use crate::series::{Repetition, SeriesResult};

/// The statistics. Messages list them in this order, and percentiles ascend.
pub const STATISTICS: &[Statistic] = &[
    Statistic::duration("min", |series| series.summary.min),
    Statistic::duration("p50", |series| series.summary.p50)
        .percentile(0.5)
        .headline(|repetition| Some(repetition.p50))
        .interval(|series| series.p50_interval),
    Statistic::duration("p90", |series| series.summary.p90).percentile(0.9),
    Statistic::duration("p99", |series| series.summary.p99)
        .percentile(0.99)
        .headline(|repetition| repetition.p99),
    Statistic::duration("p99.9", |series| series.summary.p999).percentile(0.999),
    Statistic::duration("p99.99", |series| series.summary.p9999).percentile(0.9999),
    Statistic::duration("max", |series| series.summary.max)
        .headline(|repetition| Some(repetition.max)),
    Statistic::duration("mean", |series| series.summary.mean),
    Statistic::new("sigma", Rule::Difference, Source::Series(|series| series.summary.sigma)),
    Statistic::new(
        "misses",
        Rule::Number,
        Source::Series(|series| Some(series.misses?.misses as f64)),
    )
    .needs_deadline(),
    Statistic::new("slope", Rule::Number, Source::Slope(|slope| slope.slope)),
];

/// A statistic: a row of [`STATISTICS`].
#[derive(Clone, Copy)]
pub struct Statistic {
    /// The name in limits and published figures, and of the column in CSV.
    pub name: &'static str,
    rule: Rule,
    source: Source,
    /// The share of the samples that do not exceed the value, for a percentile: the percentile
    /// ladder has a step there.
    pub percentile: Option<f64>,
    /// The value of one repetition, for a statistic that short lists show too: tables of figures,
    /// histograms, outcomes for CI, and Google Benchmark's counters.
    pub headline: Option<fn(&Repetition) -> Option<f64>>,
    /// The interval over repetitions, for a statistic that has one.
    pub interval: Option<fn(&SeriesResult) -> Option<Interval>>,
    /// `true` if a limit on the statistic needs a deadline.
    pub(crate) needs_deadline: bool,
}

/// The unit of a statistic.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The series' unit. The series' nominal part is added for the whole duration.
    Duration,
    /// The series' unit, without a nominal part.
    Difference,
    /// A plain number.
    Number,
}

/// The source of a statistic's value.
#[derive(Clone, Copy)]
enum Source {
    /// A series; the value is for one operation and without the nominal part.
    Series(fn(&SeriesResult) -> Option<f64>),
    /// The line fitted to the medians of a case's series.
    Slope(fn(&Slope) -> f64),
}

impl Statistic {
    const fn new(name: &'static str, rule: Rule, source: Source) -> Self {
        Self {
            name,
            rule,
            source,
            percentile: None,
            headline: None,
            interval: None,
            needs_deadline: false,
        }
    }

    const fn duration(name: &'static str, value: fn(&SeriesResult) -> Option<f64>) -> Self {
        Self::new(name, Rule::Duration, Source::Series(value))
    }

    const fn percentile(self, share: f64) -> Self {
        Self { percentile: Some(share), ..self }
    }

    const fn headline(self, of_repetition: fn(&Repetition) -> Option<f64>) -> Self {
        Self { headline: Some(of_repetition), ..self }
    }

    const fn interval(self, interval: fn(&SeriesResult) -> Option<Interval>) -> Self {
        Self { interval: Some(interval), ..self }
    }

    const fn needs_deadline(self) -> Self {
        Self { needs_deadline: true, ..self }
    }

    /// Returns the statistic with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        STATISTICS.iter().find(|statistic| statistic.name == name)
    }

    /// Yields the statistics that short lists show too.
    pub fn headlines() -> impl Iterator<Item = &'static Self> {
        STATISTICS.iter().filter(|statistic| statistic.headline.is_some())
    }

    /// Returns whether the value is a duration, to which the series' nominal part belongs.
    pub fn is_duration(&self) -> bool {
        self.rule == Rule::Duration
    }

    /// Returns whether the value has the series' unit; otherwise it is a plain number.
    pub fn is_in_unit(&self) -> bool {
        self.rule != Rule::Number
    }

    /// Returns whether each series has a value of its own.
    pub fn is_of_series(&self) -> bool {
        matches!(self.source, Source::Series(_))
    }

    /// Returns the value of a series, for one operation and without the nominal part. `None` if the
    /// series has too few samples, or the statistic belongs to the whole case.
    pub fn of_series(&self, series: &SeriesResult) -> Option<f64> {
        match self.source {
            Source::Series(value) => value(series),
            Source::Slope(_) => None,
        }
    }

    /// Returns the value in a table's row for `series`, from the series or from the `slope` of its
    /// case.
    pub fn of_row(&self, slope: Option<&Slope>, series: Option<&SeriesResult>) -> Option<f64> {
        match self.source {
            Source::Series(value) => value(series?),
            Source::Slope(value) => slope.map(value),
        }
    }

    /// Returns the value of a series with the nominal part, and the unit, empty for a plain number.
    pub(crate) fn whole(&self, series: &SeriesResult) -> Option<(f64, OneLine)> {
        let value = self.of_series(series)?;
        let nominal = if self.is_duration() { series.nominal } else { 0.0 };
        let unit = if self.is_in_unit() { series.unit.name() } else { "" };
        Some((value + nominal, unit.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_percentiles_ascend() {
        let names: BTreeSet<&str> = STATISTICS.iter().map(|statistic| statistic.name).collect();
        assert_eq!(names.len(), STATISTICS.len());
        let shares: Vec<f64> =
            STATISTICS.iter().filter_map(|statistic| statistic.percentile).collect();
        assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..1.0).contains(share)));
    }
}
