//! Futures in threads: the thread polls, and blocks between polls.

use crate::{
    arch::{self, Mask},
    kernel::{self, KERNEL, masked},
    shared::Masked,
    task::{Header, Life, Task},
    thread::Me,
};
use core::{
    mem::ManuallyDrop,
    pin::pin,
    task::{Context, Poll, RawWaker, RawWakerVTable, Waker},
};

impl Me<'_> {
    /// Runs a future, and blocks the thread while it waits.
    ///
    /// For futures made elsewhere, as by `embassy-time` and `embassy-sync`. Tandem's own futures are for coroutines and
    /// panic here: a thread has calls that block.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let me = masked(|m| KERNEL.current(m));
        let waker = ManuallyDrop::new(waker(me));
        loop {
            masked(|m| me.again.set(m, false));
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                // If this was called within the poll of another such future, a wake-up may have been meant for that one.
                masked(|m| me.again.set(m, true));
                return output;
            }
            let m = arch::mask();
            if !me.again.get(m) {
                me.life.set(m, Life::Awaiting);
                me.waiter.set(m, None);
                kernel::block(m, me);
            }
            arch::unmask(m);
        }
    }
}

/// Wakes a task that polls a future. A thread that is elsewhere is not woken, lest it takes that for what it waits for there.
#[inline(always)]
pub(crate) fn wake_future(m: Masked, mask: Mask, task: Task) {
    if task.life.get(m) == Life::Awaiting {
        task.life.set(m, Life::Alive);
    } else if task.poll.get(m).is_none() {
        return task.again.set(m, true);
    }
    kernel::wake_and_preempt(m, mask, task);
}

pub(crate) static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, drop_waker);

fn waker(task: Task) -> Waker {
    // SAFETY: tasks are static and may be woken from anywhere at any time, so a copy needs no care.
    unsafe { Waker::from_raw(RawWaker::new(core::ptr::from_ref(task).cast(), &VTABLE)) }
}

unsafe fn clone(task: *const ()) -> RawWaker {
    RawWaker::new(task, &VTABLE)
}

unsafe fn wake(task: *const ()) {
    // SAFETY: only `waker` makes wakers with this table, from a task.
    let task: Task = unsafe { &*task.cast::<Header>() };
    let (mask, m) = Mask::set();
    wake_future(m, mask, task);
    mask.restore();
}

unsafe fn drop_waker(_: *const ()) {}
