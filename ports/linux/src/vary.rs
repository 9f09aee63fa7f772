//! The start states that only Linux has: what other processes did before the case, the phase against
//! the kernel's tick, and a past of each task of the case, from which the scheduler's account of it
//! follows.
//!
//! A fair scheduler decides by the processor time that each task has had. Two tasks that were created
//! and then waited have had the same in every repetition, so a pair of them locks into one of several
//! paths. Tasks with different pasts show the others too.

use std::ptr;

use chronoscope_suite::{Priority, random::Random};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::{
    kernel::Linux,
    pasts::{live, sleep},
};

/// The experiments that create tasks while they measure. Their tasks have no past, which would be in
/// the samples.
const CREATE_LATE: [&str; 2] = ["spawn", "pipeline"];

/// The longest sleep before the case, in µs: two ticks of the slowest usual kernel.
const PHASE_US: u32 = 20_000;

const PAGE: usize = 4096;

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
        kernel.pasts.begin(random.draw());
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
