//! Tandem: a real-time kernel whose threads and coroutines stand under one priority order.
#![cfg_attr(target_os = "none", no_std)]

mod arch;
mod block_on;
mod ceiling;
mod coroutine;
#[cfg(feature = "embassy-time")]
mod embassy_time;
mod event;
mod kernel;
mod mutex;
mod queue;
mod ready;
mod semaphore;
mod shared;
#[cfg(feature = "time-slice")]
mod slice;
mod task;
#[cfg(test)]
mod tests;
mod thread;
pub mod time;
pub mod trace;
mod wait;

pub use ceiling::{Ceiling, CeilingGuard};
pub use coroutine::{Coroutine, Yield, yield_now};
pub use event::{Event, Signalled};
pub use kernel::{SharedStack, current, start};
pub use mutex::{Guard, Mutex};
pub use queue::{Queue, Received, Sent};
pub use semaphore::{Semaphore, Taken};
#[cfg(feature = "time-slice")]
pub use slice::set_time_slice;
pub use task::{Info, Priority, StillAlive};
pub use thread::{Me, Thread};
pub use time::{TimedOut, delay_until};
