//! The futures with which coroutines send and receive.
//!
//! # Soundness
//! As for `queue` and `wait`. A [`Received`] has no cargo: it takes a promised message when polled.
//! A [`Sent`] owns its message as long as `whole` is set and its waiter has not been served.

use super::{Put, Queue};
use crate::{
    arch::{Mask, masked},
    kernel,
    paths::tasks,
    records::{Sleeper, Waiter},
    wait::{Phase, rouse},
};
use core::{
    mem::MaybeUninit,
    pin::Pin,
    task::{Context, Poll},
};

/// The future of [`Queue::received`].
#[must_use = "futures do nothing unless awaited"]
pub struct Received<'a, T, const N: usize> {
    queue: &'a Queue<T, N>,
    phase: Phase,
    waiter: MaybeUninit<Waiter>,
}

impl<'a, T, const N: usize> Received<'a, T, N> {
    #[inline(always)]
    pub(super) fn new(queue: &'a Queue<T, N>) -> Self {
        Self { queue, phase: Phase::Free, waiter: MaybeUninit::uninit() }
    }

    /// The waiter, from the beginning of the wait until its end has been reported.
    #[inline(always)]
    fn waiter(&self) -> Option<&Waiter> {
        // SAFETY: in the other phases, `enter` has initialized the waiter as far as it is read.
        (self.phase != Phase::Free).then(|| unsafe { self.waiter.assume_init_ref() })
    }
}

impl<T, const N: usize> Received<'_, T, N> {
    /// A poll of a wait that has not ended, or has a foreign waker.
    #[cold]
    #[inline(never)]
    fn poll_again(&mut self, sleeper: Sleeper) -> Poll<T> {
        // SAFETY: as in `waiter`: the phase is not `Free`.
        let waiter = unsafe { self.waiter.assume_init_ref() };
        if !waiter.poll_again(sleeper) {
            return Poll::Pending;
        }
        self.phase = Phase::Free;
        let mut message = MaybeUninit::uninit();
        let (mask, m) = Mask::set();
        // SAFETY: the waiter has been served, and so promised a message; its phase is `Free` now,
        // so the promise is redeemed once.
        unsafe { self.queue.redeem(m, mask, message.as_mut_ptr()) };
        mask.restore();
        // SAFETY: `redeem` wrote it.
        Poll::Ready(unsafe { message.assume_init() })
    }
}

impl<T, const N: usize> Future for Received<'_, T, N> {
    type Output = T;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<T> {
        // SAFETY: the waiter is not moved out of the pinned future.
        let this = unsafe { self.get_unchecked_mut() };
        let queue = this.queue;
        let mut message = MaybeUninit::uninit();
        let (mask, m) = Mask::set();
        // SAFETY: in this phase, `enter` has initialized the waiter as far as it is read.
        if this.phase == Phase::Waits && unsafe { this.waiter.assume_init_ref() }.task_was_served()
        {
            // SAFETY: serving a waiter without cargo promises it a message, redeemed here; the
            // phase changes below, so once.
            unsafe { queue.redeem(m, mask, message.as_mut_ptr()) };
        } else if this.phase != Phase::Free {
            mask.restore();
            return this.poll_again(Sleeper::behind(context));
        } else if queue.len.get(m) > queue.promised.get(m) {
            // SAFETY: there are more messages than promises, so the ring is not empty.
            unsafe { queue.get(m, mask, message.as_mut_ptr()) };
        } else {
            let cargo = core::ptr::null_mut();
            Waiter::enter(&mut this.waiter, m, &queue.receivers, Sleeper::behind(context), cargo);
            this.phase = Phase::Waits;
            mask.restore();
            return Poll::Pending;
        }
        mask.restore();
        this.phase = Phase::Free;
        // SAFETY: `redeem` or `get` wrote it above.
        Poll::Ready(unsafe { message.assume_init() })
    }
}

