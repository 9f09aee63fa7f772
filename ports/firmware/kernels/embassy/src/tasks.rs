//! Coroutines: embassy's tasks.

use core::{
    convert::Infallible,
    pin::Pin,
    sync::atomic::Ordering::Relaxed,
    task::{Context, Poll},
};

use chronoscope_suite::{
    Priority, Refusal, Tasks,
    kernel::{Messages, Native},
};
use embassy_sync::semaphore::{Semaphore as _, SemaphoreReleaser};
use embassy_time::{Instant, Timer};

use crate::{
    kernel::{CAPACITY, Coroutine, Embassy, Event, Queue, Semaphore},
    levels::{Spawners, level},
    pool::{self, Header},
    trace::current,
};

/// A task's body, which gives its parent's semaphore at its end.
struct Body<F> {
    future: F,
    parent: Option<&'static Header>,
}

impl<F: Future<Output = ()>> Future for Body<F> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let parent = self.parent;
        // SAFETY: `future` is pinned as its body is, and nothing here moves it.
        let poll = unsafe { self.map_unchecked_mut(|body| &mut body.future) }.poll(context);
        if poll.is_ready()
            && let Some(parent) = parent
        {
            parent.ended.release(1);
        }
        poll
    }
}

// SAFETY: the director's future is the only one that is not `Send`. It is moved before its first
// poll, when it holds nothing that anybody else could name, and stays with its executor from then
// on.
unsafe impl<F> Send for Body<F> {}

fn spawn<F>(
    spawners: &Spawners,
    priority: Priority,
    future: F,
    parent: Option<&'static Header>,
) -> Result<(), Refusal>
where
    F: Future<Output = ()> + 'static,
{
    let task = pool::claim::<Body<F>>()?;
    spawners[level(priority)].spawn(task.initialize(|| Body { future, parent }));
    Ok(())
}

/// Starts the director.
///
/// # Errors
/// [`Refusal`] when there is no room for it.
pub fn direct(
    spawners: Spawners,
    director: impl Future<Output = ()> + 'static,
) -> Result<(), Refusal> {
    spawn(&spawners, Priority::Ordinary, director, None)
}

impl Tasks for Coroutine {
    type Kernel = Embassy;
    const KIND: &'static str = "coroutine";

    fn spawn<F>(kernel: &'static Embassy, priority: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let parent = current();
        if let Some(parent) = parent {
            parent.children.store(parent.children.load(Relaxed) + 1, Relaxed);
        }
        spawn(&kernel.spawners, priority, body, parent)
    }

    /// Waits for a semaphore, since embassy does not report the end of a task.
    async fn reap(_: &'static Embassy) -> bool {
        let Some(me) = current().filter(|me| me.children.load(Relaxed) > 0) else { return false };
        take(&me.ended).await;
        me.children.store(me.children.load(Relaxed) - 1, Relaxed);
        true
    }

    #[inline(always)]
    fn yield_now(_: &'static Embassy) -> impl Future<Output = ()> + Send {
        embassy_futures::yield_now()
    }

    #[inline(always)]
    fn delay_until(_: &'static Embassy, due: u64) -> impl Future<Output = ()> + Send {
        Timer::at(Instant::from_ticks(due))
    }

    #[inline(always)]
    fn take(_: &'static Embassy, semaphore: &'static Semaphore) -> impl Future<Output = ()> + Send {
        take(semaphore)
    }

    fn switches(_: &'static Embassy) -> Option<u32> {
        current().map(|me| me.polls.load(Relaxed))
    }
}

#[inline(always)]
fn take(semaphore: &'static Semaphore) -> impl Future<Output = ()> + Send {
    Taken(semaphore.acquire(1))
}

/// Acquires without a later release. It is a future and not an `async fn`, which would add a second
/// state machine to the one that embassy's users write.
struct Taken<F>(F);

impl<F> Future for Taken<F>
where
    F: Future<Output = Result<SemaphoreReleaser<'static, Semaphore>, Infallible>>,
{
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the future is pinned as `self` is, and nothing here moves it.
        unsafe { self.map_unchecked_mut(|taken| &mut taken.0) }.poll(context).map(|Ok(taken)| {
            taken.disarm();
        })
    }
}

impl Native for Coroutine {
    type Event = Event;

    fn event(_: &'static Embassy) -> Result<Event, Refusal> {
        Ok(Event::new())
    }

    #[inline]
    fn signal(_: &'static Embassy, event: &'static Event) {
        event.signal(());
    }

    #[inline(always)]
    fn signalled(_: &'static Embassy, event: &'static Event) -> impl Future<Output = ()> + Send {
        event.wait()
    }
}

impl Messages for Coroutine {
    type Queue = Queue;

    fn queue(_: &'static Embassy, capacity: usize) -> Result<Queue, Refusal> {
        if capacity > CAPACITY { Err(Refusal::full()) } else { Ok(Queue::new()) }
    }

    #[inline(always)]
    fn send(
        _: &'static Embassy,
        queue: &'static Queue,
        word: u32,
    ) -> impl Future<Output = ()> + Send {
        queue.send(word)
    }

    #[inline(always)]
    fn receive(_: &'static Embassy, queue: &'static Queue) -> impl Future<Output = u32> + Send {
        queue.receive()
    }
}
