//! The task that files timers anew is as urgent as the most urgent task whose timer it files, and no more:
//! where a handler interrupts it and uses a ceiling, where a handler raises it above a task that the same
//! handler has woken, and where a task inherits a priority while its timer waits to be filed.
#![no_std]
#![no_main]

mod crowd;

use crowd::{AWAKE, END, OVER, RAISED, ROOM, ROUND, sleep_many, urgent};
use portable_atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use tandem::{
    Ceiling, Coroutine, Me, Mutex, Priority, Semaphore, SharedStack, Thread,
    time::{self, Driver},
};
use tandem_firmware::{
    board::{self, Clock, instructions, mark, nanoseconds},
    println,
};

/// Longer than the begin of all delays takes.
const LEAD: u64 = nanoseconds(200_000);
/// Filing the sleepers' timers takes longer than this.
const AMID: u64 = nanoseconds(3000);

static SHARED: SharedStack<2048> = SharedStack::new();
static DIRECTOR: Thread<2048> = Thread::new();
static URGENT: Thread<1024> = Thread::new();
static SLEEPING: Coroutine<ROOM> = Coroutine::new();
static THREADS: [Thread<1024>; 4] = [const { Thread::new() }; 4];

static CEILING: Ceiling<u32> = Ceiling::new(Priority::HIGHEST, 0);

/// The acts of the alarm's handler at its next run and at the one after it.
static NEXT: AtomicU32 = AtomicU32::new(EXPIRE);
static LATER: AtomicU32 = AtomicU32::new(EXPIRE);
/// Does its work.
const EXPIRE: u32 = 0;
/// Does its work, and has the alarm come again, for the act after this one.
const COME_AGAIN: u32 = 1;
/// Does its work; the alarm comes for the next timer, and for the act after this one.
const LEAVE: u32 = 2;
/// Wakes the urgent thread, and uses a ceiling.
const USE_CEILING: u32 = 3;
/// Wakes the urgent thread, and does its work.
const WAKE_AND_EXPIRE: u32 = 4;

static START: AtomicU32 = AtomicU32::new(0);
/// The threads more urgent than the urgent one that have run.
static RAN: AtomicU32 = AtomicU32::new(0);

/// Has the sleepers sleep until `first`, and the handler act as said when that time comes.
fn round(me: &Me, first: u64, acts: [u32; 2]) {
    ROUND.send(me, first);
    me.delay_until(first - LEAD / 8);
    LATER.store(acts[1], Relaxed);
    NEXT.store(acts[0], Relaxed);
    OVER.take(me);
    // The handler may have set the alarm for itself.
    critical_section::with(|_| Clock::arm(first));
    AWAKE.take(me);
}

/// A handler that uses a ceiling raises and lowers the interrupted task, which is the one that files:
/// the thread that it has woken before runs at once.
fn ceiling_above_the_filing(me: &Me) {
    for _ in 0..4 {
        let first = (time::now() + LEAD).next_multiple_of(nanoseconds(8192).next_power_of_two());
        round(me, first, [COME_AGAIN, USE_CEILING]);
        let took = instructions(END.load(Relaxed)).wrapping_sub(instructions(START.load(Relaxed)));
        assert!(took < 1500, "the thread waits for timers to be filed: {took} instructions");
    }
    println!("a ceiling above the filing: ok");
}

/// A handler wakes the urgent thread and then has timers of more urgent ones filed, by the task that it
/// has interrupted: the more urgent ones run first.
fn raised_above_the_woken(me: &Me) {
    const BLOCK: u64 = nanoseconds(4_000_000).next_power_of_two();
    // The base of the slots comes to be in the block of times whose end is in another slot.
    me.delay_until(time::now().next_multiple_of(BLOCK) + 1);
    ceiling_above_the_filing(me);
    let end = time::now().next_multiple_of(BLOCK);
    for thread in &THREADS[..2] {
        let spawned = thread.spawn(Priority::new(25), "more urgent", move |me| {
            me.delay_until(end);
            assert!(!OVER.try_take(), "the less urgent thread ran first");
            RAN.fetch_add(1, Relaxed);
        });
        assert!(spawned.is_ok());
    }
    round(me, end - AMID, [LEAVE, WAKE_AND_EXPIRE]);
    assert_eq!(RAN.load(Relaxed), 2);
    println!("raised above a thread that was woken: ok");
}