impl<T, const N: usize> Queue<T, N> {
    /// Ends a wait to receive early. A message promised to it goes to the next receiver.
    #[cold]
    #[inline(never)]
    fn give_up(&self, waiter: &Waiter) {
        let (mask, m) = Mask::set();
        waiter.leave(m);
        if waiter.is_served(m) {
            self.promised.set(m, self.promised.get(m) - 1);
            if self.promise(m).is_some_and(|next| rouse(m, next)) {
                kernel::reschedule_if_started(m, mask);
            }
        }
        mask.restore();
        waiter.release();
    }
}

impl<T, const N: usize> Drop for Received<'_, T, N> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter() {
            self.queue.give_up(waiter);
        }
    }
}

/// The future of [`Queue::sent`].
#[must_use = "futures do nothing unless awaited"]
pub struct Sent<'a, T, const N: usize> {
    queue: &'a Queue<T, N>,
    message: MaybeUninit<T>,
    /// The message has not been moved out, as far as the future has seen.
    whole: bool,
    /// A flag, not a [`Phase`]: with that, LLVM copies the whole future by a call.
    waits: bool,
    waiter: MaybeUninit<Waiter>,
}

impl<'a, T, const N: usize> Sent<'a, T, N> {
    #[inline(always)]
    pub(super) fn new(queue: &'a Queue<T, N>, message: T) -> Self {
        Self {
            queue,
            message: MaybeUninit::new(message),
            whole: true,
            waits: false,
            waiter: MaybeUninit::uninit(),
        }
    }

    /// The waiter, from the beginning of the wait until its end has been reported.
    #[inline(always)]
    fn waiter(&self) -> Option<&Waiter> {
        // SAFETY: while `waits`, `enter` has initialized the waiter as far as it is read.
        self.waits.then(|| unsafe { self.waiter.assume_init_ref() })
    }

    /// A poll of a wait that has not ended, or has a foreign waker. Returns whether it has ended.
    #[cold]
    #[inline(never)]
    fn is_over(&mut self, sleeper: Sleeper) -> bool {
        // SAFETY: as in `waiter`: the future waits.
        let over = unsafe { self.waiter.assume_init_ref() }.poll_again(sleeper);
        self.waits = !over;
        over
    }

    /// Leaves the queue, and drops the message unless it has been received.
    #[cold]
    #[inline(never)]
    fn give_up(&mut self) {
        let served = self.waiter().is_some_and(|waiter| {
            let served = masked(|m| {
                waiter.leave(m);
                waiter.is_served(m)
            });
            waiter.release();
            served
        });
        if !served {
            // SAFETY: the message is still here, since the waiter was not served, and no longer can
            // be.
            unsafe { self.message.assume_init_drop() };
        }
    }
}

impl<T, const N: usize> Future for Sent<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        // SAFETY: neither the waiter nor the message is moved out of the pinned future, except as a
        // message sent.
        let this = unsafe { self.get_unchecked_mut() };
        if this.waiter().is_some_and(Waiter::task_was_served) {
            this.waits = false;
        } else if this.waits {
            if !this.is_over(Sleeper::behind(context)) {
                return Poll::Pending;
            }
        } else if this.whole {
            let queue = this.queue;
            let (mask, m) = Mask::set();
            // SAFETY: the message is initialized as long as `whole`, which is cleared below if it
            // has been moved.
            match unsafe { queue.put(m, this.message.as_ptr()) } {
                Put::Wakes(task) => tasks::wake_and_preempt(m, mask, task),
                Put::Calls(waiter) => Waiter::call(waiter.into(), m, mask),
                Put::Stored => {}
                Put::Full => {
                    let cargo = this.message.as_mut_ptr().cast();
                    let (queue, sleeper) = (&queue.senders, Sleeper::behind(context));
                    Waiter::enter(&mut this.waiter, m, queue, sleeper, cargo);
                    this.waits = true;
                    mask.restore();
                    return Poll::Pending;
                }
            }
            mask.restore();
        }
        this.whole = false;
        Poll::Ready(())
    }
}

impl<T, const N: usize> Drop for Sent<'_, T, N> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.whole {
            self.give_up();
        }
    }
}
