//! What the kernel needs of a processor: masking, contexts, and the switch between them.

#[cfg_attr(target_arch = "arm", path = "cortex_m/mod.rs")]
#[cfg_attr(target_arch = "riscv32", path = "riscv/mod.rs")]
#[cfg_attr(not(any(target_arch = "arm", target_arch = "riscv32")), path = "host.rs")]
mod chosen;

pub(crate) use chosen::*;

#[cfg(not(target_arch = "riscv32"))]
use crate::wait::{WaitQueue, Waiter};
#[cfg(not(target_arch = "riscv32"))]
use core::ptr::NonNull;

/// A yield, where the processor's own code has none.
#[cfg(not(target_arch = "riscv32"))]
pub(crate) use crate::kernel::give_way;

/// Hands over, and lets interrupts in as they were.
///
/// # Safety
/// As for `hand_over`.
#[cfg(not(target_arch = "riscv32"))]
#[inline(always)]
pub(crate) unsafe fn hand_over_and_restore(queue: &WaitQueue, mask: Mask, first: NonNull<Waiter>) {
    // SAFETY: by the caller's word.
    unsafe { hand_over(queue, mask, first) };
    mask.restore();
}

/// The zeros above the highest bit.
#[cfg(not(target_arch = "riscv32"))]
#[inline(always)]
pub(crate) fn leading_zeros(word: u32) -> u32 {
    word.leading_zeros()
}

/// What a processor's own code need not do: the common paths as they are in Rust, where they can be traced.
#[cfg(any(not(target_arch = "arm"), feature = "trace", feature = "time-slice"))]
pub(crate) use crate::kernel::wake_here as wake;

#[cfg(all(
    not(target_arch = "riscv32"),
    any(not(target_arch = "arm"), feature = "trace", feature = "time-slice")
))]
pub(crate) use crate::wait::hand_over;

#[cfg(all(target_arch = "riscv32", any(feature = "trace", feature = "time-slice")))]
pub(crate) use crate::wait::hand_over_and_restore;

#[cfg(all(
    not(target_arch = "riscv32"),
    any(not(target_arch = "arm"), feature = "trace", feature = "time-slice")
))]
pub(crate) use crate::wait::wait_in;

/// Offsets into the kernel's record that assembly uses.
#[cfg(target_os = "none")]
pub(crate) mod offset {
    use crate::{kernel::Kernel, task::Header};

    #[cfg(any(target_arch = "arm", not(any(feature = "trace", feature = "time-slice"))))]
    pub(crate) const BITMAP: usize = CURRENT - 4;
    pub(crate) const CURRENT: usize = Kernel::CURRENT;
    pub(crate) const TOP: usize = Kernel::TOP;
    #[cfg(target_arch = "arm")]
    pub(crate) const AGAIN: usize = core::mem::offset_of!(Header, again);
    pub(crate) const POLL: usize = core::mem::offset_of!(Header, poll);
    #[cfg(feature = "count")]
    pub(crate) const SWITCHES: usize = core::mem::offset_of!(Header, switches);
    #[cfg(not(feature = "count"))]
    pub(crate) const SWITCHES: usize = 0;
    const _: () = assert!(core::mem::offset_of!(Header, saved) == 0);
}
