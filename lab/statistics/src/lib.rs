#![doc = include_str!("../README.md")]
//!
//! [`summary`] keeps every sample of a case in bounded memory and gives its quantiles, mean and
//! worst samples. [`tail`] says what a count of deadline misses proves, and fits the slope of
//! blocked time against the hog's length. [`mod@compare`] decides whether B is slower than A, from
//! repetitions; [`resample`] holds its bootstrap, [`significance`] its tests, and [`beta`] the one
//! special function that all tests and bounds need.
//!
//! Nothing here panics on odd input: what cannot be computed is `None`, or a verdict that says why.

#![forbid(unsafe_code)]

pub mod beta;
pub mod compare;
pub mod resample;
pub mod significance;
pub mod summary;
pub mod tail;

#[cfg(test)]
mod compare_test;
#[cfg(test)]
mod simulation;

pub use compare::{Case, Comparison, Reason, Rules, Test, Verdict, compare};
pub use resample::{Interval, SplitMix64, bootstrap_median, median};
pub use summary::{Accumulator, DeadlinesDiffer, Stamped, Summary, Worst, quantile_of, rank};
pub use tail::{MissRate, Slope, samples_to_claim, slope};
