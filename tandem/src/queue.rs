//! A bounded queue of messages.
//!
//! A waiting thread is handed its message directly. A waiting coroutine is promised a message,
//! which stays in the ring until the coroutine is polled: if its future is dropped instead, the
//! message goes to the next receiver and is not lost.
//!
//! # Soundness
//! - The ring and the counters are accessed only with interrupts masked. The `len` messages from
//!   `first` on are initialized, and no others.
//! - `promised` is at most `len`: a promise is made only for a message in the ring, and redeemed or
//!   withdrawn once. So a receiver with a promise finds a message.
//! - The `cargo` of a waiter is the address of a message or of space for one. The thread or future
//!   that waits keeps it valid until its waiter has left the queue.
//! - Messages are moved as bytes. The owner of a message that has been read forgets it.

mod futures;

pub use futures::{Received, Sent};

use crate::{
    arch::{self, Mask, masked},
    kernel::{self, assert_may_wait},
    me::Me,
    paths::tasks,
    records::{KERNEL, TIMERS, Task, Timer, WaitQueue, Waiter},
    shared::{Masked, Shared},
    time::TimedOut,
    wait::detach,
};
use core::{
    cell::UnsafeCell,
    mem::{ManuallyDrop, MaybeUninit},
    ptr::NonNull,
};

/// A queue of at most `N` messages of type `T`, first in, first out. Messages are moved.
///
/// Dropping a queue does not drop the messages in it.
pub struct Queue<T, const N: usize> {
    receivers: WaitQueue,
    senders: WaitQueue,
    first: Shared<u32>,
    len: Shared<u32>,
    /// The number of messages in the ring that are promised to receivers that have not run yet.
    promised: Shared<u32>,
    ring: UnsafeCell<[MaybeUninit<T>; N]>,
}

// SAFETY: the ring is accessed only with interrupts masked, and `T: Send` allows messages to move
// between tasks.
unsafe impl<T: Send, const N: usize> Sync for Queue<T, N> {}

impl<T, const N: usize> Default for Queue<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const N: usize> Queue<T, N> {
    /// An empty queue. `N` is checked at compile time: at least 1, below 2³¹.
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

    /// The number of messages in the queue, among them those for receivers that have been woken and
    /// have not run yet.
    ///
    /// May be called anywhere, with interrupts masked too. Constant time.
    #[must_use]
    pub fn len(&self) -> usize {
        masked(|m| self.len.get(m)) as usize
    }

