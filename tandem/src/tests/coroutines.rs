//! The whole kernel: coroutines and a handler that runs wherever interrupts are unmasked.

use super::{NOW, Random, rounds};
use crate::{
    Ceiling, Coroutine, Event, Priority, Queue, Semaphore,
    arch::{self, masked},
    delay_until,
    records::KERNEL,
    tests::begin_test,
    time, yield_now,
};
use std::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    task::{Context, Poll, Waker},
};

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// The state shared by the tasks of one run.
struct World {
    given: Semaphore,
    gives: AtomicU32,
    takes: AtomicU32,
    queue: Queue<Box<u32>, 3>,
    sent: AtomicU32,
    received: AtomicU32,
    event: Event,
    ceiling: Ceiling<u32>,
    switches: AtomicU32,
    over: AtomicBool,
}

/// Asserts that the running task is the most urgent that is ready.
fn check(world: &World) {
    if world.switches.fetch_add(1, Relaxed) > if cfg!(miri) { 500 } else { 20_000 } {
        world.over.store(true, Relaxed);
    }
    masked(|m| assert!(KERNEL.ready.most_urgent(m).is(KERNEL.current(m))));
}

/// Polls a future once, then drops it.
struct Once<F>(Pin<Box<F>>);

impl<F: Future> Future for Once<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Self::Output> {
        match self.0.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => Poll::Ready(None),
        }
    }
}

async fn work(world: &'static World, seed: u64, listener: bool) {
    let mut random = Random::new(seed);
    while !world.over.load(Relaxed) {
        check(world);
        match random.below(9) {
            0 => yield_now().await,
            1 => {
                world.given.taken().await;
                world.takes.fetch_add(1, Relaxed);
            }
            2 => {
                world.gives.fetch_add(1, Relaxed);
                world.given.give();
            }
            3 => {
                world.queue.sent(Box::new(7)).await;
                world.sent.fetch_add(1, Relaxed);
            }
            4 => {
                assert_eq!(*world.queue.received().await, 7);
                world.received.fetch_add(1, Relaxed);
            }
            5 => delay_until(time::now() + random.below(20) as u64).await,
            6 => world.ceiling.with(|value| {
                *value += 1;
                world.gives.fetch_add(1, Relaxed);
                world.given.give();
            }),
            // Waits that are given up at once, by which nothing may be lost.
            7 => {
                if Once(Box::pin(world.given.taken())).await.is_some() {
                    world.takes.fetch_add(1, Relaxed);
                }
                if let Some(message) = Once(Box::pin(world.queue.received())).await {
                    assert_eq!(*message, 7);
                    world.received.fetch_add(1, Relaxed);
                }
            }
            _ if listener => {
                world.event.signalled().await;
            }
            _ => world.event.signal(1),
        }
        check(world);
    }
}

#[test]
fn random_work_under_random_interrupts() {
    for seed in 0..rounds(60) as u64 {
        NOW.set(0);
        let _turn = begin_test();
        let world = leak(World {
            given: Semaphore::new(0),
            gives: AtomicU32::new(0),
            takes: AtomicU32::new(0),
            queue: Queue::new(),
            sent: AtomicU32::new(0),
            received: AtomicU32::new(0),
            event: Event::new(),
            ceiling: Ceiling::new(Priority::HIGHEST, 0),
            switches: AtomicU32::new(0),
            over: AtomicBool::new(false),
        });
        let random = Rc::new(RefCell::new(Random::new(seed)));
        let chance = Rc::clone(&random);
        arch::set_handler(Some(Box::new(move || match chance.borrow_mut().below(40) {
            0 => {
                world.gives.fetch_add(1, Relaxed);
                world.given.give();
            }
            1 if world.queue.try_send(Box::new(7)).is_ok() => _ = world.sent.fetch_add(1, Relaxed),
            2 if world.queue.try_receive().is_some() => _ = world.received.fetch_add(1, Relaxed),
            3 => world.event.signal(2),
            4..8 => {
                NOW.set(NOW.get() + 1);
                crate::tests::expire();
            }
            _ => {}
        })));
        let tasks: Vec<&'static Coroutine<1024>> =
            (0..12).map(|_| leak(Coroutine::new())).collect();
        for (i, task) in tasks.iter().enumerate() {
            let priority = Priority::new(random.borrow_mut().below(6) as u8);
            task.spawn(priority, "worker", work(world, seed * 100 + i as u64, i == 0)).unwrap();
        }
        // The test itself is the idle task: each round lets handlers run, and the tasks that they
        // wake.
        while !world.over.load(Relaxed) {
            masked(|m| {
                assert!(KERNEL.is_idle(m) && KERNEL.ready.most_urgent(m).is(KERNEL.current(m)))
            });
        }
        finish(world, &tasks);
    }
}

