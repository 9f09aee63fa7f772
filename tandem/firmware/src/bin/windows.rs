//! Threads' calls with an interrupt at every instruction. In each round a call begins one instruction
//! later, while an alarm stays where it is: from behind the call's end, or its wait, to before its
//! begin. At the alarm, the handler acts, or an urgent thread that it wakes: it ends the wait, or
//! changes what the call is about to change. Afterwards nothing may be lost or left over.
//!
//! Coroutines' calls are tested so on the host, with two interrupts.
#![no_std]
#![no_main]

use core::cell::Cell;
use critical_section::Mutex as Section;
use portable_atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use tandem::{
    Ceiling, Event, Me, Mutex, Priority, Queue, Semaphore, SharedStack, Thread,
    time::{self, TimedOut},
};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
};

static SHARED: SharedStack<1024> = SharedStack::new();
static DIRECTOR: Thread<4096> = Thread::new();
static URGENT: Thread<2048> = Thread::new();
static HIGHER: Thread<1024> = Thread::new();
static EQUAL: Thread<1024> = Thread::new();

const DIRECTING: Priority = Priority::new(3);

/// A time limit that does not come, from the alarm on.
const FAR: u64 = nanoseconds(100_000);
/// The time from a round's begin to the alarm.
const DUE: u64 = nanoseconds(2_500);
/// The instructions by which the call's begin is moved: longer than a call, and than `DUE`.
const SHIFTS: u32 = 2_700;

static BEGIN: Semaphore = Semaphore::new(0);
static OVER: Semaphore = Semaphore::new(0);
static ALARM: Section<Cell<u64>> = Section::new(Cell::new(0));
/// The number of the scenario whose action is still to come, and who acts.
static TO_COME: AtomicU32 = AtomicU32::new(NONE);
static HANDLER_ACTS: AtomicBool = AtomicBool::new(false);
const NONE: u32 = u32::MAX;

static UNITS: Semaphore = Semaphore::new(0);
static TO_HIGHER: Semaphore = Semaphore::new(0);
static TO_EQUAL: Semaphore = Semaphore::new(0);
static EVENT: Event = Event::new();
static EMPTY: Queue<u32, 1> = Queue::new();
static FULL: Queue<u32, 1> = Queue::new();
static MUTEX: Mutex<u32> = Mutex::new(0);
static CEILING: Ceiling<u32> = Ceiling::new(Priority::HIGHEST, 0);
/// The answers of the other threads, in all and at the round's begin.
static ANSWERS: AtomicU32 = AtomicU32::new(0);
static BEFORE: AtomicU32 = AtomicU32::new(0);
static USES: AtomicU32 = AtomicU32::new(0);

struct Scenario {
    name: &'static str,
    /// The action at the alarm.
    act: fn(),
    /// The call, with the time of the alarm. Checks its result, and that nothing is left over.
    call: fn(&Me, u64),
    /// The urgent thread has the mutex until the alarm.
    locks: bool,
}

const fn scenario(name: &'static str, act: fn(), call: fn(&Me, u64)) -> Scenario {
    Scenario { name, act, call, locks: false }
}

/// The time of the alarm.
fn alarm() -> u64 {
    critical_section::with(|token| ALARM.borrow(token).get())
}

/// Returns whether the action is still to come.
fn is_to_come() -> bool {
    TO_COME.load(Relaxed) != NONE
}

fn wait_for_action(me: &Me) {
    while is_to_come() {
        me.yield_now();
    }
}

/// Checks that a call with a time limit has got one, or that one was left when its time had come.
fn check_limited<T>(
    me: &Me,
    got: Result<T, TimedOut>,
    due: u64,
    mut left: impl FnMut() -> Option<T>,
) {
    let in_time = got.is_ok();
    check_time(in_time, due);
    wait_for_action(me);
    assert_eq!(left().is_some(), !in_time, "one unit is lost, or served twice");
    assert!(left().is_none());
}

/// Checks a wait that has ended in time or not: a far limit is not reached.
fn check_time(in_time: bool, due: u64) {
    assert!(in_time || time::now() >= due, "a time limit comes early");
    assert!(in_time || due < alarm() + FAR, "a wait goes on that has been served");
}

