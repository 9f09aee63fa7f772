//! An event: 32 flags that any task or handler may raise and one task waits for.
//!
//! # Soundness
//! A listener is in the pinned future, or on the stack, of the task that waits. The event's pointer
//! to it is followed only with interrupts masked, and is cleared before the listener goes: by the
//! signal that serves it, or by `withdraw`. The same holds for a listener with a foreign waker, which
//! its future owns until the wait has ended.

use crate::{
    arch::{self, Mask, masked},
    kernel::{self, assert_may_wait},
    me::Me,
    paths::tasks,
    records::{KERNEL, Sleeper, TIMERS, Task, Timer},
    shared::{Masked, Shared},
    time::TimedOut,
    wait::Phase,
};
use core::{
    marker::PhantomPinned,
    mem::MaybeUninit,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};

/// A set of 32 flags, raised by tasks and handlers, and taken all at once by the one task that
/// waits for them.
///
/// The signal that ends a wait hands its flags to the waiting task; flags raised later are kept for
/// the next wait.
pub struct Event {
    /// The flags that are raised and not taken; 0 while a task waits.
    flags: Shared<u32>,
    /// The listener of the task that waits, and the task.
    listener: Shared<Option<NonNull<Listener>>>,
    task: Shared<Option<Task>>,
    /// The listener of a future with a foreign waker. Apart, so that a signal for a task does not
    /// distinguish the two.
    foreign: Shared<Option<NonNull<FutureListener>>>,
}

/// The wait of one task. Stored in its future or on its stack, and withdrawn before that ends.
struct Listener {
    /// The flags handed over; 0 while a task with a time limit or a future waits. Undefined until
    /// the wait has begun, and in a wait that the signal alone ends.
    flags: Shared<MaybeUninit<u32>>,
}

impl Listener {
    const fn new() -> Self {
        Self { flags: Shared::new(MaybeUninit::uninit()) }
    }

    #[inline(always)]
    fn set(&self, m: Masked, flags: u32) {
        self.flags.set(m, MaybeUninit::new(flags));
    }

    /// # Safety
    /// `set` has been called.
    #[inline(always)]
    unsafe fn get(&self, m: Masked) -> u32 {
        // SAFETY: this function's contract.
        unsafe { self.flags.get(m).assume_init() }
    }
}

/// The wait of a future.
struct FutureListener {
    listener: Listener,
    /// The foreign waker. Undefined for a task, whose address the event has.
    waker: Shared<MaybeUninit<Sleeper>>,
}

impl FutureListener {
    const fn new() -> Self {
        Self { listener: Listener::new(), waker: Shared::new(MaybeUninit::uninit()) }
    }

    /// # Safety
    /// The listener waits with a foreign waker.
    unsafe fn foreign_sleeper(&self, m: Masked) -> Sleeper {
        // SAFETY: `register_foreign` has stored it.
        unsafe { self.waker.get(m).assume_init() }
    }
}

/// See [`crate::layout`].
#[cfg(layout)]
#[allow(missing_docs)]
pub mod layout {
    use super::Event;
    use core::mem::offset_of;

    pub const LISTENER: usize = offset_of!(Event, listener);
    pub const TASK: usize = offset_of!(Event, task);
}

impl Default for Event {
    fn default() -> Self {
        Self::new()
    }
}

