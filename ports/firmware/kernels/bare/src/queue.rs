//! A ring of words with two semaphores: one counts the words, one the room.

use core::{array, cell::Cell};

use crate::semaphore::Semaphore;

/// A power of two, so that places are found by cutting off bits.
pub const CAPACITY: usize = 64;

pub struct Queue {
    words: Semaphore,
    room: Semaphore,
    ring: [Cell<u32>; CAPACITY],
    /// Words received and sent so far.
    first: Cell<usize>,
    next: Cell<usize>,
}

// SAFETY: threads do not pre-empt each other, and no handler comes here.
unsafe impl Sync for Queue {}

impl Queue {
    pub fn new() -> Self {
        Self {
            words: Semaphore::new(0),
            room: Semaphore::new(CAPACITY as u32),
            ring: array::from_fn(|_| Cell::new(0)),
            first: Cell::new(0),
            next: Cell::new(0),
        }
    }

    #[inline(always)]
    pub fn send(&self, word: u32) {
        self.room.take();
        let next = self.next.get();
        self.ring[next % CAPACITY].set(word);
        self.next.set(next.wrapping_add(1));
        self.words.give();
    }

    #[inline(always)]
    pub fn receive(&self) -> u32 {
        self.words.take();
        let first = self.first.get();
        self.first.set(first.wrapping_add(1));
        self.room.give();
        self.ring[first % CAPACITY].get()
    }
}
