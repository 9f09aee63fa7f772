//! The cycles of a case by function. The module computes none.

use chronoscope_units::OneLine;
use serde::{Deserialize, Serialize};

/// The cycles of all windows, by function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cycles {
    /// The number of stretches in which the first series' pin was high: each of its samples, or
    /// every other one.
    pub windows: u64,
    /// The cycles of all windows, except those in which the processor slept.
    pub total: u64,
    /// The cycles of all windows in which the processor slept.
    #[serde(default)]
    pub asleep: u64,
    /// The functions, the most expensive first.
    pub rows: Vec<Spent>,
}

/// The cycles of a function in all windows, without its callees. The cycles between two
/// instructions count for the later one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Spent {
    /// The name of the function.
    pub name: OneLine,
    /// The cycles in all windows.
    pub cycles: u64,
    /// The number of retired instructions.
    pub retired: u64,
}