impl Event {
    /// An event without flags raised.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            flags: Shared::new(0),
            listener: Shared::new(None),
            task: Shared::new(None),
            foreign: Shared::new(None),
        }
    }

    /// Raises flags, and wakes the task that waits for them. 0 has no effect.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too. Constant time.
    #[inline(always)]
    pub fn signal(&self, flags: u32) {
        let (mask, m) = Mask::set();
        match self.raise_for_task(m, flags) {
            Some(task) => tasks::wake_and_restore(m, mask, task),
            None => {
                if self.foreign.get(m).is_some() {
                    self.raise_for_foreign(m);
                    kernel::reschedule_if_started(m, mask);
                }
                mask.restore();
            }
        }
    }

    /// Raises flags. Returns the task that has waited for them, to be woken. A foreign waker is
    /// called: so in either case, call `reschedule_if_started` afterwards.
    #[inline(always)]
    pub(crate) fn raise(&self, m: Masked, flags: u32) -> Option<Task> {
        let task = self.raise_for_task(m, flags);
        if task.is_none() && self.foreign.get(m).is_some() {
            self.raise_for_foreign(m);
        }
        task
    }

    #[inline(always)]
    fn raise_for_task(&self, m: Masked, flags: u32) -> Option<Task> {
        match self.listener.get(m) {
            Some(listener) if flags != 0 => {
                // SAFETY: a listener stays in place until it is served or withdrawn, both with
                // interrupts masked.
                let listener = unsafe { listener.as_ref() };
                listener.set(m, flags);
                self.listener.set(m, None);
                // SAFETY: `register` stores the task before the listener.
                Some(unsafe { self.task.get(m).unwrap_unchecked() })
            }
            _ => {
                self.flags.set(m, self.flags.get(m) | flags);
                None
            }
        }
    }

    /// Hands the raised flags to the listener with a foreign waker, and calls that.
    #[cold]
    #[inline(never)]
    fn raise_for_foreign(&self, m: Masked) {
        let flags = self.flags.get(m);
        let Some(listener) = self.foreign.get(m).filter(|_| flags != 0) else { return };
        // SAFETY: as in `raise_for_task`. A listener in `foreign` has a foreign waker.
        let sleeper = unsafe {
            listener.as_ref().listener.set(m, self.take(m));
            listener.as_ref().foreign_sleeper(m)
        };
        self.foreign.set(m, None);
        sleeper.call(m);
    }

    /// Takes the flags that are raised; 0 if there are none.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too. Constant time.
    #[inline(always)]
    pub fn try_wait(&self) -> u32 {
        masked(|m| self.take(m))
    }

    #[inline(always)]
    fn take(&self, m: Masked) -> u32 {
        let flags = self.flags.get(m);
        if flags != 0 {
            self.flags.set(m, 0);
        }
        flags
    }

    #[inline(always)]
    fn register(&self, m: Masked, listener: &Listener, task: Task) {
        if self.listener.get(m).is_some() {
            refuse_second(self.task.get(m), task);
        }
        self.task.set(m, Some(task));
        self.listener.set(m, Some(NonNull::from(listener)));
    }

    /// Lets the listener of a future wait. Returns the future's phase from here on.
    #[inline(always)]
    fn register_sleeper(&self, m: Masked, future: &FutureListener, sleeper: Sleeper) -> Phase {
        future.listener.set(m, 0); // the flags of an earlier wait have been reported
        match sleeper.as_task() {
            Some(task) => {
                self.register(m, &future.listener, task);
                Phase::Waits
            }
            None => self.register_foreign(m, future, sleeper),
        }
    }

    #[cold]
    #[inline(never)]
    fn register_foreign(&self, m: Masked, future: &FutureListener, sleeper: Sleeper) -> Phase {
        if self.listener.get(m).is_some() || self.foreign.get(m).is_some() {
            refuse_second(self.task.get(m), KERNEL.current_or_idle(m));
        }
        future.waker.set(m, MaybeUninit::new(sleeper));
        self.foreign.set(m, Some(NonNull::from(future)));
        Phase::Foreign
    }

    /// Removes the listener, unless it has been served.
    fn withdraw(&self, m: Masked, listener: &Listener) {
        if self.listener.get(m) == Some(NonNull::from(listener)) {
            self.listener.set(m, None);
        }
    }

    fn withdraw_future(&self, m: Masked, future: &FutureListener) {
        self.withdraw(m, &future.listener);
        if self.foreign.get(m) == Some(NonNull::from(future)) {
            self.foreign.set(m, None);
        }
    }

    /// Takes the flags; blocks the thread until one is raised. Constant time besides the wait.
    ///
    /// # Panics
    /// If another task waits for this event, or if it must wait in a critical section.
    #[inline]
    #[track_caller]
    pub fn wait(&self, _: &Me) -> u32 {
        let (mask, m) = Mask::set();
        let mut flags = self.take(m);
        if flags == 0 {
            assert_may_wait(mask, "Event::wait");
            let (me, listener) = (KERNEL.current(m), Listener::new());
            self.register(m, &listener, me);
            me.waiter.set(m, None);
            tasks::block(m, me);
            // SAFETY: the signal, which alone wakes this thread, has handed over its flags.
            flags = unsafe { listener.get(m) };
            arch::unmask(m);
            return flags;
        }
        mask.restore();
        flags
    }

    /// Takes the flags; blocks the thread until one is raised or `due` has come, in ticks of the
    /// board's clock.
    ///
    /// # Errors
    /// If the wait has lasted until `due`.
    ///
    /// # Panics
    /// If another task waits for this event, or if it must wait in a critical section.
    #[track_caller]
    pub fn wait_until(&self, _: &Me, due: u64) -> Result<u32, TimedOut> {
        let (mask, mut m) = Mask::set();
        let me = KERNEL.current(m);
        let mut flags = self.take(m);
        if flags == 0 {
            assert_may_wait(mask, "Event::wait_until");
            let (mut timer, listener) = (MaybeUninit::uninit(), Listener::new());
            let timer = Timer::in_place(&mut timer, me);
            listener.set(m, 0);
            self.register(m, &listener, me);
            me.waiter.set(m, None);
            m = TIMERS.set(m, mask, timer, due);
            // SAFETY: the flags have been set to 0 above.
            while unsafe { listener.get(m) } == 0 && timer.is_set(m) {
                tasks::block(m, me);
            }
            timer.cancel(m);
            self.withdraw(m, &listener);
            // SAFETY: as above.
            flags = unsafe { listener.get(m) };
        }
        mask.restore();
        if flags == 0 { Err(TimedOut) } else { Ok(flags) }
    }

    /// Takes the flags; the task waits until one is raised. Dropping the future ends the wait; flags
    /// that it has been handed are raised again.
    ///
    /// Polled again after it has completed, the future waits again. It may move to another task or
    /// waker between two polls.
    ///
    /// # Panics
    /// When polled while another task waits for this event.
    #[inline]
    pub fn signalled(&self) -> Signalled<'_> {
        Signalled {
            event: self,
            phase: Phase::Free,
            listener: FutureListener::new(),
            _pinned: PhantomPinned,
        }
    }
}

