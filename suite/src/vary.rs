//! Start states: the state that the kernel is in when an experiment begins.
//!
//! Where a clock counts instructions or cycles, two repetitions from the same state are copies of
//! each other. They show one of the paths that the operation can take, and which one depends on
//! accidents of the start. With `vary=SEED` in the request, [`prepare`] first brings the kernel into
//! a state that the seed chooses: the same seed gives the same state, another seed another one.
//!
//! The steps use nothing but the traits of [`kernel`](crate::kernel), so experiments need not know
//! of them, and every port has them:
//!
//! 1. **Placement**: some bytes of the arena are skipped. An experiment whose tasks are equals also
//!    creates them in another order: see [`Trial::order`](crate::Trial::order).
//! 2. **The port's own steps**: [`Kernel::vary`].
//! 3. **A past**: two to four tasks of random priorities pass a token around. In between they work,
//!    yield and delay. All of them end before the experiment begins. Left out where
//!    [`Kernel::HAS_PAST`] is `false`.
//! 4. **Phase**: the director spins for a part of a tick.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::{
    Trial,
    kernel::{Kernel, Priority, Refusal, Tasks},
};

/// A generator of pseudo-random numbers (SplitMix64): the same numbers on every target.
pub struct Random(u64);

impl Random {
    /// Creates a generator; equal seeds give equal numbers.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`; 0 if that is 0.
    pub const fn below(&mut self, bound: u32) -> u32 {
        // The high half of the product; no division.
        (((self.draw() >> 32) * bound as u64) >> 32) as u32
    }
}

/// The number of the arena's words of 8 bytes that may be skipped, less one.
const WORDS: u32 = 64;

/// The shortest range of phases in microseconds, for kernels without a tick.
const PHASE_US: u64 = 100;

/// The priorities of the tasks of the past.
const PRIORITIES: [Priority; 4] =
    [Priority::Ordinary, Priority::Urgent(1), Priority::Urgent(2), Priority::Urgent(3)];

/// Brings the kernel into the start state that the request asks for; does nothing if it asks for
/// none. Takes some ticks of the kernel.
///
/// # Errors
/// [`Refusal`] when the arena is full or the kernel has no more semaphores.
pub async fn prepare<K: Kernel>(trial: &Trial<'_, K>) -> Result<(), Refusal> {
    let kernel = trial.kernel;
    let Some(mut random) = trial.request.start_state() else { return Ok(()) };
    trial.arena.fill(random.below(WORDS) as usize, |_| Ok(0_u64))?;
    kernel.vary(&mut random);
    if K::HAS_PAST {
        past(trial, &mut random).await?;
    }
    let begin = kernel.now() + random.draw() % trial.ticks(kernel.tick_us().max(PHASE_US)).max(1);
    while kernel.now() < begin {}
    Ok(())
}

/// The tasks of the past, which pass a token around.
struct Ring<K: Kernel> {
    kernel: &'static K,
    /// Given to the task that has the token.
    seats: &'static [K::Semaphore],
    /// The number of tasks, set before the token is given for the first time.
    members: AtomicU32,
    rounds: u32,
    /// The longest work and the longest delay, in ticks of the clock.
    work: u32,
    delay: u32,
    /// Given by each task at its end.
    done: &'static K::Semaphore,
}

async fn past<K: Kernel>(trial: &Trial<'_, K>, random: &mut Random) -> Result<(), Refusal> {
    let kernel = trial.kernel;
    let wanted = 2 + random.below(3);
    let short = |microseconds| u32::try_from(trial.ticks(microseconds)).unwrap_or(u32::MAX);
    let ring: &'static Ring<K> = trial.arena.place(Ring {
        kernel,
        seats: trial.arena.fill(wanted as usize, |_| kernel.semaphore(0))?,
        members: AtomicU32::new(0),
        rounds: 1 + random.below(6),
        work: short(PHASE_US / 5),
        delay: short(2 * kernel.tick_us().max(PHASE_US / 2)),
        done: trial.semaphore(0)?,
    })?;
    let mut members = 0;
    for _ in 0..wanted {
        let priority = PRIORITIES[random.below(4) as usize];
        let own = Random::new(random.draw());
        // A kernel without room for the task, or one that denies its priority, has a shorter past.
        let spawned = K::Director::spawn(kernel, priority, member(ring, members, own));
        members += u32::from(spawned.is_ok());
    }
    if members > 0 {
        ring.members.store(members, Relaxed);
        kernel.give(&ring.seats[0]);
        trial.wait(ring.done, members as usize).await;
        for _ in 0..members {
            K::Director::reap(kernel).await;
        }
    }
    Ok(())
}

async fn member<K: Kernel>(ring: &'static Ring<K>, seat: u32, mut random: Random) {
    let kernel = ring.kernel;
    for _ in 0..ring.rounds {
        K::Director::take(kernel, &ring.seats[seat as usize]).await;
        for _ in 0..random.below(4) {
            match random.below(3) {
                0 => K::Director::yield_now(kernel).await,
                1 => {
                    let end = kernel.now() + u64::from(random.below(ring.work));
                    while kernel.now() < end {}
                }
                _ => {
                    let due = kernel.now() + u64::from(random.below(ring.delay));
                    K::Director::delay_until(kernel, due).await;
                }
            }
        }
        let next = (seat + 1) % ring.members.load(Relaxed);
        kernel.give(&ring.seats[next as usize]);
    }
    kernel.give(ring.done);
}

/// The order in which an experiment creates its tasks: every number below a count, once.
pub struct Order {
    next: usize,
    stride: usize,
    left: usize,
    count: usize,
}

impl Order {
    /// The ascending order.
    pub(crate) const fn ascending(count: usize) -> Self {
        Self { next: 0, stride: 1, left: count, count }
    }

    /// An order that the generator chooses.
    pub(crate) fn chosen(count: usize, random: &mut Random) -> Self {
        let below = |random: &mut Random| random.below(count as u32) as usize;
        let next = below(random);
        let mut stride = below(random).max(1);
        // A stride without a common divisor meets every number.
        while divisor(stride, count) > 1 {
            stride += 1;
        }
        Self { next, stride, left: count, count }
    }
}

impl Iterator for Order {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let number = self.next;
        self.next += self.stride;
        while self.next >= self.count {
            self.next -= self.count;
        }
        Some(number)
    }
}

/// Returns the greatest common divisor.
const fn divisor(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[test]
    fn the_numbers_are_those_of_split_mix() {
        // The generator's published reference values for the seed 1234567.
        let mut random = Random::new(1_234_567);
        let numbers = [random.draw(), random.draw(), random.draw()];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn numbers_are_below_their_bound_and_reach_all_of_it() {
        let mut random = Random::new(1);
        let mut seen = [false; 5];
        (0..200).for_each(|_| seen[random.below(5) as usize] = true);
        assert_eq!(seen, [true; 5]);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn every_order_has_each_number_once() {
        for count in 0..40 {
            assert!(Order::ascending(count).eq(0..count));
            for seed in 0..20 {
                let mut numbers: Vec<usize> =
                    Order::chosen(count, &mut Random::new(seed)).collect();
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..count), "{count} {seed}");
            }
        }
        let orders = (0..20).map(|seed| Order::chosen(5, &mut Random::new(seed)));
        let orders: std::collections::BTreeSet<Vec<usize>> =
            orders.map(Iterator::collect).collect();
        assert!(orders.len() > 5, "{orders:?}");
    }
}
