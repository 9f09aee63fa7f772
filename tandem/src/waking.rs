//! The waker of a future's wait: a coroutine of the kernel, or any other waker.
//!
//! # Soundness
//! - [`of_coroutines::VTABLE`] belongs to wakers made from a static header, so its data is a task
//!   that may be used for ever.
//! - A [`Sleeper`] of any other table is a waker cloned by [`Sleeper::keep`], owned by the future
//!   that waits, and dropped by it exactly once, after its wait has ended. The kernel calls a clone
//!   of it, while the wait lasts and interrupts are masked: the call may drop the future.

use crate::{
    arch::Mask,
    paths::tasks,
    records::{Header, Sleeper, Task},
    shared::Masked,
    waker::of_coroutines,
};
use core::{
    mem::ManuallyDrop,
    task::{Context, RawWakerVTable, Waker},
};

impl Sleeper {
    pub(crate) const fn task(task: Task) -> Self {
        Self { data: core::ptr::from_ref(task).cast(), table: None }
    }

    /// The task or waker behind a context, as a loan: a foreign waker belongs to the caller of the
    /// poll. [`Sleeper::keep`] makes it last.
    ///
    /// By value, since a poll whose waker the compiler knows then needs no context in memory.
    #[inline(always)]
    pub(crate) fn behind(context: &Context) -> Self {
        let waker = context.waker();
        let ours = core::ptr::eq(waker.vtable(), &of_coroutines::VTABLE);
        Self { data: waker.data(), table: if ours { None } else { Some(waker.vtable()) } }
    }

    /// Clones a foreign waker: the caller drops it by [`Sleeper::release`].
    #[inline(always)]
    pub(crate) fn keep(self) -> Self {
        if self.is_foreign() { self.clone_foreign() } else { self }
    }

    #[cold]
    #[inline(never)]
    fn clone_foreign(self) -> Self {
        let clone = self.waker().map(|waker| ManuallyDrop::new(Waker::clone(&waker)));
        clone.map_or(self, |clone| Self { data: clone.data(), table: Some(clone.vtable()) })
    }

    /// Returns whether both are the same task or waker. A `false` may be wrong for two wakers of
    /// one foreign task.
    pub(crate) fn is(self, other: Self) -> bool {
        let table = |sleeper: Self| sleeper.table.map_or(core::ptr::null(), core::ptr::from_ref);
        self.data == other.data && core::ptr::eq(table(self), table(other))
    }

    /// The task, unless this is a foreign waker.
    #[inline(always)]
    pub(crate) fn as_task(self) -> Option<Task> {
        // SAFETY: without a table, `data` is a static header.
        self.table.is_none().then(|| unsafe { &*self.data.cast::<Header>() })
    }

    pub(crate) fn is_foreign(self) -> bool {
        self.table.is_some()
    }

    /// The address of the task, or the waker's data.
    pub(crate) fn data(self) -> *const () {
        self.data
    }

    pub(crate) fn table(self) -> Option<&'static RawWakerVTable> {
        self.table
    }

    /// # Safety
    /// The parts belong to one `Sleeper`.
    pub(crate) const unsafe fn from_parts(
        data: *const (),
        table: Option<&'static RawWakerVTable>,
    ) -> Self {
        Self { data, table }
    }

    fn waker(self) -> Option<ManuallyDrop<Waker>> {
        // SAFETY: the parts belong to a clone that `release` has not yet dropped.
        self.table.map(|table| ManuallyDrop::new(unsafe { Waker::new(self.data, table) }))
    }

    /// Calls a foreign waker, with interrupts masked. No effect for a task.
    #[cold]
    #[inline(never)]
    pub(crate) fn call(self, _: Masked) {
        self.wake_foreign();
    }

    /// Calls a foreign waker. No effect for a task.
    #[cold]
    #[inline(never)]
    pub(crate) fn wake_foreign(self) {
        if let Some(waker) = self.waker() {
            Waker::clone(&waker).wake();
        }
    }

    /// Wakes the task, or calls the waker.
    pub(crate) fn wake(self) {
        match self.as_task() {
            Some(task) => {
                let (mask, m) = Mask::set();
                tasks::wake_and_restore(m, mask, task);
            }
            None => self.wake_foreign(),
        }
    }

    /// Drops a foreign waker. To be called once, by the future that made it, with interrupts as
    /// they were before the call.
    #[inline(always)]
    pub(crate) fn release(self) {
        if self.is_foreign() {
            self.drop_foreign();
        }
    }

    #[cold]
    #[inline(never)]
    fn drop_foreign(self) {
        self.waker().map(ManuallyDrop::into_inner);
    }
}
