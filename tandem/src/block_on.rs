//! Futures in threads: the thread polls a future, and blocks between polls.
//!
//! # Soundness
//! A waker is the address of a static header, so it may be copied, kept and used for ever, from
//! anywhere.

use crate::{
    arch::Mask,
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
    /// Runs a future to completion. Blocks the thread whenever the future is pending.
    ///
    /// For futures of other crates, such as `embassy-time` and `embassy-sync`, and for Tandem's own;
    /// for a single wait of Tandem's, the call that blocks is faster, and keeps its place in the order
    /// of priorities where the thread's priority changes: a future's wait has the priority of its
    /// last poll.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let me = masked(|m| KERNEL.current(m));
        let waker = ManuallyDrop::new(waker(me));
        loop {
            masked(|m| me.again.set(m, false));
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                // An outer `block_on` may be polling the future that called this one: let it poll
                // again, in case a wake-up was meant for it.
                masked(|m| me.again.set(m, true));
                return output;
            }
            let (mask, m) = Mask::set();
            if !me.again.get(m) {
                kernel::assert_may_wait(mask, "Me::block_on");
                me.life.set(m, Life::Awaiting);
                me.waiter.set(m, None);
                kernel::block(m, me);
            }
            mask.restore();
        }
    }
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
    kernel::wake_and_preempt(m, mask, task);
}

pub(crate) static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, drop_waker);

fn waker(task: Task) -> Waker {
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
    wake_future(m, mask, task);
    mask.restore();
}

unsafe fn drop_waker(_: *const ()) {}
