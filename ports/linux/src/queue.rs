//! Queues of 32-bit words for threads, processes and coroutines: a ring in shared memory with two
//! futex semaphores, or a pipe.

use std::{
    array,
    os::fd::OwnedFd,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};

use chronoscope_suite::{Reason, Refusal, kernel::Messages, task::Block};
use rustix::{
    io::{read, retry_on_intr, write},
    pipe::{PipeFlags, fcntl_setpipe_size, pipe_with},
};

use crate::{
    coroutine::Coroutine,
    kernel::Linux,
    process::Process,
    semaphore::{Primitive, Semaphore},
    thread::Thread,
};

/// A bounded queue, shared by all processes that share the memory in which it is placed. Any number
/// of threads and processes may wait at either end, but at most one coroutine: see [`Semaphore`].
pub struct Queue(Means);

// The ring must be in shared memory, which a box is not.
#[allow(clippy::large_enum_variant)]
enum Means {
    Ring(Ring),
    /// Writes of 4 bytes are never torn (PIPE_BUF is at least 512), so neither are reads of 4.
    Pipe {
        reader: OwnedFd,
        writer: OwnedFd,
    },
}

impl Queue {
    /// A pipe holds a page of words, the minimum on Linux, regardless of `capacity`.
    fn new(kernel: &Linux, capacity: usize) -> Result<Self, Refusal> {
        match kernel.primitive {
            Primitive::Futex => {
                Ring::new(kernel.settings.processes, capacity).map(|ring| Self(Means::Ring(ring)))
            }
            Primitive::Eventfd => {
                Err(Refusal::not_offered("an eventfd holds a count, not words in order"))
            }
            Primitive::Signal => {
                Err(Refusal::not_offered("a signal that waits carries no words in order"))
            }
            Primitive::Pipe => {
                let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| {
                    Refusal::new(
                        Reason::Exhausted,
                        "no file descriptor left for a queue",
                        "raise `ulimit -n`",
                    )
                    .with_code(error.raw_os_error())
                })?;
                // Two pages, like the semaphores: hundreds of pipes must not exhaust the user's
                // limit.
                let _ = fcntl_setpipe_size(&writer, 2 * 4096);
                Ok(Self(Means::Pipe { reader, writer }))
            }
        }
    }

    #[inline]
    fn send(&self, word: u32) {
        match &self.0 {
            Means::Ring(ring) => {
                ring.free.take();
                ring.put(word);
            }
            // The write blocks while the pipe is full. It cannot fail, because this process holds
            // the other end.
            Means::Pipe { writer, .. } => {
                let _ = retry_on_intr(|| write(writer, &word.to_ne_bytes()));
            }
        }
    }

    #[inline]
    fn receive(&self) -> u32 {
        match &self.0 {
            Means::Ring(ring) => {
                ring.filled.take();
                ring.get()
            }
            Means::Pipe { reader, .. } => {
                let mut word = [0; 4];
                // The read cannot fail either. A failure would show as the word 0 out of order.
                let _ = retry_on_intr(|| read(reader, &mut word));
                u32::from_ne_bytes(word)
            }
        }
    }

    /// Returns the ring. Panics for a pipe: coroutines wait on futexes only.
    fn ring(&self) -> &Ring {
        match &self.0 {
            Means::Ring(ring) => ring,
            Means::Pipe { .. } => {
                unreachable!("the port refuses coroutines with descriptors before it makes a queue")
            }
        }
    }
}

/// The number of places in a ring: a power of two, so that positions may wrap.
const PLACES: usize = 64;

/// A lock-free queue of words: a task that is pre-empted during `put` or `get` blocks no other
/// task, even if a more urgent one spins for it.
///
/// A sender claims the next position, writes there, and stamps the place. Words are published
/// (`filled` is given) strictly in order: a sender that stamps a place publishes all stamped places
/// at the front. A word behind one that is still being written is published by the sender of the
/// latter. Receivers do the same for free places.
struct Ring {
    free: Semaphore,
    filled: Semaphore,
    /// The next positions to claim.
    put: AtomicU32,
    got: AtomicU32,
    /// The first unpublished positions.
    filled_to: AtomicU32,
    free_to: AtomicU32,
    places: [Place; PLACES],
}

/// A place for a word. Its stamp is the position + 1 after `put`, and the position + `PLACES` after
/// `get`.
struct Place {
    stamp: AtomicU32,
    word: AtomicU32,
}

impl Ring {
    fn new(shared: bool, capacity: usize) -> Result<Self, Refusal> {
        if !(1..=PLACES).contains(&capacity) {
            return Err(Refusal::new(
                Reason::Exhausted,
                "a queue on Linux holds 1 to 64 words",
                "",
            ));
        }
        let place = |place| Place { stamp: AtomicU32::new(place as u32), word: AtomicU32::new(0) };
        Ok(Self {
            free: Semaphore::new(Primitive::Futex, shared, capacity as u32)?,
            filled: Semaphore::new(Primitive::Futex, shared, 0)?,
            put: AtomicU32::new(0),
            got: AtomicU32::new(0),
            filled_to: AtomicU32::new(0),
            free_to: AtomicU32::new(0),
            places: array::from_fn(place),
        })
    }

    fn place(&self, position: u32) -> &Place {
        &self.places[position as usize % PLACES]
    }

