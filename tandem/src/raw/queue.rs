//! A queue of messages whose size is known at run time, for threads and handlers.
//!
//! As in [`queue`](crate::queue), a waiting thread is handed its message directly. Only threads
//! wait, so no message is promised.
//!
//! # Soundness
//! - The ring and the offsets are accessed only with interrupts masked. Offsets are below `end` and
//!   multiples of `size`, and `used` bytes from `first` on, around the end, are messages.
//! - The `cargo` of a waiter is the address of a message or of space for one. The thread that waits
//!   keeps it valid until its waiter has left the queue.

use crate::{
    arch::{Mask, masked},
    kernel::{self, assert_may_wait},
    me::Me,
    paths::tasks,
    queue::{Served, wait},
    records::{Task, WaitQueue},
    shared::{Masked, Shared},
    wait::rouse,
};

/// A queue of messages of a size given at run time, first in, first out. Messages are copied as
/// bytes.
#[repr(C)]
pub struct Queue {
    receivers: WaitQueue,
    senders: WaitQueue,
    ring: *mut u8,
    /// The size of a message, and of the ring, in bytes.
    size: usize,
    end: usize,
    /// The offsets of the first message and of the first free place, and the bytes of messages.
    first: Shared<usize>,
    free: Shared<usize>,
    used: Shared<usize>,
}

// SAFETY: the ring is accessed only with interrupts masked.
unsafe impl Sync for Queue {}

impl Queue {
    /// An empty queue of at most `count` messages of `size` bytes.
    ///
    /// # Panics
    /// If the ring would have no byte, or more than the address space.
    ///
    /// # Safety
    /// Nothing else uses the `size * count` bytes at `ring` from here on.
    #[must_use]
    pub unsafe fn new(ring: *mut u8, size: usize, count: usize) -> Self {
        let end = size.checked_mul(count).filter(|end| *end > 0);
        Self {
            receivers: WaitQueue::new(),
            senders: WaitQueue::new(),
            ring,
            size,
            end: end.expect("a queue has room for at least one byte, and for less than all memory"),
            first: Shared::new(0),
            free: Shared::new(0),
            used: Shared::new(0),
        }
    }

    /// The number of messages in the queue. May be called anywhere. Constant time.
    #[must_use]
    pub fn count(&self) -> usize {
        masked(|m| self.used.get(m)) / self.size
    }

    /// Moves an offset to the next place. Returns the place that it leaves.
    #[inline(always)]
    fn pass(&self, m: Masked, offset: &Shared<usize>) -> *mut u8 {
        let at = offset.get(m);
        let next = at + self.size;
        offset.set(m, if next == self.end { 0 } else { next });
        // SAFETY: offsets are below `end`, the size of the ring.
        unsafe { self.ring.add(at) }
    }

    /// Copies a message to the most urgent receiver or into the ring.
    ///
    /// # Safety
    /// `message` is valid for a read of `size` bytes.
    #[inline(always)]
    unsafe fn put(&self, m: Masked, message: *const u8) -> Put {
        if let Some(receiver) = self.receivers.first(m) {
            let place = receiver.cargo.get(m).cast::<u8>();
            let task = receiver.task(m);
            let _ = self.receivers.serve(m, receiver);
            // SAFETY: a waiting thread's cargo is space for one message, and `message` is valid.
            unsafe { copy(message, place, self.size) };
            return Put::Wakes(task);
        }
        let used = self.used.get(m);
        if used == self.end {
            return Put::Full;
        }
        self.used.set(m, used + self.size);
        // SAFETY: the ring is not full, so the first free place holds no message.
        unsafe { copy(message, self.pass(m, &self.free), self.size) };
        Put::Stored
    }

    /// Copies the first message out, and then the message of the most urgent waiting sender in.
    ///
    /// # Safety
    /// The ring is not empty, and `place` is valid for a write of `size` bytes.
    #[inline(always)]
    unsafe fn get(&self, m: Masked, mask: Mask, place: *mut u8) {
        self.used.set(m, self.used.get(m) - self.size);
        // SAFETY: the first place holds a message, and `place` is valid, by this function's
        // contract.
        unsafe { copy(self.pass(m, &self.first), place, self.size) };
        if !self.senders.is_empty(m) {
            self.admit(m, mask);
        }
    }

