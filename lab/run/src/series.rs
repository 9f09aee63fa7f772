//! Series and single figures of a case. The module computes no figure.

use chronoscope_statistics::{Basis, Bursts, Interval, MissRate, Prediction, Summary, UpperLimits};
use chronoscope_units::OneLine;
use serde::{Deserialize, Deserializer, Serialize};

use crate::words::{Role, Unit};

/// A series of a case, over all repetitions. All values are in `unit`.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SeriesResult {
    /// The name, unique within the case.
    pub name: OneLine,
    /// The role in the case.
    pub role: Role,
    /// The unit of all values.
    pub unit: Unit,
    /// The part of the duration that the values exclude: 50 ms if they are the excess over a delay
    /// of 50 ms.
    pub nominal: f64,
    /// The number of operations in a sample, averaged over the repetitions. Values are per
    /// operation.
    pub per: f64,
    /// The place of the series on the axis over which
    /// [`CaseResult::slope`](crate::CaseResult::slope)
    /// is fitted.
    pub x: Option<f64>,
    /// The figures of all samples.
    #[serde(flatten)]
    pub summary: Summary,
    /// The interval of the median over repetitions, with 95 % confidence (93.75 % with five
    /// repetitions); both ends are the median if it is exact.
    pub p50_interval: Option<Interval>,
    /// The source of the interval, or the reason why there is none.
    #[serde(default)]
    pub p50_interval_basis: Basis,
    /// Upper limits of percentiles; `None` for an exact clock, and where the count allows none.
    #[serde(default)]
    pub upper_limits: Option<UpperLimits>,
    /// The value above which a sample is a miss.
    pub deadline: Option<f64>,
    /// The rate of misses and its bound; `None` without a deadline.
    pub misses: Option<MissRate>,
    /// The test for bursts of misses, or of the largest samples; `None` in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
    /// The figures of each repetition, in the order in which they ran.
    pub by_repetition: Vec<Repetition>,
    /// The distribution: `(value, samples)`, exact up to 2047 ticks and within 0.1 % above.
    pub histogram: Vec<(f64, u64)>,
    /// The misses of each repetition with their times, in the order in which they ran; empty without
    /// a deadline, and in older files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<Late>,
    /// The samples that a soak keeps one by one; `None` outside of a soak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<Soak>,
    /// The predictions of the next run; set where earlier runs are known, and in no file.
    #[serde(skip)]
    pub next: Option<NextRun>,
    /// All samples in the order measured, as `(start, value)`; kept on request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<(f64, f64)>,
}

/// The predictions of the next run of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NextRun {
    /// The prediction of the median.
    pub p50: Option<Prediction>,
    /// The prediction of p99.
    pub p99: Option<Prediction>,
    /// The prediction of p99.9.
    pub p999: Option<Prediction>,
    /// The prediction of the largest sample.
    pub max: Option<Prediction>,
    /// The prediction of the share of samples above the deadline.
    pub misses: Option<Prediction>,
}

/// The misses of one repetition, with their times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Late {
    /// The start of the last sample, in the unit of the series from the start of the repetition's
    /// clock.
    pub until: f64,
    /// The first 1,000 misses, as `(start, value)`.
    pub misses: Vec<(f64, f64)>,
}

/// The samples of a soak that are kept one by one, as `(start, value)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Soak {
    /// The 10,000 largest, in falling order; equal ones in order of time.
    pub largest: Vec<(f64, f64)>,
    /// The first 100,000 misses, in order of time.
    pub misses: Vec<(f64, f64)>,
    /// The number of further misses.
    pub misses_left_out: u64,
}

/// The figures of one repetition of a series, in its unit.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Repetition {
    /// The number of samples.
    pub count: u64,
    /// The smallest sample.
    pub min: f64,
    /// The median.
    pub p50: f64,
    /// p99; `None` below 100 samples.
    pub p99: Option<f64>,
    /// p99.9; `None` below 1,000 samples.
    #[serde(default)]
    pub p999: Option<f64>,
    /// The largest sample.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
}

/// A number that the target reported besides samples: its median and range over the repetitions.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FigureResult {
    /// The name, unique within the case.
    pub name: OneLine,
    /// The unit; empty for a plain number.
    pub unit: OneLine,
    /// The median over the repetitions.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub value: f64,
    /// The smallest value of a repetition.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub min: f64,
    /// The largest value of a repetition.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub max: f64,
}

/// A count that must be in a range. The result comes from the first repetition that violates the
/// range, otherwise from the last one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EvidenceResult {
    /// The name of the count.
    pub name: OneLine,
    /// The count.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub value: f64,
    /// The lower bound.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub low: f64,
    /// The upper bound; `None` if there is none.
    pub high: Option<f64>,
    /// `true` if the count is in the range.
    pub holds: bool,
}

/// Reads a number, or `null` as NaN, for which JSON has no other form.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
