//! The polls of coroutines of the simulated processor. There are no other contexts.

use crate::{
    arch, polls,
    records::{Saved, Task},
    shared::Masked,
};

pub(crate) const GUARD: usize = 32;
/// There are no interrupts.
pub(crate) const INTERRUPTED: usize = 0;

impl Saved {
    pub(crate) fn exists(&self, m: Masked) -> bool {
        self.0.get(m)
    }

    pub(crate) fn clear(&self, m: Masked) {
        self.0.set(m, false);
    }

    pub(crate) fn share_stack_of(&self, _: Masked, _: &Self) {}

    pub(crate) unsafe fn prepare(
        &self,
        _: Masked,
        _: usize,
        _: usize,
        _: unsafe extern "C" fn(*mut ()) -> !,
        _: *mut (),
    ) {
        unreachable!("the host has no threads");
    }
}

/// Polls `to` and every more urgent coroutine on top of `from`. Returns when `from` is the most
/// urgent.
///
/// # Safety
/// Interrupts are masked.
pub(crate) unsafe fn switch(from: Task, to: Task) {
    // SAFETY: interrupts are masked, by this function's contract.
    let m = unsafe { Masked::assume() };
    assert!(arch::is_masked() && !to.saved.exists(m));
    from.saved.0.set(m, true);
    let next = polls::poll_above(m, to);
    assert!(next.is(from), "the poll below is the next to go on");
    from.saved.clear(m);
}

/// Makes a pending switch.
#[cfg(test)]
pub(crate) fn catch_up(m: Masked) {
    use crate::records::KERNEL;
    let (me, next) = (KERNEL.current(m), KERNEL.ready.most_urgent(m));
    if !next.is(me) {
        // SAFETY: interrupts are masked, shown by the `Masked` argument.
        unsafe { switch(me, next) };
    }
}

pub(crate) unsafe fn load(_: Task) -> ! {
    unreachable!("the host has no threads");
}

pub(crate) fn stack_left(_: Masked, _: Task) -> usize {
    unreachable!("the host has no threads");
}

pub(crate) fn set_up(_: Masked, _: Task, _: usize) {}

pub(crate) unsafe fn become_idle(_: Masked, _: Task, _: usize, _: usize) -> ! {
    unreachable!("tests are the idle task themselves");
}
