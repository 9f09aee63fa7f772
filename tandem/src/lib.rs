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
//! # A program
//! Storage is static; a program spawns its tasks, and starts the kernel.
//!
//! ```no_run
//! use tandem::{Coroutine, Priority, Queue, Semaphore, SharedStack, Thread};
//!
//! static STACK: SharedStack<1024> = SharedStack::new(); // of all coroutines
//! static WORKER: Thread<1024> = Thread::new();
//! static SAMPLER: Coroutine<128> = Coroutine::new();
//! static READY: Semaphore = Semaphore::new(0);
//! static SAMPLES: Queue<u32, 4> = Queue::new();
//!
//! fn main() -> ! {
//!     WORKER
//!         .spawn(Priority::new(1), "worker", |me| {
//!             loop {
//!                 let _sample = SAMPLES.receive(me); // blocks this thread
//!             }
//!         })
//!         .unwrap();
//!     SAMPLER
//!         .spawn(Priority::new(2), "sampler", async {
//!             for sample in 0.. {
//!                 READY.taken().await;
//!                 SAMPLES.sent(sample).await;
//!             }
//!         })
//!         .unwrap();
//!     tandem::start(&STACK, || {
//!         // enable interrupts here
//!     })
//! }
//!
//! /// The handler of an interrupt.
//! extern "C" fn on_sample() {
//!     READY.give();
//! }
//! # struct Clock;
//! # tandem::drive_time_with!(Clock);
//! # impl tandem::time::Driver for Clock {
//! #     const HERTZ: u64 = 1_000_000;
//! #     fn now() -> u64 { 0 }
//! #     fn arm(_: u64) {}
//! # }
//! ```
//!
//! # The board
//! A program tells the kernel the time, and has its alarm call [`time::expire`]:
//!
//! ```no_run
//! struct Clock;
//! tandem::drive_time_with!(Clock);
//!
//! impl tandem::time::Driver for Clock {
//!     const HERTZ: u64 = 1_000_000;
//!     fn now() -> u64 {
//!         // read a timer that counts microseconds, extended to 64 bits
//! #       0
//!     }
//!     fn arm(due: u64) {
//!         // set a comparator to `due`; its handler calls `tandem::time::expire()`
//! #       let _ = due;
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! # Waiting
//! Each wait has a blocking form that takes a [`Me`], one with a time limit, `..._until`, and a
//! future. Times are absolute, in ticks of the board's clock.
//!
//! ```no_run
//! # use tandem::{Me, Semaphore, TimedOut, delay_until, time};
//! # static READY: Semaphore = Semaphore::new(0);
//! fn in_a_thread(me: &Me) -> Result<(), TimedOut> {
//!     READY.take_until(me, time::now() + 500)
//! }
//!
//! async fn in_a_coroutine() {
//!     READY.taken().await;
//!     delay_until(time::now() + 500).await;
//! }
//! # struct Clock;
//! # tandem::drive_time_with!(Clock);
//! # impl tandem::time::Driver for Clock {
//! #     const HERTZ: u64 = 1_000_000;
//! #     fn now() -> u64 { 0 }
//! #     fn arm(_: u64) {}
//! # }
//! # fn main() {}
//! ```
//!
//! # Which object
//! | need | object |
//! |---|---|
//! | count, or hand over units | [`Semaphore`] |
//! | messages of one type; of any length; bytes | [`Queue`]; [`MessageBuffer`]; [`Stream`] |
//! | flags for one task; for many | [`Event`]; [`Group`] |
//! | the latest value, taken by one task; seen by many | [`Signal`]; [`Watch`] |
//! | a value shared by threads | [`Mutex`], with [`Condvar`] to wait for a change |
//! | a value shared with coroutines or handlers | [`Ceiling`] |
//! | a value held across an await | [`AsyncMutex`] |
//! | a function called at a time | [`Callback`] |
//!
//! The [`guide`] has a program for each.
//!
//! # Interrupts and critical sections
//! Every call masks interrupts for a bounded time, and restores the state that it found: a critical
//! section stays closed whatever is called in it. A call that would have to wait there panics with
//! the names of the task and the call.
//!
//! Handlers of every priority may call the kernel, except those of NMI and of faults, which cannot
//! be masked. A handler calls what needs no [`Me`]; a task that it wakes runs when it returns.
//!
//! # What the kernel takes from the chip
//! On a Cortex-M: PendSV, which gets the lowest priority, and SVC; the handlers of MemManage and hard
//! faults, for reports; two regions of the MPU, or the stack limits, where the chip has them. The
//! alarm is the program's, and so are `critical-section`'s functions: the feature
//! `critical-section-single-core` of `cortex-m`.
//!
//! On RISC-V: the vector table and `mscratch`, the first entries of the PMP, and
//! `critical-section`'s functions. Link with `-Ttandem.x`. Handlers are functions named
//! `MachineTimer`, `MachineSoft`, `MachineExternal`, and `Local16` to `Local31`.
//!
//! # Stacks
//! A [`Thread`]'s stack holds its body's captured values, the frames of its calls, and, where it is
//! interrupted, about 80 bytes, or 220 with the FPU in use. Start with 1024 bytes, twice as many
//! where text is formatted, and look at [`Thread::stack_unused`]. The shared stack of [`start`]
//! holds the deepest poll of each priority that coroutines have. Handlers run on the stack of
//! `main`.
//!
//! # Reports
//! Misuse and stack overflows end in a panic that names the task and the call: print the
//! `PanicInfo` in the program's panic handler. [`current`] gives the running task's name.
//!
//! # Before `start`
//! The kernel has no running task before [`start`]. Tasks that are spawned earlier run from then
//! on; calls that need no [`Me`] work.
#![cfg_attr(target_os = "none", no_std)]
#![warn(missing_docs)]

mod arch;
mod async_mutex;
mod block_on;
mod callback;
mod ceiling;
mod condvar;
mod control;
mod coroutine;
#[cfg(feature = "embedded-hal")]
mod delays;
#[cfg(feature = "embassy-time")]
mod embassy_time;
mod event;
mod group;
#[doc = include_str!("guide/guide.md")]
pub mod guide {}
mod kernel;
#[cfg(layout)]
#[doc(hidden)]
pub mod layout;
mod list;
mod mutex;
#[cfg(any(test, feature = "processes"))]
pub mod process;
#[cfg(feature = "processor-time")]
mod processor_time;
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
#[cfg(feature = "embedded-hal")]
pub use delays::{Delays, ThreadDelays};
pub use event::{Event, Signalled};
pub use group::{Group, Want};
pub use kernel::{SharedStack, current, start};
pub use mutex::{Guard, Mutex};
#[cfg(feature = "processor-time")]
pub use processor_time::{idle_time, interrupt_time};
pub use queue::{Queue, Received, Sent};
pub use semaphore::{Semaphore, Taken};
pub use signal::{Receiver, Signal, Watch};
#[cfg(feature = "time-slice")]
pub use slice::set_time_slice;
pub use stream::{MessageBuffer, Stream, TooLong};
pub use task::{Info, Priority, StillAlive};
pub use thread::{Me, Thread};
pub use time::{TimedOut, delay_until};
