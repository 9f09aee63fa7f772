//! Reports and handles: who owns a mutex, who runs timers, and what is known of a task.

use super::{NOW, proof};
use crate::{
    AsyncMutex, AtMaximum, Callback, Callbacks, Coroutine, MessageBuffer, Priority, Queue,
    Semaphore, Stream, TooLong,
    arch::{self, masked},
    records::{KERNEL, Life},
    tasks::{self, Kind, State},
    tests::{begin_test, reset},
};
use std::{
    cell::RefCell,
    future::poll_fn,
    panic,
    pin::pin,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    task::{Context, Waker},
};

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn spawn<F: Future<Output = ()> + Send + 'static>(future: F) -> &'static Coroutine<2048> {
    let coroutine = leak(Coroutine::new());
    coroutine.spawn(Priority::new(3), "task", future).unwrap();
    coroutine
}

/// A handler locks the mutex while a coroutine runs, and keeps it. The coroutine waits for it, and
/// is not accused of having locked it.
#[test]
fn a_handler_that_locks_is_not_the_task_that_it_interrupts() {
    let _turn = begin_test();
    let mutex = leak(AsyncMutex::new(0));
    let locks = leak(AtomicBool::new(false));
    let mut guard = None;
    arch::set_handler(Some(Box::new(move || match (locks.load(Relaxed), &guard) {
        (true, None) => guard = mutex.try_lock(),
        (false, Some(_)) => guard = None,
        _ => {}
    })));
    let task = spawn(async {
        locks.store(true, Relaxed);
        masked(|_| ());
        *mutex.lock().await += 1;
    });
    assert!(task.info().is_alive() && mutex.try_lock().is_none());
    locks.store(false, Relaxed);
    masked(|_| ());
    assert!(!task.info().is_alive());
    arch::set_handler(None);
    assert_eq!(mutex.try_lock().map(|value| *value), Some(1));
}

/// A panic must not unwind out of a coroutine's poll, so this future is polled by the test, which
/// is the idle task.
#[test]
#[should_panic(expected = "task idle: locks an AsyncMutex that it has locked")]
fn a_task_that_locks_twice_is_reported() {
    let _turn = begin_test();
    let mutex = AsyncMutex::new(());
    let _first = mutex.try_lock();
    let _ = pin!(mutex.lock()).poll(&mut Context::from_waker(Waker::noop()));
}

static TIMERS: Callbacks = Callbacks::new();
static CALLS: AtomicU32 = AtomicU32::new(0);
static PERIODIC: Callback = Callback::new(&TIMERS, || _ = CALLS.fetch_add(1, Relaxed));

/// A coroutine runs the timers until it is stopped, and then another does, which makes up for the
/// calls that have become due in between.
#[test]
fn timers_are_run_by_another_task_once_a_future_is_dropped() {
    static STOPPED: Semaphore = Semaphore::new(0);
    let _turn = begin_test();
    NOW.set(0);
    let advance = |to| {
        while NOW.get() < to {
            NOW.set(NOW.get() + 1);
            crate::tests::expire();
        }
        CALLS.load(Relaxed)
    };
    let first = spawn(async {
        let (mut run, mut stop) = (pin!(TIMERS.run_async()), pin!(STOPPED.taken()));
        poll_fn(|context| {
            assert!(run.as_mut().poll(context).is_pending());
            stop.as_mut().poll(context)
        })
        .await;
    });
    PERIODIC.start_periodic(10, 10);
    assert_eq!(advance(25), 2);
    STOPPED.give();
    assert!(!first.info().is_alive());
    assert_eq!(advance(45), 2);
    spawn(TIMERS.run_async());
    assert_eq!(CALLS.load(Relaxed), 4);
    assert_eq!(advance(55), 5);
}

