//! Foreign wakers that do what safe code may do where the kernel calls them: free themselves, drop
//! other waits, use the kernel.

use super::{NOW, tick};
use crate::{
    Ceiling, Coroutine, Event, Info, Priority, Queue, Semaphore, StillAlive, delay_until,
    tests::begin_test,
};
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
};

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Waits that wakers can reach.
type Waits = Arc<Mutex<Vec<Option<Wait>>>>;

/// Polls a wait, and returns whether it has ended.
fn poll(waits: &Waits, wait: usize, waker: &Waker) -> bool {
    let mut future = waits.lock().unwrap()[wait].take().unwrap();
    let is_ready = future.as_mut().poll(&mut Context::from_waker(waker)).is_ready();
    waits.lock().unwrap()[wait] = Some(future);
    is_ready
}

fn begin(waits: &Waits, wait: usize, waker: &Waker) {
    assert!(!poll(waits, wait, waker), "the wait has begun");
}

fn waits(all: impl IntoIterator<Item = Wait>) -> Waits {
    Arc::new(Mutex::new(all.into_iter().map(Some).collect()))
}

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Drops a wait when it is called, and sees whether it has outlived the call.
struct Drops {
    waits: Waits,
    wait: usize,
    freed: Arc<AtomicBool>,
}

impl Drops {
    fn waker(waits: &Waits, wait: usize) -> Waker {
        Arc::new(Self { waits: Arc::clone(waits), wait, freed: Arc::default() }).into()
    }
}

impl Wake for Drops {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let freed = Arc::clone(&self.freed);
        let wait = self.waits.lock().unwrap()[self.wait].take();
        drop(wait);
        assert!(!freed.load(Relaxed), "the waker is borrowed");
    }
}

impl Drop for Drops {
    fn drop(&mut self) {
        self.freed.store(true, Relaxed);
    }
}

/// Ends a wait whose waker drops it: the only other owner of the waker.
fn ends_itself(wait: Wait, end: impl FnOnce()) {
    let _turn = begin_test();
    let waits = waits([wait]);
    begin(&waits, 0, &Drops::waker(&waits, 0));
    end();
    assert!(waits.lock().unwrap()[0].is_none());
}

#[test]
fn a_waker_drops_its_own_wait() {
    let (semaphore, event) = (leak(Semaphore::new(0)), leak(Event::new()));
    ends_itself(Box::pin(semaphore.taken()), || semaphore.give());
    ends_itself(Box::pin(async { _ = event.signalled().await }), || event.signal(1));
    NOW.set(0);
    ends_itself(Box::pin(delay_until(10)), || {
        NOW.set(20);
        tick();
    });
}

/// The sender that is admitted drops the receiver that is promised a message in the same window.
#[test]
fn a_waker_drops_the_other_wait_of_its_window() {
    let _turn = begin_test();
    let queue: &'static Queue<u32, 1> = leak(Queue::new());
    let receive = || -> Wait { Box::pin(async { _ = queue.received().await }) };
    let waits = waits([receive(), Box::pin(async { queue.sent(2).await }), receive()]);
    begin(&waits, 0, Waker::noop());
    assert!(queue.try_send(1).is_ok());
    begin(&waits, 1, &Drops::waker(&waits, 2));
    begin(&waits, 2, Waker::noop());
    assert!(poll(&waits, 0, Waker::noop()));
    assert!(poll(&waits, 1, Waker::noop()));
    assert_eq!(queue.try_receive(), Some(2), "the receiver that was dropped has not taken it");
}

