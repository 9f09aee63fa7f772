//! The records of timers.

#[cfg(target_arch = "arm")]
use super::{KERNEL, Kernel, Request};
use super::{Sleeper, Task};
use crate::shared::Shared;
use core::{marker::PhantomPinned, mem::MaybeUninit, ptr::NonNull};

/// The slots of timers, and the ring of those to be filed anew.
pub(crate) const SLOTS: usize = 32;

/// The place of the ring of timers to be filed anew.
pub(crate) const UNFILED: usize = 0;

/// A time at which a task is to be woken. Stored on the stack of the thread or in the future that
/// waits, or in a task's header.
pub(crate) struct Timer {
    /// The task to be woken; for a foreign waker [`nobody`](super::Kernel::nobody), whom
    /// waking does not change. `None` until the timer is set for the first time.
    pub(crate) task: Shared<Option<Task>>,
    pub(crate) due: Shared<u64>,
    /// The number of the slot in which the timer was filed, and [`PRETENDS`]; 0 if it is not set.
    pub(crate) place: Shared<u8>,
    /// The neighbours in the ring of a timer that is set.
    pub(crate) next: Shared<Option<NonNull<Timer>>>,
    pub(crate) prev: Shared<Option<NonNull<Timer>>>,
    /// The foreign waker to be called, if the task is nobody. Undefined otherwise.
    pub(crate) waker: Shared<MaybeUninit<Sleeper>>,
    pub(crate) _pinned: PhantomPinned,
}

/// The value of [`Timer::place`] for a timer that is not set.
pub(crate) const OFF: u8 = 0;

/// The bit in [`Timer::place`] of a timer whose `due` is a time no later than its own: the head of a
/// slot with others.
pub(crate) const PRETENDS: u8 = 0x80;

/// By the number of a slot, the time for which its head is set if that pretends. Not within
/// [`TIMERS`], so that it is in `.bss`.
pub(crate) static OWN_DUE: [Shared<u64>; SLOTS] = [const { Shared::new(0) }; SLOTS];

pub(crate) struct Timers {
    /// The time for which the alarm is set, or `u64::MAX`. No earlier than the base, and no later
    /// than the first timer's: earlier where the timer for which it was set has been cancelled.
    pub(crate) armed: Shared<u64>,
    /// Not in the future, and no later than any timer's time.
    pub(crate) base: Shared<u64>,
    /// A bit for each ring, set if it has timers. The highest is ring 0's.
    pub(crate) occupied: Shared<u32>,
    /// At [`UNFILED`] a timer of the ring to be filed anew. Otherwise the head of a slot's ring, the
    /// timer that is due first, or pretends to be. Outdated where the ring has no timers.
    pub(crate) rings: [Shared<Option<NonNull<Timer>>>; SLOTS],
    /// By the number of a slot with timers, the bits of the levels of their tasks, and of those whose
    /// timers have left it since it was empty. At [`UNFILED`] for the unfiled ones.
    pub(crate) levels: [Shared<u32>; SLOTS],
    /// The bits of the levels to which tasks have been raised while they waited, and of the rings in
    /// which their timers may be: those count for these rings beside the ones in `levels`.
    pub(crate) raised: Shared<u32>,
    pub(crate) raised_in: Shared<u32>,
    /// The task that files timers anew, once it has been created.
    pub(crate) filer: Shared<Option<Task>>,
    #[cfg(target_arch = "arm")]
    pub(crate) near: Shared<Near>,
}

/// Constants that a tick needs, stored with the timers: one instruction loads two of them. In code,
/// LLVM makes two instructions of each address.
#[cfg(target_arch = "arm")]
#[derive(Clone, Copy)]
pub(crate) struct Near {
    pub(crate) kernel: &'static Kernel,
    pub(crate) switch: Request,
}

#[cfg_attr(layout, unsafe(export_name = "tandem_timers"))]
pub(crate) static TIMERS: Timers = Timers {
    armed: Shared::new(u64::MAX),
    base: Shared::new(0),
    occupied: Shared::new(0),
    rings: [const { Shared::new(None) }; SLOTS],
    levels: [const { Shared::new(0) }; SLOTS],
    raised: Shared::new(0),
    raised_in: Shared::new(0),
    filer: Shared::new(None),
    #[cfg(target_arch = "arm")]
    near: Shared::new(Near { kernel: &KERNEL, switch: Request::SWITCH }),
};

impl Timer {
    /// A timer without a task, for a header: all zeros, so that it is placed in `.bss`.
    #[cfg(feature = "embassy-time")]
    pub(crate) const fn unused() -> Self {
        Self::for_task(None)
    }

    #[inline(always)]
    pub(crate) const fn for_task(task: Option<Task>) -> Self {
        Self {
            task: Shared::new(task),
            due: Shared::new(0),
            place: Shared::new(OFF),
            next: Shared::new(None),
            prev: Shared::new(None),
            waker: Shared::new(MaybeUninit::uninit()),
            _pinned: PhantomPinned,
        }
    }
}

/// The timer for the earliest time that the futures of a task wait for.
#[cfg(feature = "embassy-time")]
pub(crate) struct Alarm {
    pub(crate) timer: Timer,
}

#[cfg(feature = "embassy-time")]
impl Alarm {
    pub(crate) const fn new() -> Self {
        Self { timer: Timer::unused() }
    }
}
