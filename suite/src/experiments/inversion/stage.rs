//! The state that the three tasks share.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use crate::{
    arena::Arena,
    kernel::{Kernel, Mutexes, Refusal},
    mark::{Marks, pin_of},
};

/// The state of a case, which all tasks read.
pub struct Stage<T: Mutexes> {
    pub kernel: &'static T::Kernel,
    pub mutex: &'static T::Mutex,
    pub points: &'static [Point<T::Kernel>],
    pub unheld: Waits<T::Kernel>,
    pub low: Actor<T::Kernel>,
    pub medium: Actor<T::Kernel>,
    pub high: Actor<T::Kernel>,
    pub done: &'static <T::Kernel as Kernel>::Semaphore,
    pub rounds: usize,
    /// Low's work before and after it releases the others, in steps.
    pub hold: [u64; 2],
    /// `true` while low holds the lock.
    pub held: AtomicBool,
    /// The number of rounds in which high found `held` set when it was about to lock.
    pub asked_while_held: AtomicU32,
    pub switches: AtomicU32,
}

/// A task that begins each round when `go` is given.
pub struct Actor<K: Kernel> {
    pub go: K::Semaphore,
    pub rounds: AtomicU32,
}

/// A length of the hog, in ticks, with the marks of its rounds.
pub struct Point<K: Kernel> {
    pub hog: u64,
    /// Low's marks: it releases the others; it has done its work.
    pub released: Marks<K>,
    pub worked: Marks<K>,
    /// Medium's mark at the end of its hog.
    pub hogged: Marks<K>,
    pub waits: Waits<K>,
}

/// High's waits for the lock: marks before it asks, and after it has the lock.
pub struct Waits<K: Kernel> {
    pub pin: Option<u8>,
    pub asked: Marks<K>,
    pub granted: Marks<K>,
}

impl<K: Kernel> Actor<K> {
    /// A task that has done no round.
    ///
    /// # Errors
    /// The kernel has no semaphore left.
    pub fn new(kernel: &K) -> Result<Self, Refusal> {
        Ok(Self { go: kernel.semaphore(0)?, rounds: AtomicU32::new(0) })
    }

    /// Counts a round that is done.
    pub fn count(&self) {
        self.rounds.store(self.rounds.load(Relaxed) + 1, Relaxed);
    }
}

impl<K: Kernel> Point<K> {
    /// Returns, for all rounds, the ticks during which low's `rest` of work and the hog overlapped,
    /// and the maximum of that.
    pub fn overlap(&self, rest: u64) -> (u64, u64) {
        let overlap = |place| {
            let worked = self.released.until(place, &self.worked, place);
            let hogged = self.released.until(place, &self.hogged, place);
            (rest + self.hog).saturating_sub(worked.max(hogged).unsigned_abs())
        };
        let rounds = self.released.len();
        ((0..rounds).map(overlap).sum(), rest.min(self.hog) * rounds as u64)
    }
}

impl<K: Kernel> Waits<K> {
    /// Creates the marks of `count` locks. `number` selects the pin.
    pub fn new(arena: &Arena, number: usize, count: usize) -> Result<Self, Refusal> {
        Ok(Self {
            pin: pin_of(number),
            asked: Marks::new(arena, count)?,
            granted: Marks::new(arena, count)?,
        })
    }
}

impl<T: Mutexes> Stage<T> {
    /// Returns the round's hog, and its place in that hog's marks. The lengths alternate, so that
    /// drift affects all alike.
    pub fn point(&self, round: usize) -> (&Point<T::Kernel>, usize) {
        (&self.points[round % self.points.len()], round / self.points.len())
    }
}
