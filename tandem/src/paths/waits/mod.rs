//! Waiting in a queue, and serving it.

#[cfg(all(target_arch = "arm", direct))]
mod cortex_m;
#[cfg(riscv)]
mod riscv;

pub(crate) use self::chosen::*;
#[cfg(not(riscv))]
use crate::{
    arch::Mask,
    records::{WaitQueue, Waiter},
};
#[cfg(not(riscv))]
use core::ptr::NonNull;

#[cfg(all(target_arch = "arm", direct, not(feature = "time-slice")))]
mod chosen {
    pub(crate) use super::cortex_m::{hand_over, wait_in};
}
#[cfg(all(target_arch = "arm", direct, feature = "time-slice"))]
mod chosen {
    use crate::{
        arch::Mask,
        records::{WaitQueue, Waiter},
        wait,
    };
    use core::ptr::NonNull;

    either! {
        hand_over(queue: &WaitQueue, mask: Mask, first: NonNull<Waiter>) = wait::hand_over;
        wait_in(queue: &WaitQueue) = wait::wait_in;
    }
}
#[cfg(riscv)]
mod chosen {
    #[cfg(direct)]
    pub(crate) use super::riscv::hand_over_and_restore;
    pub(crate) use super::riscv::wait_in;
    #[cfg(not(direct))]
    pub(crate) use crate::wait::hand_over_and_restore;
}
#[cfg(not(any(riscv, all(target_arch = "arm", direct))))]
mod chosen {
    pub(crate) use crate::wait::{hand_over, wait_in};
}

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
