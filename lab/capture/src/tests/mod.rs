//! Tests of captures in memory through all modules of the crate.

mod capture;
mod resample;
