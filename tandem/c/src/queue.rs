//! Queues of messages whose size is known at run time: a ring, and a semaphore each for the
//! messages and the free places.
//!
//! # Soundness
//! The ring is accessed with interrupts masked. Whoever has taken a unit of `places` finds a free
//! place, since a place is counted only when its message has been copied out; likewise for
//! `messages`. So the copies stay within the ring and touch one place each.

use crate::{me, section::masked};
use core::cell::Cell;
use tandem::Semaphore;

#[repr(C)]
pub struct Queue {
    messages: Semaphore,
    places: Semaphore,
    ring: *mut u8,
    /// The size of a message, and of the ring, in bytes.
    size: usize,
    end: usize,
    /// The offsets of the first message and the first free place.
    first: Cell<usize>,
    free: Cell<usize>,
}

impl Queue {
    /// Moves one of the offsets to the next place. Returns the place that it left.
    #[inline(always)]
    fn pass(&self, offset: &Cell<usize>) -> *mut u8 {
        let at = offset.get();
        let next = at + self.size;
        offset.set(if next == self.end { 0 } else { next });
        // SAFETY: offsets stay below `end`, the size of the ring.
        unsafe { self.ring.add(at) }
    }

    /// Copies a message into the ring. The caller has taken a unit of `places`.
    #[inline(always)]
    fn put(&self, message: *const u8) {
        // SAFETY: the place is free, and the message valid by the header.
        masked(|| unsafe { copy(message, self.pass(&self.free), self.size) });
        self.messages.give();
    }

    /// Copies the first message out. The caller has taken a unit of `messages`.
    #[inline(always)]
    fn get(&self, message: *mut u8) {
        // SAFETY: there is a message, and its destination is valid by the header.
        masked(|| unsafe { copy(self.pass(&self.first), message, self.size) });
        self.places.give();
    }
}

/// Copies a message: words where all is aligned, otherwise bytes.
///
/// # Safety
/// `size` bytes are valid at both addresses, and do not overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, size: usize) {
    if (from.addr() | to.addr() | size).is_multiple_of(4) {
        let (from, to) = (from.cast::<u32>(), to.cast::<u32>());
        for word in 0..size / 4 {
            // SAFETY: both are aligned, and valid for `size` bytes.
            unsafe { to.add(word).write_volatile(from.add(word).read_volatile()) };
        }
    } else {
        // SAFETY: by this function's contract.
        unsafe { to.copy_from_nonoverlapping(from, size) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_queue_init(
    queue: *mut Queue,
    storage: *mut u8,
    size: usize,
    count: usize,
) {
    assert!(size > 0 && count > 0, "tandem_queue_init: a queue has room for at least one byte");
    let value = Queue {
        messages: Semaphore::new(0),
        places: Semaphore::new(count as u32),
        ring: storage,
        size,
        end: size * count,
        first: Cell::new(0),
        free: Cell::new(0),
    };
    // SAFETY: the memory is the program's, and not in use yet, by the header.
    unsafe { queue.write(value) }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_queue_try_send(queue: &Queue, message: *const u8) -> bool {
    let taken = queue.places.try_take();
    if taken {
        queue.put(message);
    }
    taken
}

#[unsafe(no_mangle)]
extern "C" fn tandem_queue_send(queue: &Queue, message: *const u8) {
    if !queue.places.try_take() {
        queue.places.take(&me("tandem_queue_send"));
    }
    queue.put(message);
}

#[unsafe(no_mangle)]
extern "C" fn tandem_queue_send_until(queue: &Queue, message: *const u8, due: u64) -> bool {
    let taken = queue.places.try_take()
        || queue.places.take_until(&me("tandem_queue_send_until"), due).is_ok();
    if taken {
        queue.put(message);
    }
    taken
}

#[unsafe(no_mangle)]
extern "C" fn tandem_queue_try_receive(queue: &Queue, message: *mut u8) -> bool {
    let taken = queue.messages.try_take();
    if taken {
        queue.get(message);
    }
    taken
}

#[unsafe(no_mangle)]
extern "C" fn tandem_queue_receive(queue: &Queue, message: *mut u8) {
    if !queue.messages.try_take() {
        queue.messages.take(&me("tandem_queue_receive"));
    }
    queue.get(message);
}

#[unsafe(no_mangle)]
extern "C" fn tandem_queue_receive_until(queue: &Queue, message: *mut u8, due: u64) -> bool {
    let taken = queue.messages.try_take()
        || queue.messages.take_until(&me("tandem_queue_receive_until"), due).is_ok();
    if taken {
        queue.get(message);
    }
    taken
}
