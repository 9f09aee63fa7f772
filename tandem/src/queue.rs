//! A bounded queue of messages.
//!
//! A waiting thread is handed its message directly. A waiting coroutine is promised one that stays in the
//! ring until it is polled: if its future is dropped instead, the message goes to the next, and none is lost.

mod futures;

pub use futures::{Received, Sent};

use crate::{
    arch::{self, Mask},
    kernel::{self, KERNEL},
    shared::{Masked, Shared},
    task::Task,
    thread::Me,
    time::{TIMERS, TimedOut, Timer},
    wait::{WaitQueue, Waiter},
};
use core::{
    cell::UnsafeCell,
    mem::{ManuallyDrop, MaybeUninit},
    ptr::NonNull,
};

/// A queue of at most `N` messages, in order, each moved.
pub struct Queue<T, const N: usize> {
    receivers: WaitQueue,
    senders: WaitQueue,
    first: Shared<u32>,
    len: Shared<u32>,
    /// How many of the messages are promised to coroutines that have yet to be polled.
    promised: Shared<u32>,
    ring: UnsafeCell<[MaybeUninit<T>; N]>,
}

// SAFETY: the ring is touched only with interrupts masked; messages move between tasks.
unsafe impl<T: Send, const N: usize> Sync for Queue<T, N> {}