    /// Appends a word. The caller has taken `free`.
    #[inline]
    fn put(&self, word: u32) {
        let position = self.put.fetch_add(1, SeqCst);
        let place = self.place(position);
        place.word.store(word, SeqCst);
        place.stamp.store(position.wrapping_add(1), SeqCst);
        self.hand_over(&self.filled_to, 1, &self.filled);
    }

    /// Removes a word. The caller has taken `filled`.
    #[inline]
    fn get(&self) -> u32 {
        let position = self.got.fetch_add(1, SeqCst);
        let place = self.place(position);
        let word = place.word.load(SeqCst);
        place.stamp.store(position.wrapping_add(PLACES as u32), SeqCst);
        self.hand_over(&self.free_to, PLACES as u32, &self.free);
        word
    }

    /// Gives `semaphore` once for every place from `front` on whose stamp is its position +
    /// `stamp`.
    ///
    /// No place is left out: the stamp is stored before `front` is read, both sequentially
    /// consistent. If this stops before a place that another task is about to stamp, that task
    /// finds `front` at the place and continues.
    #[inline]
    fn hand_over(&self, front: &AtomicU32, stamp: u32, semaphore: &Semaphore) {
        loop {
            let position = front.load(SeqCst);
            if self.place(position).stamp.load(SeqCst) != position.wrapping_add(stamp) {
                return;
            }
            if front.compare_exchange(position, position.wrapping_add(1), SeqCst, SeqCst).is_ok() {
                semaphore.give();
            }
        }
    }
}

impl Messages for Thread {
    type Queue = Queue;

    fn queue(kernel: &'static Linux, capacity: usize) -> Result<Queue, Refusal> {
        Queue::new(kernel, capacity)
    }

    #[inline(always)]
    fn send(
        _: &'static Linux,
        queue: &'static Queue,
        word: u32,
    ) -> impl Future<Output = ()> + Send {
        Block(move || queue.send(word))
    }

    #[inline(always)]
    fn receive(_: &'static Linux, queue: &'static Queue) -> impl Future<Output = u32> + Send {
        Block(|| queue.receive())
    }
}

impl Messages for Process {
    type Queue = Queue;

    fn queue(kernel: &'static Linux, capacity: usize) -> Result<Queue, Refusal> {
        Queue::new(kernel, capacity)
    }

    #[inline(always)]
    fn send(
        kernel: &'static Linux,
        queue: &'static Queue,
        word: u32,
    ) -> impl Future<Output = ()> + Send {
        Thread::send(kernel, queue, word)
    }

    #[inline(always)]
    fn receive(kernel: &'static Linux, queue: &'static Queue) -> impl Future<Output = u32> + Send {
        Thread::receive(kernel, queue)
    }
}

impl Messages for Coroutine {
    type Queue = Queue;

    fn queue(kernel: &'static Linux, capacity: usize) -> Result<Queue, Refusal> {
        Queue::new(kernel, capacity)
    }

    #[inline]
    async fn send(_: &'static Linux, queue: &'static Queue, word: u32) {
        let ring = queue.ring();
        std::future::poll_fn(|context| ring.free.poll_take(context)).await;
        ring.put(word);
    }

    #[inline]
    async fn receive(_: &'static Linux, queue: &'static Queue) -> u32 {
        let ring = queue.ring();
        std::future::poll_fn(|context| ring.filled.poll_take(context)).await;
        ring.get()
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread};

    use super::*;

    /// With three senders and three receivers no word is lost or doubled, and each receiver gets
    /// the words of a sender in order; at full, half and minimum capacity.
    #[test]
    fn a_ring_keeps_words_and_their_order() {
        const EACH: u32 = 20_000;
        for capacity in [1, 7, PLACES] {
            let queue = Arc::new(Queue(Means::Ring(Ring::new(false, capacity).unwrap())));
            let senders = (0..3_u32).map(|sender| {
                let queue = queue.clone();
                thread::spawn(move || (0..EACH).for_each(|word| queue.send(sender << 24 | word)))
            });
            let senders: Vec<_> = senders.collect();
            let receivers = (0..3).map(|_| {
                let queue = queue.clone();
                thread::spawn(move || (0..EACH).map(|_| queue.receive()).collect::<Vec<_>>())
            });
            let receivers: Vec<_> = receivers.collect();
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            let received: Vec<_> =
                receivers.into_iter().map(|receiver| receiver.join().unwrap()).collect();
            for words in &received {
                for sender in 0..3 {
                    assert!(words.iter().filter(|&word| word >> 24 == sender).is_sorted());
                }
            }
            let mut all = received.concat();
            all.sort_unstable();
            let sent: Vec<_> =
                (0..3).flat_map(|sender| (0..EACH).map(move |word| sender << 24 | word)).collect();
            assert_eq!(all, sent);
        }
    }

    #[test]
    fn positions_may_wrap() {
        let ring = Ring::new(false, 2).unwrap();
        let start = u32::MAX - 63;
        for counter in [&ring.put, &ring.got, &ring.filled_to, &ring.free_to] {
            counter.store(start, SeqCst);
        }
        for word in 0..200 {
            ring.free.take();
            ring.put(word);
            ring.filled.take();
            assert_eq!(ring.get(), word);
        }
    }
}
