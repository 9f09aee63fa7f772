//! Time: the board's clock, and the tasks that wait for it.
//!
//! Timers form a list in the order in which they are due. Taking one out takes constant time. Finding a
//! place takes as many steps as there are timers before it, so the search opens a window for interrupts
//! after every [`STEPS`]; if a timer was taken out meanwhile, it starts again. So no other
//! task or handler ever waits for a search, and interrupts are masked for a constant time.

use crate::{
    arch::{self, Mask},
    coroutine::task_of,
    kernel::{self, KERNEL, masked},
    shared::{Masked, Shared},
    task::Task,
    thread::Me,
    trace::{self, Event},
};
use core::{
    marker::PhantomPinned,
    mem::ManuallyDrop,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};

/// The board's clock and alarm. [`drive_time_with!`](crate::drive_time_with) makes it the kernel's.
///
/// The handler of the alarm's interrupt calls [`expire`].
pub trait Driver {
    /// Ticks per second.
    const HERTZ: u64;

    /// Ticks since some fixed point; never wraps. Called with interrupts masked.
    fn now() -> u64;

    /// Raises the alarm's interrupt when `due` is reached, at once if it has been; replaces the alarm set
    /// before. Called with interrupts masked.
    fn arm(due: u64);
}

/// Makes a type that implements [`Driver`](crate::time::Driver) the kernel's clock.
#[macro_export]
macro_rules! drive_time_with {
    ($driver:ty) => {
        const _: () = $crate::time::check_rate(<$driver as $crate::time::Driver>::HERTZ);
        #[unsafe(no_mangle)]
        extern "Rust" fn _tandem_now() -> u64 {
            <$driver as $crate::time::Driver>::now()
        }
        #[unsafe(no_mangle)]
        extern "Rust" fn _tandem_arm(due: u64) {
            <$driver as $crate::time::Driver>::arm(due)
        }
    };
}

/// Nobody else counts time.
#[cfg(not(feature = "embassy-time"))]
#[doc(hidden)]
pub const fn check_rate(_: u64) {}
#[cfg(feature = "embassy-time")]
#[doc(hidden)]
pub use crate::embassy_time::check_rate;

// SAFETY: `drive_time_with!` defines both, once in a program or the linker objects, with these very signatures.
unsafe extern "Rust" {
    safe fn _tandem_now() -> u64;
    safe fn _tandem_arm(due: u64);
}

/// The time, in ticks of the board's clock.
#[must_use]
pub fn now() -> u64 {
    masked(|_| _tandem_now())
}

/// The time came before what was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

/// Timers passed before the search for a place lets interrupts in.
const STEPS: usize = 8;

/// A time at which to wake a task. It lies on the thread's stack or in the future that waits.
pub(crate) struct Timer {
    /// `Some` once it is set.
    pub(crate) task: Shared<Option<Task>>,
    due: Shared<u64>,
    linked: Shared<bool>,
    next: Shared<Option<NonNull<Timer>>>,
    prev: Shared<Option<NonNull<Timer>>>,
    _pinned: PhantomPinned,
}

pub(crate) struct Timers {
    first: Shared<Option<NonNull<Timer>>>,
    /// Counts the timers taken out, lest a search goes on from one that is gone.
    removals: Shared<u32>,
}

pub(crate) static TIMERS: Timers = Timers { first: Shared::new(None), removals: Shared::new(0) };

/// Follows a link to a timer.
#[inline(always)]
fn at<'a>(_: Masked, link: NonNull<Timer>) -> &'a Timer {
    // SAFETY: links lead to timers in the list; they stay in place and alive until they are taken out,
    // which needs interrupts masked, and the reference is used only while they are.
    unsafe { link.as_ref() }
}

impl Timer {
    #[inline(always)]
    pub(crate) const fn new(task: Task) -> Self {
        Self::for_task(Some(task))
    }

    /// For a record: all zeros, so that it lies in `.bss`.
    #[cfg(feature = "embassy-time")]
    pub(crate) const fn unused() -> Self {
        Self::for_task(None)
    }

    #[inline(always)]
    const fn for_task(task: Option<Task>) -> Self {
        Self {
            task: Shared::new(task),
            due: Shared::new(0),
            linked: Shared::new(false),
            next: Shared::new(None),
            prev: Shared::new(None),
            _pinned: PhantomPinned,
        }
    }

    /// Whether its time is still to come.
    #[inline(always)]
    pub(crate) fn is_set(&self, m: Masked) -> bool {
        self.linked.get(m)
    }

    /// The same, of a moment ago: what is not set stays so.
    #[inline(always)]
    fn may_be_set(&self) -> bool {
        // SAFETY: a byte, and only its owner sets a timer.
        unsafe { self.linked.peek() }
    }

    #[cfg(any(test, feature = "embassy-time"))]
    pub(crate) fn due_if_set(&self, m: Masked) -> Option<u64> {
        self.is_set(m).then(|| self.due.get(m))
    }

    pub(crate) fn cancel(&self, m: Masked) {
        if self.is_set(m) {
            TIMERS.remove(m, self);
        }
    }
}

