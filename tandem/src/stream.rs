//! Streams of bytes, and of messages of any length, through a ring.
//!
//! A stream has one writer and one reader at a time. Bytes are copied with interrupts on, since the
//! free part of the ring belongs to the writer and the filled part to the reader; interrupts are
//! masked only while the border between the two moves.
//!
//! # Soundness
//! `busy` flags, tested and set with interrupts masked, let one context at a time write, and one
//! read. The writer copies into the `N - len` bytes behind the filled part, and only the reader
//! makes `len` smaller; the reader copies out of the filled part, and only the writer makes `len`
//! greater. So neither touches the bytes that the other copies.

use crate::{
    arch::masked,
    event::Event,
    info::current,
    me::Me,
    shared::{Masked, Shared},
    time::TimedOut,
};
use core::{cell::UnsafeCell, mem::MaybeUninit};

/// A stream of bytes through a ring of `N` bytes, from one writer at a time to one reader at a
/// time.
///
/// Tasks and handlers may be at either end. Where two write at the same time, or two read, the
/// second ends the program with a report.
pub struct Stream<const N: usize> {
    ring: UnsafeCell<[MaybeUninit<u8>; N]>,
    /// The position of the first byte, changed by the reader only.
    first: Shared<usize>,
    len: Shared<usize>,
    /// The number of bytes for which the reader waits.
    level: Shared<usize>,
    writing: Shared<bool>,
    reading: Shared<bool>,
    readable: Event,
    writable: Event,
}

// SAFETY: see the head of this file.
unsafe impl<const N: usize> Sync for Stream<N> {}

impl<const N: usize> Default for Stream<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// The right to use one end of a stream. Dropping it lets others use that end.
struct Turn<'a>(&'a Shared<bool>);

impl<'a> Turn<'a> {
    #[track_caller]
    fn begin(m: Masked, busy: &'a Shared<bool>, what: &str) -> Self {
        if busy.get(m) {
            refuse(what);
        }
        busy.set(m, true);
        Self(busy)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        masked(|m| self.0.set(m, false));
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn refuse(what: &str) -> ! {
    panic!("task {}: one task or handler at a time may {what} a stream", current().name())
}

impl<const N: usize> Stream<N> {
    /// An empty stream. `N` is checked at compile time: at least 1, below 2³⁰.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(N > 0 && N < 1 << 30, "a stream has space for at least one byte") };
        Self {
            ring: UnsafeCell::new([MaybeUninit::uninit(); N]),
            first: Shared::new(0),
            len: Shared::new(0),
            level: Shared::new(1),
            writing: Shared::new(false),
            reading: Shared::new(false),
            readable: Event::new(),
            writable: Event::new(),
        }
    }

    /// The number of bytes that can be read. May be called anywhere.
    #[must_use]
    pub fn len(&self) -> usize {
        masked(|m| self.len.get(m))
    }

    /// Returns whether there is nothing to read. May be called anywhere.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of bytes that can be written without a wait. May be called anywhere.
    #[must_use]
    pub fn free(&self) -> usize {
        N - self.len()
    }

    /// The number of bytes that the ring has space for: `N`.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        N
    }

    /// Calls `part` with each part of the ring that holds the `count` bytes from `offset` behind
    /// the first byte, at most two, and the number of bytes before it.
    fn parts(first: usize, offset: usize, count: usize, mut part: impl FnMut(usize, usize, usize)) {
        let start = (first + offset) % N;
        let head = count.min(N - start);
        part(start, 0, head);
        part(0, head, count - head);
    }

    /// Copies bytes into the free part of the ring.
    ///
    /// # Safety
    /// The caller has the writer's turn, and `offset` + the number of bytes is at most `N`; at
    /// least `offset` of them are filled.
    unsafe fn copy_in(&self, first: usize, offset: usize, bytes: &[u8]) {
        Self::parts(first, offset, bytes.len(), |at, done, count| {
            // SAFETY: the position is in the ring, and in its free part by this function's
            // contract.
            unsafe {
                let to = self.ring.get().cast::<u8>().add(at);
                to.copy_from_nonoverlapping(bytes.as_ptr().add(done), count);
            }
        });
    }

    /// Copies bytes out of the filled part of the ring.
    ///
    /// # Safety
    /// The caller has the reader's turn, and `offset` + the number of bytes are filled.
    unsafe fn copy_out(&self, first: usize, offset: usize, bytes: &mut [u8]) {
        Self::parts(first, offset, bytes.len(), |at, done, count| {
            // SAFETY: the position is in the ring, and filled by this function's contract.
            unsafe {
                let from = self.ring.get().cast::<u8>().add(at);
                bytes.as_mut_ptr().add(done).copy_from_nonoverlapping(from, count);
            }
        });
    }

