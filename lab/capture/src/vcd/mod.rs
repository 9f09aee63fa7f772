//! Value change dumps (IEEE 1364, 18) of pins.
//!
//! A clock whose period is no whole number of a unit of time cannot be a `$timescale`. A comment tells it then, `$comment
//! chronoscope hertz 84000000 $end`: one tick of the file is one period of that clock, whatever the timescale says. Another one,
//! `$comment chronoscope sampled 2000000 $end`, tells at what rate levels were sampled.
//!
//! The crate `vcd` writes. Reading is our own, since that crate keeps each name, comment and vector whole, however long, and tells no
//! line of what is well formed but wrong, as time that goes back.

mod header;
mod names;
mod read;
mod write;

pub use names::{identifier, unlike};
pub use read::Reader;
pub use write::Writer;

/// What our comments start with.
const OURS: &str = "chronoscope";
