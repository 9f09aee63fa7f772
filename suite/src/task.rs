//! Running a future to its end, futures that block, and tasks that wait without blocking.

use core::{
    future::Future,
    hint,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use crate::kernel::Tasks;

/// A future that does its waiting inside `poll` and is ready at once: what a thread's operations
/// return.
pub struct Block<F>(pub F);

impl<T, F: FnMut() -> T + Unpin> Future for Block<F> {
    type Output = T;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        Poll::Ready((self.0)())
    }
}

/// One turn of a loop that waits by spinning. A coroutine gives way in each, because nothing pre-empts it.
#[inline(always)]
pub async fn spin<T: Tasks>(kernel: &'static T::Kernel) {
    hint::spin_loop();
    // Both are constants, so the compiler decides.
    if T::KIND == "coroutine" {
        T::yield_now(kernel).await;
    }
}

/// Runs a thread's body. Its futures block, so one poll is enough; a future that suspends is a
/// port's error, and polling again at once makes it show as a busy loop rather than a lost task.
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
