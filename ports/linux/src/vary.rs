//! The start states that only Linux has: what other processes did before the case, the phase against
//! the kernel's tick, and a past of each task of the case, from which the scheduler's account of it
//! follows.
//!
//! A fair scheduler decides by the processor time that each task has had. Two tasks that were created
//! and then waited have had the same in every repetition, so a pair of them locks into one of several
//! paths. Tasks with different pasts show the others too.

use std::{
    hint::black_box,
    ptr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use chronoscope_suite::{Priority, vary::Random};
use rustix::{
    mm::{MapFlags, ProtFlags, mmap_anonymous},
    thread::sched_yield,
};

use crate::{clock, kernel::Linux, thread::sleep_until};

/// The experiments that create tasks while they measure. Their tasks have no past, which would be in
/// the samples.
const CREATE_LATE: [&str; 2] = ["spawn", "pipeline"];

/// The longest single work or sleep, in µs: some ticks, and about a time slice of the fair scheduler.
const STEP_US: u32 = 4000;

/// The longest sleep before the case, in µs: two ticks of the slowest usual kernel.
const PHASE_US: u32 = 20_000;

/// The largest offset of a thread's stack, in frames of [`at_depth`].
const FRAMES: u32 = 64;

const PAGE: usize = 4096;

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
fn sleep(random: &mut Random, microseconds: u32) {
    sleep_until(clock::now() + ticks(random, microseconds));
}

/// Works, sleeps and yields in turn.
fn live(random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        match random.below(3) {
            0 => work(random),
            1 => sleep(random, STEP_US),
            _ => sched_yield(),
        }
    }
}

/// Lets up to three other processes live and end, sleeps into another phase of the tick, and chooses
/// the pasts of the case's tasks. The caller must be the only thread.
pub fn vary(kernel: &Linux, experiment: &str, random: &mut Random) {
    let mut children = Vec::new();
    for _ in 0..random.below(4) {
        let mut own = Random::new(random.draw());
        // SAFETY: the caller is the only thread, so the child may use all memory; it ends with
        // `_exit`.
        match unsafe { libc::fork() } {
            // Without the process, the state is another one.
            -1 => {}
            0 => {
                // The child dies with the case. SAFETY: PR_SET_PDEATHSIG takes one number.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                other(kernel, &mut own);
                // SAFETY: does not return.
                unsafe { libc::_exit(0) }
            }
            child => children.push(child),
        }
        live(random);
    }
    for child in children {
        // SAFETY: takes numbers, and a null pointer is allowed.
        unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
    }
    if !CREATE_LATE.contains(&experiment) {
        // Odd, so that it is not 0.
        kernel.pasts.0.store(random.draw() | 1, Relaxed);
    }
    sleep(random, PHASE_US);
}

/// The life of another process.
fn other(kernel: &Linux, random: &mut Random) {
    if random.below(2) == 0 {
        // Where the class is denied, the process stays in the one that it has.
        let _ = kernel.settings.enter(kernel.settings.class(Priority::Urgent(1)));
    }
    touch(1 + random.below(64) as usize);
    live(random);
}

/// Maps and touches memory, which stays mapped until the process ends.
fn touch(pages: usize) {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing, and all writes
    // are within it.
    unsafe {
        let region = mmap_anonymous(ptr::null_mut(), pages * PAGE, protection, MapFlags::PRIVATE);
        if let Ok(region) = region {
            (0..pages).for_each(|page| region.cast::<u8>().add(page * PAGE).write_volatile(1));
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
