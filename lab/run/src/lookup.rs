//! Finds statistics and figures of a case by name, for limits and published figures. The module
//! makes no verdict.

use chronoscope_units::{self as units, OneLine};

use crate::{
    case::CaseResult,
    limit::{Limit, Quantity},
    names::{by_pin, readings_of},
    published::{Instrument, Published},
    series::SeriesResult,
    statistic::Statistic,
    words::Role,
};

impl Limit {
    /// Returns whether the case has the limited statistic. A percentile is missing if there are too
    /// few samples.
    pub fn applies(&self, case: &CaseResult) -> bool {
        !statistics(case, &self.statistic, self.series.as_deref()).is_empty()
    }

    /// Describes each violation of the limit; empty if the case keeps it. A figure must keep the
    /// limit in every repetition, because a median hides two bad repetitions of five.
    pub fn missed(&self, case: &CaseResult) -> Vec<OneLine> {
        if let Some(figure) = case.figure(&self.statistic) {
            let worst = [(figure.max, self.at_most, None), (figure.min, None, self.at_least)];
            let missed = worst.into_iter().filter_map(|(value, most, least)| {
                let exceeded = exceeded(&self.statistic, value, &figure.unit, most, least)?;
                Some(format!("in one repetition {exceeded}").into())
            });
            return missed.collect();
        }
        let found = statistics(case, &self.statistic, self.series.as_deref());
        let missed = found.iter().filter_map(|(series, value, unit)| {
            let name = format!("{series} {}", self.statistic);
            exceeded(name.trim_start(), *value, unit, self.at_most, self.at_least)
                .map(OneLine::from)
        });
        missed.collect()
    }
}

impl Instrument {
    /// Returns the instrument whose series a figure is compared with: the timer instead of the pin
    /// if there is no series by pin.
    fn available_in(self, series: &[SeriesResult]) -> Self {
        let is_there = series.iter().any(|one| one.role == self.role());
        if self == Self::Pin && !is_there { Self::Timer } else { self }
    }
}

impl Published {
    /// Returns the measured counterpart of the figure: series, value including the nominal part,
    /// unit.
    pub fn sister(&self, case: &CaseResult) -> Option<(OneLine, f64, OneLine)> {
        statistics_by(
            case,
            &self.statistic,
            self.series.as_deref(),
            self.instrument.available_in(&case.series),
        )
        .into_iter()
        .next()
    }

    /// Returns whether the figure is compared with this series.
    pub fn is_of(&self, case: &CaseResult, series: &SeriesResult) -> bool {
        let first = || {
            chosen(case, self.series.as_deref(), self.instrument.available_in(&case.series)).next()
        };
        first().is_some_and(|first| first.name == series.name)
    }

    /// Returns whether one of the series can be compared with the figure. Few cases have readings
    /// by an analyser.
    pub fn is_readable(&self, series: &[SeriesResult]) -> bool {
        self.instrument != Instrument::Analyser
            || series.iter().any(|one| one.role == Role::PinAnalyser)
    }
}

/// Describes a violation as `p99 is 80.5 µs, above 50 µs`; `None` if the bounds are kept.
fn exceeded(
    name: &str,
    value: f64,
    unit: &str,
    most: Option<Quantity>,
    least: Option<Quantity>,
) -> Option<String> {
    if value.is_nan() && (most.is_some() || least.is_some()) {
        return Some(format!("{name} is no number"));
    }
    let above = most.filter(|most| value > most.0).map(|most| ("above", most));
    let (side, Quantity(bound)) =
        above.or(least.filter(|least| value < least.0).map(|least| ("below", least)))?;
    let [value, bound] = units::show_both(value, bound, unit);
    Some(format!("{name} is {value}, {side} {bound}"))
}

/// Returns a statistic or figure of a case by its name, for the named series or all measured ones:
/// series, value including the nominal part, unit. Empty if the case does not have it.
pub fn statistics(
    case: &CaseResult,
    statistic: &str,
    series: Option<&str>,
) -> Vec<(OneLine, f64, OneLine)> {
    statistics_by(case, statistic, series, Instrument::Timer)
}

/// Returns a statistic as [`statistics`] does, of the series of one instrument.
fn statistics_by(
    case: &CaseResult,
    statistic: &str,
    series: Option<&str>,
    instrument: Instrument,
) -> Vec<(OneLine, f64, OneLine)> {
    if let Some(figure) = case.figure(statistic) {
        return vec![(OneLine::new(), figure.value, figure.unit.clone())];
    }
    let Some(found) = Statistic::find(statistic) else { return Vec::new() };
    if !found.is_of_series() {
        let value = found.of_row(case.slope.as_ref(), None);
        return value.map(|value| (OneLine::new(), value, OneLine::new())).into_iter().collect();
    }
    let each =
        |one: &SeriesResult| found.whole(one).map(|(value, unit)| (one.name.clone(), value, unit));
    chosen(case, series, instrument).filter_map(each).collect()
}

/// Yields the named series, or all measured ones, as an instrument shows them.
fn chosen<'a>(
    case: &'a CaseResult,
    series: Option<&str>,
    instrument: Instrument,
) -> impl Iterator<Item = &'a SeriesResult> {
    let named = series.map(str::to_owned);
    case.series.iter().filter(move |one| match (&named, instrument) {
        (None, _) => one.role == instrument.role(),
        (Some(name), Instrument::Timer) => one.name == *name,
        (Some(name), Instrument::Pin) => one.name == by_pin(name),
        (Some(name), Instrument::Analyser) => one.name.starts_with(&readings_of(name)),
    })
}
