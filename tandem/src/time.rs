//! Time: the board's clock and alarm, and the timers of the tasks that wait.
//!
//! Timers form a list in the order in which they are due. Removal takes constant time, and so does
//! insertion of the first and the last timer: equal time limits are set behind each other. Other
//! insertion takes a step for each earlier timer, and unmasks interrupts after every 4 steps. So no
//! other task or handler waits for a search, and interrupts are masked for a constant time.
//!
//! While interrupts are on during a search, the new timer itself is in the list, behind the timers
//! that the search has passed. Whatever timers are set or removed meanwhile, the search continues
//! from there. So it passes each timer once, and ends however often others begin and end a wait.
//! If [`expire`] finds such a timer first in the list, all that it has passed are gone; it is taken
//! out, and the search continues from the first timer.
//!
//! The alarm stays as it is when the first timer is cancelled, and is not set again for a later
//! one: a time limit that does not come costs no access to the board's clock. The alarm then comes
//! early once, and is set for the first timer there is.
//!
//! Times are in ticks of the board's clock, counted by [`now`].
//!
//! # Soundness
//! - A timer is in the pinned future, on the stack of the thread that waits, or in a task's header.
//!   It stays in place until it has left the list: `expire` removes it, the thread cancels it, or
//!   its drop does. A search ends before its task goes on, so a timer that is searching stays in
//!   place too. Links are followed only with interrupts masked.
//! - A timer that is searching has no task and is due at 0, so that other searches pass it. Besides
//!   these, `set_at_end`, `expire` and `arm_again` read the two fields.

use crate::{
    arch::{self, Mask},
    kernel::{self, KERNEL, assert_may_wait, masked},
    shared::{Masked, Shared},
    task::Task,
    thread::Me,
    trace::{self, Event},
    waking::Sleeper,
};
use core::{
    marker::PhantomPinned,
    mem::MaybeUninit,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};

/// The board's clock and alarm. [`drive_time_with!`](crate::drive_time_with) installs an
/// implementation.
///
/// The handler of the alarm's interrupt must clear the interrupt's cause and call [`expire`].
pub trait Driver {
    /// Ticks per second.
    const HERTZ: u64;

    /// Ticks since a fixed point in the past. Monotonic; never wraps. Called with interrupts
    /// masked, in tasks and handlers.
    fn now() -> u64;

    /// Sets the alarm: its interrupt is to be raised when `now` reaches `due`, at once if it has.
    /// Replaces the alarm set before. Called with interrupts masked, in tasks and handlers.
    fn arm(due: u64);
}

/// Installs a type that implements [`Driver`](crate::time::Driver) as the kernel's clock. Exactly
/// once in a program.
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

/// Accepts every rate: without `embassy-time`, only the board defines one.
#[cfg(not(feature = "embassy-time"))]
#[doc(hidden)]
pub const fn check_rate(_: u64) {}
#[cfg(feature = "embassy-time")]
#[doc(hidden)]
pub use crate::embassy_time::check_rate;

// SAFETY: `drive_time_with!` defines both functions, with these signatures. A program without it
// does not link.
unsafe extern "Rust" {
    safe fn _tandem_now() -> u64;
    safe fn _tandem_arm(due: u64);
}

/// The time, in ticks of the board's clock. May be called anywhere, with interrupts masked too.
#[must_use]
pub fn now() -> u64 {
    masked(|_| _tandem_now())
}

/// Error of a wait with a time limit: the time came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

/// Steps of a search between two windows with interrupts on.
const STEPS: usize = if cfg!(test) { 2 } else { 4 };