    /// Makes `count` more bytes readable, ends the writer's turn, and wakes the reader if it waits
    /// for no more than there are.
    fn publish(&self, turn: Turn, count: usize) {
        let enough = masked(|m| {
            let len = self.len.get(m) + count;
            self.len.set(m, len);
            len >= self.level.get(m)
        });
        drop(turn);
        if enough && count > 0 {
            self.readable.signal(1);
        }
    }

    /// Releases the first `count` bytes, ends the reader's turn, and wakes the writer.
    fn release(&self, turn: Turn, count: usize) {
        masked(|m| {
            self.first.set(m, (self.first.get(m) + count) % N);
            self.len.set(m, self.len.get(m) - count);
        });
        drop(turn);
        if count > 0 {
            self.writable.signal(1);
        }
    }

    /// Writes as many bytes as there is space for, and returns their number.
    ///
    /// Never waits. For tasks and handlers. The copy takes place with interrupts on.
    ///
    /// # Panics
    /// If another context writes at this time.
    #[track_caller]
    pub fn try_write(&self, bytes: &[u8]) -> usize {
        let (turn, first, len) = masked(|m| {
            (Turn::begin(m, &self.writing, "write to"), self.first.get(m), self.len.get(m))
        });
        let count = bytes.len().min(N - len);
        // SAFETY: this is the writer's turn. The reader may move `first` and `len` meanwhile, by
        // the same number, so the free part stays behind the same position.
        unsafe { self.copy_in(first, len, &bytes[..count]) };
        self.publish(turn, count);
        count
    }

    /// Reads as many bytes as there are and fit, and returns their number.
    ///
    /// Never waits. For tasks and handlers. The copy takes place with interrupts on.
    ///
    /// # Panics
    /// If another context reads at this time.
    #[track_caller]
    pub fn try_read(&self, bytes: &mut [u8]) -> usize {
        let (turn, first, len) = masked(|m| {
            (Turn::begin(m, &self.reading, "read from"), self.first.get(m), self.len.get(m))
        });
        let count = bytes.len().min(len);
        // SAFETY: this is the reader's turn.
        unsafe { self.copy_out(first, 0, &mut bytes[..count]) };
        self.release(turn, count);
        count
    }

    /// Writes all bytes; blocks the thread whenever the ring is full.
    ///
    /// # Panics
    /// If another context writes or waits to write, or if it must wait in a critical section.
    #[track_caller]
    pub fn write(&self, me: &Me, mut bytes: &[u8]) {
        loop {
            bytes = &bytes[self.try_write(bytes)..];
            if bytes.is_empty() {
                return;
            }
            self.writable.wait(me);
        }
    }

    /// Writes all bytes; blocks the thread whenever the ring is full, until `due` at the latest, in
    /// ticks of the board's clock. Returns the number of bytes written.
    ///
    /// # Panics
    /// As [`write`](Self::write).
    #[track_caller]
    pub fn write_until(&self, me: &Me, bytes: &[u8], due: u64) -> usize {
        let mut written = 0;
        loop {
            written += self.try_write(&bytes[written..]);
            if written == bytes.len() || self.writable.wait_until(me, due).is_err() {
                return written;
            }
        }
    }

    /// Writes all bytes; the coroutine waits whenever the ring is full. A future that is dropped
    /// may have written some of them.
    ///
    /// # Panics
    /// If another context writes or waits to write.
    pub async fn write_async(&self, mut bytes: &[u8]) {
        loop {
            bytes = &bytes[self.try_write(bytes)..];
            if bytes.is_empty() {
                return;
            }
            self.writable.signalled().await;
        }
    }

    /// Notes that the reader waits for `level` bytes. Returns whether they are there.
    fn wait_for(&self, level: usize) -> bool {
        masked(|m| {
            self.level.set(m, level);
            self.len.get(m) >= level
        })
    }

    /// Reads as many bytes as there are and fit; blocks the thread until there is one. Returns
    /// their number: 0 only if `bytes` is empty.
    ///
    /// # Panics
    /// If another context reads or waits to read, or if it must wait in a critical section.
    #[track_caller]
    pub fn read(&self, me: &Me, bytes: &mut [u8]) -> usize {
        self.read_at_least(me, 1, bytes)
    }

