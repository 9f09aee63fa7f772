//! Series and single figures of a case.

use chronoscope_statistics::{Basis, Bursts, Interval, MissRate, Summary, UpperLimits};
use chronoscope_units::OneLine;
use serde::{Deserialize, Deserializer, Serialize};

use crate::words::{Role, Unit};

/// A series of a case, over all repetitions. All values are in `unit`.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SeriesResult {
    pub name: OneLine,
    pub role: Role,
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
    #[serde(flatten)]
    pub summary: Summary,
    /// The interval of the median over repetitions, with 95 % confidence (93.75 % with five of
    /// them); both ends are the median if it is exact.
    pub p50_interval: Option<Interval>,
    /// The source of the interval, or the reason why there is none.
    #[serde(default)]
    pub p50_interval_basis: Basis,
    /// Upper limits of percentiles. `None` for an exact clock, and where nothing can be said.
    #[serde(default)]
    pub upper_limits: Option<UpperLimits>,
    /// Samples above it are misses.
    pub deadline: Option<f64>,
    pub misses: Option<MissRate>,
    /// The test for bursts of misses, or of the largest samples; `None` in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
    /// The figures of each repetition, in the order in which they ran.
    pub by_repetition: Vec<Repetition>,
    /// The distribution: `(value, samples)`, exact up to 2047 ticks and within 0.1 % above.
    pub histogram: Vec<(f64, u64)>,
    /// The samples that a soak keeps one by one; `None` for a series that is none of a soak's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<Soak>,
    /// All samples in the order measured, as `(start, value)`; kept on request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<(f64, f64)>,
}

/// The samples of a soak that are kept one by one, as `(start, value)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Soak {
    /// The 10,000 largest, in falling order; equal ones in order of time.
    pub largest: Vec<(f64, f64)>,
    /// The first 100,000 misses, in order of time.
    pub misses: Vec<(f64, f64)>,
    /// The number of misses after those.
    pub misses_left_out: u64,
}

/// The figures of one repetition of a series, in its unit.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Repetition {
    pub count: u64,
    pub min: f64,
    pub p50: f64,
    pub p99: Option<f64>,
    /// p99.9; `None` below 1,000 samples.
    #[serde(default)]
    pub p999: Option<f64>,
    pub max: f64,
    pub mean: f64,
}

/// A number that the target reported besides samples: its median and range over the repetitions.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FigureResult {
    pub name: OneLine,
    pub unit: OneLine,
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub value: f64,
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub min: f64,
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub max: f64,
}

/// A count that must be in a range. The result is that of the first repetition in which it is not,
/// otherwise of the last one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EvidenceResult {
    pub name: OneLine,
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub value: f64,
    #[serde(deserialize_with = "number")]
    #[schemars(with = "Option<f64>")]
    pub low: f64,
    /// The upper bound; `None` if there is none.
    pub high: Option<f64>,
    pub holds: bool,
}

/// Reads a number, or `null` as NaN: JSON has no other form for it.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