    /// Returns whether there is no message. May be called anywhere.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether there is no room for a message. May be called anywhere.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() == N
    }

    /// The number of messages that the queue has room for: `N`.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        N
    }

    /// A copy of the message that [`try_receive`](Self::try_receive) would return now. It stays in
    /// the queue.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too. Constant time besides the
    /// copy of the message, which takes place with interrupts masked.
    #[must_use]
    pub fn peek(&self) -> Option<T>
    where
        T: Copy,
    {
        masked(|m| {
            // SAFETY: there are more messages than promises, so the first one is initialized. It
            // may be copied, and nothing changes it while interrupts are masked.
            (self.len.get(m) > self.promised.get(m)).then(|| unsafe { self.place(m, 0).read() })
        })
    }

    /// Reduces an index of less than 2 `N` to its position in the ring.
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

    /// The address of the message number `index`, counted from the first. `index` is less than `N`.
    #[inline(always)]
    fn place(&self, m: Masked, index: u32) -> *mut T {
        let index = Self::wrap(self.first.get(m) + index);
        // SAFETY: `first` and `index` are less than `N`, so `wrap` yields a position in the ring.
        unsafe { self.ring.get().cast::<T>().add(index as usize) }
    }

    /// Moves a message to the most urgent receiver or into the ring.
    ///
    /// # Safety
    /// `message` is valid for one move out of it. Unless the result is `Full`, it has been moved:
    /// the caller forgets it.
    #[inline(always)]
    unsafe fn put<'a>(&self, m: Masked, message: *const T) -> Put<'a> {
        let receiver = self.receivers.first(m);
        if let Some(receiver) = receiver {
            let place = receiver.cargo.get(m).cast::<T>();
            if !place.is_null() {
                let _ = self.receivers.serve(m, receiver);
                // SAFETY: a waiting thread's cargo is space for one message on its stack, and
                // `message` is valid.
                unsafe { place.copy_from_nonoverlapping(message, 1) };
                return Put::Wakes(receiver.task(m));
            }
        }
        let len = self.len.get(m);
        if len == N as u32 {
            return Put::Full;
        }
        arch::breach("put");
        // SAFETY: `len` is less than `N`, so the position behind the last message is free, and
        // `message` is valid.
        unsafe { self.place(m, len).copy_from_nonoverlapping(message, 1) };
        self.len.set(m, len + 1);
        // A waiting coroutine is promised the message, which is otherwise unclaimed.
        let Some(receiver) = receiver else { return Put::Stored };
        self.promised.set(m, self.promised.get(m) + 1);
        match self.receivers.serve(m, receiver) {
            Some(task) => Put::Wakes(task),
            None => Put::Calls(receiver),
        }
    }

    /// Moves the first message out, and then the message of the most urgent waiting sender in.
    ///
    /// # Safety
    /// The ring is not empty, and `place` is valid for a write.
    #[inline(always)]
    unsafe fn get(&self, m: Masked, mask: Mask, place: *mut T) {
        // SAFETY: the first message is initialized, and `place` valid, by this function's contract.
        // The position is free from here on.
        unsafe { place.copy_from_nonoverlapping(self.place(m, 0), 1) };
        self.first.set(m, Self::wrap(self.first.get(m) + 1));
        self.len.set(m, self.len.get(m) - 1);
        if !self.senders.is_empty(m) {
            self.admit(m, mask);
        }
    }

    /// Moves the message of the most urgent waiting sender into the ring, which has space for it.
    #[inline(never)]
    fn admit(&self, m: Masked, mask: Mask) {
        let Some(sender) = self.senders.pop(m) else { return };
        let len = self.len.get(m);
        // SAFETY: the position behind the last message is free. The cargo of a waiting sender is
        // its message, which it forgets once it is served.
        unsafe {
            self.place(m, len).copy_from_nonoverlapping(sender.0.cargo.get(m).cast::<T>(), 1)
        };
        self.len.set(m, len + 1);
        // There may be receivers waiting, if all messages of a full ring were promised.
        let receiver = self.promise(m);
        // A waker that is called may drop the future of the other waiter.
        let both = [Some(detach(m, sender)), receiver.map(|receiver| detach(m, receiver))];
        let mut pressing = false;
        for sleeper in both.into_iter().flatten() {
            match sleeper.as_task() {
                Some(task) => pressing |= kernel::wake(m, task),
                None => {
                    sleeper.call(m);
                    sleeper.release();
                    pressing = true;
                }
            }
        }
        if pressing {
            kernel::reschedule_if_started(m, mask);
        }
    }

    /// Promises an unclaimed message, if there is one, to the most urgent waiting receiver. Returns
    /// its waiter, and the task to be woken unless it has a foreign waker.
    #[inline(always)]
    fn promise<'a>(&self, m: Masked) -> Option<(&'a Waiter, Option<Task>)> {
        if self.len.get(m) == self.promised.get(m) {
            return None;
        }
        let receiver = self.receivers.pop(m)?;
        receiver.0.cargo.set(m, core::ptr::null_mut());
        self.promised.set(m, self.promised.get(m) + 1);
        Some(receiver)
    }

    /// Takes the message that was promised to the caller.
    ///
    /// # Safety
    /// The caller holds a promise, and `place` is valid for a write.
    #[inline]
    unsafe fn redeem(&self, m: Masked, mask: Mask, place: *mut T) {
        self.promised.set(m, self.promised.get(m) - 1);
        // SAFETY: each promise has a message in the ring; `place` is valid by this function's
        // contract.
        unsafe { self.get(m, mask, place) };
    }

    /// Sends a message if the queue is not full.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too. Constant time besides the
    /// move of the message, which takes place with interrupts masked.
    ///
    /// # Errors
    /// Returns the message if the queue is full.
    #[inline(always)]
    pub fn try_send(&self, message: T) -> Result<(), T> {
        let message = ManuallyDrop::new(message);
        let (mask, m) = Mask::set();
        // SAFETY: the message is valid, and is forgotten if it has been moved.
        match unsafe { self.put(m, &raw const *message) } {
            Put::Full => {
                mask.restore();
                return Err(ManuallyDrop::into_inner(message));
            }
            Put::Wakes(task) => tasks::wake_and_preempt(m, mask, task),
            Put::Calls(waiter) => Waiter::call(waiter.into(), m, mask),
            Put::Stored => {}
        }
        mask.restore();
        Ok(())
    }

    /// Receives a message if there is an unclaimed one.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too. Constant time besides the
    /// move of the message, which takes place with interrupts masked.
    #[inline]
    pub fn try_receive(&self) -> Option<T> {
        let mut place = MaybeUninit::uninit();
        let (mask, m) = Mask::set();
        let some = self.len.get(m) > self.promised.get(m);
        if some {
            // SAFETY: there are more messages than promises, so the ring is not empty.
            unsafe { self.get(m, mask, place.as_mut_ptr()) };
        }
        mask.restore();
        // SAFETY: `get` wrote it if `some`.
        some.then(|| unsafe { place.assume_init() })
    }

    /// Sends a message; blocks the thread while the queue is full.
    ///
    /// At most 32 steps with interrupts masked if it must wait, besides the move of the message.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[inline]
    #[track_caller]
    pub fn send(&self, _: &Me, message: T) {
        if let Err(message) = self.try_send(message) {
            let _ = self.send_late(message, None);
        }
    }

    /// Sends a message; blocks the thread until `due` at the latest, in ticks of the board's clock.
    ///
    /// # Errors
    /// Returns the message if the queue was full until `due`.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[track_caller]
    pub fn send_until(&self, _: &Me, message: T, due: u64) -> Result<(), T> {
        match self.try_send(message) {
            Ok(()) => Ok(()),
            Err(message) => self.send_late(message, Some(due)),
        }
    }

    #[inline(never)]
    #[track_caller]
    fn send_late(&self, message: T, due: Option<u64>) -> Result<(), T> {
        let message = ManuallyDrop::new(message);
        let (mask, m) = Mask::set();
        // SAFETY: the message is valid, and is forgotten if it has been moved. (There may be space
        // by now.)
        match unsafe { self.put(m, &raw const *message) } {
            Put::Full => {
                assert_may_wait(mask, "Queue::send");
                let cargo = (&raw const *message).cast_mut().cast();
                let served = wait(&self.senders, m, mask, cargo, due);
                return match served {
                    Served::Directly => Ok(()),
                    _ => Err(ManuallyDrop::into_inner(message)),
                };
            }
            Put::Wakes(task) => tasks::wake_and_preempt(m, mask, task),
            Put::Calls(waiter) => Waiter::call(waiter.into(), m, mask),
            Put::Stored => {}
        }
        mask.restore();
        Ok(())
    }

    /// Receives a message; blocks the thread while the queue is empty.
    ///
    /// At most 32 steps with interrupts masked if it must wait, besides the move of the message.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[inline]
    #[track_caller]
    pub fn receive(&self, me: &Me) -> T {
        match self.receive_or_wait(me, None) {
            Some(message) => message,
            // SAFETY: without a time, `wait` returns only when the thread has been served, so there
            // is a message.
            None => unsafe { core::hint::unreachable_unchecked() },
        }
    }

    /// Receives a message; blocks the thread until `due` at the latest, in ticks of the board's
    /// clock.
    ///
    /// # Errors
    /// If the queue was empty until `due`.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[track_caller]
    pub fn receive_until(&self, me: &Me, due: u64) -> Result<T, TimedOut> {
        self.receive_or_wait(me, Some(due)).ok_or(TimedOut)
    }

    #[inline(always)]
    #[track_caller]
    fn receive_or_wait(&self, _: &Me, due: Option<u64>) -> Option<T> {
        let mut place = MaybeUninit::<T>::uninit();
        let (mask, m) = Mask::set();
        let served = if self.len.get(m) > self.promised.get(m) {
            // SAFETY: there are more messages than promises, so the ring is not empty.
            unsafe { self.get(m, mask, place.as_mut_ptr()) };
            mask.restore();
            true
        } else {
            assert_may_wait(mask, "Queue::receive");
            match wait(&self.receivers, m, mask, place.as_mut_ptr().cast(), due) {
                Served::No => false,
                Served::Directly => true,
                Served::ByPromise => {
                    let (mask, m) = Mask::set();
                    // SAFETY: `wait` returned a promise, which is redeemed here, once.
                    unsafe { self.redeem(m, mask, place.as_mut_ptr()) };
                    mask.restore();
                    true
                }
            }
        };
        // SAFETY: served directly, the sender wrote the message; otherwise `get` or `redeem` did.
        served.then(|| unsafe { place.assume_init() })
    }

    /// Receives a message; the task waits while the queue is empty. Dropping the future loses
    /// no message.
    ///
    /// The future may move to another task or waker between two polls.
    #[inline]
    pub fn received(&self) -> Received<'_, T, N> {
        Received::new(self)
    }

    /// Sends a message; the task waits while the queue is full. A future dropped before it
    /// completes may or may not have sent; if it has not, it drops the message.
    ///
    /// The future may move to another task or waker between two polls.
    #[inline]
    pub fn sent(&self, message: T) -> Sent<'_, T, N> {
        Sent::new(self, message)
    }
}

