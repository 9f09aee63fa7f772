//! What the three tasks share.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use crate::{
    arena::Arena,
    kernel::{Kernel, Mutexes, Refusal},
    mark::{Marks, pin_of},
};

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
    /// Low's work before it releases the others, and after.
    pub hold: [u64; 2],
    /// Set by low while it holds the lock.
    pub held: AtomicBool,
    /// Times that high saw it set when about to lock.
    pub asked_while_held: AtomicU32,
    pub switches: AtomicU32,
}

pub struct Actor<K: Kernel> {
    pub go: K::Semaphore,
    pub rounds: AtomicU32,
}

/// One length of the hog. Place n of its marks is for its n-th round.
pub struct Point<K: Kernel> {
    pub hog: u64,
    /// Low releases the others, and has done its work.
    pub released: Marks<K>,
    pub worked: Marks<K>,
    /// Medium has done its hog.
    pub hogged: Marks<K>,
    pub waits: Waits<K>,
}

pub struct Waits<K: Kernel> {
    pub pin: Option<u8>,
    pub asked: Marks<K>,
    pub granted: Marks<K>,
}

impl<K: Kernel> Actor<K> {
    pub fn new(kernel: &K) -> Result<Self, Refusal> {
        Ok(Self { go: kernel.semaphore(0)?, rounds: AtomicU32::new(0) })
    }

    pub fn count(&self) {
        self.rounds.store(self.rounds.load(Relaxed) + 1, Relaxed);
    }
}

impl<K: Kernel> Point<K> {
    /// How long low's `rest` of work and the hog went on side by side in all rounds, and how long they could have.
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
    /// `number`: among all that high waits for.
    pub fn new(arena: &Arena, number: usize, count: usize) -> Result<Self, Refusal> {
        Ok(Self {
            pin: pin_of(number),
            asked: Marks::new(arena, count)?,
            granted: Marks::new(arena, count)?,
        })
    }
}

impl<T: Mutexes> Stage<T> {
    /// The round's hog, and its place in that hog's marks. The lengths take turns, so that drift meets all alike.
    pub fn point(&self, round: usize) -> (&Point<T::Kernel>, usize) {
        (&self.points[round % self.points.len()], round / self.points.len())
    }
}
