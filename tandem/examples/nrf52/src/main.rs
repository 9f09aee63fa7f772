//! A lamp that blinks on an nRF52: a coroutine switches it, and a thread says when it was switched.
//! On Nordic's nRF52 DK it is LED 1; on the first micro:bit, the lamp at the top left.
//!
//! Printing goes to the debugger, so run it with one.
#![no_std]
#![no_main]

mod board;

use board::Lamp;
use cortex_m_semihosting::hprintln;
use tandem::{Coroutine, Priority, Queue, SharedStack, Thread, delay_until, time};

static STACK: SharedStack<1024> = SharedStack::new();
static BLINKER: Coroutine<256> = Coroutine::new();
static OBSERVER: Thread<2048> = Thread::new();
static CHANGES: Queue<(bool, u64), 4> = Queue::new();

const HALF_A_PERIOD: u64 = 250_000; // microseconds

async fn blink() {
    let mut lamp = Lamp::new();
    let mut due = time::now();
    for on in [true, false].into_iter().cycle() {
        lamp.switch(on);
        CHANGES.sent((on, time::now())).await;
        due += HALF_A_PERIOD;
        delay_until(due).await;
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&STACK, || {
        let observer = OBSERVER.spawn(Priority::new(1), "observer", |me| {
            let mut last = None;
            for _ in 0..8 {
                let (on, at) = CHANGES.receive(me);
                let passed = at - last.replace(at).unwrap_or(at);
                hprintln!("{:>8} us  lamp {}", at, if on { "on" } else { "off" });
                assert!(passed == 0 || passed.abs_diff(HALF_A_PERIOD) < HALF_A_PERIOD / 2);
            }
            board::exit(true)
        });
        let blinker = BLINKER.spawn(Priority::new(2), "blinker", blink());
        assert!(observer.is_ok() && blinker.is_ok());
    })
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    hprintln!("task {}: {}", tandem::current().name(), info);
    board::exit(false)
}