#[test]
fn only_a_task_that_has_been_spawned_has_a_priority() {
    let _turn = begin_test();
    let coroutine = leak(Coroutine::<2048>::new());
    let info = coroutine.info();
    assert_eq!((info.name(), info.priority(), info.is_alive()), ("idle", None, false));
    coroutine.spawn(Priority::new(3), "task", std::future::pending()).unwrap();
    assert_eq!((info.name(), info.priority()), ("task", Some(Priority::new(3))));
    let idle = crate::current();
    assert_eq!((idle.name(), idle.priority(), idle.is_alive()), ("idle", None, false));
    // The record of the idle task before `start`.
    idle.0.set_base(proof(), 0);
    idle.0.set_level(proof(), 0);
    KERNEL.stop(proof());
    assert_eq!((crate::current(), idle.priority()), (idle, None));
    reset();
}

#[test]
fn handles_of_one_task_are_equal_and_show_its_name() {
    let _turn = begin_test();
    let (one, other) = (spawn(async {}), spawn(async {}));
    assert_eq!(one.info(), one.info());
    assert_ne!(one.info(), other.info());
    assert_eq!(format!("{:?}", one.info()), "Info(\"task\")");
}

/// The end of a task opens a window behind each task that waits for an end. None runs, nor a task
/// that a handler wakes, before the storage of the one that ends can be used again.
#[test]
fn an_end_has_a_window_behind_each_task_that_waits_for_one() {
    const WAITING: u8 = 40;
    static GATE: Semaphore = Semaphore::new(0);
    static CALLED: Semaphore = Semaphore::new(0);
    static WINDOWS: AtomicU32 = AtomicU32::new(0);
    static FREE: AtomicU32 = AtomicU32::new(0);
    let _turn = begin_test();
    let task = spawn(GATE.taken());
    let note = move || _ = FREE.fetch_add(u32::from(!task.info().is_alive()), Relaxed);
    let wait = |priority, future| {
        let coroutine = leak(Coroutine::<2048>::new());
        coroutine.spawn(Priority::new(priority), "waits", future).unwrap();
        coroutine
    };
    let waiting: Vec<_> = (0..WAITING)
        .map(|i| {
            wait(1 + i % 8, async move {
                task.info().ended().await;
                note();
            })
        })
        .collect();
    leak(Coroutine::<2048>::new())
        .spawn(Priority::new(9), "urgent", async move {
            CALLED.taken().await;
            note();
        })
        .unwrap();
    arch::set_handler(Some(Box::new(move || {
        if masked(|m| task.info().0.life.get(m)) == Life::Ending {
            WINDOWS.fetch_add(1, Relaxed);
            CALLED.give();
        }
    })));
    GATE.give();
    arch::set_handler(None);
    assert!(WINDOWS.load(Relaxed) >= WAITING.into(), "{WINDOWS:?} windows");
    assert_eq!(FREE.load(Relaxed), u32::from(WAITING) + 1);
    assert!(waiting.iter().all(|coroutine| !coroutine.info().is_alive()));
}

/// Returns the place that the report of a panic names.
fn place_of_panic(body: fn()) -> Option<String> {
    thread_local! { static FILE: RefCell<Option<String>> = const { RefCell::new(None) } }
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        FILE.set(info.location().map(|place| place.file().to_owned()));
        before(info);
    }));
    assert!(panic::catch_unwind(body).is_err());
    FILE.take()
}

#[test]
fn a_priority_that_is_too_high_is_reported_at_its_caller() {
    let place = place_of_panic(|| _ = Priority::new(std::hint::black_box(32)));
    assert_eq!(place.as_deref(), Some(file!()));
}

#[test]
#[should_panic(expected = "task idle: a timer's period has at least 2 ticks of the clock")]
fn a_period_that_is_too_short_is_reported() {
    let _turn = begin_test();
    PERIODIC.start_periodic(0, 1);
}

/// A timer that is started in the past calls its function once for all periods that have gone, and
/// then as if it had been started in time.
#[test]
fn a_timer_that_is_started_late_does_not_make_up_for_the_past() {
    static OWNER: Callbacks = Callbacks::new();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    static LATE: Callback = Callback::new(&OWNER, || _ = COUNT.fetch_add(1, Relaxed));
    let _turn = begin_test();
    NOW.set(1_005);
    spawn(OWNER.run_async());
    LATE.start_periodic(0, 10);
    crate::tests::expire();
    assert_eq!((COUNT.load(Relaxed), LATE.due()), (1, Some(1_010)));
}

