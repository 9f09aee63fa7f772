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
//! /// The handler of an interrupt: see "Interrupts and critical sections".
//! extern "C" fn on_sample() {
//!     READY.give();
//! }
//! # struct Clock;
//! # tandem::drive_time_with!(Clock);
//! # // SAFETY: the functions call nothing of the kernel.
//! # unsafe impl tandem::time::Driver for Clock {
//! #     const HERTZ: u64 = 1_000_000;
//! #     fn now() -> u64 { 0 }
//! #     fn arm(_: u64) {}
//! # }
//! ```
//!
//! # The board
//! A program defines the kernel's clock, of 64 bits, and its alarm, whose handler calls
//! [`time::expire`]:
//!
//! ```no_run
//! struct Clock;
//! tandem::drive_time_with!(Clock);
//!
//! // SAFETY: the functions call nothing of the kernel.
//! unsafe impl tandem::time::Driver for Clock {
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
//! The module [`time`] shows how a counter of 32 bits is extended, and what the alarm may do.
//!
//! # Waiting
//! A wait has up to three forms: it blocks a thread, and takes a [`Me`]; it blocks until a time,
//! `..._until`; or it is a future. Times are absolute, in ticks of the board's clock.
//!
//! | object | blocks | blocks until a time | future | never waits |
//! |---|---|---|---|---|
//! | [`Semaphore`] | `take` | `take_until` | `taken` | `give`, `give_up_to`, `try_take`, `count` |
//! | [`Queue`] | `send`, `receive` | `send_until`, `receive_until` | `sent`, `received` | `try_send`, `try_receive`, `peek`, `len` |
//! | [`Event`] | `wait` | `wait_until` | `signalled` | `signal`, `try_wait` |
//! | [`Group`] | `wait` | `wait_until` | `wait_async` | `set`, `clear`, `flags`, `try_wait` |
//! | [`Signal`] | `take` | `take_until` | `taken` | `signal`, `try_take` |
//! | [`Watch`] and its [`Receiver`] | `changed` | `changed_until` | `changed_async` | `set`, `get`, `try_changed` |
//! | [`Stream`] | `write`, `read`, `read_at_least` | `write_until`, `read_until`, `read_at_least_until` | `write_async`, `read_async` | `try_write`, `try_read`, `len`, `free` |
//! | [`MessageBuffer`] | `send`, `receive` | `send_until`, `receive_until` | `send_async`, `receive_async` | `try_send`, `try_receive`, `next_len`, `skip` |
//! | [`Mutex`], for threads | `lock` | `lock_until` | none | `try_lock` (takes a [`Me`]) |
//! | [`Condvar`], for threads | `wait`, `wait_while` | `wait_until`, `wait_while_until` | none | `notify_one`, `notify_all` |
//! | [`AsyncMutex`] | `lock_blocking` | `lock_blocking_until` | `lock` | `try_lock` |
//! | [`Ceiling`] | – | – | – | `with`, `try_with`, `lock` |
//! | the end of a task, [`Info`] | `join` | `join_until` | `ended` | `is_alive` |
//! | a time | [`Me::delay_until`] | – | [`delay_until`] | [`time::now`] |
//!
//! A future gets a time limit by `select(future, delay_until(due))`, where `select` is from
//! `embassy-futures`, for example. [`Me::block_on`] runs a future in a thread.
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
//! # // SAFETY: the functions call nothing of the kernel.
//! # unsafe impl tandem::time::Driver for Clock {
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
//! Handlers of every priority may call the kernel, except the handlers of NMI and of faults, which
//! cannot be masked. A handler calls what needs no [`Me`]; a task that it wakes runs when it
//! returns.
//!
//! On a Cortex-M, a handler is defined as in any program, by the chip's crate of registers (PAC):
//!
//! ```ignore
//! use cortex_m::peripheral::NVIC;
//! use stm32f4::stm32f405::{Interrupt, interrupt}; // with the PAC's feature `rt`
//!
//! #[interrupt]
//! fn EXTI0() {
//!     // clear the interrupt's cause in the peripheral
//!     READY.give();
//! }
//!
//! #[cortex_m_rt::entry]
//! fn main() -> ! {
//!     tandem::start(&STACK, || {
//!         // spawn tasks
//!         // SAFETY: no critical section relies on this interrupt being off.
//!         unsafe { NVIC::unmask(Interrupt::EXTI0) };
//!     })
//! }
//! ```
//!
//! # What the kernel takes from the chip
//! On a Cortex-M: PendSV, which gets the lowest priority, and SVC; the handlers of MemManage and
//! hard faults, for reports; two regions of the MPU, or the stack limits, where the chip has them.
//! So a program defines none of the handlers `PendSV`, `SVCall`, `MemoryManagement` and
//! `HardFault`. A second definition ends the build with the linker's `duplicate symbol`, or, with
//! link-time optimization, with `Size expression must be absolute`.
//!
//! The alarm is the program's, and so are `critical-section`'s functions: the feature
//! `critical-section-single-core` of `cortex-m`.
//!
//! On RISC-V: the vector table and `mscratch`, the first entries of the PMP, and
//! `critical-section`'s functions. Link with `-Ttandem.x`. Handlers are functions named
//! `MachineTimer`, `MachineSoft`, `MachineExternal`, and `Local16` to `Local31`.
//!
//! # Stacks
//! A [`Thread`]'s stack holds its body's captured values, the frames of its calls, and, where it is
//! interrupted, about 80 bytes, or 220 with the FPU in use. Start with 1024 bytes, and with twice
//! as many where text is formatted or code is built without optimization. [`Thread::stack_unused`]
//! says how much of it is left, for a thread that [`Thread::spawn_measured`] has started. The
//! shared stack of [`start`] holds the deepest poll of each priority that coroutines have. Handlers
//! run on the stack of `main`.
//!
//! Stacks have guards of 32 bytes on Cortex-M3 and RV32, of 128 bytes on Cortex-M4 and M7, and of 256
//! bytes with the feature `guard-256`. An access to a guard ends the program with a report. A function whose frame is
//! larger than the guard can pass over it unnoticed: call [`Me::assert_stack`] before such a
//! function. A Cortex-M33 finds every overflow, by its stack limit registers. Cortex-M0, M0+ and
//! RV64 have no guard: each switch compares the stack pointer of the task that it suspends.
//!
//! # Idle
//! While no task is ready, the processor sleeps by `wfi`: in the sleep mode that the program has
//! chosen in the chip's registers, until the next interrupt. To do something instead, spawn a
//! thread of [`Priority::LOWEST`] that never waits: it runs whenever no other task is ready. It may
//! sleep by an instruction of its own. With the feature `spin`, the idle task runs in a loop and
//! never sleeps.
//!
//! With the feature `sleep-hooks`, the program has a function called before each sleep and one after
//! it, for a sleep mode that depends on the time to the next alarm, or for clocks to be restored:
//!
//! ```ignore
//! struct Modes;
//! tandem::sleep_with!(Modes);
//!
//! impl tandem::SleepHooks for Modes {
//!     fn before() {
//!         // Interrupts are masked. One that comes from here on ends the sleep at once.
//!         let is_long = tandem::next_alarm().is_none_or(|due| due > tandem::time::now() + 10_000);
//!         select_mode(if is_long { Mode::Stop } else { Mode::Sleep });
//!     }
//!
//!     fn after() {
//!         restore_clocks(); // before the handler of the interrupt that has ended the sleep
//!     }
//! }
//! ```
//!
//! # Reports
//! Misuse and stack overflows end in a panic that names the task and the call: print the
//! `PanicInfo` in the program's panic handler. [`current`] gives the running task's name.
//!
//! # Before `start`
//! The kernel has no running task before [`start`]. Tasks that are spawned earlier run from then
//! on; calls that need no [`Me`] work, and an alarm whose handler calls [`time::expire`] is
//! harmless.
//!
//! # Features
//! None is on by default.
//!
//! | feature | adds |
//! |---|---|
//! | `time-slice` | `set_time_slice`: threads of one priority take turns |
//! | `embassy-time` | `embassy_time`'s timers, on the kernel's clock |
//! | `embassy-clock` | Cortex-M: `EmbassyClock`, the kernel's clock on the time driver of a HAL. Not with `embassy-time` |
//! | `embedded-hal` | `Delays` and `ThreadDelays`: delays for drivers of `embedded-hal-async`, `embedded-hal` |
//! | `processor-time` | ticks by task (`Info::processor_time`), in handlers, and idle. Reads the clock at each switch |
//! | `sleep-hooks` | `SleepHooks`: the program's functions before and after sleep |
//! | `tasks` | the list of all living tasks: `tasks` |
//! | `count` | the number of switches to each task: `Info::switches` |
//! | `trace` | reports each event of the scheduler to the program: [`trace`]; writes them for SEGGER SystemView: `systemview` |
//! | `guard-256` | guards of 256 bytes in each stack, in place of 32. No instruction more |
//! | `spin` | the idle task does not sleep. For emulators whose time depends on the host during sleep |
//! | `basepri` | Cortex-M3 and above: the kernel never delays interrupts more urgent than priority 0x40, whose handlers must not call it |
//! | `unguarded` | no stack guards: RV32, where an access to the PMP's registers is illegal; Cortex-M3, M4, M7, where the MPU is the program's |
//! | `fence` | RV32 with supervisor mode: a fence at each move of the guard, since the processor may cache the PMP's settings |
//! | `processes` | RV64: tasks in user mode with an address space each. Not with `trace` or `time-slice` |
//! | `raw` | tasks and stacks in memory of the caller's choice, for bindings to other languages. Not covered by semantic versioning |
//! | `layout` | places of fields in the kernel's records, for its own measurements. No part of the interface |
//!
//! With `embassy-time`, the feature `tick-hz-…` of the crate `embassy-time` equals
//! [`time::Driver::HERTZ`]; a program in which they differ does not compile:
//!
//! ```toml
//! embassy-time = { version = "0.5", features = ["tick-hz-1_000_000"] } # HERTZ is 1_000_000
//! tandem = { path = "…", features = ["embassy-time"] }
//! ```
//!
//! HALs of embassy, such as `embassy-stm32`, work. Leave off their feature `time-driver-…` when
//! tandem's `embassy-time` is on: a program has one driver of time. Or leave off `embassy-time`, and
//! have the HAL's driver be the kernel's clock, with `embassy-clock`: then a program writes no clock.
//!
//! ```toml
//! embassy-stm32 = { version = "0.6", features = ["time-driver-any", …] }
//! embassy-time = { version = "0.5", features = ["tick-hz-32_768"] }
//! embassy-time-queue-utils = { version = "0.3", features = ["generic-queue-8"] }
//! tandem = { path = "…", features = ["embassy-clock"] }
//! ```
#![cfg_attr(target_os = "none", no_std)]
// docs.rs shows the feature that an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]

