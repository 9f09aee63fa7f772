//! Checks of time slices: threads of one priority take turns, no alarm comes without an equal, and
//! the use of a ceiling is not divided; and the report of a slice that is too short.
#![no_std]
#![no_main]

use portable_atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use tandem::{Ceiling, Coroutine, Me, Priority, SharedStack, Thread, time, yield_now};
use tandem_firmware::{
    board::{self, nanoseconds, ticks},
    println,
};

/// The length of a slice, in instructions.
const SLICE: u64 = 100_000;
const EQUAL: Priority = Priority::new(2);

static SHARED: SharedStack<1024> = SharedStack::new();
static DIRECTOR: Thread<2048> = Thread::new();
static THREADS: [Thread<1024>; 3] = [const { Thread::new() }; 3];
static COROUTINE: Coroutine<128> = Coroutine::new();
static CEILING: Ceiling<u32> = Ceiling::new(EQUAL, 0);
static TURNS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
static RAN: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
static OVER: AtomicBool = AtomicBool::new(false);
static ALARMS: AtomicU32 = AtomicU32::new(0);
static TICKED: AtomicU32 = AtomicU32::new(0);
/// The least number of instructions from an alarm to the first note of another thread.
static LEAST: AtomicU32 = AtomicU32::new(u32::MAX);

/// Counts that task `i` runs, and a turn if another ran before.
fn run(i: usize) {
    static LAST: AtomicU32 = AtomicU32::new(u32::MAX);
    if LAST.swap(i as u32, Relaxed) != i as u32 {
        TURNS[i].fetch_add(1, Relaxed);
        LEAST.fetch_min(ticks().wrapping_sub(TICKED.load(Relaxed)), Relaxed);
    }
    RAN[i].fetch_add(1, Relaxed);
}

fn spin(i: usize) {
    while !OVER.load(Relaxed) {
        run(i);
    }
}

fn spawn(i: usize) {
    assert!(THREADS[i].spawn(EQUAL, "equal", move |_| spin(i)).is_ok());
}

fn sleep(me: &Me, slices: u64) {
    me.delay_until(time::now() + nanoseconds(slices * SLICE));
}

/// Ends all tasks and resets the counts.
fn end(me: &Me) {
    OVER.store(true, Relaxed);
    sleep(me, 10);
    assert!(THREADS.iter().all(|thread| !thread.info().is_alive()) && !COROUTINE.info().is_alive());
    OVER.store(false, Relaxed);
    TURNS.iter().chain(&RAN).chain([&ALARMS]).for_each(|count| count.store(0, Relaxed));
}

fn alone(me: &Me) {
    spawn(0);
    // Less than the longest alarm of every board.
    sleep(me, 40);
    assert_eq!(ALARMS.load(Relaxed), 1, "only the director's own");
    end(me);
    println!("alone: no tick");
}

fn equals(me: &Me) {
    (0..3).for_each(spawn);
    sleep(me, 60);
    for (turns, ran) in TURNS.iter().zip(&RAN).take(3) {
        let (turns, ran) = (turns.load(Relaxed), ran.load(Relaxed));
        assert!((19..=21).contains(&turns), "{turns} turns");
        let share = ran / (RAN.iter().map(|ran| ran.load(Relaxed)).sum::<u32>() / 100);
        assert!((31..=35).contains(&share), "{share} % of the time");
    }
    assert!(ALARMS.load(Relaxed) <= 62);
    let least = LEAST.load(Relaxed);
    end(me);
    println!(
        "three equals: 20 turns each; from the alarm to the next thread {} instructions",
        least
    );
}

/// A coroutine gets its turn among the threads, and so does an equal that becomes ready later.
fn with_a_coroutine(me: &Me) {
    let body = async {
        while !OVER.load(Relaxed) {
            run(3);
            yield_now().await;
        }
    };
    spawn(0);
    sleep(me, 5);
    assert!(COROUTINE.spawn(EQUAL, "coroutine", body).is_ok());
    sleep(me, 20);
    let turns = TURNS[3].load(Relaxed);
    assert!((18..=21).contains(&turns), "{turns} turns");
    end(me);
    println!("with a coroutine: ok");
}

/// An equal becomes ready while the first thread is raised above it, and gets its turns after that
/// is lowered.
fn lowered(me: &Me) {
    static HIGHER: Ceiling<()> = Ceiling::new(Priority::new(4), ());
    let body = |_: &Me| {
        HIGHER.with(|()| spawn(1));
        spin(0);
    };
    assert!(THREADS[0].spawn(EQUAL, "raised", body).is_ok());
    sleep(me, 20);
    let turns = TURNS[1].load(Relaxed);
    assert!((9..=11).contains(&turns), "{turns} turns");
    end(me);
    println!("beside one that was raised: ok");
}

/// Each use of the value takes five slices. An equal that ran meanwhile would find the value in
/// use, and panic.
fn ceiling(me: &Me) {
    for thread in &THREADS[..2] {
        let body = |_: &Me| {
            while !OVER.load(Relaxed) {
                CEILING.with(|value| {
                    let (before, start) = (*value, ticks());
                    while ticks().wrapping_sub(start) < 5 * SLICE as u32 {}
                    *value = before + 1;
                });
            }
        };
        assert!(thread.spawn(EQUAL, "user", body).is_ok());
    }
    sleep(me, 100);
    end(me);
    assert!((18..=22).contains(&CEILING.with(|value| *value)));
    println!("a ceiling is not divided: ok");
}

/// The thread spins from its report on, less urgent than the director.
fn misuse(me: &Me) {
    board::expect_panic("task misuser: a time slice has at least ");
    let spawned = THREADS[0].spawn(EQUAL, "misuser", |_| tandem::set_time_slice(1));
    sleep(me, 10);
    assert!(spawned.is_ok() && board::has_panicked(), "no report");
    println!("misuse: ok");
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::set_time_slice(nanoseconds(SLICE));
    tandem::start(&SHARED, || {
        let director = DIRECTOR.spawn(Priority::new(5), "director", |me| {
            alone(me);
            equals(me);
            with_a_coroutine(me);
            lowered(me);
            ceiling(me);
            misuse(me);
            board::exit(true)
        });
        assert!(director.is_ok());
    })
}

fn on_alarm() {
    TICKED.store(ticks(), Relaxed);
    ALARMS.fetch_add(1, Relaxed);
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![];
