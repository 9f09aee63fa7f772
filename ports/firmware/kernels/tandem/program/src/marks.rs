//! The marks of the benchmark, and the lines that report them.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::output::line;

/// The samples of a path.
pub const ROUNDS: usize = 8;

/// The marks that processes share, at the beginning of the arena's second page.
pub struct Shared {
    pub start: AtomicU64,
    pub taken: [AtomicU64; ROUNDS],
    pub control: AtomicU64,
}

/// Prints the least and the most of a path's costs, and the first.
pub fn show(name: &str, taken: &[u64; ROUNDS]) {
    // The first round is the coldest: tables and lists are made.
    let [first, rest @ ..] = taken;
    let (low, high) = (rest.iter().min(), rest.iter().max());
    let (low, high) = (low.unwrap_or(first), high.unwrap_or(first));
    line(format_args!("{name}: {low} to {high}, first {first}"));
}

/// Prints the costs in `shared`, less the control.
pub fn show_shared(name: &str, shared: &Shared) {
    let control = shared.control.load(Relaxed);
    show(name, &core::array::from_fn(|at| shared.taken[at].load(Relaxed) - control));
}

/// Makes the marks zero.
pub fn clear(shared: &Shared) {
    shared.taken.iter().for_each(|slot| slot.store(0, Relaxed));
}