/// A time at which a task is to be woken. Stored on the stack of the thread or in the future that
/// waits, or in a task's header.
pub(crate) struct Timer {
    /// The task to be woken. `None` for a foreign waker, and while the timer is searching.
    pub(crate) task: Shared<Option<Task>>,
    /// 0 while the timer is searching.
    due: Shared<u64>,
    state: Shared<State>,
    next: Shared<Option<NonNull<Timer>>>,
    prev: Shared<Option<NonNull<Timer>>>,
    /// The foreign waker to be called, if the timer is set and has no task. Undefined otherwise.
    waker: Shared<MaybeUninit<Sleeper>>,
    _pinned: PhantomPinned,
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum State {
    /// Not in the list.
    Off = 0,
    /// In the list, at its place.
    Set = 1,
    /// In the list, behind the timers that the search for its place has passed.
    Searching = 2,
}

/// Whether and how a timer was set at an end of the list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    No,
    Quietly,
    /// The alarm was set for it, which takes a while.
    WithAlarm,
}

pub(crate) struct Timers {
    first: Shared<Option<NonNull<Timer>>>,
    /// The last timer. Undefined in an empty list.
    last: Shared<Option<NonNull<Timer>>>,
    /// The time for which the alarm is set, or `u64::MAX`. No later than the first timer's, and
    /// earlier where the timer for which it was set has been cancelled.
    armed: Shared<u64>,
}

pub(crate) static TIMERS: Timers =
    Timers { first: Shared::new(None), last: Shared::new(None), armed: Shared::new(u64::MAX) };

/// The timer that a link leads to.
#[inline(always)]
fn at<'a>(_: Masked, link: NonNull<Timer>) -> &'a Timer {
    // SAFETY: links lead to timers in the list. They stay in place until they are removed, which
    // needs interrupts masked, and callers use the reference only while they are masked.
    unsafe { link.as_ref() }
}

impl Timer {
    #[inline(always)]
    pub(crate) const fn new(task: Task) -> Self {
        Self::for_task(Some(task))
    }

    /// A timer without a task, for a header: all zeros, so that it is placed in `.bss`.
    #[cfg(feature = "embassy-time")]
    pub(crate) const fn unused() -> Self {
        Self::for_task(None)
    }

    #[inline(always)]
    const fn for_task(task: Option<Task>) -> Self {
        Self {
            task: Shared::new(task),
            due: Shared::new(0),
            state: Shared::new(State::Off),
            next: Shared::new(None),
            prev: Shared::new(None),
            waker: Shared::new(MaybeUninit::uninit()),
            _pinned: PhantomPinned,
        }
    }

    /// Returns whether the timer is in the list: set, and neither expired nor cancelled.
    #[inline(always)]
    pub(crate) fn is_set(&self, m: Masked) -> bool {
        self.state.get(m) != State::Off
    }

