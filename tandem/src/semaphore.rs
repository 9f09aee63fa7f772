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
    wait::{Phase, WaitQueue, Waiter},
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
            None => {
                self.count.set(m, self.count.get(m).wrapping_add(1));
                mask.restore();
            }
            // SAFETY: interrupts are masked.
            Some(first) => unsafe {
                arch::hand_over_and_restore(&self.waiters, mask, NonNull::from(first))
            },
        }
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
            let waiter = Waiter::in_place(&mut place, me);
            me.waiter.set(m, Some(NonNull::from(waiter)));
            self.waiters.insert(m, waiter);
            wait_until(m, mask, me, waiter, due)
        };
        mask.restore();
        if served { Ok(()) } else { Err(TimedOut) }
    }

    /// Ends a wait early. What it was given but never told goes back.
    #[cold]
    #[inline(never)]
    fn give_up(&self, waiter: &Waiter) {
        masked(|m| waiter.leave(m));
        if waiter.was_served() {
            self.give();
        }
    }

    /// Takes one; the coroutine waits until there is one. Dropping the future gives up the place in the queue.
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
    /// The waiter, once it waits, until it is told that it was served.
    #[inline(always)]
    fn waiter(&self) -> Option<&Waiter> {
        // SAFETY: `enter` has written what there is to be read.
        (self.phase == Phase::Waits).then(|| unsafe { self.waiter.assume_init_ref() })
    }
}

impl Future for Taken<'_> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        // SAFETY: the waiter is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        if let Some(waiter) = this.waiter() {
            if !waiter.was_served() {
                return Poll::Pending;
            }
            this.phase = Phase::Free;
            return Poll::Ready(());
        }
        let semaphore = this.semaphore;
        let (mask, m) = Mask::set();
        let count = semaphore.count.get(m);
        if count == 0 {
            Waiter::enter(
                &mut this.waiter,
                m,
                &semaphore.waiters,
                task_of(context),
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
        if let Some(waiter) = self.waiter() {
            self.semaphore.give_up(waiter);
        }
    }
}
