//! Limits on statistics, as a study sets them and a run keeps them. The module compares no figure
//! with a limit.

use std::str::FromStr;

use chronoscope_units::{self as units, OneLine, QuantityError, words::distance};
use serde::{Deserialize, Deserializer, Serialize};

use crate::statistic::{STATISTICS, Statistic};

/// The reason why a limit, or one of its bounds, has no meaning.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LimitError {
    /// A bound is a text, but no time.
    #[error(transparent)]
    Text(#[from] QuantityError),
    /// A bound is infinite or not a number.
    #[error("`{0}` is no quantity")]
    NotFinite(f64),
    /// The limit has no bound.
    #[error("the limit on `{0}` has no bound: write at-most or at-least")]
    NoBound(OneLine),
    /// The bounds exclude each other.
    #[error("nothing keeps the limits on `{0}`")]
    Excluding(OneLine),
    /// A limit on one line has another form.
    #[error("`{0}`: write a limit as `loop p99 <= 200us`: a series, a statistic, and its bound")]
    NotALimit(OneLine),
    /// The statistic needs a deadline, and the case has none.
    #[error("a limit on `{0}` needs a deadline")]
    NoDeadline(OneLine),
    /// A sampled maximum cannot keep an exhaustive limit.
    #[error(
        "`{0}` samples, so no limit on it is exhaustive: write it on the `max` of the experiment `{EXHAUSTIVE}`"
    )]
    Sampled(OneLine),
}

/// The experiment whose longest sample is the longest of all arrivals. A case of it without all of them
/// is inconclusive.
const EXHAUSTIVE: &str = "worst";

/// Reads the name of a statistic or a figure. Names of figures are known to experiments only, so
/// any name is accepted that does not look like a mistyped statistic.
///
/// # Errors
/// If the name is empty or looks like a mistyped statistic.
pub fn statistic<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OneLine, D::Error> {
    let name = OneLine::deserialize(deserializer)?;
    if Statistic::find(&name).is_some() {
        return Ok(name);
    }
    let lower = name.to_lowercase();
    let percentile =
        lower.strip_prefix('p').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let alike = STATISTICS.iter().any(|known| distance(&lower, known.name) <= 1);
    if name.is_empty()
        || percentile
        || alike
        || ["avg", "average", "median", "stddev"].contains(&lower.as_str())
    {
        let names: Vec<&str> = STATISTICS.iter().map(|statistic| statistic.name).collect();
        let all = names.join(", ");
        return Err(serde::de::Error::custom(format!(
            "there is no statistic `{name}`: there are {all}, and figures"
        )));
    }
    Ok(name)
}

/// A bound on a statistic: `{ statistic = "p99", at-most = "50 us" }`.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limit {
    /// The name of one of [`STATISTICS`], or of a figure.
    #[serde(deserialize_with = "statistic")]
    pub statistic: OneLine,
    /// The name of the limited series; all measured series if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<OneLine>,
    /// The largest value that keeps the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Quantity>,
    /// The smallest value that keeps the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Quantity>,
    /// The limit is on the longest of all arrivals, not of a sample of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exhaustive: bool,
}

/// A finite number. A text such as `50 us` is read as a time in ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "NumberOrText", into = "f64")]
pub struct Quantity(pub f64);

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "write a number, or a time such as \"50 us\"")]
enum NumberOrText {
    Number(f64),
    Text(String),
}

impl TryFrom<NumberOrText> for Quantity {
    type Error = LimitError;

    fn try_from(value: NumberOrText) -> Result<Self, LimitError> {
        match value {
            NumberOrText::Number(number) if number.is_finite() => Ok(Self(number)),
            NumberOrText::Number(number) => Err(LimitError::NotFinite(number)),
            NumberOrText::Text(text) => Ok(Self(units::parse_time(&text)?)),
        }
    }
}

impl From<Quantity> for f64 {
    fn from(quantity: Quantity) -> Self {
        quantity.0
    }
}

impl FromStr for Limit {
    type Err = LimitError;

    /// Reads a limit on one line: a series, a statistic unless it is the longest (`<=`) or the shortest
    /// (`>=`), and the bound: `loop p99 <= 200us`, `loop <= 500`.
    fn from_str(text: &str) -> Result<Self, LimitError> {
        let wrong = || LimitError::NotALimit(text.into());
        let (left, bound, is_most) = match (text.split_once("<="), text.split_once(">=")) {
            (Some((left, bound)), None) => (left.trim(), bound.trim(), true),
            (None, Some((left, bound))) => (left.trim(), bound.trim(), false),
            _ => return Err(wrong()),
        };
        let bound = match bound.parse() {
            Ok(number) => NumberOrText::Number(number),
            Err(_) => NumberOrText::Text(bound.to_owned()),
        };
        let bound = Quantity::try_from(bound)?;
        let (series, statistic) = match left.rsplit_once(' ') {
            Some((series, name)) if Statistic::find(name).is_some() => (series.trim(), name),
            _ => (left, if is_most { "max" } else { "min" }),
        };
        if series.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            statistic: statistic.into(),
            series: Some(series.into()),
            at_most: is_most.then_some(bound),
            at_least: (!is_most).then_some(bound),
            exhaustive: false,
        })
    }
}

