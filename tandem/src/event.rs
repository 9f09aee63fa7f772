//! An event: 32 flags that anyone may raise and one task waits for.

use crate::{
    arch::{self, Mask},
    coroutine::task_of,
    kernel::{self, KERNEL},
    shared::{Masked, Shared},
    task::{Task, masked},
    thread::Me,
    time::{TIMERS, TimedOut, Timer},
};
use core::{
    pin::Pin,
    task::{Context, Poll},
};

/// Flags, raised by anyone, taken all at once by the one task that waits for them.
pub struct Event {
    flags: Shared<u32>,
    waiter: Shared<Option<Task>>,
}

impl Default for Event {
    fn default() -> Self {
        Self::new()
    }
}

impl Event {
    #[must_use]
    pub const fn new() -> Self {
        Self { flags: Shared::new(0), waiter: Shared::new(None) }
    }

    /// Raises flags. Never waits; handlers may call it.
    #[inline(always)]
    pub fn signal(&self, flags: u32) {
        let (mask, m) = Mask::set();
        self.flags.set(m, self.flags.get(m) | flags);
        if let Some(task) = self.waiter.get(m) {
            self.waiter.set(m, None);
            kernel::wake_and_preempt(m, mask, task);
        }
        mask.restore();
    }

    /// Takes the flags that are raised; 0 when none is. Never waits; handlers may call it.
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

    fn register(&self, m: Masked, task: Task) {
        let free = self.waiter.get(m).is_none_or(|other| other.is(task));
        assert!(free, "one task at a time may wait for an event");
        self.waiter.set(m, Some(task));
    }

    /// Forgets who waits, unless it is another by now.
    #[inline(always)]
    fn withdraw(&self, m: Masked, task: Option<Task>) {
        if let Some(task) = task
            && self.waiter.get(m).is_some_and(|waiter| waiter.is(task))
        {
            self.waiter.set(m, None);
        }
    }

    /// Takes the flags; blocks the thread until one is raised.
    ///
    /// # Panics
    /// When another task waits for this event.
    #[inline]
    pub fn wait(&self, _: &Me) -> u32 {
        let m = arch::mask();
        loop {
            let flags = self.take(m);
            if flags != 0 {
                arch::unmask(m);
                return flags;
            }
            let me = KERNEL.current(m);
            self.register(m, me);
            me.waiter.set(m, None);
            kernel::block(m, me);
        }
    }

    /// As [`wait`](Self::wait), until `due` at the latest.
    ///
    /// # Errors
    /// When `due` came first.
    ///
    /// # Panics
    /// When another task waits for this event.
    pub fn wait_until(&self, _: &Me, due: u64) -> Result<u32, TimedOut> {
        let (mask, mut m) = Mask::set();
        let me = KERNEL.current(m);
        let timer = Timer::new(me);
        let mut flags = self.take(m);
        if flags == 0 {
            self.register(m, me);
            me.waiter.set(m, None);
            m = TIMERS.set(m, mask, &timer, due);
            flags = self.take(m);
            while flags == 0 && timer.is_set(m) {
                kernel::block(m, me);
                flags = self.take(m);
            }
            timer.cancel(m);
            self.withdraw(m, Some(me));
        }
        arch::unmask(m);
        if flags == 0 { Err(TimedOut) } else { Ok(flags) }
    }

    /// Takes the flags; the coroutine waits until one is raised.
    ///
    /// # Panics
    /// When polled while another task waits for this event.
    #[inline]
    pub fn signalled(&self) -> Signalled<'_> {
        Signalled { event: self, waiting: None }
    }
}

/// The future of [`Event::signalled`].
#[must_use = "futures do nothing unless awaited"]
pub struct Signalled<'a> {
    event: &'a Event,
    waiting: Option<Task>,
}

impl Future for Signalled<'_> {
    type Output = u32;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<u32> {
        masked(|m| match self.event.take(m) {
            0 => {
                let task = task_of(context);
                self.waiting = Some(task);
                self.event.register(m, task);
                Poll::Pending
            }
            flags => {
                // Whoever raised them has forgotten us.
                self.waiting = None;
                Poll::Ready(flags)
            }
        })
    }
}

impl Drop for Signalled<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.waiting.is_some() {
            masked(|m| self.event.withdraw(m, self.waiting));
        }
    }
}