    /// Reads as many bytes as there are and fit; blocks the thread until there are `level`, or as
    /// many as fit into `bytes` or the ring, if that is fewer.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn read_at_least(&self, me: &Me, level: usize, bytes: &mut [u8]) -> usize {
        let level = level.min(bytes.len()).min(N);
        while !self.wait_for(level) {
            self.readable.wait(me);
        }
        self.try_read(bytes)
    }

    /// Reads as many bytes as there are and fit; blocks the thread until there are `level`, or as
    /// many as fit into `bytes` or the ring, if that is fewer, or until `due`, in ticks of the
    /// board's clock. Returns their number: fewer than that, possibly 0, only if `due` has come.
    ///
    /// For a line that pauses between frames, such as a UART: with `level` 32, a busy line wakes
    /// the thread once in 32 bytes, and the rest of a frame is read at `due` at the latest. Bytes
    /// that are not read stay in the ring.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn read_at_least_until(&self, me: &Me, level: usize, bytes: &mut [u8], due: u64) -> usize {
        let level = level.min(bytes.len()).min(N);
        while !self.wait_for(level) && self.readable.wait_until(me, due).is_ok() {}
        self.try_read(bytes)
    }

    /// Reads as many bytes as there are and fit; blocks the thread until there is one or `due` has
    /// come, in ticks of the board's clock.
    ///
    /// # Errors
    /// If there was none until `due`.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn read_until(&self, me: &Me, bytes: &mut [u8], due: u64) -> Result<usize, TimedOut> {
        while !self.wait_for(1.min(bytes.len())) {
            self.readable.wait_until(me, due)?;
        }
        Ok(self.try_read(bytes))
    }

    /// Reads as many bytes as there are and fit; the coroutine waits until there is one. Dropping
    /// the future loses none.
    ///
    /// # Panics
    /// If another context reads or waits to read.
    pub async fn read_async(&self, bytes: &mut [u8]) -> usize {
        while !self.wait_for(1.min(bytes.len())) {
            self.readable.signalled().await;
        }
        self.try_read(bytes)
    }
}

/// Messages of any length, each received whole, through a ring of `N` bytes.
///
/// A message takes its length and 4 bytes. One context at a time may send, and one receive, as with
/// a [`Stream`]. (A [`Queue`](crate::Queue) has messages of one type, and any number of senders.)
pub struct MessageBuffer<const N: usize>(Stream<N>);

/// Error of sending or receiving: the message is longer than the space for it. A receiver without
/// more space removes the message by [`MessageBuffer::skip`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl<const N: usize> Default for MessageBuffer<N> {
    fn default() -> Self {
        Self::new()
    }
}

const LENGTH: usize = size_of::<u32>();

