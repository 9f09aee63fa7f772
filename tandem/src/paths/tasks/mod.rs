//! Waking, blocking and yielding.

#[cfg(all(target_arch = "arm", direct))]
mod cortex_m;
#[cfg(riscv)]
mod riscv;

pub(crate) use self::chosen::give_way;
use self::chosen::wake;
use crate::{
    arch::Mask,
    kernel::{EARLY, share_stack_with_all},
    records::{KERNEL, Task},
    shared::Masked,
};

#[cfg(all(target_arch = "arm", direct, not(feature = "time-slice")))]
mod chosen {
    pub(crate) use super::cortex_m::{block, give_way, wake};
}
#[cfg(all(target_arch = "arm", direct, feature = "time-slice"))]
mod chosen {
    use crate::{arch::Mask, kernel, records::Task};

    either! {
        block(me: Task) = kernel::block_here;
        give_way() = kernel::give_way;
        wake(task: Task, mask: Mask) = kernel::wake_here;
    }
}
#[cfg(riscv)]
mod chosen {
    pub(crate) use super::riscv::{block, give_way};
    pub(crate) use crate::kernel::wake_here as wake;
}
#[cfg(not(any(riscv, all(target_arch = "arm", direct))))]
mod chosen {
    pub(crate) use crate::kernel::{block_here as block, give_way, wake_here as wake};
}

/// Makes a task ready and, if it is the most urgent, lets it run. For tasks and handlers.
#[inline(always)]
pub(crate) fn wake_and_preempt(_: Masked, mask: Mask, task: Task) {
    // SAFETY: interrupts are masked, shown by the `Masked` argument.
    unsafe { wake(task, mask) }
}

/// Calls [`wake_and_preempt`] and restores the interrupt state. To be called last: on RISC-V it is
/// one function, a tail call, so that the caller needs no stack frame.
#[inline(always)]
pub(crate) fn wake_and_restore(m: Masked, mask: Mask, task: Task) {
    #[cfg(not(riscv))]
    wake_and_preempt(m, mask, task);
    #[cfg(not(riscv))]
    mask.restore();
    let _ = m;
    #[cfg(riscv)]
    // SAFETY: interrupts are masked, shown by the `Masked` argument.
    unsafe {
        crate::kernel::wake_here_and_restore(task, mask);
    }
}

/// Makes a claimed task ready for the first time. Before [`start`](crate::start), nothing runs yet.
#[inline(always)]
pub(crate) fn launch(m: Masked, mask: Mask, task: Task) {
    if KERNEL.started(m).is_some() {
        wake_and_preempt(m, mask, task);
    } else {
        insert(m, task);
    }
}

/// Before [`start`](crate::start), a coroutine does not know the guard of its stack. Has `start`
/// tell it.
pub(crate) fn launch_coroutine(m: Masked, mask: Mask, task: Task) {
    if KERNEL.started(m).is_none() {
        EARLY.set(m, Some(share_stack_with_all));
    }
    KERNEL.share_stack(m, task);
    launch(m, mask, task);
}

/// Adds a task to the ready set before the kernel has been started.
#[cfg(any(not(target_arch = "arm"), basepri))]
fn insert(m: Masked, task: Task) {
    KERNEL.ready.insert(m, task);
}

/// Adds a task to the ready set before the kernel has been started: as from a critical section,
/// without the switch.
#[cfg(all(target_arch = "arm", not(basepri)))]
fn insert(_: Masked, task: Task) {
    const PENDSVCLR: u32 = 1 << 27;
    // SAFETY: interrupts are masked, shown by the `Masked` argument, and so PendSV is not taken
    // before it is cleared. Every Cortex-M has this register.
    unsafe {
        wake(task, Mask::MASKED);
        crate::records::ICSR.write_volatile(PENDSVCLR);
    }
}

/// Blocks the running thread, `me`, until it is woken.
#[inline(always)]
pub(crate) fn block(_: Masked, me: Task) {
    // SAFETY: interrupts are masked, shown by the `Masked` argument, and `me` runs.
    unsafe { chosen::block(me) };
}
