//! A counting semaphore.

use crate::{
    arch::{self, Mask},
    coroutine::task_of,
    kernel::KERNEL,
    queue::wait_until,
    shared::Shared,
    task::masked,
    thread::Me,
    time::TimedOut,
    wait::{WaitQueue, Waiter},
};
use core::{
    mem::MaybeUninit,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};

/// Counts what is there to be taken. Anyone may give; who takes from an empty one waits, the most urgent first.
pub struct Semaphore {
    waiters: WaitQueue,
    count: Shared<u32>,
}

impl Semaphore {
    #[must_use]
    pub const fn new(count: u32) -> Self {
        Self { waiters: WaitQueue::new(), count: Shared::new(count) }
    }

    /// Adds one, or hands it to the most urgent waiter. Never waits; handlers may call it.
    #[inline(always)]
    pub fn give(&self) {
        let (mask, m) = Mask::set();
        match self.waiters.first(m) {
            None => self.count.set(m, self.count.get(m).wrapping_add(1)),
            // SAFETY: interrupts are masked.
            Some(first) => unsafe { arch::hand_over(&self.waiters, mask, first) },
        }
        mask.restore();
    }

    /// Takes one if there is one. Never waits; handlers may call it.
    #[inline(always)]
    pub fn try_take(&self) -> bool {
        masked(|m| {
            let count = self.count.get(m);
            if count > 0 {
                self.count.set(m, count - 1);
            }
            count > 0
        })
    }

    /// Takes one; blocks the thread until there is one.
    #[inline(always)]
    pub fn take(&self, _: &Me) {
        let m = arch::mask();
        let count = self.count.get(m);
        if count > 0 {
            self.count.set(m, count - 1);
        } else {
            // SAFETY: who has a `Me` is a thread, and interrupts are masked.
            unsafe { arch::wait_in(&self.waiters) };
        }
        arch::unmask(m);
    }

    /// As [`take`](Self::take), until `due` at the latest.
    ///
    /// # Errors
    /// When `due` came first.
    pub fn take_until(&self, _: &Me, due: u64) -> Result<(), TimedOut> {
        let (mask, m) = Mask::set();
        let count = self.count.get(m);
        let served = if count > 0 {
            self.count.set(m, count - 1);
            true
        } else {
            let me = KERNEL.current(m);
            let mut place = MaybeUninit::uninit();
            let waiter = Waiter::on_stack(&mut place, me);
            me.waiter.set(m, Some(NonNull::from(waiter)));
            self.waiters.insert(m, waiter);
            wait_until(m, mask, me, waiter, due)
        };
        mask.restore();
        if served { Ok(()) } else { Err(TimedOut) }
    }

    /// Takes one; the coroutine waits until there is one. Dropping the future gives up the place in the queue.
    #[inline(always)]
    pub fn taken(&self) -> Taken<'_> {
        Taken { semaphore: self, waiter: None }
    }
}

/// The future of [`Semaphore::taken`].
#[must_use = "futures do nothing unless awaited"]
pub struct Taken<'a> {
    semaphore: &'a Semaphore,
    waiter: Option<Waiter>,
}

impl Future for Taken<'_> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        // SAFETY: the waiter is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        if let Some(waiter) = &this.waiter {
            if !waiter.was_served() {
                return Poll::Pending;
            }
            this.waiter = None;
            return Poll::Ready(());
        }
        let (mask, m) = Mask::set();
        let count = this.semaphore.count.get(m);
        if count > 0 {
            this.semaphore.count.set(m, count - 1);
        } else {
            this.semaphore.waiters.insert(m, this.waiter.insert(Waiter::new(task_of(context))));
        }
        mask.restore();
        if count > 0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Taken<'_> {
    #[inline]
    fn drop(&mut self) {
        // Served, but never told: what it was given goes back.
        if let Some(waiter) = &self.waiter {
            masked(|m| waiter.leave(m));
            if waiter.was_served() {
                self.semaphore.give();
            }
        }
    }
}