impl<const N: usize> MessageBuffer<N> {
    /// An empty buffer. `N` is checked at compile time: at least 5, below 2³⁰.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(N > LENGTH, "a message buffer has space for at least one byte") };
        Self(Stream::new())
    }

    /// Sends a message if there is space for it now. Returns whether it did.
    ///
    /// Never waits. For tasks and handlers. The copy takes place with interrupts on.
    ///
    /// # Errors
    /// If the message is longer than `N` − 4 bytes.
    ///
    /// # Panics
    /// If another context sends at this time.
    #[track_caller]
    pub fn try_send(&self, message: &[u8]) -> Result<bool, TooLong> {
        if message.len() > N - LENGTH {
            return Err(TooLong);
        }
        let stream = &self.0;
        let (turn, first, len) = masked(|m| {
            (Turn::begin(m, &stream.writing, "write to"), stream.first.get(m), stream.len.get(m))
        });
        let whole = LENGTH + message.len();
        if whole > N - len {
            return Ok(false);
        }
        // SAFETY: this is the writer's turn, and there is space for both.
        unsafe {
            stream.copy_in(first, len, &(message.len() as u32).to_ne_bytes());
            stream.copy_in(first, len + LENGTH, message);
        }
        stream.publish(turn, whole);
        Ok(true)
    }

    /// Sends a message; blocks the thread until there is space for it.
    ///
    /// # Errors
    /// If the message is longer than `N` − 4 bytes.
    ///
    /// # Panics
    /// If another context sends or waits to send, or if it must wait in a critical section.
    #[track_caller]
    pub fn send(&self, me: &Me, message: &[u8]) -> Result<(), TooLong> {
        while !self.try_send(message)? {
            self.0.writable.wait(me);
        }
        Ok(())
    }

    /// Sends a message; blocks the thread until there is space for it or `due` has come, in ticks
    /// of the board's clock. Returns whether it was sent.
    ///
    /// # Errors
    /// If the message is longer than `N` − 4 bytes.
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn send_until(&self, me: &Me, message: &[u8], due: u64) -> Result<bool, TooLong> {
        while !self.try_send(message)? {
            if self.0.writable.wait_until(me, due).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends a message; the coroutine waits until there is space for it. A message of a future that
    /// is dropped has been sent whole or not at all.
    ///
    /// # Errors
    /// If the message is longer than `N` − 4 bytes.
    ///
    /// # Panics
    /// If another context sends or waits to send.
    pub async fn send_async(&self, message: &[u8]) -> Result<(), TooLong> {
        while !self.try_send(message)? {
            self.0.writable.signalled().await;
        }
        Ok(())
    }

    /// Receives the first message, if there is one, into the beginning of `message`. Returns its
    /// length.
    ///
    /// Never waits. For tasks and handlers. The copy takes place with interrupts on.
    ///
    /// # Errors
    /// If the message is longer than `message`; it stays the first: see [`skip`](Self::skip).
    ///
    /// # Panics
    /// If another context receives at this time.
    #[track_caller]
    pub fn try_receive(&self, message: &mut [u8]) -> Result<Option<usize>, TooLong> {
        let Some((turn, first, length)) = self.first_message() else { return Ok(None) };
        let message = message.get_mut(..length).ok_or(TooLong)?;
        // SAFETY: this is the reader's turn, and messages are in the ring whole.
        unsafe { self.0.copy_out(first, LENGTH, message) };
        self.0.release(turn, LENGTH + length);
        Ok(Some(length))
    }

    /// Begins the reader's turn. Returns it with the place of the first message in the ring and its
    /// length; `None` without a message.
    #[track_caller]
    fn first_message(&self) -> Option<(Turn<'_>, usize, usize)> {
        let stream = &self.0;
        let (turn, first, len) = masked(|m| {
            (Turn::begin(m, &stream.reading, "read from"), stream.first.get(m), stream.len.get(m))
        });
        if len == 0 {
            return None;
        }
        let mut length = [0; LENGTH];
        // SAFETY: this is the reader's turn, and messages are in the ring whole.
        unsafe { stream.copy_out(first, 0, &mut length) };
        Some((turn, first, u32::from_ne_bytes(length) as usize))
    }

    /// The length of the first message, `None` if there is none. It stays the first.
    ///
    /// Never waits. For the receiver, a task or a handler.
    ///
    /// # Panics
    /// If another context receives at this time.
    #[must_use]
    #[track_caller]
    pub fn next_len(&self) -> Option<usize> {
        self.first_message().map(|(_, _, length)| length)
    }

    /// Removes the first message, as one that is too long for the receiver. Returns its length,
    /// `None` if there is none.
    ///
    /// Never waits. For the receiver, a task or a handler.
    ///
    /// # Panics
    /// If another context receives at this time.
    #[track_caller]
    pub fn skip(&self) -> Option<usize> {
        let (turn, _, length) = self.first_message()?;
        self.0.release(turn, LENGTH + length);
        Some(length)
    }

    /// Receives a message; blocks the thread until there is one. Returns its length.
    ///
    /// # Errors
    /// If the message is longer than `message`; it stays the first.
    ///
    /// # Panics
    /// If another context receives or waits to receive, or if it must wait in a critical section.
    #[track_caller]
    pub fn receive(&self, me: &Me, message: &mut [u8]) -> Result<usize, TooLong> {
        loop {
            if let Some(length) = self.try_receive(message)? {
                return Ok(length);
            }
            self.0.readable.wait(me);
        }
    }

    /// Receives a message; blocks the thread until there is one or `due` has come, in ticks of the
    /// board's clock. Returns its length, `None` if there was none until `due`.
    ///
    /// # Errors
    /// If the message is longer than `message`; it stays the first.
    ///
    /// # Panics
    /// As [`receive`](Self::receive).
    #[track_caller]
    pub fn receive_until(
        &self,
        me: &Me,
        message: &mut [u8],
        due: u64,
    ) -> Result<Option<usize>, TooLong> {
        loop {
            if let Some(length) = self.try_receive(message)? {
                return Ok(Some(length));
            }
            if self.0.readable.wait_until(me, due).is_err() {
                return Ok(None);
            }
        }
    }

    /// Receives a message; the coroutine waits until there is one. Dropping the future loses none.
    /// Returns the message's length.
    ///
    /// # Errors
    /// If the message is longer than `message`; it stays the first.
    ///
    /// # Panics
    /// If another context receives or waits to receive.
    pub async fn receive_async(&self, message: &mut [u8]) -> Result<usize, TooLong> {
        loop {
            if let Some(length) = self.try_receive(message)? {
                return Ok(length);
            }
            self.0.readable.signalled().await;
        }
    }
}
