//! Safe calls that once broke the kernel. A call that must end with a report makes it in a thread of
//! its own, which then spins, less urgent than all others.
#![no_std]
#![no_main]

#[cfg(all(target_arch = "arm", not(thumb1)))]
#[path = "faults/basepri.rs"]
mod basepri;

use core::{
    cell::{Cell, RefCell, UnsafeCell},
    future::{Future, poll_fn},
    mem::MaybeUninit,
    pin::{Pin, pin},
    task::Poll,
};
use critical_section::Mutex as Section;
use portable_atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use tandem::{
    Ceiling, Coroutine, Event, Me, Mutex, Priority, Queue, Semaphore, SharedStack, Taken, Thread,
    delay_until,
    time::{self, Delay},
    yield_now,
};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
};

static SHARED: SharedStack<2048> = SharedStack::new();
static DIRECTOR: Thread<4096> = Thread::new();
static THREADS: [Thread<1024>; 1] = [const { Thread::new() }; 1];
static LOWER: Thread<1024> = Thread::new();
static SPINNING: [Thread<1536>; 21] = [const { Thread::new() }; 21];
static COROUTINES: [Coroutine<1024>; 2] = [const { Coroutine::new() }; 2];
static UNITS: Semaphore = Semaphore::new(0);
static EMPTY: Semaphore = Semaphore::new(0);
static DONE: Semaphore = Semaphore::new(0);
static MUTEX: Mutex<u32> = Mutex::new(0);
static EVENT: Event = Event::new();
static NO_EVENT: Event = Event::new();
static QUEUE: Queue<u32, 1> = Queue::new();
static FULL: Queue<u32, 1> = Queue::new();
static HANDLED: AtomicU32 = AtomicU32::new(0);
static EARLY: AtomicU32 = AtomicU32::new(0);

const MS: u64 = nanoseconds(1_000_000);
/// More urgent than the threads that spin.
const LOW: Priority = Priority::new(22);
const DIRECTING: Priority = Priority::new(24);

fn count(what: &AtomicU32) {
    what.fetch_add(1, Relaxed);
}

fn pause(me: &Me) {
    me.delay_until(time::now() + MS);
}

/// A call in a critical section leaves interrupts masked: the handler runs behind the section.
fn closed(body: impl FnOnce()) {
    let before = HANDLED.load(Relaxed);
    critical_section::with(|_| {
        board::raise(0);
        body();
        for _ in 0..50 {
            assert_eq!(HANDLED.load(Relaxed), before, "a handler ran in a critical section");
        }
    });
    assert_eq!(HANDLED.load(Relaxed), before + 1);
}

fn sections_stay_closed(me: &Me) {
    static CEILING: Ceiling<u32> = Ceiling::new(Priority::HIGHEST, 0);
    closed(|| me.yield_now());
    UNITS.give();
    closed(|| UNITS.take(me));
    UNITS.give();
    closed(|| assert_eq!(UNITS.take_until(me, 0), Ok(())));
    closed(|| drop(MUTEX.lock(me)));
    closed(|| drop(MUTEX.lock_until(me, 0)));
    closed(|| drop(MUTEX.try_lock(me)));
    closed(|| drop(CEILING.lock(me)));
    closed(|| CEILING.with(|value| *value += 1));
    EVENT.signal(1);
    closed(|| assert_eq!(EVENT.wait(me), 1));
    EVENT.signal(2);
    closed(|| assert_eq!(EVENT.wait_until(me, 0), Ok(2)));
    closed(|| QUEUE.send(me, 1));
    closed(|| assert_eq!(QUEUE.receive(me), 1));
    closed(|| me.delay_until(0));
    closed(|| me.block_on(async {}));
    println!("sections stay closed: ok");
}

/// Runs `body` in a thread that must end with a report that contains `text`.
fn reports(me: &Me, spinning: &mut usize, text: &'static str, body: fn(&Me)) {
    expect_culprit(me, spinning, text, |priority, storage| {
        assert!(SPINNING[storage].spawn(priority, "culprit", body).is_ok());
    });
}