/// The time limits of each call: far, just behind the alarm, and with it.
fn limits(at: u64) -> u64 {
    static ROUND: AtomicU32 = AtomicU32::new(0);
    at + [FAR, nanoseconds(700), 0][ROUND.fetch_add(1, Relaxed) as usize % 3]
}

const SCENARIOS: [Scenario; 15] = [
    scenario(
        "Semaphore::take",
        || UNITS.give(),
        |me, _| {
            UNITS.take(me);
            assert!(!UNITS.try_take());
        },
    ),
    scenario(
        "Semaphore::take_until",
        || UNITS.give(),
        |me, at| {
            let due = limits(at);
            check_limited(me, UNITS.take_until(me, due), due, || UNITS.try_take().then_some(()));
        },
    ),
    scenario(
        "Semaphore::give, to a higher thread",
        || TO_HIGHER.give(),
        |me, _| {
            let before = BEFORE.load(Relaxed);
            TO_HIGHER.give();
            wait_for_action(me);
            assert_eq!(ANSWERS.load(Relaxed), before + 2);
        },
    ),
    scenario(
        "Semaphore::give, to an equal",
        || TO_EQUAL.give(),
        |me, _| {
            let before = BEFORE.load(Relaxed);
            TO_EQUAL.give();
            wait_for_action(me);
            me.yield_now();
            me.yield_now();
            assert_eq!(ANSWERS.load(Relaxed), before + 2);
        },
    ),
    scenario(
        "Me::yield_now",
        || TO_EQUAL.give(),
        |me, _| {
            let before = BEFORE.load(Relaxed);
            me.yield_now();
            wait_for_action(me);
            me.yield_now();
            assert_eq!(ANSWERS.load(Relaxed), before + 1);
        },
    ),
    scenario(
        "Event::wait",
        || EVENT.signal(5),
        |me, _| {
            assert_eq!((EVENT.wait(me), EVENT.try_wait()), (5, 0));
        },
    ),
    scenario(
        "Event::wait_until",
        || EVENT.signal(5),
        |me, at| {
            let due = limits(at);
            let left = || Some(EVENT.try_wait()).filter(|flags| *flags == 5);
            check_limited(me, EVENT.wait_until(me, due), due, left);
        },
    ),
    scenario(
        "Queue::receive",
        || assert_eq!(EMPTY.try_send(7), Ok(())),
        |me, _| {
            assert_eq!((EMPTY.receive(me), EMPTY.try_receive()), (7, None));
        },
    ),
    scenario(
        "Queue::receive_until",
        || assert_eq!(EMPTY.try_send(7), Ok(())),
        |me, at| {
            let due = limits(at);
            check_limited(me, EMPTY.receive_until(me, due), due, || EMPTY.try_receive());
        },
    ),
    scenario(
        "Queue::send",
        || assert!(FULL.try_receive().is_some()),
        |me, _| {
            let sent = ANSWERS.fetch_add(1, Relaxed);
            FULL.send(me, sent);
            wait_for_action(me);
            assert_eq!((FULL.try_receive(), FULL.try_receive()), (Some(sent), None));
            assert_eq!(FULL.try_send(0), Ok(()));
        },
    ),
    scenario(
        "Queue::send_until",
        || assert!(FULL.try_receive().is_some()),
        |me, at| {
            let due = limits(at);
            let is_sent = FULL.send_until(me, 9, due).is_ok();
            check_time(is_sent, due);
            wait_for_action(me);
            assert_eq!(FULL.try_receive(), is_sent.then_some(9));
            assert_eq!((FULL.try_receive(), FULL.try_send(0)), (None, Ok(())));
        },
    ),
    Scenario {
        locks: true,
        ..scenario(
            "Mutex::lock",
            || (),
            |me, _| {
                *MUTEX.lock(me) += 1;
                assert!(MUTEX.try_lock(me).is_some());
            },
        )
    },
    Scenario {
        locks: true,
        ..scenario(
            "Mutex::lock_until",
            || (),
            |me, at| {
                let due = limits(at);
                let got = MUTEX.lock_until(me, due).map(drop);
                check_time(got.is_ok(), due);
                wait_for_action(me);
                assert!(MUTEX.try_lock(me).is_some());
            },
        )
    },
    scenario(
        "Me::delay_until",
        || (),
        |me, at| {
            let due = limits(at).min(at + nanoseconds(1_500));
            me.delay_until(due);
            assert!(time::now() >= due, "a delay ends early");
        },
    ),
    scenario(
        "Ceiling::with",
        || _ = USES.fetch_add(CEILING.try_with(|value| *value += 1).is_some().into(), Relaxed),
        |me, _| {
            let done = USES.fetch_add(1, Relaxed);
            CEILING.with(|value| *value += 1);
            let guard = CEILING.lock(me);
            assert!(*guard > 0 && done < u32::MAX);
            drop(guard);
            wait_for_action(me);
            assert_eq!(CEILING.with(|value| *value), USES.load(Relaxed), "a use is lost");
        },
    ),
];

