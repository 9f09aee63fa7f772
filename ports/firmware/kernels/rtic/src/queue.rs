//! Queues: `rtic-sync`'s channels.

use core::{
    cell::UnsafeCell,
    pin::Pin,
    task::{Context, Poll},
};

use chronoscope_suite::Refusal;
use rtic_sync::channel::{Channel, Receiver, Sender};

use crate::slot;

/// The capacity is part of the queue's type. Unused places cost memory only.
pub const CAPACITY: usize = 64;

/// Both ends of a channel, which RTIC's users hand to the tasks at each. In every experiment one
/// task sends to a queue and one receives from it.
pub struct Queue {
    sender: UnsafeCell<Sender<'static, u32, CAPACITY>>,
    receiver: UnsafeCell<Receiver<'static, u32, CAPACITY>>,
}

// SAFETY: each end is used by one task, and a channel's ends may be used at the same time.
unsafe impl Sync for Queue {}

impl Queue {
    /// # Errors
    /// [`Refusal`] when memory is full.
    pub fn new() -> Result<Self, Refusal> {
        let channel = slot::place(UnsafeCell::new(Channel::new()))?;
        // SAFETY: the channel is new, and only this function uses it.
        let (sender, receiver) = unsafe { &mut *channel.get() }.split();
        Ok(Self { sender: UnsafeCell::new(sender), receiver: UnsafeCell::new(receiver) })
    }

    #[inline(always)]
    pub fn send(&'static self, word: u32) -> impl Future<Output = ()> + Send {
        // SAFETY: one task uses this end, one future at a time.
        Alive(unsafe { &mut *self.sender.get() }.send(word))
    }

    #[inline(always)]
    pub fn receive(&'static self) -> impl Future<Output = u32> + Send {
        // SAFETY: one task uses this end, one future at a time.
        Alive(unsafe { &mut *self.receiver.get() }.recv())
    }
}

/// The channel's future without its error: the other end exists as long as the channel. It is a
/// future and not an `async fn`, which would add a second state machine to the one that RTIC's
/// users write.
struct Alive<F>(F);

impl<T, E, F: Future<Output = Result<T, E>>> Future for Alive<F> {
    type Output = T;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // SAFETY: the future is pinned as `self` is, and nothing here moves it.
        unsafe { self.map_unchecked_mut(|alive| &mut alive.0) }.poll(context).map(|result| {
            result.unwrap_or_else(|_| unreachable!("both ends of a queue live as long as it does"))
        })
    }
}
