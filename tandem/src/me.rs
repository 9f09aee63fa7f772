//! The permission to block.
//!
//! # Soundness
//! A [`Me`] exists only on the stack of the thread that it stands for: the entry of a thread lends
//! it to the body, [`Me::current`] makes it in thread mode where a thread runs, and it is neither
//! `Send` nor `Sync`. So whoever has a [`Me`] is the running thread, in thread mode.

use crate::{
    arch::{Mask, masked},
    context,
    info::current,
    paths::tasks,
    records::{IDLE_LEVEL, Info, KERNEL},
};
use core::marker::PhantomData;

/// Permission to block, lent to a thread's body. Blocking calls need it; a handler or a coroutine
/// has none, so a blocking call there does not compile.
///
/// In a critical section, calls that take a `Me` leave interrupts masked. A call that would have to
/// wait there panics with the names of the task and the call.
pub struct Me<'a>(PhantomData<*mut &'a ()>);

impl Me<'_> {
    /// The running thread's `Me`, for code that has been lent none, such as a binding to another
    /// language. `None` in a coroutine, a handler, a critical section, and before
    /// [`start`](crate::start). About 15 instructions.
    #[must_use]
    pub fn current() -> Option<Self> {
        let (mask, m) = Mask::set();
        let is_thread = mask.allows_switch()
            && KERNEL
                .started(m)
                .is_some_and(|task| task.poll.get(m).is_none() && task.level.get(m) != IDLE_LEVEL);
        mask.restore();
        is_thread.then_some(Self(PhantomData))
    }

    /// # Safety
    /// The caller is the body of a thread, or has been called by it.
    pub(crate) const unsafe fn assume() -> Self {
        Self(PhantomData)
    }

    /// Lets the next ready task of the same priority run, if there is one. Constant time. No effect
    /// in a critical section.
    #[inline(always)]
    pub fn yield_now(&self) {
        // SAFETY: a `Me` exists only in a running thread.
        unsafe { tasks::give_way() };
    }

    /// The bytes of the thread's stack between the running function's frame and the guard.
    #[must_use]
    pub fn stack_left(&self) -> usize {
        masked(|m| context::stack_left(m, KERNEL.current(m)))
    }

    /// Ends the program if fewer than `bytes` bytes of stack are left. About 20 instructions.
    ///
    /// The guard finds an overflow when it is touched. A function whose frame is larger than the
    /// guard, 32 bytes or with the feature `guard-256` 256, may pass over it without touching it: call
    /// this before such a function.
    ///
    /// # Panics
    /// If less stack is left. Names the task and the caller.
    #[track_caller]
    pub fn assert_stack(&self, bytes: usize) {
        let left = self.stack_left();
        if left < bytes {
            panic!("task {}: {left} bytes of stack are left of {bytes}", self.info().name());
        }
    }

    /// The running thread.
    #[must_use]
    pub fn info(&self) -> Info {
        current()
    }
}
