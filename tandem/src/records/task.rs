//! The record of a task, thread or coroutine, and its handle.

#[cfg(feature = "embassy-time")]
use super::Alarm;
use super::{Lock, Saved, Waiter};
use crate::shared::Shared;
use core::ptr::NonNull;

/// A task's priority, 0 to 31. A higher number pre-empts a lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(u8);

impl Priority {
    /// Priority 0.
    pub const LOWEST: Self = Self(0);
    /// Priority 31.
    pub const HIGHEST: Self = Self(31);

    /// The priority `value`.
    ///
    /// # Panics
    /// If `value` is more than 31; in a constant, at compile time.
    #[must_use]
    #[track_caller]
    pub const fn new(value: u8) -> Self {
        assert!(value <= 31, "a priority is 0 to 31");
        Self(value)
    }

    /// The priority as a number, 0 to 31.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }

    /// The level of this priority: 31 minus its number, so that 0 is the most urgent and counting
    /// leading zeros of the ready bitmap yields a level.
    pub(crate) const fn level(self) -> Level {
        31 - self.0 as Level
    }

    /// The priority of a level. Not for the idle level.
    pub(crate) const fn of_level(level: Level) -> Self {
        Self(31 - level as u8)
    }
}

/// Urgency in the kernel's own scale: 0 is the most urgent.
pub(crate) type Level = u32;

/// The idle task's level, below every priority.
pub(crate) const IDLE_LEVEL: Level = 32;

pub(crate) type Task = &'static Header;

/// The kernel's record of a task. All zeros until the task is spawned, so that a static is placed
/// in `.bss`.
///
/// The assembly knows the order of the fields and moves neighbours in pairs: stack and
/// `poll`, `next` and `level`, `level` and `bit`, `base` and `floor`, `waits_for` and `held`.
#[repr(C)]
pub(crate) struct Header {
    /// The suspended context. A coroutine has one only while its poll is suspended.
    pub(crate) saved: Saved,
    /// The function that polls a coroutine. `None` for a thread.
    pub(crate) poll: Shared<Option<unsafe extern "C" fn(Task)>>,
    /// The ring of the ready tasks of one level. A task that is not ready is linked to itself.
    pub(crate) prev: Shared<Option<Task>>,
    pub(crate) next: Shared<Option<Task>>,
    /// The effective level, after inheritance and ceilings.
    pub(crate) level: Shared<Level>,
    /// `1 << 31 - level`; 0 for a task that has ended, so that a late waker does not make it ready.
    pub(crate) bit: Shared<u32>,
    /// The address of the head of the ring of `level`. On RV32, computing it would cost two cycles;
    /// on Cortex-M, nothing.
    #[cfg(riscv)]
    pub(crate) head: Shared<Option<NonNull<Shared<Option<Task>>>>>,
    /// The task's own level. A byte, as are the next three fields, so that they share a word.
    pub(crate) base: Shared<u8>,
    /// The rank of the most urgent ceiling whose closure the task runs.
    pub(crate) floor: Shared<Rank>,
    /// For a coroutine: woken since its poll started, so to be polled again. `false` between two
    /// polls. For a thread in `block_on`: woken since the last poll.
    pub(crate) again: Shared<bool>,
    pub(crate) life: Shared<Life>,
    pub(crate) name: Shared<Option<&'static str>>,
    /// The waiter of the queue in which the task waits, so that a change of level moves it. `None`
    /// in waits without a queue; outdated when the task does not wait.
    pub(crate) waiter: Shared<Option<NonNull<Waiter>>>,
    /// The mutex for which the task waits.
    pub(crate) waits_for: Shared<Option<NonNull<Lock>>>,
    /// The list of the mutexes that the task holds and of the ceilings that it uses.
    pub(crate) held: Shared<Option<NonNull<Lock>>>,
    #[cfg(feature = "count")]
    pub(crate) switches: Shared<u32>,
    #[cfg(feature = "embassy-time")]
    pub(crate) alarm: Alarm,
    /// The next storage in the list of all, which begins with [`TASKS`]; of the last one itself. `None`
    /// before the first spawn.
    #[cfg(any(test, feature = "tasks"))]
    pub(crate) listed: Shared<Option<Task>>,
    /// The words of the stack, and their number, if the task was spawned with a painted one.
    #[cfg(any(test, feature = "tasks"))]
    pub(crate) painted: Shared<Option<(NonNull<u32>, usize)>>,
    /// In ticks of the board's clock.
    #[cfg(feature = "processor-time")]
    pub(crate) processor_time: Shared<u64>,
}

impl Header {
    pub(crate) const fn new() -> Self {
        Self {
            saved: Saved::new(),
            poll: Shared::new(None),
            prev: Shared::new(None),
            next: Shared::new(None),
            level: Shared::new(0),
            bit: Shared::new(0),
            #[cfg(riscv)]
            head: Shared::new(None),
            base: Shared::new(0),
            floor: Shared::new(Rank::NONE),
            again: Shared::new(false),
            life: Shared::new(Life::Over),
            name: Shared::new(None),
            waiter: Shared::new(None),
            waits_for: Shared::new(None),
            held: Shared::new(None),
            #[cfg(feature = "count")]
            switches: Shared::new(0),
            #[cfg(feature = "embassy-time")]
            alarm: Alarm::new(),
            #[cfg(any(test, feature = "tasks"))]
            listed: Shared::new(None),
            #[cfg(any(test, feature = "tasks"))]
            painted: Shared::new(None),
            #[cfg(feature = "processor-time")]
            processor_time: Shared::new(0),
        }
    }
}

/// The first of all tasks that have ever been spawned.
#[cfg(any(test, feature = "tasks"))]
pub(crate) static TASKS: Shared<Option<Task>> = Shared::new(None);

/// The level of a ceiling as a byte of a header.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Rank(u8);

impl Rank {
    /// No ceiling. Zero, so that a new header is placed in `.bss`.
    pub(crate) const NONE: Self = Self(0);
    /// Set in a rank if the task's level has been computed anew since the closure began, so that
    /// the level before it is outdated.
    const STALE: u8 = 0x80;

    pub(crate) const fn for_level(level: Level) -> Self {
        Self::of_number(Self::number_of(level))
    }

    /// The rank of a level as a number, 1 to 32.
    pub(crate) const fn number_of(level: Level) -> u32 {
        32 - level
    }

    pub(crate) const fn of_number(number: u32) -> Self {
        Self(number as u8)
    }

    /// The level of the ceiling; `IDLE_LEVEL` without one.
    pub(crate) fn level(self) -> Level {
        32 - Level::from(self.0 & !Self::STALE)
    }

    pub(crate) fn number(self) -> u32 {
        u32::from(self.0)
    }

    /// Marks a rank: the task's level has been computed anew.
    pub(crate) fn outdated(self) -> Self {
        if self == Self::NONE { self } else { Self(self.0 | Self::STALE) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Life {
    /// Never spawned, or ended: may be spawned. Zero, so that a new header is placed in `.bss`.
    Over = 0,
    Alive = 1,
    /// A thread that waits in `block_on`, the only wait that a waker ends.
    Awaiting = 2,
    /// The end is being reported. The storage is in use until it is over.
    Ending = 3,
}

/// Error of `spawn`: the task that uses this storage has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StillAlive;

/// A handle to a task, for reading its state.
///
/// Copyable and valid for ever, since tasks are static. The methods may be called anywhere, with
/// interrupts masked too, and take constant time. Two handles are equal if they are of one storage,
/// whichever of its lives they were taken in. `Debug` shows the name.
#[derive(Clone, Copy)]
pub struct Info(pub(crate) Task);