/// Ends the program: `second` would wait for an event for which `first` waits.
#[cold]
#[inline(never)]
#[track_caller]
fn refuse_second(first: Option<Task>, second: Task) -> ! {
    // SAFETY: interrupts are masked by the caller, and the program ends here.
    let m = unsafe { Masked::assume() };
    let first = first.map_or("another", |first| first.name(m));
    panic!("task {}: task {first} waits for this event", second.name(m))
}

/// The future of [`Event::signalled`].
#[must_use = "futures do nothing unless awaited"]
pub struct Signalled<'a> {
    event: &'a Event,
    phase: Phase,
    listener: FutureListener,
    _pinned: PhantomPinned,
}

impl Future for Signalled<'_> {
    type Output = u32;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<u32> {
        // SAFETY: the listener is not moved out of the pinned future.
        let this = unsafe { self.get_unchecked_mut() };
        if this.phase == Phase::Waits {
            // SAFETY: a word, set to 0 as the wait began, and stored once. An outdated 0 means
            // another poll.
            let flags = unsafe { this.listener.listener.flags.peek().assume_init() };
            if flags != 0 {
                this.phase = Phase::Free;
                return Poll::Ready(flags);
            }
        }
        if this.phase != Phase::Free {
            return this.poll_again(Sleeper::behind(context));
        }
        let event = this.event;
        let (mask, m) = Mask::set();
        let flags = event.take(m);
        if flags == 0 {
            arch::breach("signalled");
            this.phase = event.register_sleeper(m, &this.listener, Sleeper::behind(context).keep());
            mask.restore();
            return Poll::Pending;
        }
        mask.restore();
        Poll::Ready(flags)
    }
}

impl Signalled<'_> {
    /// The task or waker that the signal wakes. The phase is not `Free`.
    fn sleeper(&self, m: Masked) -> Option<Sleeper> {
        if self.phase == Phase::Foreign {
            // SAFETY: the phase says so.
            return Some(unsafe { self.listener.foreign_sleeper(m) });
        }
        self.event.task.get(m).map(Sleeper::task)
    }

    /// Ends the wait of a listener that is not registered any more.
    fn end(&mut self) {
        if self.phase == Phase::Foreign {
            // SAFETY: the phase says so.
            masked(|m| unsafe { self.listener.foreign_sleeper(m) }).release();
        }
        self.phase = Phase::Free;
    }

    /// A poll of a wait that has not ended, or has a foreign waker: has the signal wake the
    /// sleeper of this poll from here on.
    #[cold]
    #[inline(never)]
    fn poll_again(&mut self, sleeper: Sleeper) -> Poll<u32> {
        // SAFETY: the phase is not `Free`, so the wait has begun, and its flags have been set.
        let (mut flags, old) =
            masked(|m| (unsafe { self.listener.listener.get(m) }, self.sleeper(m)));
        if flags == 0 {
            if old.is_some_and(|old| old.is(sleeper)) {
                return Poll::Pending;
            }
            let new = sleeper.keep();
            let moved = masked(|m| {
                // SAFETY: as above.
                flags = unsafe { self.listener.listener.get(m) };
                (flags == 0).then(|| {
                    self.event.withdraw_future(m, &self.listener);
                    self.event.register_sleeper(m, &self.listener, new)
                })
            });
            if let Some(moved) = moved {
                let was_foreign = self.phase == Phase::Foreign;
                self.phase = moved;
                if let Some(old) = old.filter(|_| was_foreign) {
                    old.release();
                }
                return Poll::Pending;
            }
            new.release(); // the signal has come just now
        }
        self.end();
        Poll::Ready(flags)
    }

    /// Withdraws the listener. Flags that it has been handed and has not reported are raised again.
    #[cold]
    fn give_up(&mut self) {
        let flags = masked(|m| {
            self.event.withdraw_future(m, &self.listener);
            // SAFETY: the phase is not `Free`, so the wait has begun, and its flags have been set.
            unsafe { self.listener.listener.get(m) }
        });
        self.end();
        self.event.signal(flags);
    }
}

impl Drop for Signalled<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.phase != Phase::Free {
            self.give_up();
        }
    }
}
