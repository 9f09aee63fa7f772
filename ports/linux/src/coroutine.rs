//! Coroutines: tasks of the [executor](crate::executor), whose thread is one of the port's.

use std::{future::poll_fn, task::Poll};

use chronoscope_suite::{Priority, Refusal, Tasks};

use crate::{executor::Executor, kernel::Linux, semaphore::Semaphore, thread::Thread};

pub enum Coroutine {}

/// Starts the executor's thread, in the class of the first coroutine's priority.
fn start(kernel: &'static Linux, priority: Priority) -> Result<&'static Executor, Refusal> {
    let executor: &'static Executor = Box::leak(Box::new(Executor::new()));
    Thread::spawn(kernel, priority, async { executor.run() })?;
    Ok(executor)
}

impl Tasks for Coroutine {
    type Kernel = Linux;
    const KIND: &'static str = "coroutine";

    fn spawn<F>(kernel: &'static Linux, priority: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let executor = match kernel.executor.get() {
            Some(executor) => executor,
            None => {
                let executor = start(kernel, priority)?;
                kernel.executor.get_or_init(|| executor)
            }
        };
        executor.spawn(priority, Box::pin(body));
        Ok(())
    }

    fn reap(kernel: &'static Linux) -> impl Future<Output = bool> + Send {
        poll_fn(move |context| here(kernel).poll_reap(context))
    }

    #[inline]
    fn yield_now(_: &'static Linux) -> impl Future<Output = ()> + Send {
        let mut yielded = false;
        poll_fn(move |context| {
            if yielded {
                return Poll::Ready(());
            }
            yielded = true;
            context.waker().wake_by_ref();
            Poll::Pending
        })
    }

    #[inline]
    fn delay_until(kernel: &'static Linux, due: u64) -> impl Future<Output = ()> + Send {
        let mut queued = false;
        poll_fn(move |_| {
            if queued {
                // The timer wakes the task when it is due; the task waits for nothing else.
                return Poll::Ready(());
            }
            queued = true;
            here(kernel).wake_at(due);
            Poll::Pending
        })
    }

    #[inline]
    fn take(_: &'static Linux, semaphore: &'static Semaphore) -> impl Future<Output = ()> + Send {
        poll_fn(|context| semaphore.poll_take(context))
    }

    fn switches(kernel: &'static Linux) -> Option<u32> {
        Some(here(kernel).polls())
    }
}

/// Returns the executor. The caller is one of its coroutines.
#[inline(always)]
fn here(kernel: &'static Linux) -> &'static Executor {
    kernel.executor.get().expect("a coroutine runs, so there is an executor")
}
