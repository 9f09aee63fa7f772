//! The most urgent thread beside 200 sleepers that share a slot of the timers, while these are filed
//! anew: from an interrupt to the thread.
//!
//! First an interrupt as urgent as the alarm's is raised where the alarm's handler begins, and waits for
//! its end: the latest such interrupt. Then, in each round, an interrupt comes one instruction later,
//! from behind the alarm's handler on: it meets every instruction of the first filings.
#![no_std]
#![no_main]

#[path = "filing/crowd.rs"]
mod crowd;

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use crowd::{AWAKE, END, OVER, RAISED, ROOM, ROUND, sleep_many, urgent};
use tandem::{
    Coroutine, Me, Priority, SharedStack, Thread,
    time::{self, Driver},
};
use tandem_firmware::{
    board::{self, Clock, instructions, mark, nanoseconds},
    println,
};

/// The rounds in which an interrupt is raised in the alarm's handler.
const EQUALS: u32 = 8;
/// The instructions by which the other interrupt is moved: more than some filings take.
const SHIFTS: u32 = 600;
/// The instructions in a tick of the clock.
const TICK: u32 = (1_000_000_000 / Clock::HERTZ) as u32;

static SHARED: SharedStack<2048> = SharedStack::new();
static DIRECTOR: Thread<2048> = Thread::new();
static URGENT: Thread<1024> = Thread::new();
static SLEEPING: Coroutine<ROOM> = Coroutine::new();

/// The next act of the alarm's handler: nothing but its work; raise the interrupt; set the alarm to come
/// again, later by [`SHIFT`]; be the interrupt.
static NEXT: AtomicU32 = AtomicU32::new(NOTHING);
const NOTHING: u32 = 0;
const RAISE: u32 = 1;
const COME_AGAIN: u32 = 2;
const GIVE: u32 = 3;
static SHIFT: AtomicU32 = AtomicU32::new(0);
static START: AtomicU32 = AtomicU32::new(0);
/// The handler's begin where it is the interrupt. The least such time from [`START`] on is the alarm's
/// own, and is subtracted.
static ENTRY: AtomicU32 = AtomicU32::new(0);

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

fn director(me: &Me) {
    round(me, RAISE); // creates the task that files timers
    let equal = (0..EQUALS).map(|_| round(me, RAISE)).max().unwrap_or(0);
    let (mut longest, mut lead) = (0, u32::MAX);
    for shift in (0..SHIFTS).step_by(TICK as usize) {
        SHIFT.store(shift / TICK, Relaxed);
        longest = longest.max(round(me, COME_AGAIN) - shift);
        lead = lead.min(since_start(&ENTRY) - shift);
    }
    longest -= lead;
    println!("an interrupt as urgent as the alarm's -> most urgent thread: {} instructions", equal);
    println!("an interrupt amid the filing -> most urgent thread: {} instructions", longest);
    // With debug assertions, and on other processors, each step takes longer.
    let most = if cfg!(all(chip = "stm32", fpu, not(debug_assertions))) { 175 } else { 700 };
    assert!(equal <= most && longest <= most, "the thread waits for timers to be filed");
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
    if next == GIVE {
        ENTRY.store(mark(), Relaxed);
        RAISED.give();
        board::stop_alarm();
        NEXT.store(NOTHING, Relaxed);
        return;
    }
    NEXT.store(NOTHING, Relaxed);
    if next == RAISE {
        START.store(mark(), Relaxed);
        board::raise(0);
    }
    board::stop_alarm();
    time::expire();
    if next == COME_AGAIN {
        NEXT.store(GIVE, Relaxed);
        critical_section::with(|_| {
            let now = Clock::now();
            START.store(mark(), Relaxed);
            Clock::arm_from(now, now + u64::from(SHIFT.load(Relaxed)));
        });
    }
}

extern "C" fn on_raised() {
    RAISED.give();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![on_raised];