/// Lets every task end, then compares gives with takes and messages sent with messages received.
fn finish(world: &'static World, tasks: &[&'static Coroutine<1024>]) {
    arch::set_handler(None);
    while tasks.iter().any(|task| task.info().is_alive()) {
        NOW.set(NOW.get() + 100);
        crate::tests::expire();
        world.event.signal(1);
        world.gives.fetch_add(1, Relaxed);
        world.given.give();
        if world.queue.try_receive().is_some() {
            world.received.fetch_add(1, Relaxed);
        } else if world.queue.try_send(Box::new(7)).is_ok() {
            world.sent.fetch_add(1, Relaxed);
        }
        masked(|m| assert!(KERNEL.is_idle(m)));
    }
    while world.given.try_take() {
        world.takes.fetch_add(1, Relaxed);
    }
    while world.queue.try_receive().is_some() {
        world.received.fetch_add(1, Relaxed);
    }
    assert_eq!(world.gives.load(Relaxed), world.takes.load(Relaxed));
    assert_eq!(world.sent.load(Relaxed), world.received.load(Relaxed));
}

/// A future that stores a copy of its waker for the test.
async fn waker() -> Waker {
    std::future::poll_fn(|context| Poll::Ready(context.waker().clone())).await
}

#[test]
fn a_waker_may_outlive_its_coroutine_and_wake_the_next() {
    let _turn = begin_test();
    let (kept, polls) = (Rc::new(Cell::new(None)), leak(AtomicU32::new(0)));
    struct Local<T>(T);
    // SAFETY: this test has one thread.
    unsafe impl<T> Send for Local<T> {}
    impl<T> Local<T> {
        fn get(&self) -> &T {
            &self.0
        }
    }
    let coroutine = leak(Coroutine::<256>::new());
    let place = Local(Rc::clone(&kept));
    coroutine
        .spawn(Priority::new(3), "first", async move {
            let waker = waker().await;
            place.get().set(Some(waker));
        })
        .unwrap();
    assert!(!coroutine.info().is_alive());
    let waker = kept.take().unwrap();
    waker.wake_by_ref();
    let body = async move {
        std::future::poll_fn(|_| {
            if polls.fetch_add(1, Relaxed) < 2 { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    };
    coroutine.spawn(Priority::new(3), "second", body).unwrap();
    assert_eq!(polls.load(Relaxed), 1);
    // A copy from the first life wakes the second: a superfluous poll, which every future must
    // allow.
    waker.wake_by_ref();
    assert_eq!((polls.load(Relaxed), coroutine.info().is_alive()), (2, true));
    waker.wake();
    assert_eq!((polls.load(Relaxed), coroutine.info().is_alive()), (3, false));
}

#[test]
fn a_thousand_coroutines() {
    let _turn = begin_test();
    let count = if cfg!(miri) { 50 } else { 1000 };
    let (semaphore, done) = (leak(Semaphore::new(0)), leak(AtomicU32::new(0)));
    for i in 0..count {
        let coroutine: &'static Coroutine<128> = leak(Coroutine::new());
        let body = async {
            semaphore.taken().await;
            yield_now().await;
            done.fetch_add(1, Relaxed);
        };
        coroutine.spawn(Priority::new((i % 32) as u8), "one", body).unwrap();
    }
    for i in 0..count {
        assert_eq!(done.load(Relaxed), i);
        semaphore.give();
    }
    assert_eq!(done.load(Relaxed), count);
}

/// A future that cannot be moved, polled by hand.
fn poll_once<F: Future>(future: Pin<&mut F>) -> impl Future<Output = Poll<F::Output>> {
    let mut future = Some(future);
    std::future::poll_fn(move |context| Poll::Ready(future.take().unwrap().poll(context)))
}

#[test]
fn flags_handed_to_a_future_that_is_dropped_go_back() {
    let _turn = begin_test();
    let (event, coroutine) = (leak(Event::new()), leak(Coroutine::<512>::new()));
    let body = async {
        let mut first = std::pin::pin!(Some(event.signalled()));
        assert!(poll_once(first.as_mut().as_pin_mut().unwrap()).await.is_pending());
        event.signal(4);
        event.signal(1);
        assert_eq!(
            event.try_wait(),
            1,
            "what comes after the signal that ends a wait is for the next"
        );
        event.signal(2);
        first.set(None);
        assert_eq!(event.signalled().await, 6);
    };
    coroutine.spawn(Priority::new(3), "listener", body).unwrap();
    assert!(!coroutine.info().is_alive());
}

/// Flags of an earlier wait do not end a later one, and the listener leaves the event.
#[test]
fn an_event_s_future_may_be_polled_after_its_end() {
    let _turn = begin_test();
    let (event, coroutine) = (leak(Event::new()), leak(Coroutine::<512>::new()));
    let body = async {
        {
            let mut future = std::pin::pin!(event.signalled());
            for flags in 1..4 {
                assert!(poll_once(future.as_mut()).await.is_pending());
                assert!(poll_once(future.as_mut()).await.is_pending());
                event.signal(flags);
                assert_eq!(poll_once(future.as_mut()).await, Poll::Ready(flags));
            }
            assert!(poll_once(future.as_mut()).await.is_pending());
        }
        event.signal(8);
        assert_eq!(event.try_wait(), 8);
    };
    coroutine.spawn(Priority::new(3), "listener", body).unwrap();
    assert!(!coroutine.info().is_alive());
}

/// A waker of an ended coroutine is called wherever interrupts are unmasked while the next one of
/// its storage is being made.
#[test]
fn a_late_waker_does_not_reach_a_coroutine_that_is_being_made() {
    let _turn = begin_test();
    let (coroutine, polls) = (leak(Coroutine::<256>::new()), leak(AtomicU32::new(0)));
    let kept = leak(std::sync::Mutex::new(None::<Waker>));
    let first = async {
        *kept.lock().unwrap() = Some(waker().await);
    };
    coroutine.spawn(Priority::new(3), "first", first).unwrap();
    let waker = kept.lock().unwrap().take().unwrap();
    // Not while the new coroutine runs: then it is polled once more, as it must allow.
    arch::set_handler(Some(Box::new(move || {
        if polls.load(Relaxed) == 0 {
            waker.wake_by_ref();
        }
    })));
    let value = Box::new(17);
    let body = std::future::poll_fn(move |_| {
        assert_eq!(*value, 17);
        polls.fetch_add(1, Relaxed);
        Poll::<()>::Pending
    });
    coroutine.spawn(Priority::new(3), "second", body).unwrap();
    arch::set_handler(None);
    assert!(coroutine.info().is_alive() && (1..3).contains(&polls.load(Relaxed)));
}

#[test]
fn calls_before_the_kernel_starts() {
    let _turn = begin_test();
    static CEILING: Ceiling<u32> = Ceiling::new(Priority::new(3), 0);
    masked(|m| KERNEL.stop(m));
    CEILING.with(|value| *value += 1);
    let early = leak(Coroutine::<128>::new());
    early.spawn(Priority::new(2), "early", async {}).unwrap();
    assert!(early.info().is_alive(), "nothing runs before `start`");
    assert_eq!(CEILING.try_with(|value| *value), Some(1));
}

#[test]
fn wakes_before_a_poll_are_one() {
    let _turn = begin_test();
    let (polls, kept) = (leak(AtomicU32::new(0)), leak(std::sync::Mutex::new(None::<Waker>)));
    let (low, high) = (leak(Coroutine::<256>::new()), leak(Coroutine::<256>::new()));
    let body = std::future::poll_fn(|context| {
        *kept.lock().unwrap() = Some(context.waker().clone());
        match polls.fetch_add(1, Relaxed) {
            // A task woken in its own poll is polled once more.
            0 => context.waker().wake_by_ref(),
            3 => return Poll::Ready(()),
            _ => {}
        }
        Poll::Pending
    });
    low.spawn(Priority::new(1), "low", body).unwrap();
    assert_eq!(polls.load(Relaxed), 2);
    let body = async {
        let waker = kept.lock().unwrap().clone().unwrap();
        waker.wake_by_ref();
        waker.wake();
        assert_eq!(polls.load(Relaxed), 2, "a less urgent task does not run now");
    };
    high.spawn(Priority::new(3), "high", body).unwrap();
    assert_eq!(polls.load(Relaxed), 3);
    let waker = kept.lock().unwrap().take().unwrap();
    waker.wake();
    assert!(!low.info().is_alive());
}
