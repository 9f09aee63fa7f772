//! Tandem: a real-time kernel that schedules threads and coroutines in one priority order, on one
//! core, without allocation.
//!
//! # Kinds of task
//! - [`Thread`]: a stack of its own; waits by blocking. Blocking calls take a [`Me`], which only a
//!   thread has.
//! - [`Coroutine`]: a future; waits by returning from its poll. All coroutines share the stack
//!   given to [`start`].
//! - Interrupt handlers: call whatever needs no [`Me`] and is no future, such as
//!   [`Semaphore::give`].
//!
//! There are 32 priorities. A task that becomes more urgent than the running one pre-empts it at
//! once, or when the handler or critical section ends in which it was woken. Tasks of one priority
//! run in the order in which they became ready.
//!
//! # Interrupts and critical sections
//! Every call masks interrupts for a bounded time. Calls that never wait restore the previous
//! state. Calls that take a [`Me`] unmask interrupts when they return, so they must not be made
//! inside a critical section.
//!
//! # Before `start`
//! The kernel has no running task before [`start`]. Spawn tasks, use a [`Ceiling`] and enable
//! interrupts whose handlers do so only in the set-up closure of [`start`] or later.
#![cfg_attr(target_os = "none", no_std)]

mod arch;
mod async_mutex;
mod block_on;
mod callback;
mod ceiling;
mod condvar;
mod coroutine;
#[cfg(feature = "embassy-time")]
mod embassy_time;
mod event;
mod group;
mod kernel;
mod list;
mod mutex;
mod queue;
#[cfg(feature = "raw")]
pub mod raw;
mod ready;
mod semaphore;
mod shared;
mod signal;
#[cfg(feature = "time-slice")]
mod slice;
mod stream;
mod task;
#[cfg(test)]
mod tests;
mod thread;
pub mod time;
pub mod trace;
mod wait;
mod waking;

pub use async_mutex::{AsyncGuard, AsyncMutex};
pub use callback::{Callback, Callbacks};
pub use ceiling::{Ceiling, CeilingGuard};
pub use condvar::Condvar;
pub use coroutine::{Coroutine, Yield, yield_now};
pub use event::{Event, Signalled};
pub use group::{Group, Want};
pub use kernel::{SharedStack, current, start};
pub use mutex::{Guard, Mutex};
pub use queue::{Queue, Received, Sent};
pub use semaphore::{Semaphore, Taken};
pub use signal::{Receiver, Signal, Watch};
#[cfg(feature = "time-slice")]
pub use slice::set_time_slice;
pub use stream::{MessageBuffer, Stream, TooLong};
pub use task::{Info, Priority, StillAlive};
pub use thread::{Me, Thread};
pub use time::{TimedOut, delay_until};