/// Performs the action of this round once.
fn act() {
    if let Some(scenario) = SCENARIOS.get(TO_COME.load(Relaxed) as usize) {
        (scenario.act)();
        TO_COME.store(NONE, Relaxed);
    }
}

/// The urgent thread: sleeps until the alarm, and acts then unless the handler has.
fn urgent(me: &Me) {
    loop {
        BEGIN.take(me);
        let at = alarm();
        let locks = SCENARIOS.get(TO_COME.load(Relaxed) as usize).is_some_and(|one| one.locks);
        let held = locks.then(|| MUTEX.lock(me));
        me.delay_until(at);
        drop(held);
        act();
        OVER.give();
    }
}

fn sweep(me: &Me, number: usize, handler_acts: bool) {
    let Scenario { name, call, .. } = SCENARIOS[number];
    let (mut early, mut late) = (0, 0);
    for shift in 0..SHIFTS {
        HANDLER_ACTS.store(handler_acts, Relaxed);
        // Where the clock's tick is long, a round begins with one.
        let begin = time::now();
        while time::now() == begin {}
        let at = time::now() + DUE;
        critical_section::with(|token| ALARM.borrow(token).set(at));
        BEFORE.store(ANSWERS.load(Relaxed), Relaxed);
        TO_COME.store(number as u32, Relaxed);
        BEGIN.give();
        board::spin(shift);
        if is_to_come() {
            early += 1
        } else {
            late += 1
        }
        call(me, at);
        OVER.take(me);
        assert_eq!(me.info().priority(), Some(DIRECTING));
        assert!(!UNITS.try_take() && !OVER.try_take());
    }
    let who = if handler_acts { "a handler" } else { "a thread" };
    println!("{}, {}: {} rounds before the alarm, {} behind", name, who, early, late);
    assert!(early > 0 && late > 0, "the alarm does not pass the call");
}

fn direct(me: &Me) {
    assert_eq!(FULL.try_send(0), Ok(()));
    for handler_acts in [true, false] {
        for (number, _) in SCENARIOS.iter().enumerate() {
            sweep(me, number, handler_acts);
        }
    }
    board::exit(true)
}

fn answer(me: &Me, to: &Semaphore) {
    loop {
        to.take(me);
        ANSWERS.fetch_add(1, Relaxed);
    }
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        let higher = HIGHER.spawn(Priority::new(5), "higher", |me| answer(me, &TO_HIGHER));
        let equal = EQUAL.spawn(DIRECTING, "equal", |me| answer(me, &TO_EQUAL));
        let urgent = URGENT.spawn(Priority::new(8), "urgent", urgent);
        assert!(higher.is_ok() && equal.is_ok() && urgent.is_ok());
        assert!(DIRECTOR.spawn(DIRECTING, "director", direct).is_ok());
    })
}

/// The alarm's handler.
fn on_alarm() {
    board::stop_alarm();
    if HANDLER_ACTS.load(Relaxed) && time::now() >= alarm() {
        act();
    }
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![];
