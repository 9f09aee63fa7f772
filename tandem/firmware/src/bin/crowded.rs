//! How long the most urgent thread and the handler of an interrupt wait in the kernel's longest work.
//!
//! **The filing.** 200 sleepers share a slot of the timers, which files them anew. First an interrupt as
//! urgent as the alarm's is raised where the alarm's handler begins, and waits for its end: the latest
//! such interrupt. Then, in each round, an interrupt comes one instruction later, from behind the
//! alarm's handler on, through the first filings.
//!
//! **An end.** A thread ends, for whose end 2 coroutines wait. In each round an interrupt comes one
//! instruction later, through all of the end. The same with 119 coroutines, in steps of 5 instructions
//! through the first of them.
//!
//! The lab's experiment `crowded` reads the rows: each has all samples, in instructions.
#![no_std]
#![no_main]

#[path = "filing/crowd.rs"]
mod crowd;

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use crowd::{AWAKE, END, OVER, RAISED, ROOM, ROUND, sleep_many, urgent};
use tandem::{
    Coroutine, Me, Priority, Semaphore, SharedStack, Thread,
    time::{self, Driver},
};
use tandem_firmware::{
    board::{self, Clock, instructions, mark, nanoseconds},
    println,
    samples::Runs,
};

/// The rounds in which an interrupt is raised in the alarm's handler.
const EQUALS: usize = 40;
/// The instructions by which the other interrupts are moved: more than some filings take, and an end
/// with 2 tasks that wait for it.
const SHIFTS: u32 = 450;
/// The instructions in a tick of the clock.
const TICK: u32 = (1_000_000_000 / Clock::HERTZ) as u32;
/// The rounds in which an interrupt is moved by one tick, and by several.
const MOVES: usize = SHIFTS.div_ceil(TICK) as usize;
const STEP: usize = 5;
const LONG_MOVES: usize = MOVES.div_ceil(STEP);

static SHARED: SharedStack<2048> = SharedStack::new();
static DIRECTOR: Thread<2048> = Thread::new();
static URGENT: Thread<1024> = Thread::new();
static SLEEPING: Coroutine<ROOM> = Coroutine::new();

/// The thread that ends, the gate before its end, and the coroutines that wait for the end.
static ENDING: Thread<1024> = Thread::new();
static GATE: Semaphore = Semaphore::new(0);
static WAITING: [Coroutine<256>; 119] = [const { Coroutine::new() }; 119];

/// The next act of the alarm's handler: nothing but its work; raise the interrupt; set the alarm to come
/// again, later by [`SHIFT`]; be the interrupt, with or without the urgent thread.
static NEXT: AtomicU32 = AtomicU32::new(NOTHING);
const NOTHING: u32 = 0;
const RAISE: u32 = 1;
const COME_AGAIN: u32 = 2;
const GIVE: u32 = 3;
const COME: u32 = 4;
/// By how many ticks the interrupt is moved.
static SHIFT: AtomicU32 = AtomicU32::new(0);
static START: AtomicU32 = AtomicU32::new(0);
/// The handler's begin where it is the interrupt. The least such time from [`START`] on is the alarm's
/// own, and is subtracted.
static ENTRY: AtomicU32 = AtomicU32::new(0);

type Samples<const N: usize> = [AtomicU32; N];

static EQUAL: Samples<EQUALS> = [const { AtomicU32::new(0) }; _];
static AMID: Samples<MOVES> = [const { AtomicU32::new(0) }; _];
static AMID_HANDLER: Samples<MOVES> = [const { AtomicU32::new(0) }; _];
static END_HANDLER: Samples<MOVES> = [const { AtomicU32::new(0) }; _];
static LONG_END_HANDLER: Samples<LONG_MOVES> = [const { AtomicU32::new(0) }; _];

/// Has the sleepers sleep and wake, and the handler act when the first is due. Returns the instructions
/// between the marks.
fn round(me: &Me, next: u32) -> u32 {
    /// Longer than the begin of all delays takes.
    const LEAD: u64 = nanoseconds(200_000);
    // From a multiple of a power of two on, so that all differ from the base in one highest bit.
    let first = (time::now() + LEAD).next_multiple_of(nanoseconds(32_768).next_power_of_two());
    ROUND.send(me, first);
    me.delay_until(first - LEAD / 8);
    NEXT.store(next, Relaxed);
    OVER.take(me);
    // The handler has set the alarm for itself.
    critical_section::with(|_| Clock::arm(first));
    AWAKE.take(me);
    since_start(&END)
}

/// The instructions from [`START`] to a mark.
fn since_start(mark: &AtomicU32) -> u32 {
    instructions(mark.load(Relaxed)).wrapping_sub(instructions(START.load(Relaxed)))
}

/// Sets the alarm for the handler's act `next`, [`SHIFT`] ticks from [`START`] on.
fn arm(next: u32) {
    NEXT.store(next, Relaxed);
    critical_section::with(|_| {
        let now = Clock::now();
        START.store(mark(), Relaxed);
        Clock::arm_from(now, now + u64::from(SHIFT.load(Relaxed)));
    });
}

