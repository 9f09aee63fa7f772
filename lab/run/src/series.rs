//! Series and single figures of a case.

use chronoscope_statistics::{Interval, MissRate, Summary};
use serde::{Deserialize, Deserializer, Serialize};

use crate::words::{Role, Unit};

/// One series of a case, over all repetitions. All values are in `unit`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SeriesResult {
    pub name: String,
    pub role: Role,
    pub unit: Unit,
    /// To be added to the values for the whole duration: 50 ms, where the values tell what a 50 ms delay took above
    /// that.
    pub nominal: f64,
    /// Operations in one sample, on average over the repetitions; the values are for one.
    pub per: f64,
    pub x: Option<f64>,
    #[serde(flatten)]
    pub summary: Summary,
    /// 95 % interval of the median over repetitions, by bootstrap.
    pub p50_interval: Option<Interval>,
    pub deadline: Option<f64>,
    pub misses: Option<MissRate>,
    /// One entry for each repetition, in the order in which they ran.
    pub by_repetition: Vec<Repetition>,
    /// The distribution: `(value, samples)`, exact up to 2047 ticks and within 0.1 % above.
    pub histogram: Vec<(f64, u64)>,
    /// Every sample in the order measured, as `(start, value)`; kept on request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Repetition {
    pub count: u64,
    pub min: f64,
    pub p50: f64,
    pub p99: Option<f64>,
    pub max: f64,
    pub mean: f64,
}

/// A number found besides the samples: its median over the repetitions, and its range.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FigureResult {
    pub name: String,
    pub unit: String,
    #[serde(deserialize_with = "number")]
    pub value: f64,
    #[serde(deserialize_with = "number")]
    pub min: f64,
    #[serde(deserialize_with = "number")]
    pub max: f64,
}

/// A count that must lie in a range; of all repetitions, the first that does not, else the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvidenceResult {
    pub name: String,
    #[serde(deserialize_with = "number")]
    pub value: f64,
    #[serde(deserialize_with = "number")]
    pub low: f64,
    /// `null` in JSON: no upper bound.
    pub high: Option<f64>,
    pub holds: bool,
}

/// A target may tell what is no number; JSON has `null` for it.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
