//! The experiments, one file each. The module's documentation is the experiment's specification; its `SPEC` is the
//! same as a table that the lab reads.

pub mod delay;
pub mod image;
pub mod interference;
pub mod interrupt;
pub mod inversion;
pub mod latency;
pub mod log;
pub mod masked;
pub mod message;
pub mod period;
pub mod pipeline;
pub mod spawn;
pub mod switch;
pub mod ticks;
pub mod transaction;
pub mod wakeup;

mod firing;
mod timing;
