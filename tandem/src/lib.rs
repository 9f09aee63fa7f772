//! Tandem: a real-time kernel whose threads and coroutines stand under one priority order.
#![cfg_attr(not(test), no_std)]

mod arch;
mod coroutine;
mod kernel;
mod mutex;
mod ready;
mod semaphore;
mod shared;
mod task;
mod thread;
mod wait;

pub use coroutine::{Coroutine, Yield, yield_now};
pub use kernel::{SharedStack, current, start};
pub use semaphore::{Semaphore, Taken};
pub use task::{Info, Priority, StillAlive};
pub use thread::{Me, Thread};