#[cfg(all(feature = "embassy-clock", feature = "embassy-time"))]
compile_error!("a program has one driver of time: choose `embassy-clock` or `embassy-time`");
#[cfg(all(feature = "embassy-clock", not(target_arch = "arm")))]
compile_error!("the feature `embassy-clock` needs SysTick, which Cortex-M has");

mod arch;
mod async_mutex;
mod block_on;
mod callback;
mod ceiling;
mod clock;
mod condvar;
mod context;
mod control;
mod coroutine;
#[cfg(feature = "embedded-hal")]
mod delays;
#[cfg(all(feature = "embassy-clock", target_arch = "arm"))]
mod embassy_clock;
#[cfg(feature = "embassy-time")]
mod embassy_time;
mod event;
mod group;
#[cfg(any(test, feature = "sleep-hooks"))]
mod idle;
#[doc = include_str!("guide/guide.md")]
pub mod guide {}
mod info;
mod kernel;
#[cfg(layout)]
#[doc(hidden)]
pub mod layout;
mod list;
mod lock;
mod me;
mod mutex;
mod paths;
mod polls;
#[cfg(any(test, feature = "processes"))]
pub mod process;
#[cfg(feature = "processor-time")]
mod processor_time;
mod queue;
#[cfg(feature = "raw")]
pub mod raw;
mod ready;
mod records;
mod semaphore;
mod shared;
mod signal;
#[cfg(feature = "time-slice")]
mod slice;
mod stream;
#[cfg(any(test, feature = "trace"))]
pub mod systemview;
mod task;
#[cfg(any(test, feature = "tasks"))]
pub mod tasks;
#[cfg(test)]
mod tests;
mod thread;
pub mod time;
pub mod trace;
mod wait;
mod waker;
mod waking;