#[test]
fn the_list_of_tasks_has_the_living_ones_once() {
    static TASKS: [Coroutine<256>; 3] = [const { Coroutine::new() }; 3];
    static GIVEN: Semaphore = Semaphore::new(0);
    let _turn = begin_test();
    // Other tests' tasks are in the list, too.
    let listed = || -> Vec<(usize, State)> {
        let own = tasks::all().filter(|task| TASKS.iter().any(|own| own.info() == task.info));
        let own = own.inspect(|task| assert_eq!((task.name, task.kind), ("own", Kind::Coroutine)));
        own.map(|task| (usize::from(task.priority.value()), task.state)).collect()
    };
    let spawn = |at: usize, priority: usize| {
        let body = async move {
            GIVEN.taken().await;
            assert!(listed().contains(&(priority, State::Running)));
            assert_eq!(tasks::all().filter(|task| task.info == TASKS[at].info()).count(), 1);
        };
        TASKS[at].spawn(Priority::new(priority as u8), "own", body).unwrap();
    };
    assert_eq!(listed(), []);
    (0..3).for_each(|at| spawn(at, at + 1));
    assert_eq!(listed(), [3, 2, 1].map(|priority| (priority, State::Waiting)));
    GIVEN.give(); // to the most urgent, which ends
    assert_eq!(listed(), [2, 1].map(|priority| (priority, State::Waiting)));
    spawn(2, 5);
    assert_eq!(listed(), [5, 2, 1].map(|priority| (priority, State::Waiting)));
    assert_eq!(TASKS[0].info().stack_unused(), None);
    (0..3).for_each(|_| GIVEN.give());
    assert_eq!(listed(), []);
}

#[test]
fn messages_of_any_length_are_looked_at_and_skipped() {
    static BUFFER: MessageBuffer<24> = MessageBuffer::new();
    let _turn = begin_test();
    assert_eq!((BUFFER.next_len(), BUFFER.skip()), (None, None));
    for message in [&[1; 9][..], &[2; 3], &[]] {
        assert_eq!(BUFFER.try_send(message), Ok(true));
    }
    let mut place = [0; 4];
    assert_eq!(BUFFER.try_receive(&mut place), Err(TooLong));
    assert_eq!((BUFFER.next_len(), BUFFER.skip()), (Some(9), Some(9)));
    assert_eq!((BUFFER.next_len(), BUFFER.try_receive(&mut place)), (Some(3), Ok(Some(3))));
    assert_eq!(place, [2, 2, 2, 0]);
    assert_eq!((BUFFER.next_len(), BUFFER.skip(), BUFFER.next_len()), (Some(0), Some(0), None));
    // The space is free again, across the end of the ring.
    assert_eq!(BUFFER.try_send(&[3; 20]), Ok(true));
    assert_eq!(BUFFER.skip(), Some(20));
}

#[test]
fn counts_and_maxima() {
    let _turn = begin_test();
    let semaphore = leak(Semaphore::new(1));
    assert_eq!((semaphore.count(), semaphore.give_up_to(1)), (1, Err(AtMaximum)));
    assert_eq!((semaphore.give_up_to(2), semaphore.count()), (Ok(()), 2));
    // A unit goes to the task that waits: the count stays.
    assert!(semaphore.try_take() && semaphore.try_take());
    let task = spawn(async { semaphore.taken().await });
    assert_eq!((semaphore.give_up_to(1), semaphore.count()), (Ok(()), 0));
    assert!(!task.info().is_alive());
    let queue = leak(Queue::<u8, 2>::new());
    assert_eq!((queue.peek(), queue.len(), queue.is_empty()), (None, 0, true));
    assert_eq!((queue.try_send(7), queue.try_send(8), queue.try_send(9)), (Ok(()), Ok(()), Err(9)));
    assert_eq!((queue.peek(), queue.len(), queue.is_full()), (Some(7), 2, true));
    assert_eq!((queue.try_receive(), queue.peek(), queue.is_full()), (Some(7), Some(8), false));
    let stream = leak(Stream::<8>::new());
    assert_eq!((stream.try_write(&[0; 3]), stream.free(), stream.capacity()), (3, 5, 8));
}
