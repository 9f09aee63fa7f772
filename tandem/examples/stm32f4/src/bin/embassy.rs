//! Code written for embassy, under tandem: timers of `embassy-time`, a channel and a signal of
//! `embassy-sync`, and a value shared with a handler by `critical-section`.
//!
//! A coroutine measures the time between two presses of the button, another counts seconds, and a
//! thread receives what both report.
#![no_std]
#![no_main]

use core::cell::Cell;
use critical_section::Mutex;
use embassy_sync::{
    blocking_mutex::raw::CriticalSectionRawMutex, channel::Channel, signal::Signal,
};
use embassy_time::{Duration, Instant, Ticker, Timer, with_timeout};
use tandem::{Coroutine, Me, Priority, SharedStack, Thread};
use tandem_stm32f4::{self as board, button, event};

static STACK: SharedStack<2048> = SharedStack::new();
static BUTTON: Coroutine<512> = Coroutine::new();
static TICKS: Coroutine<512> = Coroutine::new();
static REPORTER: Thread<2048> = Thread::new();
static FINGER: Thread<1024> = Thread::new();

static PRESSED: Signal<CriticalSectionRawMutex, Instant> = Signal::new();
static REPORTS: Channel<CriticalSectionRawMutex, Report, 4> = Channel::new();
static PRESSES: Mutex<Cell<u32>> = Mutex::new(Cell::new(0));

#[derive(Debug, PartialEq, Eq)]
enum Report {
    Second(u32),
    /// The milliseconds since the press before.
    Pressed(u64),
    NotPressed,
}

/// The handler of the button's interrupt.
fn on_press() {
    critical_section::with(|cs| {
        let presses = PRESSES.borrow(cs);
        presses.set(presses.get() + 1);
    });
    PRESSED.signal(Instant::now());
}

async fn watch_button() {
    let mut last = Instant::now();
    loop {
        let report = match with_timeout(Duration::from_millis(700), PRESSED.wait()).await {
            Ok(at) => Report::Pressed((at - core::mem::replace(&mut last, at)).as_millis()),
            Err(_) => Report::NotPressed,
        };
        REPORTS.send(report).await;
    }
}

async fn count_seconds() {
    let mut ticker = Ticker::every(Duration::from_secs(1));
    for second in 1.. {
        ticker.next().await;
        REPORTS.send(Report::Second(second)).await;
    }
}

/// Presses the button where nobody does.
fn press(me: &Me) {
    for pause in [300, 400, 1_700] {
        me.block_on(Timer::after_millis(pause));
        button::press();
    }
}

fn report(me: &Me) {
    use Report::{NotPressed, Pressed, Second};
    // The first press comes 300 ms after the start, the last one at 2.4 s.
    let expected =
        [Pressed(300), Pressed(400), Second(1), NotPressed, Second(2), NotPressed, Pressed(1700)];
    for expected in expected {
        let report = me.block_on(REPORTS.receive());
        event!("{report:?}");
        if cfg!(feature = "qemu") {
            assert_eq!(report, expected);
        }
    }
    let presses = critical_section::with(|cs| PRESSES.borrow(cs).get());
    event!("{presses} presses");
    board::exit(presses == 3)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    button::on_press(on_press);
    tandem::start(&STACK, || {
        let spawned = [
            BUTTON.spawn(Priority::new(3), "button", watch_button()),
            TICKS.spawn(Priority::new(2), "ticks", count_seconds()),
            REPORTER.spawn(Priority::new(1), "reporter", report),
            FINGER.spawn(Priority::new(0), "finger", press),
        ];
        assert!(spawned.iter().all(Result::is_ok));
    })
}
