//! Scheduling events for timelines. Without the feature `trace`, no code is left of it.
//!
//! The kernel passes each event to the program's [`Tracer`], in most cases with interrupts masked.
//! `Ring` keeps the latest ones. With the feature `processor-time`, which needs no tracer, the account
//! of the processor's time gets the switches and the handlers.

use crate::records::{Info, Task};

/// The kind of an event. The numbers are part of the format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Event {
    /// The task was spawned.
    Created = 1,
    /// The task became ready.
    Ready = 2,
    /// The task runs from here on. If the task that ran before neither blocked nor ended, it
    /// yielded or was pre-empted.
    Run = 3,
    /// The task waits.
    Blocked = 4,
    /// The task has ended.
    Ended = 5,
    /// A handler begins; the task is the interrupted one. See [`interrupt`].
    InterruptIn = 6,
    /// A handler ends; the task is the interrupted one.
    InterruptOut = 7,
    /// The task has acquired a mutex or a ceiling. A mutex handed over is acquired by a waiting
    /// task.
    Lock = 8,
    /// The task has released a mutex or a ceiling.
    Unlock = 9,
    /// The task's priority has changed: inherited, given back, or by a ceiling.
    Priority = 10,
    /// A timer was set for the task.
    TimerSet = 11,
    /// A timer of the task has expired.
    TimerExpired = 12,
}

/// Receives the kernel's events. `trace_with!` installs an implementation.
///
/// # Safety
/// [`event`](Self::event) does not call the kernel, except `Ring::push`, does not drop what waits for
/// it, and leaves interrupts masked: the kernel is amid a change of its records when it calls it.
///
/// An implementation promises that, so it is unsafe:
///
/// ```compile_fail,E0200
/// struct Nothing;
/// impl tandem::trace::Tracer for Nothing {
///     fn event(_: tandem::trace::Event, _: tandem::Info) {}
/// }
/// ```
pub unsafe trait Tracer {
    /// Called at every event, in tasks and handlers, often with interrupts masked.
    fn event(event: Event, task: Info);
}

/// Installs a type that implements [`Tracer`](crate::trace::Tracer). Exactly once in a program.
#[cfg(feature = "trace")]
#[macro_export]
macro_rules! trace_with {
    ($tracer:ty) => {
        #[unsafe(no_mangle)]
        extern "Rust" fn _tandem_trace(event: $crate::trace::Event, task: $crate::Info) {
            <$tracer as $crate::trace::Tracer>::event(event, task)
        }
    };
}

// SAFETY: `trace_with!` defines the function, with this signature. A program without it does not
// link.
#[cfg(feature = "trace")]
unsafe extern "Rust" {
    safe fn _tandem_trace(event: Event, task: Info);
}

#[inline(always)]
pub(crate) fn emit(event: Event, task: Task) {
    #[cfg(feature = "processor-time")]
    if event == Event::Run {
        crate::processor_time::on_run(task);
    }
    #[cfg(feature = "trace")]
    _tandem_trace(event, Info(task));
    let _ = (event, task);
}

/// Reports that a coroutine waits. Called by the assembly of `context`.
///
/// # Safety
/// Interrupts are masked, and `task` is the running coroutine.
#[cfg(all(events, target_arch = "arm", not(thumb1)))]
pub(crate) unsafe extern "C" fn emit_blocked(task: Task) {
    emit(Event::Blocked, task);
}

/// Runs the body of a handler between the events [`Event::InterruptIn`] and
/// [`Event::InterruptOut`]. Without the feature `trace`, just calls the body.
#[inline(always)]
pub fn interrupt<R>(body: impl FnOnce() -> R) -> R {
    #[cfg(feature = "processor-time")]
    crate::processor_time::on_handler(true);
    #[cfg(feature = "trace")]
    _tandem_trace(Event::InterruptIn, crate::info::current());
    let result = body();
    #[cfg(feature = "processor-time")]
    crate::processor_time::on_handler(false);
    #[cfg(feature = "trace")]
    _tandem_trace(Event::InterruptOut, crate::info::current());
    result
}

#[cfg(any(test, feature = "trace"))]
mod ring {
    use super::Event;
    use crate::{arch::masked, records::Info, shared::Shared};

    /// An event with its time and task: twelve bytes on a 32-bit processor.
    #[derive(Clone, Copy)]
    pub struct Record {
        /// The reading of the program's clock.
        pub clock: u32,
        /// The kind of the event.
        pub event: Event,
        /// The task of the event.
        pub task: Info,
    }

    /// A buffer of the latest `N` records, in order. `N` is a power of two, checked at compile
    /// time.
    pub struct Ring<const N: usize> {
        records: [Shared<Option<Record>>; N],
        /// The number of records pushed so far, and of those taken or lost. Both wrap.
        pushed: Shared<u32>,
        taken: Shared<u32>,
    }

    impl<const N: usize> Default for Ring<N> {
        fn default() -> Self {
            Self::new()
        }
    }

    impl<const N: usize> Ring<N> {
        /// An empty ring.
        #[must_use]
        pub const fn new() -> Self {
            const {
                assert!(
                    N.is_power_of_two(),
                    "a power of two, so that it can be counted on when the numbers wrap"
                )
            };
            Self {
                records: [const { Shared::new(None) }; N],
                pushed: Shared::new(0),
                taken: Shared::new(0),
            }
        }

        /// Appends a record; overwrites the oldest when the ring is full. Constant time, from
        /// anywhere.
        #[inline(always)]
        pub fn push(&self, record: Record) {
            masked(|m| {
                let pushed = self.pushed.get(m);
                self.records[pushed as usize % N].set(m, Some(record));
                self.pushed.set(m, pushed.wrapping_add(1));
            });
        }

        /// Removes the oldest record and returns it with the number of records lost before it.
        /// Constant time, from anywhere.
        pub fn pop(&self) -> Option<(u32, Record)> {
            masked(|m| {
                let (pushed, taken) = (self.pushed.get(m), self.taken.get(m));
                let lost = pushed.wrapping_sub(taken).saturating_sub(N as u32);
                let oldest = taken.wrapping_add(lost);
                if oldest == pushed {
                    return None;
                }
                self.taken.set(m, oldest.wrapping_add(1));
                self.records[oldest as usize % N].get(m).map(|record| (lost, record))
            })
        }
    }
}
#[cfg(any(test, feature = "trace"))]
pub use ring::{Record, Ring};
