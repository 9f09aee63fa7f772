//! Threads.

use core::ptr::NonNull;

use chronoscope_suite::{
    Priority, Refusal, Tasks,
    kernel::{Messages, Native},
    task::{Block, block_on},
};
use tandem::{Event, Me, Semaphore};

use crate::{
    kernel::{Queue, Tandem, Thread, level, queue, switches},
    pool::THREADS,
    record,
};

/// The calling thread's right to wait. The kernel hands it to a thread's body, but a body of the
/// suite's has no place for it.
#[inline(always)]
pub fn me() -> &'static Me<'static> {
    const { assert!(size_of::<Me<'static>>() == 0) };
    // SAFETY: it is of no size, and says only that a thread is running: whoever runs operations of
    // this kind of task.
    unsafe { NonNull::dangling().as_ref() }
}

impl Tasks for Thread {
    type Kernel = Tandem;
    const KIND: &'static str = "thread";

    fn spawn<F>(_: &'static Tandem, priority: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let place = THREADS.claim()?;
        let parent = record::current();
        parent.adopt();
        let body = move |_: &Me<'_>| {
            block_on(body);
            THREADS.retire(place);
            parent.ended.give();
        };
        place.storage.spawn(level(priority), place.record.name(), body).map_err(|_| Refusal::full())
    }

    /// tandem does not wait for a thread's end; its users give a semaphore.
    fn reap(_: &'static Tandem) -> impl Future<Output = bool> + Send {
        Block(|| {
            let record = record::current();
            let some = record.disown();
            if some {
                record.ended.take(me());
            }
            some
        })
    }

    #[inline(always)]
    fn yield_now(_: &'static Tandem) -> impl Future<Output = ()> + Send {
        Block(|| me().yield_now())
    }

    #[inline(always)]
    fn delay_until(_: &'static Tandem, due: u64) -> impl Future<Output = ()> + Send {
        Block(move || me().delay_until(due))
    }

    #[inline(always)]
    fn take(_: &'static Tandem, semaphore: &'static Semaphore) -> impl Future<Output = ()> + Send {
        Block(|| semaphore.take(me()))
    }

    fn switches(_: &'static Tandem) -> Option<u32> {
        switches()
    }
}

impl Native for Thread {
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
        Block(|| {
            event.wait(me());
        })
    }
}

impl Messages for Thread {
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
        Block(move || queue.send(me(), word))
    }

    #[inline(always)]
    fn receive(_: &'static Tandem, queue: &'static Queue) -> impl Future<Output = u32> + Send {
        Block(|| queue.receive(me()))
    }
}
