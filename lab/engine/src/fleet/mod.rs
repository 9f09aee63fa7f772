//! One run on many machines: its plan, the shards that labs run, and merging their results. It
//! knows neither how cases are run nor who starts the labs.

pub mod engine;
pub mod label;
mod merge;
mod plan;
pub mod slurm;
#[cfg(test)]
mod tests;

pub use self::{
    merge::merge,
    plan::{MOST_SHARDS, Number, Plan, Row, chosen},
};
