#![doc = include_str!("../README.md")]
//!
//! [`summary`] keeps every sample of a case in bounded memory and computes its quantiles, mean and
//! worst samples. [`tail`] bounds the rate of deadline misses and fits a straight line through
//! points; [`bursts`] tests whether rare samples are independent. [`mod@compare`] compares B with A
//! by their repetitions: [`significance`] has its tests and intervals, [`decide`] its rules,
//! [`between`] the variance between runs, [`needed`] the number of repetitions that would settle
//! it, and [`sequential`] the price of looking more than once. [`order`] gives intervals of medians
//! and upper limits of percentiles without assuming a distribution, [`resample`] medians, ranks and
//! random numbers, and [`beta`] and [`gamma`] the special functions that tests and bounds need.
//! [`predict`] says from the ranks of earlier runs how often the next one is beyond them.
//! [`change`] finds where a sequence of runs changed its level, while it grows. [`notable`] keeps the
//! largest samples and the misses of a series that is too long to be kept whole. [`schedule`] bounds the
//! response times of tasks under fixed priorities.
//!
//! No function here panics on odd input: a figure that cannot be computed is `None`, and a verdict
//! that cannot be reached gives its reason.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod beta;
pub mod between;
pub mod bursts;
pub mod change;
pub mod compare;
pub mod decide;
pub mod gamma;
pub mod needed;
pub mod notable;
pub mod order;
pub mod predict;
pub mod resample;
pub mod schedule;
pub mod sequential;
pub mod significance;
pub mod slope;
pub mod summary;
pub mod tail;

#[cfg(test)]
mod tests;

pub use between::{ASSUMED, Between};
pub use bursts::Bursts;
pub use compare::{Case, Comparison, Rules, Test, compare, typical};
pub use decide::{FEWEST_REPETITIONS, Reason, Verdict};
pub use needed::Settled;
pub use notable::Notable;
pub use order::{Basis, UpperLimits, median_interval};
pub use predict::Prediction;
pub use resample::{Interval, SplitMix64, median};
pub use slope::{Slope, slope};
pub use summary::{Accumulator, DeadlinesDiffer, Stamped, Summary, Worst, quantile_of, rank};
pub use tail::{MissRate, chance_of_new_maximum, samples_in_bursts, samples_to_claim};