/// Has `spawn` spawn a task, with a priority and the index of its storage, that must end with a
/// report that contains `text`.
fn expect_culprit(
    me: &Me,
    spinning: &mut usize,
    text: &'static str,
    spawn: impl FnOnce(Priority, usize),
) {
    board::expect_panic(text);
    // More urgent than those that spin already.
    spawn(Priority::new(*spinning as u8), *spinning);
    *spinning += 1;
    pause(me);
    assert!(board::has_panicked(), "no report: {text}");
}

/// A part of the expected report, and the body of the thread that ends with it.
type Call = (&'static str, fn(&Me));

fn waits_in_sections_are_reported(me: &Me, spinning: &mut usize) {
    assert_eq!(FULL.try_send(1), Ok(()));
    let held = MUTEX.lock(me);
    let calls: [Call; 10] = [
        ("culprit: Semaphore::take would wait", |me| critical_section::with(|_| EMPTY.take(me))),
        ("culprit: Semaphore::take_until would wait", |me| {
            critical_section::with(|_| _ = EMPTY.take_until(me, u64::MAX));
        }),
        ("culprit: Mutex::lock would wait", |me| {
            critical_section::with(|_| drop(MUTEX.lock(me)));
        }),
        ("culprit: Mutex::lock_until would wait", |me| {
            critical_section::with(|_| drop(MUTEX.lock_until(me, u64::MAX)));
        }),
        ("culprit: Event::wait would wait", |me| {
            critical_section::with(|_| _ = NO_EVENT.wait(me));
        }),
        ("culprit: Event::wait_until would wait", |me| {
            critical_section::with(|_| _ = NO_EVENT.wait_until(me, u64::MAX));
        }),
        ("culprit: Queue::send would wait", |me| critical_section::with(|_| FULL.send(me, 2))),
        ("culprit: Queue::receive would wait", |me| {
            critical_section::with(|_| _ = QUEUE.receive(me));
        }),
        ("culprit: Me::delay_until would wait", |me| {
            critical_section::with(|_| me.delay_until(u64::MAX));
        }),
        ("culprit: Me::block_on would wait", |me| {
            critical_section::with(|_| me.block_on(core::future::pending::<()>()));
        }),
    ];
    for (text, body) in calls {
        reports(me, spinning, text, body);
    }
    drop(held);
    println!("waits in sections are reported: ok");
}

/// Checks the effects of the calls that `main` made before `start`.
fn early_calls_worked(me: &Me) {
    pause(me);
    assert_eq!(EARLY.load(Relaxed), 111);
    assert!(!THREADS[0].info().is_alive() && !COROUTINES[0].info().is_alive());
    println!("calls before start: ok");
}

fn before_start() {
    static CEILING: Ceiling<u32> = Ceiling::new(LOW, 0);
    CEILING.with(|value| *value += 1);
    assert_eq!(CEILING.try_with(|value| *value), Some(1));
    UNITS.give();
    assert!(UNITS.try_take());
    assert_eq!((QUEUE.try_send(1), QUEUE.try_receive()), (Ok(()), Some(1)));
    EVENT.signal(1);
    assert_eq!(EVENT.try_wait(), 1);
    time::expire();
    let thread = THREADS[0].spawn(LOW, "early thread", |me| {
        me.yield_now();
        EARLY.fetch_add(10, Relaxed);
    });
    let coroutine = COROUTINES[0].spawn(LOW, "early coroutine", async {
        delay_until(time::now() + MS / 10).await;
        EARLY.fetch_add(100, Relaxed);
    });
    assert!(thread.is_ok() && coroutine.is_ok());
    EARLY.fetch_add(1, Relaxed);
    assert_eq!(EARLY.load(Relaxed), 1, "nothing runs before `start`");
}

/// A thread forgets its guards and ends. They stay locked, and nothing of the dead thread is used.
fn forgotten_guards(me: &Me, spinning: &mut usize) {
    static FORGOTTEN: Mutex<u32> = Mutex::new(0);
    static OWN: Mutex<u32> = Mutex::new(0);
    static CEILING: Ceiling<u32> = Ceiling::new(Priority::new(23), 0);
    EMPTY.give();
    let forgets = THREADS[0].spawn(LOW, "forgets", |me| {
        me.delay_until(time::now() + MS / 10);
        EMPTY.take(me);
        core::mem::forget(FORGOTTEN.lock(me));
        core::mem::forget(CEILING.lock(me));
        assert_eq!(me.info().priority(), Some(Priority::new(23)));
        UNITS.take(me);
    });
    assert!(forgets.is_ok());
    pause(me);
    UNITS.give();
    pause(me);
    assert!(!THREADS[0].info().is_alive());
    assert!(FORGOTTEN.try_lock(me).is_none());
    assert!(FORGOTTEN.lock_until(me, time::now() + MS).is_err());
    reports(me, spinning, "culprit: locks a mutex whose owner has ended", |me| {
        drop(FORGOTTEN.lock(me))
    });
    assert!(CEILING.try_with(|_| ()).is_none());
    // The storage serves another thread, with a priority of its own.
    let next = THREADS[0].spawn(LOW, "next", |me| {
        assert_eq!(me.info().priority(), Some(LOW));
        drop(MUTEX.lock(me));
        DONE.give();
    });
    assert!(next.is_ok());
    DONE.take(me);
    reports(me, spinning, "culprit: a thread locks a mutex that it has locked", |me| {
        let _held = OWN.lock(me);
        drop(OWN.lock(me));
    });
    println!("forgotten guards: ok");
}

fn ceilings_end_in_any_order(me: &Me) {
    static FIRST: Ceiling<u32> = Ceiling::new(Priority::new(25), 0);
    static FIRST_AGAIN: Ceiling<u32> = Ceiling::new(Priority::new(25), 0);
    static SECOND: Ceiling<u32> = Ceiling::new(Priority::new(28), 0);
    let priority = || me.info().priority().map(Priority::value);
    let (first, second) = (FIRST.lock(me), SECOND.lock(me));
    assert_eq!(priority(), Some(28));
    drop(first);
    assert_eq!(priority(), Some(28));
    drop(second);
    assert_eq!(priority(), Some(DIRECTING.value()));
    let first = SECOND.lock(me);
    FIRST.with(|_| drop(first));
    assert_eq!(priority(), Some(DIRECTING.value()));
    // A guard taken in a closure of a higher ceiling, and one of a lower ceiling beside it.
    let first = SECOND.with(|_| FIRST.lock(me));
    assert_eq!(priority(), Some(25));
    let second = FIRST_AGAIN.with(|_| SECOND.lock(me));
    assert_eq!(priority(), Some(28));
    drop(second);
    assert_eq!(priority(), Some(25));
    drop(first);
    assert_eq!(priority(), Some(DIRECTING.value()));
    println!("ceilings end in any order: ok");
}

/// Closures of ceilings nest while other tasks become ready, wait for a mutex that the caller holds,
/// and set its priority.
fn closures_of_ceilings_nest(me: &Me) {
    static FIRST: Ceiling<u32> = Ceiling::new(Priority::new(25), 0);
    static SECOND: Ceiling<u32> = Ceiling::new(Priority::new(28), 0);
    static HELD: Mutex<u32> = Mutex::new(0);
    static RAN: AtomicU32 = AtomicU32::new(0);
    let priority = || me.info().priority().map(Priority::value);
    let start = |priority, body: fn(&Me)| {
        assert!(THREADS[0].spawn(Priority::new(priority), "other", body).is_ok());
    };
    let ran = || RAN.swap(0, Relaxed);
    FIRST.with(|_| {
        SECOND.with(|_| assert_eq!(priority(), Some(28)));
        assert_eq!(priority(), Some(25));
        assert!(FIRST.try_with(|_| ()).is_none());
    });
    assert_eq!(priority(), Some(24));
    // Others become ready: an equal before the closure; within it one at the ceiling, one between.
    start(24, |_| count(&RAN));
    FIRST.with(|_| assert_eq!((priority(), RAN.load(Relaxed)), (Some(25), 0)));
    assert_eq!((priority(), ran()), (Some(24), 0));
    me.yield_now();
    assert_eq!(ran(), 1);
    for (ceiling, other) in [(&FIRST, 25), (&SECOND, 26), (&SECOND, 24), (&SECOND, 28)] {
        ceiling.with(|_| {
            start(other, |_| count(&RAN));
            assert_eq!(RAN.load(Relaxed), 0, "a closure runs at its ceiling");
        });
        assert_eq!((priority(), ran()), (Some(24), u32::from(other > 24)));
        me.yield_now();
        assert_eq!((THREADS[0].info().is_alive(), ran()), (false, u32::from(other == 24)));
    }
    // A priority that is inherited and lost in the closure.
    let held = HELD.lock(me);
    FIRST.with(|_| {
        SECOND.with(|_| {
            start(31, |me| drop(HELD.lock(me)));
            assert_eq!(priority(), Some(31));
            drop(held);
            assert_eq!(priority(), Some(28));
        });
        assert_eq!(priority(), Some(25));
    });
    assert_eq!(priority(), Some(24));
    // One that is kept behind the closure.
    let held = HELD.lock(me);
    SECOND.with(|_| {
        start(27, |me| drop(HELD.lock(me)));
        assert_eq!(priority(), Some(28));
    });
    assert_eq!((priority(), THREADS[0].info().is_alive()), (Some(27), true));
    drop(held);
    assert_eq!((priority(), THREADS[0].info().is_alive()), (Some(24), false));
    // One that is handed over in the closure, with another waiter.
    let held = HELD.lock(me);
    start(25, |me| {
        let held = SECOND.with(|_| HELD.lock(me));
        assert_eq!(me.info().priority(), Some(Priority::new(26)), "a waiter's is inherited");
        drop(held);
        count(&RAN);
    });
    assert!(LOWER.spawn(Priority::new(26), "waiter", |me| drop(HELD.lock(me))).is_ok());
    pause(me);
    assert_eq!(priority(), Some(28));
    drop(held);
    assert_eq!((priority(), ran(), LOWER.info().is_alive()), (Some(24), 1, false));
    // Another thread sets the priority, below and above the ceiling.
    for set in [23, 26, 30] {
        SECOND.with(|_| {
            static TO: AtomicU32 = AtomicU32::new(0);
            TO.store(set, Relaxed);
            start(31, |me| {
                let to = Priority::new(TO.load(Relaxed) as u8);
                assert!(DIRECTOR.set_priority(me, to));
            });
            assert_eq!(priority(), Some(28.max(set as u8)));
            FIRST.with(|_| assert_eq!(priority(), Some(28.max(set as u8))));
        });
        assert_eq!(priority(), Some(set as u8));
        assert!(DIRECTOR.set_priority(me, DIRECTING));
    }
    // A thread that blocks within: the value stays in use meanwhile.
    start(25, |me| {
        FIRST.with(|_| {
            UNITS.take(me);
            assert_eq!(me.info().priority(), Some(Priority::new(25)));
        });
        count(&RAN);
    });
    assert!(FIRST.try_with(|_| ()).is_none());
    UNITS.give();
    assert_eq!((ran(), FIRST.try_with(|value| *value)), (1, Some(0)));
    println!("closures of ceilings nest: ok");
}

/// A future of an event may be polled again after its end.
fn an_event_s_future_waits_again(me: &Me) {
    static AGAIN: Event = Event::new();
    static SEEN: Section<Cell<u32>> = Section::new(Cell::new(0));
    let listens = COROUTINES[1].spawn(LOW, "listens", async {
        {
            let mut signalled = pin!(AGAIN.signalled());
            for _ in 0..3 {
                let flags = poll_fn(|context| match signalled.as_mut().poll(context) {
                    // As for a task that is woken for another reason.
                    Poll::Pending => signalled.as_mut().poll(context),
                    ready => ready,
                });
                let flags = flags.await;
                critical_section::with(|token| SEEN.borrow(token).set(flags));
            }
        }
        DONE.give();
    });
    assert!(listens.is_ok());
    for flags in [1, 2, 4] {
        pause(me);
        AGAIN.signal(flags);
        pause(me);
        assert_eq!(critical_section::with(|token| SEEN.borrow(token).get()), flags);
    }
    DONE.take(me);
    // The future is gone: nothing of it is left in the event.
    AGAIN.signal(8);
    assert_eq!(AGAIN.try_wait(), 8);
    println!("an event's future waits again: ok");
}

/// A future that one coroutine has polled is awaited by another.
fn futures_may_move(me: &Me) {
    struct Place(UnsafeCell<MaybeUninit<Taken<'static>>>);
    // SAFETY: the thread below takes the address once.
    unsafe impl Sync for Place {}
    static PLACE: Place = Place(UnsafeCell::new(MaybeUninit::uninit()));
    static MOVED: Queue<Pin<&'static mut Taken<'static>>, 1> = Queue::new();
    // SAFETY: this function is called once, so nothing else refers to the place.
    let taken = unsafe { (*PLACE.0.get()).write(UNITS.taken()) };
    // SAFETY: the future stays in the static for ever.
    let mut taken = unsafe { Pin::new_unchecked(taken) };
    let first = COROUTINES[0].spawn(LOW, "first", async move {
        let polled = poll_fn(|context| Poll::Ready(taken.as_mut().poll(context))).await;
        assert!(polled.is_pending());
        assert!(MOVED.try_send(taken).is_ok());
    });
    let second = COROUTINES[1].spawn(LOW, "second", async {
        MOVED.received().await.await;
        DONE.give();
    });
    assert!(first.is_ok() && second.is_ok());
    pause(me);
    UNITS.give();
    assert!(DONE.take_until(me, time::now() + MS).is_ok(), "the second task is not woken");
    println!("futures may move: ok");
}

/// A waker that is not the kernel's, as a combinator makes for each of its futures.
mod part {
    use super::*;
    use core::task::{RawWaker, RawWakerVTable, Waker};

    pub static WOKEN: AtomicU32 = AtomicU32::new(0);
    pub static WHOLE: Section<RefCell<Option<Waker>>> = Section::new(RefCell::new(None));
    static TABLE: RawWakerVTable = RawWakerVTable::new(|_| raw(), |_| wake(), |_| wake(), |_| ());

    fn raw() -> RawWaker {
        RawWaker::new(core::ptr::null(), &TABLE)
    }

    fn wake() {
        WOKEN.store(1, Relaxed);
        critical_section::with(|token| {
            if let Some(whole) = &*WHOLE.borrow_ref(token) {
                whole.wake_by_ref();
            }
        });
    }

    pub fn waker() -> Waker {
        // SAFETY: the functions of the table use no data.
        unsafe { Waker::from_raw(raw()) }
    }
}

/// Waits once by each of the kernel's futures.
async fn every_wait() {
    UNITS.taken().await;
    assert_eq!(EVENT.signalled().await, 1);
    assert_eq!(QUEUE.received().await, 1);
    QUEUE.sent(2).await;
    QUEUE.sent(3).await;
    delay_until(time::now() + MS).await;
    yield_now().await;
    DONE.give();
}

fn end_every_wait(me: &Me) {
    pause(me);
    UNITS.give();
    assert!(!UNITS.try_take(), "the unit has been handed over");
    pause(me);
    EVENT.signal(1);
    pause(me);
    QUEUE.send(me, 1);
    pause(me);
    assert_eq!((QUEUE.receive(me), QUEUE.receive(me)), (2, 3));
    assert!(DONE.take_until(me, time::now() + 3 * MS).is_ok(), "a waker is not called");
}

/// Waits in a thread's `block_on`, and by a waker that only marks its future as woken.
fn any_waker_will_do(me: &Me) {
    let blocks = THREADS[0].spawn(LOW, "blocks", |me| me.block_on(every_wait()));
    assert!(blocks.is_ok());
    end_every_wait(me);
    let combines = COROUTINES[0].spawn(LOW, "combines", async {
        let mut inner = pin!(every_wait());
        part::WOKEN.store(1, Relaxed);
        poll_fn(|context| {
            let waker = context.waker().clone();
            critical_section::with(|token| *part::WHOLE.borrow_ref_mut(token) = Some(waker));
            if part::WOKEN.swap(0, Relaxed) == 0 {
                return Poll::Pending;
            }
            inner.as_mut().poll(&mut core::task::Context::from_waker(&part::waker()))
        })
        .await;
    });
    assert!(combines.is_ok());
    end_every_wait(me);
    pause(me);
    assert!(!THREADS[0].info().is_alive() && !COROUTINES[0].info().is_alive());
    println!("any waker will do: ok");
}

/// The timers of many sleepers are filed anew beside an urgent task that waits again and again. A
/// less urgent thread gets all its time limits meanwhile, one less urgent still runs, and every
/// sleeper's time comes.
fn many_timers_starve_nobody(me: &Me) {
    const SLEEPERS: usize = 200;
    const LIMITS: u32 = 20;
    static SLEEPING: Coroutine<{ SLEEPERS * size_of::<Delay>() + 256 }> = Coroutine::new();
    static SET: Semaphore = Semaphore::new(0);
    static OVER: AtomicBool = AtomicBool::new(false);
    static WAITS: AtomicU32 = AtomicU32::new(0);
    static LIMITS_CAME: AtomicU32 = AtomicU32::new(0);
    let later = time::now() + 10 * MS;
    let sleeps = SLEEPING.spawn(LOW, "sleeps", async move {
        let mut delays = pin!([const { None::<Delay> }; SLEEPERS]);
        for i in 0..SLEEPERS {
            // SAFETY: the array is pinned, and a delay is not moved out of it.
            let delay = unsafe { &mut delays.as_mut().get_unchecked_mut()[i] };
            let due = later + i as u64 % 7;
            // SAFETY: as above.
            let mut delay = unsafe { Pin::new_unchecked(delay.insert(delay_until(due))) };
            let polled = poll_fn(|context| Poll::Ready(delay.as_mut().poll(context))).await;
            assert!(polled.is_pending());
        }
        SET.give();
        for i in 0..SLEEPERS {
            // SAFETY: as above.
            let delay = unsafe { delays.as_mut().get_unchecked_mut()[i].as_mut() };
            if let Some(delay) = delay {
                // SAFETY: as above.
                unsafe { Pin::new_unchecked(delay) }.await;
            }
        }
        assert!(time::now() >= later + 6);
        DONE.give();
    });
    assert!(sleeps.is_ok());
    SET.take(me);
    let urgent = COROUTINES[1].spawn(Priority::new(23), "urgent", async {
        while !OVER.load(Relaxed) {
            delay_until(time::now() + nanoseconds(1_500)).await;
            count(&WAITS);
        }
    });
    assert!(urgent.is_ok());
    let waits = THREADS[0].spawn(LOW, "waits", |me| {
        for _ in 0..LIMITS {
            assert!(EMPTY.take_until(me, time::now() + nanoseconds(2_000)).is_err());
            count(&LIMITS_CAME);
        }
    });
    assert!(waits.is_ok());
    let lower = LOWER.spawn(Priority::new(21), "lower", |_| assert!(time::now() > 0));
    assert!(lower.is_ok());
    me.delay_until(later - 5 * MS);
    assert_eq!(LIMITS_CAME.load(Relaxed), LIMITS, "the time limits of a less urgent thread come");
    assert!(!THREADS[0].info().is_alive() && !LOWER.info().is_alive());
    assert!(WAITS.load(Relaxed) > LIMITS, "the urgent task waits again and again");
    assert!(DONE.take_until(me, later + 5 * MS).is_ok(), "every sleeper's time comes");
    OVER.store(true, Relaxed);
    pause(me);
    assert!(!SLEEPING.info().is_alive() && !COROUTINES[1].info().is_alive());
    println!("many timers starve nobody: ok");
}

#[inline(never)]
fn large_frame() {
    core::hint::black_box([0_u8; 1680]);
}

/// A frame that would pass over the guard is announced.
fn large_frames_are_announced(me: &Me, spinning: &mut usize) {
    assert!((1000..4096).contains(&me.stack_left()));
    me.assert_stack(1000);
    reports(me, spinning, "bytes of stack are left of 1680", |me| {
        me.assert_stack(1680);
        large_frame();
    });
    println!("large frames are announced: ok");
}

/// A second `start`, a second listener, a value in use, and a lock that nobody will open.
fn other_misuse_is_reported(me: &Me, spinning: &mut usize) {
    static SECOND: SharedStack<256> = SharedStack::new();
    static LOWEST: Ceiling<u32> = Ceiling::new(Priority::LOWEST, 0);
    static NEVER_OPEN: Mutex<u32> = Mutex::new(0);
    reports(me, spinning, "culprit: the kernel runs already", |_| tandem::start(&SECOND, || ()));
    reports(me, spinning, "culprit: a value with a ceiling is in use", |_| {
        LOWEST.with(|_| LOWEST.with(|_| ()));
    });
    let listens = THREADS[0].spawn(LOW, "listener", |me| _ = NO_EVENT.wait(me));
    assert!(listens.is_ok());
    reports(me, spinning, "culprit: task listener waits for this event", |me| {
        NO_EVENT.wait(me);
    });
    NO_EVENT.signal(1);
    pause(me);
    // The last: the culprit spins at the inherited priority.
    reports(me, spinning, "culprit has ended with a mutex locked, for which task heir", |me| {
        core::mem::forget(NEVER_OPEN.lock(me));
        let waits = LOWER.spawn(LOW, "heir", |me| drop(NEVER_OPEN.lock(me)));
        assert!(waits.is_ok());
    });
    println!("other misuse is reported: ok");
}

/// Memory to which the MPU's register for the tasks' guard points before `start`.
#[repr(align(32))]
struct Aimed(AtomicU32);
static AIMED: Aimed = Aimed(AtomicU32::new(0));

fn aim_the_guard() {
    #[cfg(chip = "stm32")]
    // SAFETY: the region is not enabled.
    unsafe {
        (0xe000_ed98 as *mut u32).write_volatile(7);
        (0xe000_ed9c as *mut u32).write_volatile((&raw const AIMED) as u32);
    }
}

fn direct(me: &Me) {
    let mut spinning = 0;
    early_calls_worked(me);
    sections_stay_closed(me);
    ceilings_end_in_any_order(me);
    closures_of_ceilings_nest(me);
    an_event_s_future_waits_again(me);
    futures_may_move(me);
    any_waker_will_do(me);
    many_timers_starve_nobody(me);
    forgotten_guards(me, &mut spinning);
    large_frames_are_announced(me, &mut spinning);
    waits_in_sections_are_reported(me, &mut spinning);
    #[cfg(all(target_arch = "arm", not(thumb1)))]
    basepri::belongs_to_its_task(me, &mut spinning);
    other_misuse_is_reported(me, &mut spinning);
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    before_start();
    aim_the_guard();
    tandem::start(&SHARED, || {
        board::enable_interrupt(0);
        AIMED.0.store(1, Relaxed);
        assert!(DIRECTOR.spawn(DIRECTING, "director", direct).is_ok());
    })
}

extern "C" fn on_raise() {
    count(&HANDLED);
}

fn on_alarm() {
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![on_raise];