impl<T, const N: usize> Default for Queue<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const N: usize> Queue<T, N> {
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(N > 0 && N < 1 << 31, "a queue has room for at least one message") };
        Self {
            receivers: WaitQueue::new(),
            senders: WaitQueue::new(),
            first: Shared::new(0),
            len: Shared::new(0),
            promised: Shared::new(0),
            ring: UnsafeCell::new([const { MaybeUninit::uninit() }; N]),
        }
    }

    /// An index into the ring that may have passed its end once.
    #[inline(always)]
    const fn wrap(index: u32) -> u32 {
        if N.is_power_of_two() {
            index & (N as u32 - 1)
        } else if index >= N as u32 {
            index - N as u32
        } else {
            index
        }
    }

    /// The place of the message at `index` from the first.
    #[inline(always)]
    fn place(&self, m: Masked, index: u32) -> *mut T {
        let index = Self::wrap(self.first.get(m) + index);
        // SAFETY: both `first` and the index from it are less than `N`, so the place is in the ring.
        unsafe { self.ring.get().cast::<T>().add(index as usize) }
    }

    /// Moves a message in, if there is room. Returns the task to be woken, if any.
    ///
    /// # Safety
    /// `message` may be read, once; if the result is `Some`, it has been.
    #[inline(always)]
    unsafe fn put(&self, m: Masked, message: *const T) -> Option<Option<Task>> {
        let receiver = self.receivers.first(m);
        if let Some(receiver) = receiver {
            let place = receiver.cargo.get(m).cast::<T>();
            if !place.is_null() {
                self.receivers.serve(m, receiver);
                // SAFETY: a waiting thread names a place of its own for one message.
                unsafe { place.copy_from_nonoverlapping(message, 1) };
                return Some(Some(receiver.task()));
            }
        }
        let len = self.len.get(m);
        if len == N as u32 {
            return None;
        }
        // SAFETY: the place behind the last message is free.
        unsafe { self.place(m, len).copy_from_nonoverlapping(message, 1) };
        self.len.set(m, len + 1);
        // To a coroutine it is promised, for it is nobody's yet.
        Some(receiver.map(|receiver| {
            self.receivers.serve(m, receiver);
            self.promised.set(m, self.promised.get(m) + 1);
            receiver.task()
        }))
    }

    /// Moves the first message out, and that of the most urgent waiting sender in.
    ///
    /// # Safety
    /// There is a message, and `place` may be written.
    #[inline(always)]
    unsafe fn get(&self, m: Masked, mask: Mask, place: *mut T) {
        // SAFETY: the first message is there, by the caller's word.
        unsafe { place.copy_from_nonoverlapping(self.place(m, 0), 1) };
        self.first.set(m, Self::wrap(self.first.get(m) + 1));
        self.len.set(m, self.len.get(m) - 1);
        if !self.senders.is_empty(m) {
            self.admit(m, mask);
        }
    }

    /// Lets the most urgent waiting sender's message in, now that there is room.
    #[inline(never)]
    fn admit(&self, m: Masked, mask: Mask) {
        let Some(sender) = self.senders.pop(m) else { return };
        let len = self.len.get(m);
        // SAFETY: there is room, and a waiting sender names its message, which it forgets once served.
        unsafe { self.place(m, len).copy_from_nonoverlapping(sender.cargo.get(m).cast::<T>(), 1) };
        self.len.set(m, len + 1);
        // Receivers wait beside senders if the ring was full of promised messages.
        let receiver = self.promise(m);
        let pressing = kernel::wake(m, sender.task())
            | receiver.is_some_and(|receiver| kernel::wake(m, receiver));
        if pressing {
            kernel::reschedule(m, mask);
        }
    }

    /// Promises a message that is nobody's to the most urgent waiting receiver, which takes it when it runs.
    #[inline(always)]
    fn promise(&self, m: Masked) -> Option<Task> {
        if self.len.get(m) == self.promised.get(m) {
            return None;
        }
        let receiver = self.receivers.pop(m)?;
        receiver.cargo.set(m, core::ptr::null_mut());
        self.promised.set(m, self.promised.get(m) + 1);
        Some(receiver.task())
    }

    /// Takes the message that was promised to the caller.
    ///
    /// # Safety
    /// One was, and `place` may be written.
    #[inline]
    unsafe fn redeem(&self, m: Masked, mask: Mask, place: *mut T) {
        self.promised.set(m, self.promised.get(m) - 1);
        // SAFETY: a promised message is in the ring.
        unsafe { self.get(m, mask, place) };
    }

    /// Sends a message if there is room. Never waits; handlers may call it.
    ///
    /// # Errors
    /// Gives the message back when the queue is full.
    #[inline]
    pub fn try_send(&self, message: T) -> Result<(), T> {
        let message = ManuallyDrop::new(message);
        let (mask, m) = Mask::set();
        // SAFETY: the message is forgotten once it has been read.
        let sent = unsafe { self.put(m, &raw const *message) };
        if let Some(Some(task)) = sent {
            kernel::wake_and_preempt(m, mask, task);
        }
        mask.restore();
        if sent.is_some() { Ok(()) } else { Err(ManuallyDrop::into_inner(message)) }
    }

    /// Receives a message if there is one. Never waits; handlers may call it.
    #[inline]
    pub fn try_receive(&self) -> Option<T> {
        let mut place = MaybeUninit::uninit();
        let (mask, m) = Mask::set();
        let some = self.len.get(m) > self.promised.get(m);
        if some {
            // SAFETY: there is a message that is nobody's.
            unsafe { self.get(m, mask, place.as_mut_ptr()) };
        }
        mask.restore();
        // SAFETY: written if there was one.
        some.then(|| unsafe { place.assume_init() })
    }

    /// Sends a message; blocks the thread while the queue is full.
    #[inline]
    pub fn send(&self, _: &Me, message: T) {
        if let Err(message) = self.try_send(message) {
            let _ = self.send_late(message, None);
        }
    }

    /// As [`send`](Self::send), until `due` at the latest.
    ///
    /// # Errors
    /// Gives the message back when `due` came first.
    pub fn send_until(&self, _: &Me, message: T, due: u64) -> Result<(), T> {
        self.try_send(message).or_else(|message| self.send_late(message, Some(due)))
    }

    #[inline(never)]
    fn send_late(&self, message: T, due: Option<u64>) -> Result<(), T> {
        let message = ManuallyDrop::new(message);
        let (mask, m) = Mask::set();
        // SAFETY: the message is forgotten once it has been read. Room may have come since.
        let sent = unsafe { self.put(m, &raw const *message) };
        if let Some(task) = sent {
            if let Some(task) = task {
                kernel::wake_and_preempt(m, mask, task);
            }
            mask.restore();
            return Ok(());
        }
        let served = wait(&self.senders, m, mask, (&raw const *message).cast_mut().cast(), due);
        if served == Served::Directly { Ok(()) } else { Err(ManuallyDrop::into_inner(message)) }
    }

    /// Receives a message; blocks the thread while the queue is empty.
    #[inline]
    pub fn receive(&self, me: &Me) -> T {
        match self.receive_or_wait(me, None) {
            Some(message) => message,
            // SAFETY: only a time limit ends a wait without a message.
            None => unsafe { core::hint::unreachable_unchecked() },
        }
    }

    /// As [`receive`](Self::receive), until `due` at the latest.
    ///
    /// # Errors
    /// When `due` came first.
    pub fn receive_until(&self, me: &Me, due: u64) -> Result<T, TimedOut> {
        self.receive_or_wait(me, Some(due)).ok_or(TimedOut)
    }

    #[inline(always)]
    fn receive_or_wait(&self, _: &Me, due: Option<u64>) -> Option<T> {
        let mut place = MaybeUninit::<T>::uninit();
        let (mask, m) = Mask::set();
        let served = if self.len.get(m) > self.promised.get(m) {
            // SAFETY: there is a message that is nobody's.
            unsafe { self.get(m, mask, place.as_mut_ptr()) };
            mask.restore();
            true
        } else {
            match wait(&self.receivers, m, mask, place.as_mut_ptr().cast(), due) {
                Served::No => false,
                Served::Directly => true,
                Served::ByPromise => {
                    let (mask, m) = Mask::set();
                    // SAFETY: the promise was ours.
                    unsafe { self.redeem(m, mask, place.as_mut_ptr()) };
                    mask.restore();
                    true
                }
            }
        };
        // SAFETY: who is served has had its place written.
        served.then(|| unsafe { place.assume_init() })
    }

    /// Receives a message; the coroutine waits while the queue is empty. Dropping the future loses no message.
    #[inline]
    pub fn received(&self) -> Received<'_, T, N> {
        Received::new(self)
    }

    /// Sends a message; the coroutine waits while the queue is full. A future dropped before it completes may or
    /// may not have sent; if not, the message is dropped with it.
    #[inline]
    pub fn sent(&self, message: T) -> Sent<'_, T, N> {
        Sent::new(self, message)
    }
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Served {
    No,
    Directly,
    ByPromise,
}

