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
    kernel::{Kernel, Priority, Refusal, Tasks},
    random::Random,
    trial::Trial,
};

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
