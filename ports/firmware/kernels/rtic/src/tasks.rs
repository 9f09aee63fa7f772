//! Coroutines: RTIC's async software tasks.

use core::{future::poll_fn, task::Poll};

use chronoscope_suite::{
    Priority, Refusal, Tasks,
    kernel::{Messages, Native},
};

use crate::{
    event::Event,
    kernel::{Coroutine, Rtic},
    lend,
    levels::{ORDINARY, level},
    queue::{CAPACITY, Queue},
    semaphore::Semaphore,
    slot::current,
    time,
};

/// Starts the director.
///
/// # Errors
/// [`Refusal`] when there is no room for it.
pub fn direct(director: impl Future<Output = ()> + 'static) -> Result<(), Refusal> {
    lend::spawn(ORDINARY, director, None)
}

impl Tasks for Coroutine {
    type Kernel = Rtic;
    const KIND: &'static str = "coroutine";

    #[inline]
    fn spawn<F>(kernel: &'static Rtic, priority: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let parent = current();
        lend::spawn(level(kernel.first, priority), body, parent)?;
        parent.inspect(|parent| parent.children.set(parent.children.get() + 1));
        Ok(())
    }

    /// Waits for a semaphore, since RTIC does not report the end of a task.
    async fn reap(_: &'static Rtic) -> bool {
        let Some(me) = current().filter(|me| me.children.get() > 0) else { return false };
        me.ended.take().await;
        me.children.set(me.children.get() - 1);
        true
    }

    /// Yields once, as RTIC's users write it: RTIC has no such function.
    #[inline(always)]
    fn yield_now(_: &'static Rtic) -> impl Future<Output = ()> + Send {
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

    #[inline(always)]
    fn delay_until(_: &'static Rtic, due: u64) -> impl Future<Output = ()> + Send {
        time::delay_until(due)
    }

    #[inline(always)]
    fn take(_: &'static Rtic, semaphore: &'static Semaphore) -> impl Future<Output = ()> + Send {
        semaphore.take()
    }

    fn switches(_: &'static Rtic) -> Option<u32> {
        current().map(|me| me.polls.get())
    }
}

impl Native for Coroutine {
    type Event = Event;

    fn event(_: &'static Rtic) -> Result<Event, Refusal> {
        Event::new()
    }

    #[inline]
    fn signal(_: &'static Rtic, event: &'static Event) {
        event.signal();
    }

    #[inline(always)]
    fn signalled(_: &'static Rtic, event: &'static Event) -> impl Future<Output = ()> + Send {
        event.signalled()
    }
}

impl Messages for Coroutine {
    type Queue = Queue;

    fn queue(_: &'static Rtic, capacity: usize) -> Result<Queue, Refusal> {
        if capacity > CAPACITY { Err(Refusal::full()) } else { Queue::new() }
    }

    #[inline(always)]
    fn send(_: &'static Rtic, queue: &'static Queue, word: u32) -> impl Future<Output = ()> + Send {
        queue.send(word)
    }

    #[inline(always)]
    fn receive(_: &'static Rtic, queue: &'static Queue) -> impl Future<Output = u32> + Send {
        queue.receive()
    }
}
