//! An event: 32 flags that any task or handler may raise and one task waits for.
//!
//! # Soundness
//! A listener is in the pinned future, or on the stack, of the task that waits. The event's pointer
//! to it is followed only with interrupts masked, and is cleared before the listener goes: by the
//! signal that serves it, or by `withdraw`.

use crate::{
    arch::{self, Mask},
    coroutine::task_of,
    kernel::{self, KERNEL, assert_may_wait},
    shared::{Masked, Shared},
    task::{Task, masked},
    thread::Me,
    time::{TIMERS, TimedOut, Timer},
};
use core::{
    marker::PhantomPinned,
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
}

/// The wait of one task. Stored in its future or on its stack, and withdrawn before that ends.
struct Listener {
    /// The flags handed over; 0 while the task waits.
    flags: Shared<u32>,
}

impl Listener {
    const fn new() -> Self {
        Self { flags: Shared::new(0) }
    }
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
        Self { flags: Shared::new(0), listener: Shared::new(None), task: Shared::new(None) }
    }

    /// Raises flags, and wakes the task that waits for them. 0 has no effect.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too. Constant time.
    #[inline(always)]
    pub fn signal(&self, flags: u32) {
        let (mask, m) = Mask::set();
        match self.raise(m, flags) {
            Some(task) => kernel::wake_and_restore(m, mask, task),
            None => mask.restore(),
        }
    }

    /// Raises flags. Returns the task that has waited for them, to be woken.
    #[inline(always)]
    pub(crate) fn raise(&self, m: Masked, flags: u32) -> Option<Task> {
        match self.listener.get(m) {
            Some(listener) if flags != 0 => {
                // SAFETY: a listener stays in place until it is served or withdrawn, both with
                // interrupts masked.
                let listener = unsafe { listener.as_ref() };
                listener.flags.set(m, flags);
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
        self.flags.set(m, 0);
        flags
    }

    #[inline(always)]
    fn register(&self, m: Masked, listener: &Listener, task: Task) {
        assert!(self.listener.get(m).is_none(), "one task at a time may wait for an event");
        self.task.set(m, Some(task));
        self.listener.set(m, Some(NonNull::from(listener)));
    }

    /// Removes the listener, unless it has been served.
    fn withdraw(&self, m: Masked, listener: &Listener) {
        if self.listener.get(m) == Some(NonNull::from(listener)) {
            self.listener.set(m, None);
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
            kernel::block(m, me);
            flags = listener.flags.get(m);
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
            let (timer, listener) = (Timer::new(me), Listener::new());
            self.register(m, &listener, me);
            me.waiter.set(m, None);
            m = TIMERS.set(m, mask, &timer, due);
            while listener.flags.get(m) == 0 && timer.is_set(m) {
                kernel::block(m, me);
            }
            timer.cancel(m);
            self.withdraw(m, &listener);
            flags = listener.flags.get(m);
        }
        mask.restore();
        if flags == 0 { Err(TimedOut) } else { Ok(flags) }
    }

    /// Takes the flags; the coroutine waits until one is raised. Dropping the future ends the wait;
    /// flags that it has been handed are raised again.
    ///
    /// Polled again after it has completed, the future waits again.
    ///
    /// # Panics
    /// When polled while another task waits for this event, or with a waker that is not a
    /// coroutine's.
    #[inline]
    pub fn signalled(&self) -> Signalled<'_> {
        Signalled { event: self, waits: false, listener: Listener::new(), _pinned: PhantomPinned }
    }
}

/// The future of [`Event::signalled`].
#[must_use = "futures do nothing unless awaited"]
pub struct Signalled<'a> {
    event: &'a Event,
    waits: bool,
    listener: Listener,
    _pinned: PhantomPinned,
}

impl Future for Signalled<'_> {
    type Output = u32;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<u32> {
        // SAFETY: the listener is not moved out of the pinned future.
        let this = unsafe { self.get_unchecked_mut() };
        if this.waits {
            // SAFETY: a word, stored once per wait. An outdated 0 means another poll.
            let flags = unsafe { this.listener.flags.peek() };
            if flags == 0 {
                return Poll::Pending;
            }
            this.waits = false;
            return Poll::Ready(flags);
        }
        let event = this.event;
        let (mask, m) = Mask::set();
        let flags = event.take(m);
        if flags == 0 {
            kernel::breach("signalled");
            // Those of an earlier wait have been reported.
            this.listener.flags.set(m, 0);
            event.register(m, &this.listener, task_of(context));
            this.waits = true;
            mask.restore();
            return Poll::Pending;
        }
        mask.restore();
        Poll::Ready(flags)
    }
}

impl Signalled<'_> {
    /// Withdraws the listener. Flags that it has been handed and has not reported are raised again.
    #[cold]
    fn give_up(&self) {
        let flags = masked(|m| {
            self.event.withdraw(m, &self.listener);
            self.listener.flags.get(m)
        });
        self.event.signal(flags);
    }
}

impl Drop for Signalled<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.waits {
            self.give_up();
        }
    }
}
