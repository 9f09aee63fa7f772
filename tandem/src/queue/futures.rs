//! How a coroutine sends and receives.

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

    /// The waiter, once it waits, until it is told that it was served.
    #[inline(always)]
    fn waiter(&self) -> Option<&Waiter> {
        // SAFETY: `enter` has written what there is to be read.
        (self.phase == Phase::Waits).then(|| unsafe { self.waiter.assume_init_ref() })
    }
}

impl<T, const N: usize> Future for Received<'_, T, N> {
    type Output = T;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<T> {
        // SAFETY: the waiter is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let queue = this.queue;
        let mut message = MaybeUninit::uninit();
        let (mask, m) = Mask::set();
        if let Some(waiter) = this.waiter() {
            if !waiter.is_served(m) {
                mask.restore();
                return Poll::Pending;
            }
            // SAFETY: the promise was ours.
            unsafe { queue.redeem(m, mask, message.as_mut_ptr()) };
        } else if queue.len.get(m) > queue.promised.get(m) {
            // SAFETY: there is a message that is nobody's.
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
        // SAFETY: written just now.
        Poll::Ready(unsafe { message.assume_init() })
    }
}

impl<T, const N: usize> Queue<T, N> {
    /// Ends a wait to receive early. A message promised to it becomes the next receiver's.
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
    /// The message has not been moved out, as far as it was told.
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

    /// The waiter, once it waits, until it is told that it was served.
    #[inline(always)]
    fn waiter(&self) -> Option<&Waiter> {
        // SAFETY: `enter` has written what there is to be read.
        self.waits.then(|| unsafe { self.waiter.assume_init_ref() })
    }

    /// Takes the message back out of the queue and drops it, unless it was received.
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
            // SAFETY: no receiver has moved it, and none can any more.
            unsafe { self.message.assume_init_drop() };
        }
    }
}

impl<T, const N: usize> Future for Sent<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        // SAFETY: neither the waiter nor the message is moved.
        let this = unsafe { self.get_unchecked_mut() };
        if let Some(waiter) = this.waiter() {
            if !waiter.was_served() {
                return Poll::Pending;
            }
            this.waits = false;
        } else if this.whole {
            let queue = this.queue;
            let (mask, m) = Mask::set();
            // SAFETY: the message is whole, and counts as moved once it has been read.
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
