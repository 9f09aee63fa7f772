//! How a coroutine sends and receives.

use super::Queue;
use crate::{arch::Mask, coroutine::task_of, kernel, task::masked, wait::Waiter};
use core::{
    mem::MaybeUninit,
    pin::Pin,
    task::{Context, Poll},
};

/// The future of [`Queue::received`].
#[must_use = "futures do nothing unless awaited"]
pub struct Received<'a, T, const N: usize> {
    queue: &'a Queue<T, N>,
    waiter: Option<Waiter>,
}

impl<'a, T, const N: usize> Received<'a, T, N> {
    pub(super) fn new(queue: &'a Queue<T, N>) -> Self {
        Self { queue, waiter: None }
    }
}

impl<T, const N: usize> Future for Received<'_, T, N> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<T> {
        // SAFETY: the waiter is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let queue = this.queue;
        let mut place = MaybeUninit::uninit();
        let (mask, m) = Mask::set();
        if this.waiter.as_ref().is_some_and(|waiter| waiter.is_served(m)) {
            this.waiter = None;
            // SAFETY: the promise was ours.
            unsafe { queue.redeem(m, mask, place.as_mut_ptr()) };
        } else if this.waiter.is_none() && queue.len.get(m) > queue.promised.get(m) {
            // SAFETY: there is a message that is nobody's.
            unsafe { queue.get(m, mask, place.as_mut_ptr()) };
        } else {
            if this.waiter.is_none() {
                queue.receivers.insert(m, this.waiter.insert(Waiter::new(task_of(context))));
            }
            mask.restore();
            return Poll::Pending;
        }
        mask.restore();
        // SAFETY: written just now.
        Poll::Ready(unsafe { place.assume_init() })
    }
}

impl<T, const N: usize> Drop for Received<'_, T, N> {
    fn drop(&mut self) {
        let Some(waiter) = &self.waiter else { return };
        let (mask, m) = Mask::set();
        waiter.leave(m);
        if waiter.is_served(m) {
            self.queue.promised.set(m, self.queue.promised.get(m) - 1);
            if let Some(task) = self.queue.promise(m) {
                kernel::wake_and_preempt(m, mask, task);
            }
        }
        mask.restore();
    }
}

/// The future of [`Queue::sent`].
#[must_use = "futures do nothing unless awaited"]
pub struct Sent<'a, T, const N: usize> {
    queue: &'a Queue<T, N>,
    message: MaybeUninit<T>,
    /// The message has not been moved out by a receiver.
    whole: bool,
    waiter: Option<Waiter>,
}

impl<'a, T, const N: usize> Sent<'a, T, N> {
    pub(super) fn new(queue: &'a Queue<T, N>, message: T) -> Self {
        Self { queue, message: MaybeUninit::new(message), whole: true, waiter: None }
    }
}

impl<T, const N: usize> Future for Sent<'_, T, N> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        // SAFETY: neither the waiter nor the message is moved.
        let this = unsafe { self.get_unchecked_mut() };
        let (mask, m) = Mask::set();
        if let Some(waiter) = &this.waiter {
            this.whole = !waiter.is_served(m);
        } else if this.whole {
            // SAFETY: the message is whole, and counts as moved once it has been read.
            let sent = unsafe { this.queue.put(m, this.message.as_ptr()) };
            this.whole = sent.is_none();
            match sent {
                Some(Some(task)) => kernel::wake_and_preempt(m, mask, task),
                Some(None) => {}
                None => {
                    let waiter = this.waiter.insert(Waiter::new(task_of(context)));
                    waiter.cargo.set(m, this.message.as_mut_ptr().cast());
                    this.queue.senders.insert(m, waiter);
                }
            }
        }
        mask.restore();
        if this.whole { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl<T, const N: usize> Drop for Sent<'_, T, N> {
    fn drop(&mut self) {
        let served = self.waiter.as_ref().is_some_and(|waiter| {
            masked(|m| {
                waiter.leave(m);
                waiter.is_served(m)
            })
        });
        if self.whole && !served {
            // SAFETY: no receiver has moved it, and none can any more.
            unsafe { self.message.assume_init_drop() };
        }
    }
}
