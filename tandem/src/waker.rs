//! The kernel's own wakers, which its tasks give their futures.
//!
//! # Soundness
//! A waker is the address of a static header, so it may be copied, kept and used for ever, from
//! anywhere.

use crate::{
    arch::Mask,
    paths::tasks,
    records::{Header, Life, Task},
    shared::Masked,
};

/// The wakers of coroutines.
pub(crate) mod of_coroutines {
    use super::{Header, Mask, Task, tasks};
    use core::task::{RawWaker, RawWakerVTable, Waker};

    pub(crate) static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, drop_waker);

    pub(crate) fn waker(task: Task) -> Waker {
        // SAFETY: the data pointer is a static header, which may be shared and copied freely; the
        // table's functions expect it.
        unsafe { Waker::from_raw(RawWaker::new(core::ptr::from_ref(task).cast(), &VTABLE)) }
    }

    unsafe fn clone(task: *const ()) -> RawWaker {
        RawWaker::new(task, &VTABLE)
    }

    unsafe fn wake(task: *const ()) {
        // SAFETY: only `waker` creates wakers with this table, from a header.
        let task: Task = unsafe { &*task.cast::<Header>() };
        let (mask, m) = Mask::set();
        tasks::wake_and_restore(m, mask, task);
    }

    unsafe fn drop_waker(_: *const ()) {}
}

/// The wakers of threads in [`block_on`](crate::Me::block_on).
pub(crate) mod of_threads {
    use super::{Header, Mask, Task, wake_future};
    use core::task::{RawWaker, RawWakerVTable, Waker};

    pub(crate) static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, rouse, rouse, drop_waker);

    pub(crate) fn waker(task: Task) -> Waker {
        // SAFETY: the data pointer is a static header, which may be shared and copied freely; the
        // table's functions expect it.
        unsafe { Waker::from_raw(RawWaker::new(core::ptr::from_ref(task).cast(), &VTABLE)) }
    }

    unsafe fn clone(task: *const ()) -> RawWaker {
        RawWaker::new(task, &VTABLE)
    }

    unsafe fn rouse(task: *const ()) {
        // SAFETY: only `waker` creates wakers with this table, from a header.
        let task: Task = unsafe { &*task.cast::<Header>() };
        let (mask, m) = Mask::set();
        wake_future(m, mask, task);
        mask.restore();
    }

    unsafe fn drop_waker(_: *const ()) {}
}

/// Wakes a task that polls a future. A thread that blocks in any other call is not woken, since it
/// would take the wake-up for the end of that wait; its `again` is set instead.
#[inline(always)]
pub(crate) fn wake_future(m: Masked, mask: Mask, task: Task) {
    if task.life.get(m) == Life::Awaiting {
        task.life.set(m, Life::Alive);
    } else if task.poll.get(m).is_none() {
        return task.again.set(m, true);
    }
    tasks::wake_and_preempt(m, mask, task);
}
