//! The interface between the kernel and a processor: masking interrupts, suspended contexts, and
//! the switch between them. Each processor has a module of its own; nothing else in the crate knows
//! one.

#[cfg_attr(target_arch = "arm", path = "cortex_m/mod.rs")]
#[cfg_attr(riscv, path = "riscv/mod.rs")]
#[cfg_attr(not(any(target_arch = "arm", riscv)), path = "host.rs")]
mod chosen;

pub(crate) use chosen::*;

#[cfg(not(riscv))]
use crate::records::{WaitQueue, Waiter};
use crate::shared::Masked;
#[cfg(not(riscv))]
use core::ptr::NonNull;

/// Lets the next of the ring run, on processors without a version in assembly.
#[cfg(any(
    not(any(riscv, target_arch = "arm")),
    all(target_arch = "arm", any(feature = "trace", basepri, thumb1))
))]
pub(crate) use crate::kernel::give_way;

/// Serves the first waiter and restores the interrupt state.
///
/// # Safety
/// As for `hand_over`.
#[cfg(not(riscv))]
#[inline(always)]
pub(crate) unsafe fn hand_over_and_restore(queue: &WaitQueue, mask: Mask, first: NonNull<Waiter>) {
    // SAFETY: interrupts are masked, by this function's contract.
    unsafe { hand_over(queue, mask, first) };
    mask.restore();
}

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

/// The frequent paths in Rust, for processors without a version in assembly, and for builds that
/// trace: the versions in assembly report no events. A Cortex-M takes them too once a time slice has
/// been set.
#[cfg(any(not(target_arch = "arm"), feature = "trace", basepri, thumb1))]
pub(crate) use crate::kernel::wake_here as wake;

#[cfg(all(not(riscv), any(not(target_arch = "arm"), feature = "trace", basepri, thumb1)))]
pub(crate) use crate::wait::hand_over;

#[cfg(all(riscv, any(feature = "trace", feature = "time-slice")))]
pub(crate) use crate::wait::hand_over_and_restore;

#[cfg(any(not(target_arch = "arm"), feature = "trace", basepri, thumb1))]
pub(crate) use crate::mutex::pass_on;

#[cfg(all(not(riscv), any(not(target_arch = "arm"), feature = "trace", basepri, thumb1)))]
pub(crate) use crate::kernel::block_here as block;

#[cfg(all(not(riscv), any(not(target_arch = "arm"), feature = "trace", basepri, thumb1)))]
pub(crate) use crate::wait::wait_in;

/// The offsets in the kernel's record and in headers that the assembly uses.
#[cfg(target_os = "none")]
pub(crate) mod offset {
    use crate::records::{Header, Kernel};

    #[cfg(all(
        any(target_arch = "arm", not(any(feature = "trace", feature = "time-slice"))),
        not(thumb1)
    ))]
    pub(crate) const BITMAP: usize = CURRENT - size_of::<usize>();
    pub(crate) const CURRENT: usize = Kernel::CURRENT;
    pub(crate) const TOP: usize = Kernel::TOP;
    #[cfg(all(target_arch = "arm", not(thumb1)))]
    pub(crate) const AGAIN: usize = core::mem::offset_of!(Header, again);
    pub(crate) const POLL: usize = core::mem::offset_of!(Header, poll);
    #[cfg(feature = "count")]
    pub(crate) const SWITCHES: usize = core::mem::offset_of!(Header, switches);
    #[cfg(not(feature = "count"))]
    pub(crate) const SWITCHES: usize = 0;
    const _: () = assert!(core::mem::offset_of!(Header, saved) == 0);
}