/// Blocks the thread until it is served, or `due` has come. Lets interrupts in at the end.
#[inline(never)]
fn wait(queue: &WaitQueue, m: Masked, mask: Mask, cargo: *mut (), due: Option<u64>) -> Served {
    let me = KERNEL.current(m);
    let mut place = MaybeUninit::uninit();
    let waiter = Waiter::in_place(&mut place, me);
    waiter.cargo.set(m, cargo);
    me.waiter.set(m, Some(NonNull::from(waiter)));
    queue.insert(m, waiter);
    let served = match due {
        None => {
            kernel::block(m, me);
            true
        }
        Some(due) => wait_until(m, mask, me, waiter, due),
    };
    let promise = waiter.cargo.get(m).is_null();
    arch::unmask(m);
    match (served, promise) {
        (false, _) => Served::No,
        (true, false) => Served::Directly,
        (true, true) => Served::ByPromise,
    }
}

/// Blocks the thread until its waiter is served, or `due` has come and the waiter has left its queue.
pub(crate) fn wait_until(m: Masked, mask: Mask, me: Task, waiter: &Waiter, due: u64) -> bool {
    let timer = ManuallyDrop::new(Timer::new(me));
    let m = TIMERS.set(m, mask, &timer, due);
    // While interrupts were let in, an inherited priority may have come.
    waiter.move_to_level_of_task(m);
    while waiter.is_waiting(m) && timer.is_set(m) {
        kernel::block(m, me);
    }
    timer.cancel(m);
    waiter.leave(m);
    waiter.is_served(m)
}