pub use async_mutex::{AsyncGuard, AsyncMutex};
pub use callback::{Callback, Callbacks};
pub use ceiling::{Ceiling, CeilingGuard};
pub use condvar::Condvar;
pub use context::LEAST_STACK;
pub use coroutine::{Coroutine, Yield, yield_now};
#[cfg(feature = "embedded-hal")]
pub use delays::{Delays, ThreadDelays};
#[cfg(all(feature = "embassy-clock", target_arch = "arm"))]
pub use embassy_clock::EmbassyClock;
pub use event::{Event, Signalled};
pub use group::{Group, Want};
#[cfg(any(test, feature = "sleep-hooks"))]
pub use idle::{SleepHooks, next_alarm};
pub use info::current;
pub use kernel::{SharedStack, start};
pub use me::Me;
pub use mutex::{Guard, Mutex};
#[cfg(feature = "processor-time")]
pub use processor_time::{idle_time, interrupt_time};
pub use queue::{Queue, Received, Sent};
pub use records::{Info, Priority, StillAlive};
pub use semaphore::{AtMaximum, Semaphore, Taken};
pub use signal::{Receiver, Signal, Watch};
#[cfg(feature = "time-slice")]
pub use slice::set_time_slice;
pub use stream::{MessageBuffer, Stream, TooLong};
pub use thread::Thread;
pub use time::{TimedOut, delay_until};
