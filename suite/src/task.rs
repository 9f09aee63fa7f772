//! Helpers for tasks: futures that block, an executor for a thread, and a step of a spinning wait.

use core::{
    future::Future,
    hint,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use crate::kernel::Tasks;

/// A future that waits inside `poll` and is always ready: the type of a thread's operations.
pub struct Block<F>(pub F);

impl<T, F: FnMut() -> T + Unpin> Future for Block<F> {
    type Output = T;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        Poll::Ready((self.0)())
    }
}

/// Executes one step of a spinning wait. A coroutine yields in it, because nothing pre-empts a
/// coroutine.
#[inline(always)]
pub async fn spin<T: Tasks>(kernel: &'static T::Kernel) {
    hint::spin_loop();
    // Both are constants, so the branch costs nothing.
    if T::KIND == "coroutine" {
        T::yield_now(kernel).await;
    }
}

/// Runs a thread's body to its end. Its futures block, so one poll is enough. A future that
/// suspends is an error of the port; it is polled again at once, which shows as a busy loop instead
/// of a lost task.
#[inline(always)]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}
