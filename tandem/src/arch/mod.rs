//! The interrupts of a processor: masking them, and the request of a switch at their end. Each
//! processor has a module of its own.

#[cfg_attr(target_arch = "arm", path = "cortex_m/mod.rs")]
#[cfg_attr(riscv, path = "riscv/mod.rs")]
#[cfg_attr(not(any(target_arch = "arm", riscv)), path = "host.rs")]
mod chosen;

pub(crate) use chosen::*;

use crate::shared::Masked;

/// Runs `body` with interrupts masked, and restores their state.
#[inline(always)]
#[cfg_attr(test, track_caller)]
pub(crate) fn masked<R>(body: impl FnOnce(Masked) -> R) -> R {
    let (mask, m) = Mask::set();
    let result = body(m);
    mask.restore();
    result
}

/// Restores the state before `mask`, and masks interrupts again once those that are pending have been
/// taken.
#[inline(always)]
#[cfg_attr(test, track_caller)]
pub(crate) fn open_window(mask: Mask) -> (Mask, Masked) {
    mask.restore();
    take_pending();
    Mask::set()
}

/// A point within a masked window, which a test opens on purpose to show that the test of all
/// interleavings finds it.
#[inline(always)]
pub(crate) fn breach(_window: &str) {
    #[cfg(test)]
    chosen::breach(_window);
}

/// The number of zeros above the highest bit that is set; 32 for 0.
#[cfg(not(riscv))]
#[inline(always)]
pub(crate) fn leading_zeros(word: u32) -> u32 {
    #[cfg(not(thumb1))]
    return word.leading_zeros();
    #[cfg(thumb1)]
    return chosen::leading_zeros(word);
}