/// A coroutine that ends with the signal.
fn ends_with(signal: &'static Event) -> &'static Coroutine<256> {
    let task = leak(Coroutine::new());
    let body = async { _ = signal.signalled().await };
    task.spawn(Priority::new(3), "ends", body).unwrap();
    task
}

fn ended(task: Info) -> Wait {
    Box::pin(task.ended())
}

/// Three waits for one end: the waker of the first drops the second wait, or the third.
#[test]
fn a_waker_drops_another_wait_for_an_end() {
    for dropped in [1, 2] {
        let _turn = begin_test();
        let signal = leak(Event::new());
        let task = ends_with(signal).info();
        let waits = waits([ended(task), ended(task), ended(task)]);
        begin(&waits, 0, &Drops::waker(&waits, dropped));
        begin(&waits, 1, Waker::noop());
        begin(&waits, 2, Waker::noop());
        signal.signal(1);
        assert!(poll(&waits, 3 - dropped, Waker::noop()));
    }
}

/// Waits for other ends stay, when the last of them is dropped by the first that is served.
#[test]
fn a_waker_drops_the_last_wait_for_another_end() {
    let _turn = begin_test();
    let (signal, other) = (leak(Event::new()), leak(Event::new()));
    let (task, stays) = (ends_with(signal).info(), ends_with(other).info());
    let waits = waits([ended(task), ended(stays), ended(stays)]);
    begin(&waits, 0, &Drops::waker(&waits, 2));
    begin(&waits, 1, Waker::noop());
    begin(&waits, 2, Waker::noop());
    signal.signal(1);
    assert!(!poll(&waits, 1, Waker::noop()));
    other.signal(1);
    assert!(poll(&waits, 1, Waker::noop()));
}

/// Calls a function when it is woken.
struct Calls<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Calls<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

/// A future that fails if it is polled after it has completed.
struct Once(&'static AtomicU32, &'static Mutex<Option<Waker>>);

impl Future for Once {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        *self.1.lock().unwrap() = Some(context.waker().clone());
        match self.0.fetch_add(1, Relaxed) {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }
}

#[test]
fn a_waker_uses_a_ceiling_where_a_task_ends() {
    let _turn = begin_test();
    let (polls, kept) = (leak(AtomicU32::new(0)), leak(Mutex::new(None)));
    let task = leak(Coroutine::<128>::new());
    task.spawn(Priority::new(3), "ends", Once(polls, kept)).unwrap();
    let ceiling = leak(Ceiling::new(Priority::new(20), 0));
    let waker = Waker::from(Arc::new(Calls(|| ceiling.with(|value| *value += 1))));
    let waits = waits([ended(task.info())]);
    begin(&waits, 0, &waker);
    let kept = kept.lock().unwrap().take().unwrap();
    kept.wake();
    assert_eq!((polls.load(Relaxed), ceiling.with(|value| *value)), (2, 1));
    assert!(!task.info().is_alive());
}

#[test]
fn a_waker_spawns_where_a_task_ends() {
    let _turn = begin_test();
    let signal = leak(Event::new());
    let task = ends_with(signal);
    let outcome = leak(Mutex::new(None));
    let respawn = || {
        let again = task.spawn(Priority::new(3), "again", async {});
        *outcome.lock().unwrap() = Some(again);
    };
    let waits = waits([ended(task.info())]);
    begin(&waits, 0, &Waker::from(Arc::new(Calls(respawn))));
    signal.signal(1);
    assert_eq!(*outcome.lock().unwrap(), Some(Err(StillAlive)), "its poll has not returned");
    assert_eq!(task.spawn(Priority::new(3), "again", async {}), Ok(()));
    assert!(!task.info().is_alive());
}

/// A less urgent task sets an embassy timer with the waker of a more urgent one, which polls a timer
/// of its own as soon as a handler lets it.
#[cfg(feature = "embassy-time")]
#[test]
fn two_tasks_set_timers_with_one_waker() {
    let _turn = begin_test();
    NOW.set(0);
    let (kept, polls) = (leak(Mutex::new(None::<Waker>)), leak(AtomicU32::new(0)));
    let until = |due| {
        std::future::poll_fn(move |context: &mut Context<'_>| {
            *kept.lock().unwrap() = Some(context.waker().clone());
            polls.fetch_add(1, Relaxed);
            if NOW.get() >= due || polls.load(Relaxed) > 100 {
                return Poll::Ready(());
            }
            embassy_time_driver::schedule_wake(due, context.waker());
            Poll::Pending
        })
    };
    let urgent = leak(Coroutine::<256>::new());
    urgent.spawn(Priority::new(9), "urgent", until(50)).unwrap();
    let waker = kept.lock().unwrap().clone().unwrap();
    let again = waker.clone();
    crate::arch::set_handler(Some(Box::new(move || {
        // Once the less urgent task has set the alarm.
        if super::ARMED.get() == 20 && polls.load(Relaxed) == 1 {
            again.wake_by_ref();
        }
    })));
    let less = async move { embassy_time_driver::schedule_wake(20, &waker) };
    leak(Coroutine::<256>::new()).spawn(Priority::new(1), "less urgent", less).unwrap();
    crate::arch::set_handler(None);
    for now in [20, 50] {
        NOW.set(now);
        tick();
    }
    assert!(!urgent.info().is_alive() && polls.load(Relaxed) < 100);
}