    /// Like `is_set`, read without masking interrupts. `true` may be outdated; a timer that is not
    /// set stays so until its owner sets it.
    #[inline(always)]
    fn may_be_set(&self) -> bool {
        // SAFETY: a byte. An outdated `true` has the owner check again.
        unsafe { self.state.peek() != State::Off }
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
    /// Sets a timer, which is not set, for `due`. Interrupts are masked before and after. If `mask`
    /// allows, they are unmasked during a search, and for a moment once the alarm has been set.
    pub(crate) fn set(&self, m: Masked, mask: Mask, timer: &Timer, due: u64) -> Masked {
        match self.set_at_end(m, timer, due) {
            Placed::Quietly => m,
            placed => self.finish(m, mask, timer, due, placed),
        }
    }

    /// Completes [`set`](Self::set) behind [`set_at_end`](Self::set_at_end).
    #[inline(never)]
    pub(crate) fn finish(
        &self,
        m: Masked,
        mut mask: Mask,
        timer: &Timer,
        due: u64,
        placed: Placed,
    ) -> Masked {
        if placed == Placed::No {
            mask = self.search(m, mask, timer, due);
        }
        mask.restore();
        Mask::set().1
    }

    /// Sets a timer, which is not set, for `due` if it is the first or the last. Constant time.
    #[inline(always)]
    pub(crate) fn set_at_end(&self, m: Masked, timer: &Timer, due: u64) -> Placed {
        let (first, last) = (self.first.get(m), self.last.get(m));
        if first.is_none_or(|first| due < at(m, first).due.get(m)) {
            let arms = self.settle(m, timer, due, None, first);
            return if arms { Placed::WithAlarm } else { Placed::Quietly };
        }
        // A timer that is searching does not tell how late the timers before it are due.
        let is_last = last.is_some_and(|last| {
            let last = at(m, last);
            last.due.get(m) <= due && last.state.get(m) == State::Set
        });
        if !is_last {
            return Placed::No;
        }
        self.settle(m, timer, due, last, None);
        Placed::Quietly
    }

    /// Sets a timer as [`set`](Self::set) does, by passing the earlier ones.
    fn search(&self, mut m: Masked, mut mask: Mask, timer: &Timer, due: u64) -> Mask {
        let (mut before, mut after) = (None, self.first.get(m));
        loop {
            for _ in 0..STEPS {
                match after.map(|link| at(m, link)) {
                    Some(later) if later.due.get(m) <= due => {
                        (before, after) = (after, later.next.get(m))
                    }
                    _ => {
                        self.settle(m, timer, due, before, after);
                        return mask;
                    }
                }
            }
            (mask, m) = self.open_window(m, mask, timer, before, after);
            (before, after) = if timer.is_set(m) {
                self.remove(m, timer);
                kernel::breach("search");
                (timer.prev.get(m), timer.next.get(m))
            } else {
                (None, self.first.get(m))
            };
        }
    }

    /// Unmasks interrupts for a moment, if `mask` allows, during the search for a timer's place.
    /// The timer marks the position meanwhile.
    #[inline(never)]
    fn open_window(
        &self,
        m: Masked,
        mask: Mask,
        timer: &Timer,
        before: Option<NonNull<Timer>>,
        after: Option<NonNull<Timer>>,
    ) -> (Mask, Masked) {
        let task = timer.task.get(m);
        timer.task.set(m, None);
        timer.due.set(m, 0);
        timer.state.set(m, State::Searching);
        self.link(m, timer, before, after);
        mask.restore();
        let (mask, m) = Mask::set();
        timer.task.set(m, task);
        (mask, m)
    }

    /// Puts a timer at its place, and sets the alarm if it is the first. Returns whether it has.
    #[inline(always)]
    fn settle(
        &self,
        m: Masked,
        timer: &Timer,
        due: u64,
        before: Option<NonNull<Timer>>,
        after: Option<NonNull<Timer>>,
    ) -> bool {
        timer.due.set(m, due);
        kernel::breach("settle");
        timer.state.set(m, State::Set);
        timer.task.get(m).inspect(|task| trace::emit(Event::TimerSet, task));
        self.link(m, timer, before, after);
        match before.map(|before| at(m, before).state.get(m)) {
            Some(State::Searching) => arm(m, 0), // perhaps the first: `expire` finds out
            Some(_) => false,
            None => arm(m, due),
        }
    }

    #[inline(always)]
    fn link(
        &self,
        m: Masked,
        timer: &Timer,
        before: Option<NonNull<Timer>>,
        after: Option<NonNull<Timer>>,
    ) {
        let this = Some(NonNull::from(timer));
        timer.prev.set(m, before);
        timer.next.set(m, after);
        match after {
            Some(after) => at(m, after).prev.set(m, this),
            None => self.last.set(m, this),
        }
        match before {
            Some(before) => at(m, before).next.set(m, this),
            None => self.first.set(m, this),
        }
    }

    /// Checks the order of the list, and returns the time of the first timer.
    #[cfg(test)]
    pub(crate) fn check(&self, m: Masked) -> Option<u64> {
        let (mut before, mut link) = (None, self.first.get(m));
        let (mut first, mut latest) = (None, 0);
        while let Some(timer) = link.map(|link| at(m, link)) {
            assert!(timer.is_set(m) && timer.prev.get(m) == before);
            if timer.state.get(m) == State::Set {
                assert!(latest <= timer.due.get(m));
                latest = timer.due.get(m);
                first = first.or(Some(latest));
            }
            (before, link) = (link, timer.next.get(m));
        }
        assert!(before.is_none() || before == self.last.get(m));
        first
    }

    /// Forgets all timers.
    #[cfg(test)]
    pub(crate) fn reset(&self, m: Masked) {
        self.first.set(m, None);
        self.armed.set(m, u64::MAX);
    }

    /// The first timer, if its time has come.
    #[inline(always)]
    fn first_due(&self, m: Masked, now: u64) -> Option<NonNull<Timer>> {
        self.first.get(m).filter(|first| at(m, *first).due.get(m) <= now)
    }

    #[inline(always)]
    fn remove(&self, m: Masked, timer: &Timer) {
        let (prev, next) = (timer.prev.get(m), timer.next.get(m));
        timer.state.set(m, State::Off);
        match next {
            Some(next) => at(m, next).prev.set(m, prev),
            None => self.last.set(m, prev),
        }
        match prev {
            Some(prev) => at(m, prev).next.set(m, next),
            None => self.first.set(m, next),
        }
    }
}

/// Sets the alarm for `due`, unless it is set for an earlier time. Returns whether it has.
#[inline(always)]
pub(crate) fn arm(m: Masked, due: u64) -> bool {
    let arms = due < TIMERS.armed.get(m);
    if arms {
        set_alarm(m, due);
    }
    arms
}

#[inline(always)]
fn set_alarm(m: Masked, due: u64) {
    TIMERS.armed.set(m, due);
    _tandem_arm(due);
}

/// Sets the alarm for the first timer or the end of the running slice, whichever is earlier, if
/// any. To be called once the alarm may have been raised.
#[inline(always)]
fn arm_again(m: Masked) {
    let due = TIMERS.first.get(m).map_or(u64::MAX, |first| at(m, first).due.get(m));
    #[cfg(feature = "time-slice")]
    let due = due.min(crate::slice::end(m));
    if due < u64::MAX {
        set_alarm(m, due);
    } else {
        TIMERS.armed.set(m, due);
    }
}

/// Wakes the tasks whose time has come, and sets the alarm for the next timer. To be called by the
/// alarm's handler; harmless anywhere else after `start`.
///
/// On Cortex-M it wakes all of them, with interrupts on after each; on RV32 it wakes one, and the
/// next has its own interrupt.
#[inline]
pub fn expire() {
    let (mut mask, mut m) = Mask::set();
    let now = _tandem_now();
    #[cfg(feature = "time-slice")]
    crate::slice::expire(m, now);
    let mut due = TIMERS.first_due(m, now);
    while let Some(pointer) = due {
        kernel::breach("expire");
        let first = at(m, pointer);
        if let Some(task) = first.task.get(m) {
            TIMERS.remove(m, first);
            trace::emit(Event::TimerExpired, task);
            wake(m, mask, pointer, task);
        } else {
            expire_without_task(m, mask, pointer);
        }
        due = TIMERS.first_due(m, now);
        if due.is_some() && arch::HANDLERS_NEST {
            mask.restore();
            (mask, m) = Mask::set();
            due = TIMERS.first_due(m, now);
        } else {
            // On RV32 interrupts stay masked until the handler ends, so the next timer has a
            // handler run of its own, at once if it is due.
            break;
        }
    }
    arm_again(m);
    mask.restore();
}

/// Takes a timer that is searching out of the list: its search has nothing to pass any more. Or
/// calls the foreign waker of a timer that has expired. The timer may be gone on return, so it is a
/// pointer: an argument that is a reference must stay valid until the function returns.
#[cold]
#[inline(never)]
fn expire_without_task(m: Masked, mask: Mask, timer: NonNull<Timer>) {
    let timer = at(m, timer);
    let searching = timer.state.get(m) == State::Searching;
    TIMERS.remove(m, timer);
    if !searching {
        // SAFETY: a timer that is set and has no task has a foreign waker.
        unsafe { timer.waker.get(m).assume_init() }.call(m);
        kernel::reschedule_if_started(m, mask);
    }
}

/// Wakes the task of a timer that has been removed. The timer may be gone on return.
#[inline(always)]
fn wake(m: Masked, mask: Mask, timer: NonNull<Timer>, task: Task) {
    #[cfg(feature = "embassy-time")]
    if task.alarm.is(at(m, timer)) {
        return crate::block_on::wake_future(m, mask, task);
    }
    let _ = timer;
    kernel::wake_and_preempt(m, mask, task);
}

impl Me<'_> {
    /// Blocks the thread until `due`, in ticks of the board's clock. Returns at once if `due` has
    /// come.
    ///
    /// Insertion takes a step for each earlier timer, mostly with interrupts on.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[track_caller]
    pub fn delay_until(&self, due: u64) {
        let (mask, m) = Mask::set();
        if due > _tandem_now() {
            assert_may_wait(mask, "Me::delay_until");
            let me = KERNEL.current(m);
            let timer = Timer::new(me);
            let m = match TIMERS.set_at_end(m, &timer, due) {
                Placed::Quietly => m,
                Placed::WithAlarm => {
                    arch::unmask(m);
                    arch::mask()
                }
                placed @ Placed::No => TIMERS.finish(m, mask, &timer, due, placed),
            };
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

/// Completes at `due`, in ticks of the board's clock; at once if `due` has come. Dropping the future
/// cancels its timer. It may move to another task or waker between two polls.
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
        // SAFETY: the timer is not moved out of the pinned future.
        let this = unsafe { self.get_unchecked_mut() };
        if let Some(timer) = &this.timer {
            if timer.may_be_set() {
                timer.follow(Sleeper::behind(context));
                return Poll::Pending;
            }
            return Poll::Ready(());
        }
        let (mask, m) = Mask::set();
        let late = this.due <= _tandem_now();
        if !late {
            let timer = this.timer.insert(Timer::for_task(None));
            timer.set_sleeper(m, Sleeper::behind(context).keep());
            TIMERS.set(m, mask, timer, this.due);
        }
        mask.restore();
        if late { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Timer {
    #[inline(always)]
    fn set_sleeper(&self, m: Masked, sleeper: Sleeper) {
        self.task.set(m, sleeper.as_task());
        if sleeper.is_foreign() {
            self.waker.set(m, MaybeUninit::new(sleeper));
        }
    }

    /// The task or waker of a future's timer.
    fn sleeper(&self, m: Masked) -> Sleeper {
        match self.task.get(m) {
            Some(task) => Sleeper::task(task),
            // SAFETY: without a task, `set_sleeper` has stored the waker. The timer is not
            // searching: its future is being polled or dropped, and a search ends within a poll.
            None => unsafe { self.waker.get(m).assume_init() },
        }
    }

    /// Has the timer of a future wake the sleeper of this poll from here on.
    #[cold]
    #[inline(never)]
    fn follow(&self, sleeper: Sleeper) {
        let old = masked(|m| self.sleeper(m));
        if !old.is(sleeper) {
            let new = sleeper.keep();
            masked(|m| self.set_sleeper(m, new));
            old.release();
            if !self.may_be_set() {
                // It has expired just now, perhaps for the other.
                sleeper.wake();
            }
        }
    }

    /// Cancels the timer of a future, and drops a foreign waker.
    #[inline(always)]
    fn end(&self) {
        // SAFETY: a word, which is changed by the future alone, besides a search within its poll.
        if self.may_be_set() || unsafe { self.task.peek() }.is_none() {
            self.give_up();
        }
    }

    #[cold]
    #[inline(never)]
    fn give_up(&self) {
        let sleeper = masked(|m| {
            self.cancel(m);
            self.sleeper(m)
        });
        sleeper.release();
    }
}

impl Drop for Delay {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.end();
        }
    }
}