/// A thread holds a mutex and waits with a time limit. A more urgent one locks the mutex, before that
/// time or once the timers of that time wait to be filed. The time limit is kept, although a thread of a
/// priority between computes.
fn inherited_by_a_sleeper(me: &Me, before_time: bool) {
    static LOCKED: Mutex<()> = Mutex::new(());
    static NEVER: Semaphore = Semaphore::new(0);
    static ASKED: Semaphore = Semaphore::new(0);
    static LOCKS: AtomicBool = AtomicBool::new(false);
    let due = (time::now() + LEAD).next_multiple_of(2);
    let holder = THREADS[0].spawn(Priority::new(2), "holder", move |me| {
        let _guard = LOCKED.lock(me);
        assert!(NEVER.take_until(me, due).is_err());
    });
    let sleeper = THREADS[1].spawn(Priority::new(2), "sleeper", move |me| me.delay_until(due + 1));
    let locker = THREADS[2].spawn(Priority::new(20), "locker", |me| {
        ASKED.take(me);
        drop(LOCKED.lock(me));
        LOCKS.store(true, Relaxed);
    });
    assert!(holder.is_ok() && sleeper.is_ok() && locker.is_ok());
    me.delay_until(due - LEAD / 4);
    LOCKS.store(false, Relaxed);
    let computes = THREADS[3].spawn(Priority::new(10), "computes", move |_| {
        while !before_time && time::now() < due + LEAD / 4 {}
        ASKED.give();
        while !LOCKS.load(Relaxed) {
            assert!(time::now() < due + LEAD, "a raised thread waits for its time limit");
        }
    });
    assert!(computes.is_ok() && LOCKS.load(Relaxed));
    me.delay_until(due + LEAD);
    assert!(THREADS.iter().all(|thread| !thread.info().is_alive()));
    println!("inherited {} the time: ok", if before_time { "before" } else { "after" });
}

fn director(me: &Me) {
    raised_above_the_woken(me);
    ceiling_above_the_filing(me); // the task has been more urgent before
    inherited_by_a_sleeper(me, true);
    inherited_by_a_sleeper(me, false);
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        assert!(DIRECTOR.spawn(Priority::new(4), "director", director).is_ok());
        assert!(URGENT.spawn(Priority::new(20), "urgent", urgent).is_ok());
        // The first alone is due at the first time, and the others within 8 ticks.
        let sleeping = sleep_many(|i| i.min(1 + i % 8));
        assert!(SLEEPING.spawn(Priority::new(3), "sleeping", sleeping).is_ok());
    })
}

fn on_alarm() {
    let act = NEXT.swap(EXPIRE, Relaxed);
    if act == USE_CEILING || act == WAKE_AND_EXPIRE {
        assert_eq!(tandem::current().name(), "timers");
        START.store(mark(), Relaxed);
        RAISED.give();
    }
    board::stop_alarm();
    if act == USE_CEILING {
        assert!(CEILING.try_with(|value| *value += 1).is_some());
        return;
    }
    // Nearer slots come first: the sleepers whose timers have been filed again are in some.
    (0..if act == WAKE_AND_EXPIRE { 8 } else { 1 }).for_each(|_| time::expire());
    if act == COME_AGAIN || act == LEAVE {
        NEXT.store(LATER.load(Relaxed), Relaxed);
    }
    if act == COME_AGAIN {
        critical_section::with(|_| Clock::arm(time::now() + AMID));
    }
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts!();
