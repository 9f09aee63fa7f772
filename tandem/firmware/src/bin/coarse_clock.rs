//! Processor time where an interrupt advances the kernel's clock once a millisecond: the account has a
//! clock of its own, so that a thread, the idle task and the handler get what they have used.
#![no_std]
#![no_main]

use portable_atomic::{AtomicU32, Ordering::Relaxed};
use tandem::{
    Me, Priority, SharedStack, Thread, idle_time, interrupt_time,
    time::{self, Driver},
    trace,
};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
};

static SHARED: SharedStack<1024> = SharedStack::new();
static DIRECTOR: Thread<2048> = Thread::new();
static WORKER: Thread<1024> = Thread::new();
static MILLISECONDS: AtomicU32 = AtomicU32::new(0);

/// A millisecond in ticks of the board's clock.
const MS: u64 = nanoseconds(1_000_000);

struct Coarse;

tandem::drive_time_with!(Coarse);

// SAFETY: the functions call nothing of the kernel.
unsafe impl Driver for Coarse {
    const HERTZ: u64 = 1000;

    fn now() -> u64 {
        MILLISECONDS.load(Relaxed).into()
    }

    fn arm(_: u64) {}

    fn processor_clock() -> u64 {
        board::Clock::now()
    }
}

/// The board's clock.
fn precise() -> u64 {
    critical_section::with(|_| board::Clock::now())
}

/// Sets the alarm for the next millisecond.
fn set_tick() {
    critical_section::with(|_| board::Clock::arm(board::Clock::now() + MS));
}

/// Computes for two fifths of each of twenty milliseconds.
fn work(me: &Me) {
    for _ in 0..20 {
        me.delay_until(time::now() + 1);
        let end = precise() + 2 * MS / 5;
        while precise() < end {}
    }
}

fn direct(me: &Me) {
    set_tick();
    me.delay_until(time::now() + 1);
    let before = (idle_time(), interrupt_time());
    assert!(WORKER.spawn(Priority::new(1), "works", work).is_ok());
    me.delay_until(time::now() + 25);
    let idle = idle_time() - before.0;
    let interrupts = interrupt_time() - before.1;
    let worked = WORKER.info().processor_time();
    println!("worked {}, idle {}, interrupts {} ticks", worked, idle, interrupts);
    assert!((8 * MS..9 * MS).contains(&worked));
    assert!((15 * MS..18 * MS).contains(&idle));
    assert!((1..MS).contains(&interrupts));
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        assert!(DIRECTOR.spawn(Priority::new(2), "director", direct).is_ok());
    })
}

fn on_alarm() {
    trace::interrupt(|| {
        board::stop_alarm();
        MILLISECONDS.fetch_add(1, Relaxed);
        set_tick();
        time::expire();
    });
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![];