    /// Copies the message of the most urgent waiting sender into the ring, which has space for it.
    #[inline(never)]
    fn admit(&self, m: Masked, mask: Mask) {
        let Some(sender) = self.senders.pop(m) else { return };
        self.used.set(m, self.used.get(m) + self.size);
        let message = sender.0.cargo.get(m).cast::<u8>();
        // SAFETY: the cargo of a waiting sender is its message, and the place is free.
        unsafe { copy(message, self.pass(m, &self.free), self.size) };
        if rouse(m, sender) {
            kernel::reschedule_if_started(m, mask);
        }
    }

    /// Sends a message if the queue is not full. Never waits; for tasks and handlers. The message is
    /// copied with interrupts masked.
    ///
    /// # Safety
    /// `message` is valid for a read of the queue's size.
    #[inline(always)]
    pub unsafe fn try_send(&self, message: *const u8) -> bool {
        let (mask, m) = Mask::set();
        // SAFETY: by this function's contract.
        let put = unsafe { self.put(m, message) };
        if let Put::Wakes(task) = put {
            tasks::wake_and_preempt(m, mask, task);
        }
        mask.restore();
        !matches!(put, Put::Full)
    }

    /// Sends a message; blocks the thread while the queue is full, until `due` at the latest.
    /// Returns whether it was sent.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    ///
    /// # Safety
    /// As for [`try_send`](Self::try_send).
    #[track_caller]
    pub unsafe fn send(&self, _: &Me, message: *const u8, due: Option<u64>) -> bool {
        let (mask, m) = Mask::set();
        // SAFETY: by this function's contract.
        match unsafe { self.put(m, message) } {
            Put::Full => {
                assert_may_wait(mask, "Queue::send");
                let cargo = message.cast_mut().cast();
                return wait(&self.senders, m, mask, cargo, due) != Served::No;
            }
            Put::Wakes(task) => tasks::wake_and_preempt(m, mask, task),
            Put::Stored => {}
        }
        mask.restore();
        true
    }

    /// Receives a message if there is one. Never waits; for tasks and handlers. The message is
    /// copied with interrupts masked.
    ///
    /// # Safety
    /// `place` is valid for a write of the queue's size.
    #[inline(always)]
    pub unsafe fn try_receive(&self, place: *mut u8) -> bool {
        let (mask, m) = Mask::set();
        let some = self.used.get(m) > 0;
        if some {
            // SAFETY: the ring is not empty, and `place` valid by this function's contract.
            unsafe { self.get(m, mask, place) };
        }
        mask.restore();
        some
    }

    /// Receives a message; blocks the thread while the queue is empty, until `due` at the latest.
    /// Returns whether there was one.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    ///
    /// # Safety
    /// As for [`try_receive`](Self::try_receive).
    #[inline(always)]
    #[track_caller]
    pub unsafe fn receive(&self, _: &Me, place: *mut u8, due: Option<u64>) -> bool {
        let (mask, m) = Mask::set();
        if self.used.get(m) > 0 {
            // SAFETY: as for `try_receive`.
            unsafe { self.get(m, mask, place) };
            mask.restore();
            return true;
        }
        assert_may_wait(mask, "Queue::receive");
        wait(&self.receivers, m, mask, place.cast(), due) != Served::No
    }
}

/// The end of [`Queue::put`].
enum Put {
    /// The ring is full, and the message has not been copied.
    Full,
    Stored,
    /// A thread has the message: it is to be woken.
    Wakes(Task),
}

/// Copies a message. A single word is copied here, the rest in a function of its own.
///
/// # Safety
/// `size` bytes are valid at both addresses, and do not overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, size: usize) {
    if size == 4 && (from.addr() | to.addr()).is_multiple_of(4) {
        // SAFETY: both are aligned, and valid for a word.
        unsafe { to.cast::<u32>().write(from.cast::<u32>().read()) };
    } else {
        // SAFETY: by this function's contract.
        unsafe { copy_any(from, to, size) };
    }
}

/// Copies like [`copy`]: words where all is aligned, otherwise bytes.
///
/// # Safety
/// As for [`copy`].
#[inline(never)]
unsafe fn copy_any(from: *const u8, to: *mut u8, size: usize) {
    if (from.addr() | to.addr() | size).is_multiple_of(4) {
        let (from, to) = (from.cast::<u32>(), to.cast::<u32>());
        for word in 0..size / 4 {
            // SAFETY: both are aligned, and valid for `size` bytes. Volatile, so that it does not
            // become a call of `memcpy`, which the program may have built for size.
            unsafe { to.add(word).write_volatile(from.add(word).read_volatile()) };
        }
    } else {
        // SAFETY: by this function's contract.
        unsafe { to.copy_from_nonoverlapping(from, size) };
    }
}