/// The end of [`Queue::put`].
enum Put<'a> {
    /// The ring is full, and the message has not been moved.
    Full,
    Stored,
    /// A task has the message, or has been promised one: it is to be woken.
    Wakes(Task),
    /// A future has been promised the message: its foreign waker is to be called.
    Calls(&'a Waiter),
}

/// The end of a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    No,
    Directly,
    ByPromise,
}

/// Blocks the thread until it is served or `due` has come. Unmasks interrupts at the end.
#[inline(always)]
pub(crate) fn wait(
    queue: &WaitQueue,
    m: Masked,
    mask: Mask,
    cargo: *mut (),
    due: Option<u64>,
) -> Served {
    match due {
        None => wait_without_limit(queue, m, mask, cargo),
        Some(due) => wait_with_limit(queue, m, mask, cargo, due),
    }
}

#[inline(never)]
fn wait_without_limit(queue: &WaitQueue, m: Masked, mask: Mask, cargo: *mut ()) -> Served {
    wait_for(queue, m, mask, cargo, None)
}

#[inline(never)]
fn wait_with_limit(queue: &WaitQueue, m: Masked, mask: Mask, cargo: *mut (), due: u64) -> Served {
    wait_for(queue, m, mask, cargo, Some(due))
}

#[inline(always)]
fn wait_for(queue: &WaitQueue, m: Masked, mask: Mask, cargo: *mut (), due: Option<u64>) -> Served {
    let me = KERNEL.current(m);
    let mut place = MaybeUninit::uninit();
    let waiter = Waiter::in_place(&mut place, me);
    waiter.cargo.set(m, cargo);
    me.waiter.set(m, Some(NonNull::from(waiter)));
    queue.insert(m, waiter);
    let served = match due {
        None => {
            tasks::block(m, me);
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

/// Blocks the thread until its waiter, which is in a queue, is served or `due` has come. Removes
/// the waiter from its queue, and returns whether it was served.
#[inline(always)]
pub(crate) fn wait_until(m: Masked, mask: Mask, me: Task, waiter: &Waiter, due: u64) -> bool {
    debug_assert!(waiter.is_waiting(m), "nothing would wake a thread that has been served");
    let mut place = MaybeUninit::uninit();
    let timer = Timer::in_place(&mut place, me);
    if TIMERS.set_in_window(m, timer, due) {
        return wait_behind_alarm(m, mask, me, waiter, timer);
    }
    tasks::block(m, me);
    if !waiter.is_served(m) {
        return wait_on(m, me, waiter, timer);
    }
    timer.discard(m);
    true
}

/// Continues [`wait_until`] where the alarm has been set, which takes a while.
#[cold]
#[inline(never)]
fn wait_behind_alarm(m: Masked, mask: Mask, me: Task, waiter: &Waiter, timer: &Timer) -> bool {
    let m = timer.let_interrupts_in(m, mask);
    // An inherited priority may have come while interrupts were unmasked.
    waiter.move_to_level_of_task(m);
    wait_on(m, me, waiter, timer)
}

/// Continues [`wait_until`] once the timer has been set.
#[cold]
#[inline(never)]
fn wait_on(m: Masked, me: Task, waiter: &Waiter, timer: &Timer) -> bool {
    loop {
        if waiter.is_served(m) {
            timer.cancel(m);
            return true;
        }
        if !timer.is_set(m) {
            waiter.leave(m);
            return false;
        }
        tasks::block(m, me);
    }
}