impl Timers {
    /// Sets a timer. Interrupts are masked before and after, and let in between.
    pub(crate) fn set(&self, mut m: Masked, mut mask: Mask, timer: &Timer, due: u64) -> Masked {
        timer.due.set(m, due);
        'search: loop {
            let (mut before, mut after) = (None, self.first.get(m));
            loop {
                for _ in 0..STEPS {
                    match after.map(|link| at(m, link)) {
                        Some(later) if later.due.get(m) <= due => {
                            (before, after) = (after, later.next.get(m))
                        }
                        _ => {
                            self.link(m, timer, before, after);
                            return m;
                        }
                    }
                }
                let removals = self.removals.get(m);
                mask.restore();
                (mask, m) = Mask::set();
                if self.removals.get(m) != removals {
                    continue 'search;
                }
                // Others may have come between; the search goes on behind the last one passed.
                after = before.and_then(|link| at(m, link).next.get(m));
            }
        }
    }

    fn link(
        &self,
        m: Masked,
        timer: &Timer,
        before: Option<NonNull<Timer>>,
        after: Option<NonNull<Timer>>,
    ) {
        let this = Some(NonNull::from(timer));
        timer.linked.set(m, true);
        timer.task.get(m).inspect(|task| trace::emit(Event::TimerSet, task));
        timer.prev.set(m, before);
        timer.next.set(m, after);
        if let Some(after) = after {
            at(m, after).prev.set(m, this);
        }
        if let Some(before) = before {
            at(m, before).next.set(m, this);
        } else {
            self.first.set(m, this);
            arm(m, timer.due.get(m));
        }
    }

    /// Checks the list, and returns when the first is due.
    #[cfg(test)]
    pub(crate) fn check(&self, m: Masked) -> Option<u64> {
        let (mut before, mut link) = (None, self.first.get(m));
        while let Some(timer) = link.map(|link| at(m, link)) {
            assert!(timer.is_set(m) && timer.prev.get(m) == before);
            assert!(before.is_none_or(|before| at(m, before).due.get(m) <= timer.due.get(m)));
            (before, link) = (link, timer.next.get(m));
        }
        self.first.get(m).map(|first| at(m, first).due.get(m))
    }

    #[inline(always)]
    fn remove(&self, m: Masked, timer: &Timer) {
        let (prev, next) = (timer.prev.get(m), timer.next.get(m));
        timer.linked.set(m, false);
        self.removals.set(m, self.removals.get(m).wrapping_add(1));
        if let Some(next) = next {
            at(m, next).prev.set(m, prev);
        }
        match prev {
            Some(prev) => at(m, prev).next.set(m, next),
            None => self.first.set(m, next),
        }
    }
}

/// Sets the alarm for the first timer, or the end of the running slice.
#[inline(always)]
fn arm(m: Masked, due: u64) {
    #[cfg(feature = "time-slice")]
    let due = due.min(crate::slice::end(m));
    let _ = m;
    _tandem_arm(due);
}

/// Sets the alarm once more: a slice has begun, or the first timer has gone.
pub(crate) fn arm_again(m: Masked) {
    let due = TIMERS.first.get(m).map_or(u64::MAX, |first| at(m, first).due.get(m));
    #[cfg(feature = "time-slice")]
    let due = due.min(crate::slice::end(m));
    if due < u64::MAX {
        _tandem_arm(due);
    }
}

/// Wakes the tasks whose time has come and arms the alarm for the next. To be called by the alarm's handler.
#[inline]
pub fn expire() {
    let now = now();
    #[cfg(feature = "time-slice")]
    crate::slice::expire(now);
    loop {
        let (mask, m) = Mask::set();
        let Some(first) = TIMERS.first.get(m).map(|first| at(m, first)) else {
            #[cfg(feature = "time-slice")]
            arm_again(m);
            return mask.restore();
        };
        if first.due.get(m) > now {
            arm(m, first.due.get(m));
            return mask.restore();
        }
        TIMERS.remove(m, first);
        let task = first.task.get(m);
        debug_assert!(task.is_some());
        // SAFETY: a timer in the list has been set, and so has a task.
        let task = unsafe { task.unwrap_unchecked() };
        trace::emit(Event::TimerExpired, task);
        wake(m, mask, first, task);
        if !arch::HANDLERS_NEST {
            // No window opens before the handler ends, so the next timer has a handler of its own, at once if it is due.
            arm_again(m);
            return mask.restore();
        }
        mask.restore();
    }
}

/// Wakes the task of a timer that has been taken out. Afterwards the timer may be gone.
#[inline(always)]
fn wake(m: Masked, mask: Mask, timer: &Timer, task: Task) {
    #[cfg(feature = "embassy-time")]
    if task.alarm.is(timer) {
        return crate::block_on::wake_future(m, mask, task);
    }
    let _ = timer;
    kernel::wake_and_preempt(m, mask, task);
}

impl Me<'_> {
    /// Blocks the thread until `due`. Returns at once if that is past.
    pub fn delay_until(&self, due: u64) {
        let (mask, m) = Mask::set();
        if due > _tandem_now() {
            let me = KERNEL.current(m);
            let timer = ManuallyDrop::new(Timer::new(me));
            let m = TIMERS.set(m, mask, &timer, due);
            me.waiter.set(m, None);
            while timer.is_set(m) {
                kernel::block(m, me);
            }
            arch::unmask(m);
        } else {
            mask.restore();
        }
    }
}

/// Completes at `due`, at once if that is past.
#[inline]
pub fn delay_until(due: u64) -> Delay {
    Delay { due, timer: None }
}

/// The future of [`delay_until`].
#[must_use = "futures do nothing unless awaited"]
pub struct Delay {
    due: u64,
    timer: Option<Timer>,
}

impl Future for Delay {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        // SAFETY: the timer is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        if let Some(timer) = &this.timer {
            return if timer.may_be_set() { Poll::Pending } else { Poll::Ready(()) };
        }
        let (mask, m) = Mask::set();
        let late = this.due <= _tandem_now();
        if !late {
            TIMERS.set(m, mask, this.timer.insert(Timer::new(task_of(context))), this.due);
        }
        mask.restore();
        if late { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Timer {
    #[inline(always)]
    fn drop(&mut self) {
        if self.may_be_set() {
            masked(|m| self.cancel(m));
        }
    }
}
