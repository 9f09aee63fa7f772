//! Sleeps of the calling thread. The module knows no kinds of task.

use rustix::thread::{ClockId, clock_nanosleep_absolute};

use crate::clock::timespec;

/// Sleeps until the clock has reached `due`, in ticks. Signals do not shorten the sleep.
#[inline(always)]
pub fn sleep_until(due: u64) {
    let due = timespec(due);
    while clock_nanosleep_absolute(ClockId::Monotonic, &due).is_err() {}
}
