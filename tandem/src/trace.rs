//! What happened, as a sequence of events: for a timeline. With the feature `trace`; without it, nothing is left of it.
//!
//! The kernel calls the program's [`Tracer`] for each event, most often with interrupts masked. [`Ring`] keeps the latest.

use crate::task::{Info, Task};

/// What can happen. The numbers are part of the format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Event {
    /// The task was spawned.
    Created = 1,
    /// It wants to run.
    Ready = 2,
    /// It runs from here on. What ran before and did not block or end, yielded or was pre-empted.
    Run = 3,
    /// It waits.
    Blocked = 4,
    /// It has ended.
    Ended = 5,
    /// A handler begins; the task is the one it interrupted. See [`interrupt`].
    InterruptIn = 6,
    InterruptOut = 7,
    /// It has a mutex or a ceiling; if the mutex was handed over, the task was waiting.
    Lock = 8,
    Unlock = 9,
    /// Its priority has changed: inherited, given back, or by a ceiling.
    Priority = 10,
    /// A time was set for it, and has come.
    TimerSet = 11,
    TimerExpired = 12,
}

/// Takes the kernel's events. [`trace_with!`](crate::trace_with) makes it the program's.
pub trait Tracer {
    /// Called wherever an event happens, in tasks and handlers, so it must not call the kernel but for [`Ring::push`].
    fn event(event: Event, task: Info);
}

/// Makes a type that implements [`Tracer`](crate::trace::Tracer) the program's.
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

// SAFETY: `trace_with!` defines it, once in a program or the linker objects, with this very signature.
#[cfg(feature = "trace")]
unsafe extern "Rust" {
    safe fn _tandem_trace(event: Event, task: Info);
}

#[inline(always)]
pub(crate) fn emit(event: Event, task: Task) {
    #[cfg(feature = "trace")]
    _tandem_trace(event, Info(task));
    let _ = (event, task);
}

/// For the assembly of `arch`.
#[cfg(all(feature = "trace", target_arch = "arm"))]
pub(crate) unsafe extern "C" fn emit_blocked(task: Task) {
    emit(Event::Blocked, task);
}

/// Runs the body of a handler, between the events of its beginning and its end.
#[inline(always)]
pub fn interrupt<R>(body: impl FnOnce() -> R) -> R {
    #[cfg(feature = "trace")]
    _tandem_trace(Event::InterruptIn, crate::current());
    let result = body();
    #[cfg(feature = "trace")]
    _tandem_trace(Event::InterruptOut, crate::current());
    result
}

#[cfg(feature = "trace")]
mod ring {
    use super::Event;
    use crate::{
        shared::Shared,
        task::{Info, masked},
    };

    /// One event, twelve bytes on a 32-bit processor.
    #[derive(Clone, Copy)]
    pub struct Record {
        pub clock: u32,
        pub event: Event,
        pub task: Info,
    }

    /// The latest `N` records, in order.
    pub struct Ring<const N: usize> {
        records: [Shared<Option<Record>>; N],
        /// How many have been pushed and taken in all; both wrap.
        pushed: Shared<u32>,
        taken: Shared<u32>,
    }

    impl<const N: usize> Default for Ring<N> {
        fn default() -> Self {
            Self::new()
        }
    }

    impl<const N: usize> Ring<N> {
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

        /// Keeps a record, in place of the oldest when there is no room.
        #[inline(always)]
        pub fn push(&self, record: Record) {
            masked(|m| {
                let pushed = self.pushed.get(m);
                self.records[pushed as usize % N].set(m, Some(record));
                self.pushed.set(m, pushed.wrapping_add(1));
            });
        }

        /// Takes the oldest record out, and says how many before it were lost.
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
#[cfg(feature = "trace")]
pub use ring::{Record, Ring};
