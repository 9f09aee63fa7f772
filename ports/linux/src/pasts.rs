//! The pasts of the case's tasks: the work, sleeps and yields of each before its body, by random
//! numbers. The module knows no kinds of task, and not when a case has pasts ([`vary`](crate::vary)).

use std::{
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use chronoscope_suite::random::Random;
use rustix::thread::sched_yield;

use crate::{clock, sleeping::sleep_until};

/// The longest single work or sleep, in µs: some ticks, and about a time slice of the fair scheduler.
const STEP_US: u32 = 4000;

/// The largest offset of a thread's stack, in frames of [`at_depth`].
const FRAMES: u32 = 64;

/// Returns a random number of ticks below `microseconds`.
fn ticks(random: &mut Random, microseconds: u32) -> u64 {
    u64::from(random.below(microseconds)) * clock::hertz() / 1_000_000
}

/// Works for a random time of at most [`STEP_US`].
fn work(random: &mut Random) {
    let end = clock::now() + ticks(random, STEP_US);
    while clock::now() < end {}
}

/// Sleeps for a random time of at most `microseconds`.
pub fn sleep(random: &mut Random, microseconds: u32) {
    sleep_until(clock::now() + ticks(random, microseconds));
}

/// Works, sleeps and yields in turn.
pub fn live(random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        match random.below(3) {
            0 => work(random),
            1 => sleep(random, STEP_US),
            _ => sched_yield(),
        }
    }
}

/// The pasts of the case's tasks, in the order in which they are created.
pub struct Pasts(
    /// The next task's seed; 0 if tasks have no past.
    AtomicU64,
);

impl Pasts {
    pub fn none() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Gives all tasks that are created from now on a past, drawn by `seed`.
    pub fn begin(&self, seed: u64) {
        // Odd, so that it is not 0.
        self.0.store(seed | 1, Relaxed);
    }

    /// Returns the past of the task that is created next. Called by its creator.
    pub fn next(&self) -> Past {
        let seed = self.0.load(Relaxed);
        if seed != 0 {
            self.0.store(seed.wrapping_add(2), Relaxed);
        }
        Past((seed != 0).then(|| Random::new(seed)))
    }
}

/// The steps of a task before its body, drawn by the start state's seed; none without a seed.
pub struct Past(Option<Random>);

impl Past {
    /// Runs `body` after the past, at the stack offset that it chooses.
    #[inline]
    pub fn run(mut self, body: impl FnOnce()) {
        let frames = self.0.as_mut().map_or(0, |random| {
            live(random);
            random.below(FRAMES)
        });
        let mut body = Some(body);
        at_depth(frames, &mut || {
            if let Some(body) = body.take() {
                body();
            }
        });
    }
}

/// Calls `run` with the stack as many frames deeper.
#[inline(never)]
fn at_depth(frames: u32, run: &mut dyn FnMut()) {
    if frames == 0 {
        return run();
    }
    let frame = black_box([0_u8; 16]);
    at_depth(frames - 1, run);
    black_box(&frame);
}
