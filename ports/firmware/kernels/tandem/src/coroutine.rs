//! Coroutines.

use core::{
    pin::Pin,
    task::{Context, Poll},
};

use chronoscope_suite::{
    Priority, Refusal, Tasks,
    kernel::{Messages, Native},
};
use tandem::{Event, Semaphore, Signalled};

use crate::{
    kernel::{Coroutine, Queue, Tandem, level, queue, switches},
    pool::{COROUTINES, FUTURE, Place},
    record::{self, Record},
};

/// A coroutine's body, which at its end retires its place and gives its parent's semaphore.
struct Body<F> {
    future: F,
    place: &'static Place<tandem::Coroutine<FUTURE>>,
    parent: &'static Record,
}

impl<F: Future<Output = ()>> Future for Body<F> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let (place, parent) = (self.place, self.parent);
        // SAFETY: `future` is pinned as its body is, and nothing here moves it.
        let poll = unsafe { self.map_unchecked_mut(|body| &mut body.future) }.poll(context);
        if poll.is_ready() {
            COROUTINES.retire(place);
            parent.ended.give();
        }
        poll
    }
}

impl Tasks for Coroutine {
    type Kernel = Tandem;
    const KIND: &'static str = "coroutine";

    fn spawn<F>(_: &'static Tandem, priority: Priority, future: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let place = COROUTINES.claim()?;
        let parent = record::current();
        parent.adopt();
        let body = Body { future, place, parent };
        place.storage.spawn(level(priority), place.record.name(), body).map_err(|_| Refusal::full())
    }

    /// tandem does not wait for a coroutine's end; its users give a semaphore.
    async fn reap(_: &'static Tandem) -> bool {
        let record = record::current();
        let some = record.disown();
        if some {
            record.ended.taken().await;
        }
        some
    }

    #[inline(always)]
    fn yield_now(_: &'static Tandem) -> impl Future<Output = ()> + Send {
        tandem::yield_now()
    }

    #[inline(always)]
    fn delay_until(_: &'static Tandem, due: u64) -> impl Future<Output = ()> + Send {
        tandem::delay_until(due)
    }

    #[inline(always)]
    fn take(_: &'static Tandem, semaphore: &'static Semaphore) -> impl Future<Output = ()> + Send {
        semaphore.taken()
    }

    fn switches(_: &'static Tandem) -> Option<u32> {
        switches()
    }
}

impl Native for Coroutine {
    type Event = Event;

    fn event(_: &'static Tandem) -> Result<Event, Refusal> {
        Ok(Event::new())
    }

    #[inline(always)]
    fn signal(_: &'static Tandem, event: &'static Event) {
        event.signal(1);
    }

    #[inline(always)]
    fn signalled(_: &'static Tandem, event: &'static Event) -> impl Future<Output = ()> + Send {
        Taken(event.signalled())
    }
}

/// A wait for an event, without the flags. It is a future and not an `async` block, which would add
/// a state machine.
struct Taken(Signalled<'static>);

impl Future for Taken {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the future is pinned as `self` is, and nothing here moves it.
        unsafe { self.map_unchecked_mut(|taken| &mut taken.0) }.poll(context).map(|_| ())
    }
}

impl Messages for Coroutine {
    type Queue = Queue;

    fn queue(_: &'static Tandem, capacity: usize) -> Result<Queue, Refusal> {
        queue(capacity)
    }

    #[inline(always)]
    fn send(
        _: &'static Tandem,
        queue: &'static Queue,
        word: u32,
    ) -> impl Future<Output = ()> + Send {
        queue.sent(word)
    }

    #[inline(always)]
    fn receive(_: &'static Tandem, queue: &'static Queue) -> impl Future<Output = u32> + Send {
        queue.received()
    }
}
