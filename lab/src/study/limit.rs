//! Limits, and the statistics that they, published figures and peers name.

use anyhow::{Result, bail};
use serde::{Deserialize, Deserializer, Serialize};

use super::published::Instrument;
use crate::{
    observation::{by_pin, readings_of},
    run::{CaseResult, SeriesResult},
    units::{self, words::distance},
};

/// What is told of every series, and the slope over several.
const STATISTICS: [&str; 11] =
    ["min", "p50", "p90", "p99", "p99.9", "p99.99", "max", "mean", "sigma", "misses", "slope"];

/// A statistic's name. Any other name may be that of a figure, which only the experiment knows; but not one that looks like
/// a statistic's.
pub(super) fn statistic<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if STATISTICS.contains(&name.as_str()) {
        return Ok(name);
    }
    let lower = name.to_lowercase();
    let percentile =
        lower.strip_prefix('p').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let alike = STATISTICS.iter().any(|known| distance(&lower, known) <= 1);
    if name.is_empty()
        || percentile
        || alike
        || ["avg", "average", "median", "stddev"].contains(&lower.as_str())
    {
        let all = STATISTICS.join(", ");
        return Err(serde::de::Error::custom(format!(
            "there is no statistic `{name}`: there are {all}, and figures"
        )));
    }
    Ok(name)
}

/// A bound on a statistic: `{ statistic = "p99", at-most = "50 us" }`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limit {
    /// One of [`STATISTICS`], or a figure's name.
    #[serde(deserialize_with = "statistic")]
    pub statistic: String,
    /// The series that it is for; all measured ones, unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Quantity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Quantity>,
}

/// A number, or a time such as `50 us`, which is kept in ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "NumberOrText", into = "f64")]
pub struct Quantity(pub f64);

#[derive(Deserialize)]
#[serde(untagged, expecting = "write a number, or a time such as \"50 us\"")]
enum NumberOrText {
    Number(f64),
    Text(String),
}

impl TryFrom<NumberOrText> for Quantity {
    type Error = anyhow::Error;

    fn try_from(value: NumberOrText) -> Result<Self> {
        match value {
            NumberOrText::Number(number) if number.is_finite() => Ok(Self(number)),
            NumberOrText::Number(number) => bail!("`{number}` is no quantity"),
            NumberOrText::Text(text) => Ok(Self(units::parse_time(&text)?)),
        }
    }
}

impl From<Quantity> for f64 {
    fn from(quantity: Quantity) -> Self {
        quantity.0
    }
}

impl Limit {
    pub(super) fn check(&self, deadline: Option<f64>) -> Result<()> {
        let name = &self.statistic;
        match (self.at_least, self.at_most) {
            (None, None) => bail!("the limit on `{name}` has no bound: write at-most or at-least"),
            (Some(least), Some(most)) if least.0 > most.0 => {
                bail!("nothing keeps the limits on `{name}`")
            }
            _ if name == "misses" && deadline.is_none() => {
                bail!("a limit on `misses` needs a deadline")
            }
            _ => Ok(()),
        }
    }

    /// Whether the case has what the limit is for. Too few samples for a percentile are the usual reason that it has not.
    pub fn applies(&self, case: &CaseResult) -> bool {
        !statistics(case, &self.statistic, self.series.as_deref()).is_empty()
    }

    /// What the case does not keep, in words; empty when it keeps the limit. A figure must keep it in every repetition:
    /// a median would forgive what goes wrong in two of five.
    pub fn missed(&self, case: &CaseResult) -> Vec<String> {
        if let Some(figure) = case.figure(&self.statistic) {
            let worst = [(figure.max, self.at_most, None), (figure.min, None, self.at_least)];
            let missed = worst.into_iter().filter_map(|(value, most, least)| {
                Some(format!(
                    "in one repetition {}",
                    exceeded(&self.statistic, value, &figure.unit, most, least)?
                ))
            });
            return missed.collect();
        }
        let found = statistics(case, &self.statistic, self.series.as_deref());
        let missed = found.iter().filter_map(|(series, value, unit)| {
            let name = format!("{series} {}", self.statistic);
            exceeded(name.trim_start(), *value, unit, self.at_most, self.at_least)
        });
        missed.collect()
    }
}

/// `p99 is 80.5 µs, above 50 µs`, unless the bounds are kept.
fn exceeded(
    name: &str,
    value: f64,
    unit: &str,
    most: Option<Quantity>,
    least: Option<Quantity>,
) -> Option<String> {
    let above = most.filter(|most| value > most.0).map(|most| ("above", most));
    let (side, Quantity(bound)) =
        above.or(least.filter(|least| value < least.0).map(|least| ("below", least)))?;
    Some(format!("{name} is {}, {side} {}", units::show(value, unit), units::show(bound, unit)))
}

/// A statistic of a case by its name, for the series named or all measured ones: series, value with the nominal part,
/// unit.
pub fn statistics(
    case: &CaseResult,
    statistic: &str,
    series: Option<&str>,
) -> Vec<(String, f64, String)> {
    statistics_by(case, statistic, series, Instrument::Timer)
}

/// As [`statistics`], by one of the instruments.
pub(super) fn statistics_by(
    case: &CaseResult,
    statistic: &str,
    series: Option<&str>,
    instrument: Instrument,
) -> Vec<(String, f64, String)> {
    if let Some(figure) = case.figure(statistic) {
        return vec![(String::new(), figure.value, figure.unit.clone())];
    }
    if statistic == "slope" {
        return case
            .slope
            .iter()
            .map(|slope| (String::new(), slope.slope, String::new()))
            .collect();
    }
    let each = |one: &SeriesResult| {
        of_series(one, statistic).map(|(value, unit)| (one.name.clone(), value, unit))
    };
    chosen(case, series, instrument).filter_map(each).collect()
}

/// The series named, or all measured ones, as an instrument shows them.
pub(super) fn chosen<'a>(
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

fn of_series(series: &SeriesResult, statistic: &str) -> Option<(f64, String)> {
    let summary = &series.summary;
    let value = match statistic {
        "min" => summary.min,
        "p50" => summary.p50,
        "p90" => summary.p90,
        "p99" => summary.p99,
        "p99.9" => summary.p999,
        "p99.99" => summary.p9999,
        "max" => summary.max,
        "mean" => summary.mean,
        "sigma" => return Some((summary.sigma?, series.unit.clone())),
        "misses" => return Some((series.misses?.misses as f64, String::new())),
        _ => None,
    };
    Some((value? + series.nominal, series.unit.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{report::sample, run::FigureResult};

    #[test]
    fn one_bad_repetition_breaks_a_limit_on_a_figure() {
        let mut case = sample::case("period", "");
        // As three repetitions tell it: 0, 0 and 3.
        case.figures =
            vec![FigureResult { max: 3.0, ..sample::figure("skipped periods", "", 0.0) }];
        let limit = |statistic: &str, most, least| Limit {
            statistic: statistic.to_owned(),
            series: None,
            at_most: Some(Quantity(most)),
            at_least: Some(Quantity(least)),
        };
        assert_eq!(
            limit("skipped periods", 0.0, 0.0).missed(&case),
            ["in one repetition skipped periods is 3, above 0"]
        );
        assert_eq!(
            limit("skipped periods", 3.0, 1.0).missed(&case),
            ["in one repetition skipped periods is 0, below 1"]
        );
        assert!(limit("skipped periods", 3.0, 0.0).missed(&case).is_empty());
        assert_eq!(limit("p50", 2_000.0, 0.0).missed(&case), ["period p50 is 2.90 µs, above 2 µs"]);
    }
}
