#![doc = include_str!("../README.md")]
//!
//! ```text
//! file ─► source ─► (resample) ─► sink: measures, a file of another format, or a Capture
//! ```
//!
//! A [`Source`] reads one format and passes edges in the order of time to a [`Sink`], so memory use
//! is independent of the file's length. A [`Capture`] holds all edges of a small capture, such as
//! the pins of one repetition.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod capture;
mod flow;
pub mod measure;
mod meter;
mod names;
mod open;
mod request;
mod resample;
pub mod saleae;
pub mod sigrok;
mod tally;
#[cfg(test)]
mod tests;
mod tick;
pub mod vcd;
mod words;

pub use capture::{Capture, Channel, Collect, Pulse};
pub use flow::{Edge, Header, Sampling, Sink, Source};
pub use names::{Names, find};
pub use open::{open, open_sampled};
pub use resample::{Analyser, Resampled};
pub use tick::Tick;
