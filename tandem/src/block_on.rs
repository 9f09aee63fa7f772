//! Futures in threads: the thread polls a future, and blocks between polls.
//!
//! # Soundness
//! A waker is the address of a static header, so it may be copied, kept and used for ever, from
//! anywhere.

use crate::{
    arch::{Mask, masked},
    kernel,
    me::Me,
    paths::tasks,
    records::{KERNEL, Life},
    waker::of_threads::waker,
};
use core::{
    mem::ManuallyDrop,
    pin::pin,
    task::{Context, Poll},
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
                tasks::block(m, me);
            }
            mask.restore();
        }
    }
}
