//! Streams of bytes, and messages of any length, in a ring whose size is known at run time. As in
//! Rust, one context at a time writes, and one reads.
//!
//! # Soundness
//! The fields are accessed with interrupts masked. `len` bytes from `first` on, around the end, are
//! written; only the writer, who has its turn, changes the others, and only the reader moves
//! `first`. So the copies, with interrupts on, touch bytes that the other does not. Addresses and
//! sizes are valid by the header.

use crate::{me, section::masked};
use core::cell::Cell;
use tandem::Event;

#[repr(C)]
pub struct Stream {
    readable: Event,
    writable: Event,
    ring: *mut u8,
    size: usize,
    first: Cell<usize>,
    len: Cell<usize>,
    /// The reader waits for this number of bytes.
    level: Cell<usize>,
    writing: Cell<bool>,
    reading: Cell<bool>,
}

/// The bytes of a message's length, in front of it.
const LENGTH: usize = size_of::<u32>();

/// A writer's or a reader's turn, with `first` and `len` at its beginning.
struct Turn<'a> {
    busy: &'a Cell<bool>,
    first: usize,
    len: usize,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        masked(|| self.busy.set(false));
    }
}

impl Stream {
    fn turn<'a>(&self, busy: &'a Cell<bool>, what: &str) -> Turn<'a> {
        let (was_busy, first, len) =
            masked(|| (busy.replace(true), self.first.get(), self.len.get()));
        if was_busy {
            panic!("one task or handler at a time may {what} a stream");
        }
        Turn { busy, first, len }
    }

    /// The parts of the ring with the `count` bytes from `offset` behind `first`: address, count.
    fn parts(&self, first: usize, offset: usize, count: usize) -> [(*mut u8, usize); 2] {
        let start = first + offset;
        let start = if start >= self.size { start - self.size } else { start };
        let head = count.min(self.size - start);
        // SAFETY: `start` is below the size of the ring.
        [(unsafe { self.ring.add(start) }, head), (self.ring, count - head)]
    }

    /// Copies into the free bytes of the ring.
    ///
    /// # Safety
    /// It is the writer's turn, and the bytes fit behind the `offset` from `turn.first` on.
    unsafe fn copy_in(&self, turn: &Turn, offset: usize, mut bytes: *const u8, count: usize) {
        for (to, count) in self.parts(turn.first, offset, count) {
            // SAFETY: by this function's contract; `bytes` stays within the caller's.
            unsafe {
                to.copy_from_nonoverlapping(bytes, count);
                bytes = bytes.add(count);
            }
        }
    }

    /// Copies out of the written bytes of the ring.
    ///
    /// # Safety
    /// It is the reader's turn, and `offset + count` bytes are written.
    unsafe fn copy_out(&self, turn: &Turn, offset: usize, mut bytes: *mut u8, count: usize) {
        for (from, count) in self.parts(turn.first, offset, count) {
            // SAFETY: by this function's contract; `bytes` stays within the caller's.
            unsafe {
                bytes.copy_from_nonoverlapping(from, count);
                bytes = bytes.add(count);
            }
        }
    }

    /// Ends the writer's turn: `count` more bytes are written. Wakes the reader that has enough.
    fn publish(&self, turn: Turn, count: usize) {
        let is_enough = masked(|| {
            self.len.set(self.len.get() + count);
            self.len.get() >= self.level.get()
        });
        drop(turn);
        if is_enough && count > 0 {
            self.readable.signal(1);
        }
    }

    /// Ends the reader's turn: the first `count` bytes are read.
    fn release(&self, turn: Turn, count: usize) {
        masked(|| {
            let first = self.first.get() + count;
            self.first.set(if first >= self.size { first - self.size } else { first });
            self.len.set(self.len.get() - count);
        });
        drop(turn);
        if count > 0 {
            self.writable.signal(1);
        }
    }

    /// Returns whether `level` bytes are there, and notes that the reader waits for them.
    fn has(&self, level: usize) -> bool {
        masked(|| {
            self.level.set(level);
            self.len.get() >= level
        })
    }

    fn try_write(&self, bytes: *const u8, count: usize) -> usize {
        let turn = self.turn(&self.writing, "write to");
        let count = count.min(self.size - turn.len);
        // SAFETY: the reader may make `len` smaller meanwhile, so the free bytes stay free.
        unsafe { self.copy_in(&turn, turn.len, bytes, count) };
        self.publish(turn, count);
        count
    }

    fn try_read(&self, bytes: *mut u8, count: usize) -> usize {
        let turn = self.turn(&self.reading, "read from");
        let count = count.min(turn.len);
        // SAFETY: `count` is at most the number of bytes that are written.
        unsafe { self.copy_out(&turn, 0, bytes, count) };
        self.release(turn, count);
        count
    }

    /// Waits for `event`, until `due` if there is one. Returns whether it came.
    fn wait(event: &Event, call: &str, due: Option<u64>) -> bool {
        let me = me(call);
        match due {
            None => event.wait(&me) != 0,
            Some(due) => event.wait_until(&me, due).is_ok(),
        }
    }

    fn write(&self, call: &str, bytes: *const u8, count: usize, due: Option<u64>) -> usize {
        let mut written = 0;
        loop {
            // SAFETY: `written` is at most `count`.
            written += self.try_write(unsafe { bytes.add(written) }, count - written);
            if written == count || !Self::wait(&self.writable, call, due) {
                return written;
            }
        }
    }

    fn read(
        &self,
        call: &str,
        bytes: *mut u8,
        count: usize,
        level: usize,
        due: Option<u64>,
    ) -> usize {
        let level = level.min(count).min(self.size);
        while !self.has(level) && Self::wait(&self.readable, call, due) {}
        self.try_read(bytes, count)
    }

    fn try_send(&self, message: *const u8, size: usize) -> bool {
        assert!(size <= self.size - LENGTH, "a message is longer than its buffer");
        let turn = self.turn(&self.writing, "write to");
        if LENGTH + size > self.size - turn.len {
            return false;
        }
        let length = (size as u32).to_ne_bytes();
        // SAFETY: as in `try_write`, for both.
        unsafe {
            self.copy_in(&turn, turn.len, length.as_ptr(), LENGTH);
            self.copy_in(&turn, turn.len + LENGTH, message, size);
        }
        self.publish(turn, LENGTH + size);
        true
    }

    fn try_receive(&self, message: *mut u8, room: usize) -> Option<usize> {
        let turn = self.turn(&self.reading, "read from");
        if turn.len == 0 {
            return None;
        }
        let mut length = [0; LENGTH];
        // SAFETY: messages are in the ring whole, behind their lengths.
        unsafe { self.copy_out(&turn, 0, length.as_mut_ptr(), LENGTH) };
        let size = u32::from_ne_bytes(length) as usize;
        assert!(size <= room, "a message is longer than the space for it");
        // SAFETY: as above.
        unsafe { self.copy_out(&turn, LENGTH, message, size) };
        self.release(turn, LENGTH + size);
        Some(size)
    }

    fn send(&self, call: &str, message: *const u8, size: usize, due: Option<u64>) -> bool {
        while !self.try_send(message, size) {
            if !Self::wait(&self.writable, call, due) {
                return false;
            }
        }
        true
    }

    fn receive(&self, call: &str, message: *mut u8, size: &mut usize, due: Option<u64>) -> bool {
        loop {
            if let Some(length) = self.try_receive(message, *size) {
                *size = length;
                return true;
            }
            if !Self::wait(&self.readable, call, due) {
                return false;
            }
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_stream_init(stream: *mut Stream, storage: *mut u8, size: usize) {
    assert!(size > LENGTH, "a stream has space for at least five bytes");
    let value = Stream {
        readable: Event::new(),
        writable: Event::new(),
        ring: storage,
        size,
        first: Cell::new(0),
        len: Cell::new(0),
        level: Cell::new(1),
        writing: Cell::new(false),
        reading: Cell::new(false),
    };
    // SAFETY: the memory is the program's, and not in use yet, by the header.
    unsafe { stream.write(value) }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_stream_try_write(stream: &Stream, bytes: *const u8, count: usize) -> usize {
    stream.try_write(bytes, count)
}

#[unsafe(no_mangle)]
extern "C" fn tandem_stream_write(stream: &Stream, bytes: *const u8, count: usize) {
    stream.write("tandem_stream_write", bytes, count, None);
}

#[unsafe(no_mangle)]
extern "C" fn tandem_stream_write_until(
    stream: &Stream,
    bytes: *const u8,
    count: usize,
    due: u64,
) -> usize {
    stream.write("tandem_stream_write_until", bytes, count, Some(due))
}

#[unsafe(no_mangle)]
extern "C" fn tandem_stream_try_read(stream: &Stream, bytes: *mut u8, count: usize) -> usize {
    stream.try_read(bytes, count)
}

#[unsafe(no_mangle)]
extern "C" fn tandem_stream_read(
    stream: &Stream,
    bytes: *mut u8,
    count: usize,
    level: usize,
) -> usize {
    stream.read("tandem_stream_read", bytes, count, level, None)
}

#[unsafe(no_mangle)]
extern "C" fn tandem_stream_read_until(
    stream: &Stream,
    bytes: *mut u8,
    count: usize,
    level: usize,
    due: u64,
) -> usize {
    stream.read("tandem_stream_read_until", bytes, count, level, Some(due))
}

#[unsafe(no_mangle)]
extern "C" fn tandem_message_try_send(buffer: &Stream, message: *const u8, size: usize) -> bool {
    buffer.try_send(message, size)
}

#[unsafe(no_mangle)]
extern "C" fn tandem_message_send(buffer: &Stream, message: *const u8, size: usize) {
    buffer.send("tandem_message_send", message, size, None);
}

#[unsafe(no_mangle)]
extern "C" fn tandem_message_send_until(
    buffer: &Stream,
    message: *const u8,
    size: usize,
    due: u64,
) -> bool {
    buffer.send("tandem_message_send_until", message, size, Some(due))
}

#[unsafe(no_mangle)]
extern "C" fn tandem_message_try_receive(
    buffer: &Stream,
    message: *mut u8,
    size: &mut usize,
) -> bool {
    let length = buffer.try_receive(message, *size);
    length.inspect(|length| *size = *length).is_some()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_message_receive(buffer: &Stream, message: *mut u8, size: &mut usize) {
    buffer.receive("tandem_message_receive", message, size, None);
}

#[unsafe(no_mangle)]
extern "C" fn tandem_message_receive_until(
    buffer: &Stream,
    message: *mut u8,
    size: &mut usize,
    due: u64,
) -> bool {
    buffer.receive("tandem_message_receive_until", message, size, Some(due))
}
