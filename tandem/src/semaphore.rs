//! A counting semaphore.

use crate::{
    arch::{self, Mask, masked},
    kernel::assert_may_wait,
    me::Me,
    paths::waits,
    queue::wait_until,
    records::{KERNEL, Sleeper, WaitQueue, Waiter},
    shared::{Masked, Shared},
    time::TimedOut,
    wait::Phase,
};
use core::{
    mem::MaybeUninit,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};

/// Error of [`Semaphore::give_up_to`]: the count is at the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtMaximum;

/// A counting semaphore.
///
/// [`give`](Self::give) adds one to the count or wakes the most urgent waiter; the other calls take
/// one. The unit given is handed directly to the waiter, so no task can take it first. A semaphore
/// created with 1 serves as a lock that a coroutine may hold across an await.
pub struct Semaphore {
    waiters: WaitQueue,
    count: Shared<u32>,
}

/// See [`crate::layout`].
#[cfg(layout)]
#[allow(missing_docs)]
pub mod layout {
    use super::Semaphore;
    use core::mem::offset_of;

    pub const WAITERS: usize = offset_of!(Semaphore, waiters);
    pub const COUNT: usize = offset_of!(Semaphore, count);
}

impl Semaphore {
    /// A semaphore with the given initial count.
    #[must_use]
    pub const fn new(count: u32) -> Self {
        Self { waiters: WaitQueue::new(), count: Shared::new(count) }
    }

    /// Adds one to the count, or hands it to the most urgent waiter.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too; before `start`. Constant
    /// time. A count above 2³² − 1 wraps to 0.
    #[inline(always)]
    pub fn give(&self) {
        let (mask, m) = Mask::set();
        self.give_and_restore(m, mask);
    }

    /// Gives like [`give`](Self::give), unless the count is `max` or more. `max` is at least 1: with
    /// 1, the semaphore notes that something has happened, however often.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too; before `start`. Constant
    /// time.
    ///
    /// # Errors
    /// If the count is `max` or more. It stays as it is.
    #[inline]
    pub fn give_up_to(&self, max: u32) -> Result<(), AtMaximum> {
        let (mask, m) = Mask::set();
        if self.count.get(m) >= max {
            mask.restore();
            return Err(AtMaximum);
        }
        self.give_and_restore(m, mask);
        Ok(())
    }

    /// The number of units that can be taken without a wait. 0 while a task waits.
    ///
    /// May be called anywhere, with interrupts masked too. Constant time.
    #[must_use]
    pub fn count(&self) -> u32 {
        masked(|m| self.count.get(m))
    }

    #[inline(always)]
    fn give_and_restore(&self, m: Masked, mask: Mask) {
        match self.waiters.first(m) {
            None => {
                let count = self.count.get(m);
                arch::breach("give");
                self.count.set(m, count.wrapping_add(1));
                mask.restore();
            }
            // SAFETY: interrupts are masked by `Mask::set` above.
            Some(first) => unsafe {
                waits::hand_over_and_restore(&self.waiters, mask, NonNull::from(first))
            },
        }
    }

    /// Takes one if the count is not 0, and returns whether it did.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too. Constant time.
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

    /// Takes one; blocks the thread while the count is 0.
    ///
    /// At most 32 steps with interrupts masked if it must wait.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[inline(always)]
    #[track_caller]
    pub fn take(&self, _: &Me) {
        let (mask, m) = Mask::set();
        let count = self.count.get(m);
        if count > 0 {
            self.count.set(m, count - 1);
            mask.restore();
        } else {
            assert_may_wait(mask, "Semaphore::take");
            // SAFETY: a `Me` exists only in a running thread, and interrupts are masked above.
            unsafe { waits::wait_in(&self.waiters) };
            arch::unmask(m);
        }
    }

    /// Takes one; blocks the thread until `due` at the latest, in ticks of the board's clock.
    ///
    /// # Errors
    /// If the wait has lasted until `due`.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[track_caller]
    pub fn take_until(&self, _: &Me, due: u64) -> Result<(), TimedOut> {
        let (mask, m) = Mask::set();
        let count = self.count.get(m);
        let served = if count > 0 {
            self.count.set(m, count - 1);
            true
        } else {
            assert_may_wait(mask, "Semaphore::take_until");
            let me = KERNEL.current(m);
            let mut place = MaybeUninit::uninit();
            let waiter = Waiter::in_place(&mut place, me);
            me.waiter.set(m, Some(NonNull::from(waiter)));
            self.waiters.insert(m, waiter);
            wait_until(m, mask, me, waiter, due)
        };
        mask.restore();
        if served { Ok(()) } else { Err(TimedOut) }
    }

    /// Ends a future's wait early. A unit that it has been given and has not reported goes back.
    #[cold]
    #[inline(never)]
    fn give_up(&self, waiter: &Waiter) {
        let served = masked(|m| {
            waiter.leave(m);
            waiter.is_served(m)
        });
        waiter.release();
        if served {
            self.give();
        }
    }

    /// Takes one; the task waits while the count is 0. Dropping the future leaves the queue, and
    /// returns a unit that it has been given.
    ///
    /// The future may move to another task or waker between two polls.
    #[inline(always)]
    pub fn taken(&self) -> Taken<'_> {
        Taken { semaphore: self, phase: Phase::Free, waiter: MaybeUninit::uninit() }
    }
}

/// The future of [`Semaphore::taken`].
#[must_use = "futures do nothing unless awaited"]
pub struct Taken<'a> {
    semaphore: &'a Semaphore,
    phase: Phase,
    waiter: MaybeUninit<Waiter>,
}

impl Taken<'_> {
    /// A poll of a wait that has not ended, or has a foreign waker.
    #[cold]
    #[inline(never)]
    fn poll_again(&mut self, sleeper: Sleeper) -> Poll<()> {
        // SAFETY: the phase is not `Free`, so `enter` has initialized the waiter.
        let waiter = unsafe { self.waiter.assume_init_ref() };
        if !waiter.poll_again(sleeper) {
            return Poll::Pending;
        }
        self.phase = Phase::Free;
        Poll::Ready(())
    }
}

impl Future for Taken<'_> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        // SAFETY: the waiter is not moved out of the pinned future.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: in this phase, `enter` has initialized the waiter as far as it is read.
        if this.phase == Phase::Waits && unsafe { this.waiter.assume_init_ref() }.task_was_served()
        {
            this.phase = Phase::Free;
            return Poll::Ready(());
        }
        if this.phase != Phase::Free {
            return this.poll_again(Sleeper::behind(context));
        }
        let semaphore = this.semaphore;
        let (mask, m) = Mask::set();
        let count = semaphore.count.get(m);
        if count == 0 {
            arch::breach("take");
            let queue = &semaphore.waiters;
            Waiter::enter(
                &mut this.waiter,
                m,
                queue,
                Sleeper::behind(context),
                core::ptr::null_mut(),
            );
            this.phase = Phase::Waits;
            mask.restore();
            return Poll::Pending;
        }
        semaphore.count.set(m, count - 1);
        mask.restore();
        Poll::Ready(())
    }
}

impl Drop for Taken<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.phase != Phase::Free {
            // SAFETY: as in `poll`.
            self.semaphore.give_up(unsafe { self.waiter.assume_init_ref() });
        }
    }
}
