//! Queues of messages whose size is known at run time.
//!
//! # Soundness
//! Messages and the storage are valid, by the header.

use crate::me;
use tandem::raw::Queue;

/// The running thread is found in a few instructions: a call that may wait asks for it at once.
/// Elsewhere it first tries without.
const CHEAP: bool = cfg!(target_arch = "arm");

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_queue_init(
    queue: *mut Queue,
    storage: *mut u8,
    size: usize,
    count: usize,
) {
    // SAFETY: the memory is the program's, and not in use yet, by the header.
    unsafe { queue.write(Queue::new(storage, size, count)) }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_queue_count(queue: &Queue) -> usize {
    queue.count()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_queue_try_send(queue: &Queue, message: *const u8) -> bool {
    // SAFETY: the message is valid, by the header.
    unsafe { queue.try_send(message) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_queue_send(queue: &Queue, message: *const u8) {
    // SAFETY: the message is valid, by the header.
    unsafe {
        if !queue.try_send(message) {
            queue.send(&me("tandem_queue_send"), message, None);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_queue_send_until(queue: &Queue, message: *const u8, due: u64) -> bool {
    // SAFETY: the message is valid, by the header.
    unsafe {
        queue.try_send(message) || queue.send(&me("tandem_queue_send_until"), message, Some(due))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_queue_try_receive(queue: &Queue, message: *mut u8) -> bool {
    // SAFETY: the message's place is valid, by the header.
    unsafe { queue.try_receive(message) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_queue_receive(queue: &Queue, message: *mut u8) {
    // SAFETY: the message's place is valid, by the header.
    unsafe {
        if CHEAP || !queue.try_receive(message) {
            queue.receive(&me("tandem_queue_receive"), message, None);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_queue_receive_until(queue: &Queue, message: *mut u8, due: u64) -> bool {
    // SAFETY: the message's place is valid, by the header.
    unsafe {
        !CHEAP && queue.try_receive(message)
            || queue.receive(&me("tandem_queue_receive_until"), message, Some(due))
    }
}
