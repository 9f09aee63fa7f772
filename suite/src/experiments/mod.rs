//! The experiments, one file each. The module's documentation is the experiment's specification; its `SPEC` is the
//! same as a table that the lab reads.

pub mod delay;
pub mod interrupt;
pub mod period;
pub mod switch;
pub mod wakeup;

mod firing;
mod timing;