/// Takes the interrupt's move, by `step` ticks a round, from each sample of a round: of `entries`, and
/// of `others`. Takes the least of `entries` from all of them then.
fn since_interrupt(entries: &[AtomicU32], others: &[AtomicU32], step: usize) {
    for samples in [entries, others] {
        for (i, sample) in samples.iter().enumerate() {
            let moved = (i * step) as u32 * TICK;
            sample.store(sample.load(Relaxed).wrapping_sub(moved), Relaxed);
        }
    }
    // An alarm's tick may begin before the mark.
    let moved = entries.iter().map(|sample| sample.load(Relaxed).cast_signed());
    let lead = moved.min().unwrap_or(0).cast_unsigned();
    for sample in entries.iter().chain(others) {
        sample.store(sample.load(Relaxed).wrapping_sub(lead), Relaxed);
    }
}

fn filing(me: &Me) {
    round(me, RAISE); // creates the task that files timers
    for sample in &EQUAL {
        sample.store(round(me, RAISE), Relaxed);
    }
    for i in 0..MOVES {
        SHIFT.store(i as u32, Relaxed);
        AMID[i].store(round(me, COME_AGAIN), Relaxed);
        AMID_HANDLER[i].store(since_start(&ENTRY), Relaxed);
    }
    since_interrupt(&AMID_HANDLER, &AMID, 1);
}

/// Takes a sample of each round in which a thread ends, for whose end these coroutines wait. The
/// interrupt is moved by `step` ticks a round.
fn end(me: &Me, waiting: &'static [Coroutine<256>], samples: &[AtomicU32], step: usize) {
    // Longer than the coroutines take to begin the wait, or to end.
    let long = nanoseconds(30_000 + 3_000 * waiting.len() as u64);
    for (i, sample) in samples.iter().enumerate() {
        assert!(ENDING.spawn(Priority::new(3), "ending", |me| GATE.take(me)).is_ok());
        for coroutine in waiting {
            let wait = async { ENDING.info().ended().await };
            assert!(coroutine.spawn(Priority::new(1), "waiting", wait).is_ok());
        }
        me.delay_until(time::now() + long);
        SHIFT.store((i * step) as u32, Relaxed);
        arm(COME);
        GATE.give();
        ENDING.info().join(me);
        // The alarm is the interrupt until it has come.
        while NEXT.load(Relaxed) == COME {}
        me.delay_until(time::now() + long);
        assert!(waiting.iter().all(|coroutine| !coroutine.info().is_alive()));
        sample.store(since_start(&ENTRY), Relaxed);
    }
    since_interrupt(samples, &[], step);
}

/// Prints a row, of which no sample may be more than `most` instructions.
fn report(name: &str, most: u32, samples: &[AtomicU32]) {
    let longest = samples.iter().map(|sample| sample.load(Relaxed)).max().unwrap_or(0);
    println!("{:<46} goal {:>4}  most {:>4}  n {:>3}", name, most, longest, samples.len());
    println!("samples {}", Runs(samples));
    // With debug assertions, and on other processors, each step takes longer.
    let factor = if cfg!(all(chip = "stm32", fpu, not(debug_assertions))) { 1 } else { 4 };
    assert!(longest <= factor * most, "{name}: {longest} instructions");
}

fn director(me: &Me) {
    filing(me);
    end(me, &WAITING[..2], &END_HANDLER, 1);
    end(me, &WAITING, &LONG_END_HANDLER, STEP);
    report("interrupt with the alarm's -> urgent thread", 175, &EQUAL);
    report("interrupt amid the filing -> urgent thread", 175, &AMID);
    report("interrupt amid the filing -> its handler", 100, &AMID_HANDLER);
    report("interrupt amid an end, 2 wait -> its handler", 100, &END_HANDLER);
    report("interrupt amid an end, 119 wait -> its handler", 100, &LONG_END_HANDLER);
    println!("5 operations and sizes");
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    tandem::start(&SHARED, || {
        assert!(DIRECTOR.spawn(Priority::new(4), "director", director).is_ok());
        assert!(URGENT.spawn(Priority::new(20), "urgent", urgent).is_ok());
        assert!(SLEEPING.spawn(Priority::new(3), "sleeping", sleep_many(|i| i)).is_ok());
    })
}

fn on_alarm() {
    let next = NEXT.load(Relaxed);
    NEXT.store(NOTHING, Relaxed);
    if next == GIVE {
        ENTRY.store(mark(), Relaxed);
        RAISED.give();
        board::stop_alarm();
        return;
    }
    if next == COME {
        ENTRY.store(mark(), Relaxed);
    }
    if next == RAISE {
        START.store(mark(), Relaxed);
        board::raise(0);
    }
    board::stop_alarm();
    time::expire();
    if next == COME_AGAIN {
        arm(GIVE);
    }
}

extern "C" fn on_raised() {
    RAISED.give();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![on_raised];
