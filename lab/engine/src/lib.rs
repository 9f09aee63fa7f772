#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod case;
pub mod doctor;
pub mod fleet;
pub mod import;
pub mod journal;
pub mod observation;
pub mod peer;
pub mod runner;
pub mod schedule;
pub mod stream;
pub mod study;
pub mod variant;