impl Limit {
    /// Checks that the limit can be kept and missed by a case of the experiment. `deadline` is the
    /// deadline of the case.
    ///
    /// # Errors
    /// If there is no bound, the bounds exclude each other, the statistic needs a deadline, or the limit
    /// is exhaustive and the experiment samples.
    pub fn check(&self, experiment: &str, deadline: Option<f64>) -> Result<(), LimitError> {
        let name = self.statistic.clone();
        match (self.at_least, self.at_most) {
            _ if self.exhaustive && (experiment, name.as_str()) != (EXHAUSTIVE, "max") => {
                Err(LimitError::Sampled(experiment.into()))
            }
            (None, None) => Err(LimitError::NoBound(name)),
            (Some(least), Some(most)) if least.0 > most.0 => Err(LimitError::Excluding(name)),
            _ if Statistic::find(&name).is_some_and(|one| one.needs_deadline)
                && deadline.is_none() =>
            {
                Err(LimitError::NoDeadline(name))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::{Limit, Quantity, STATISTICS};

    #[test]
    fn a_statistic_or_a_figure_is_named_without_mistakes() {
        let read = |name: &str| from_value::<Limit>(json!({ "statistic": name, "at-most": 1 }));
        let names = STATISTICS.iter().map(|statistic| statistic.name);
        for name in names.chain(["switches per step", "power", "steal", "p"]) {
            assert_eq!(read(name).unwrap().statistic, name);
        }
        for name in ["", "p95", "P99", "maxx", "avg", "Average", "median", "stddev", "slop", "p9x"]
        {
            let error = read(name).unwrap_err().to_string();
            let told =
                format!("there is no statistic `{name}`: there are min, p50, p90, p99, p99.9");
            assert!(error.starts_with(&told), "{error}");
        }
    }

    #[test]
    fn a_quantity_is_a_number_or_a_time() {
        let read = |value: Value| from_value::<Quantity>(value).map(f64::from);
        assert_eq!(read(json!(-2.5)).unwrap(), -2.5);
        assert_eq!(read(json!("50 us")).unwrap(), 50_000.0);
        assert!(read(json!("50 eons")).unwrap_err().to_string().contains("50 eons"));
        assert!(read(json!(true)).unwrap_err().to_string().contains("write a number, or a time"));
        assert_eq!(serde_json::to_value(Quantity(50e3)).unwrap(), 50e3);
    }

    #[test]
    fn a_limit_is_read_from_one_line() {
        let read = |text: &str| {
            text.parse::<Limit>().map(|limit| {
                let bounds = [limit.at_least, limit.at_most].map(|bound| bound.map(f64::from));
                (limit.series.unwrap().to_string(), limit.statistic.to_string(), bounds)
            })
        };
        let most = |bound| [None, Some(bound)];
        let loops = |statistic: &str, bounds| ("loop".to_owned(), statistic.to_owned(), bounds);
        assert_eq!(read("loop p99 <= 200us").unwrap(), loops("p99", most(200_000.0)));
        assert_eq!(read("loop <=500").unwrap(), loops("max", most(500.0)));
        assert_eq!(read("loop >= 2 us").unwrap(), loops("min", [Some(2000.0), None]));
        assert_eq!(read("a to b p50<=1ms").unwrap().0, "a to b");
        for wrong in ["loop", "<= 5us", "loop <= 5 >= 3", "loop = 5us", ""] {
            assert!(read(wrong).unwrap_err().to_string().contains("loop p99 <= 200us"), "{wrong}");
        }
        assert!(read("loop <= 5 eons").unwrap_err().to_string().contains("5 eons"));
    }

    #[test]
    fn a_limit_that_nothing_keeps_is_refused() {
        let check = |statistic: &str, least: Option<f64>, most: Option<f64>, deadline| {
            let (at_least, at_most) = (least.map(Quantity), most.map(Quantity));
            let (statistic, series) = (statistic.into(), None);
            let limit = Limit { statistic, series, at_most, at_least, exhaustive: false };
            limit.check("switch", deadline).map_err(|error| error.to_string())
        };
        assert!(check("p50", None, Some(1.0), None).is_ok());
        assert!(check("p50", Some(1.0), None, None).is_ok());
        assert!(check("p50", Some(1.0), Some(1.0), None).is_ok());
        assert!(check("misses", None, Some(1.0), Some(5.0)).is_ok());
        for (least, most, why) in [
            (None, None, "the limit on `p50` has no bound: write at-most or at-least"),
            (Some(1.1), Some(1.0), "nothing keeps the limits on `p50`"),
        ] {
            assert_eq!(check("p50", least, most, Some(5.0)).unwrap_err(), why);
        }
        let why = "a limit on `misses` needs a deadline";
        assert_eq!(check("misses", None, Some(1.0), None).unwrap_err(), why);
    }

    #[test]
    fn a_sampled_maximum_keeps_no_exhaustive_limit() {
        let json = json!({ "statistic": "max", "at-most": 49, "exhaustive": true });
        let limit: Limit = from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&limit).unwrap()["exhaustive"], true);
        assert!(limit.check("worst", None).is_ok());
        let why = limit.check("masked", None).unwrap_err().to_string();
        assert!(why.starts_with("`masked` samples") && why.contains("experiment `worst`"), "{why}");
        let median = Limit { statistic: "p50".into(), ..limit };
        assert!(median.check("worst", None).is_err());
        let sampled = Limit { exhaustive: false, ..median };
        assert!(serde_json::to_value(sampled).unwrap().get("exhaustive").is_none());
    }
}
