//! The futures with which coroutines send and receive.
//!
//! # Soundness
//! As for `queue` and `wait`. A [`Received`] has no cargo: it takes a promised message when polled.
//! A [`Sent`] owns its message as long as `whole` is set and its waiter has not been served.

use super::Queue;
use crate::{
    arch::Mask,
    coroutine::task_of,
    kernel,
    task::masked,
    wait::{Phase, Waiter},
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
        // SAFETY: in this phase, `enter` has initialized the waiter as far as it is read.
        (self.phase == Phase::Waits).then(|| unsafe { self.waiter.assume_init_ref() })
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
        if let Some(waiter) = this.waiter() {
            if !waiter.is_served(m) {
                mask.restore();
                return Poll::Pending;
            }
            // SAFETY: serving a waiter without cargo promises it a message, redeemed here; the
            // phase changes below, so once.
            unsafe { queue.redeem(m, mask, message.as_mut_ptr()) };
        } else if queue.len.get(m) > queue.promised.get(m) {
            // SAFETY: there are more messages than promises, so the ring is not empty.
            unsafe { queue.get(m, mask, message.as_mut_ptr()) };
        } else {
            Waiter::enter(
                &mut this.waiter,
                m,
                &queue.receivers,
                task_of(context),
                core::ptr::null_mut(),
            );
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
            if let Some(task) = self.promise(m) {
                kernel::wake_and_preempt(m, mask, task);
            }
        }
        mask.restore();
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

    /// Leaves the queue, and drops the message unless it has been received.
    #[cold]
    #[inline(never)]
    fn give_up(&mut self) {
        let served = self.waiter().is_some_and(|waiter| {
            masked(|m| {
                waiter.leave(m);
                waiter.is_served(m)
            })
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
        if let Some(waiter) = this.waiter() {
            if !waiter.was_served() {
                return Poll::Pending;
            }
            this.waits = false;
        } else if this.whole {
            let queue = this.queue;
            let (mask, m) = Mask::set();
            // SAFETY: the message is initialized as long as `whole`, which is cleared below if it
            // has been moved.
            match unsafe { queue.put(m, this.message.as_ptr()) } {
                Some(Some(task)) => kernel::wake_and_preempt(m, mask, task),
                Some(None) => {}
                None => {
                    let cargo = this.message.as_mut_ptr().cast();
                    Waiter::enter(&mut this.waiter, m, &queue.senders, task_of(context), cargo);
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
