//! Work of a known amount, done by a task without calling the kernel.
//!
//! The amount is a number of steps, calibrated once, and not a time on the clock: a pre-empted task
//! must still do the rest of its work, or the pre-emption would cost it nothing. Counting steps
//! needs no processor-time clock, which few small kernels have and which costs a system call on
//! Linux.

use core::hint::black_box;

use crate::clock::Clock;

/// Does `steps` steps of work and returns a checksum that depends on their number.
///
/// A step is two multiplications and a subtraction in double precision, each dependent on the one
/// before, so sibling hardware threads slow it little. The map is chaotic: different numbers of
/// steps give different checksums, and a compiler cannot shorten the loop.
#[inline(never)]
pub fn work(steps: u64) -> u32 {
    let mut x = black_box(0.3_f64);
    for _ in 0..steps {
        let y = 3.9 * x;
        x = y - y * x;
    }
    let bits = x.to_bits();
    (bits ^ (bits >> 32)) as u32
}

/// Returns the number of steps that take `ticks` undisturbed. It is calibrated at each call, by the
/// shortest of five tries of at least 2 ms.
pub fn steps_in<C: Clock>(clock: &C, ticks: u64) -> u64 {
    let time = |steps| {
        let start = clock.now();
        black_box(work(steps));
        (clock.now() - start).max(1)
    };
    let mut steps = 16;
    while time(steps) < clock.hertz() / 500 {
        steps *= 2;
    }
    let best = (0..5).map(|_| time(steps)).min().unwrap_or(1);
    (steps as f64 * (ticks as f64 / best as f64)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_tells_the_steps() {
        let sums = [0, 1, 2, 999, 1000, 1001, 100_000, 100_001].map(work);
        for (place, sum) in sums.iter().enumerate() {
            assert!(!sums[..place].contains(sum), "{sums:?}");
        }
    }
}
