//! Value change dumps of pins (IEEE 1364, clause 18). The module knows the format, not the
//! measures of its edges.
//!
//! A `$timescale` can only express a clock whose period is a whole number of a unit of time. For
//! other clocks a comment gives the rate: after `$comment chronoscope hertz 84000000 $end`, a tick
//! of the file is a period of that clock, and the timescale is ignored. The comment `$comment
//! chronoscope sampled 2000000 $end` gives the rate at which levels were sampled.
//!
//! Writing uses the crate `vcd`. Reading does not: the crate keeps each name, comment and vector of
//! any length whole, and gives no line for an error such as time that goes back.

mod codes;
mod header;
mod names;
mod read;
mod write;

pub use names::{UniqueNames, identifier};
pub use read::Reader;
pub use write::Writer;

/// The first word of Chronoscope's comments.
const OURS: &str = "chronoscope";
