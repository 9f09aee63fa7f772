//! A lamp that blinks: a coroutine switches it, and a thread says how long it has been on.
#![no_std]
#![no_main]

use embedded_hal::digital::OutputPin;
use tandem::{Coroutine, Priority, Queue, SharedStack, Thread, delay_until, time};
use tandem_stm32f4::{self as board, Pin, event};

static STACK: SharedStack<1024> = SharedStack::new();
static LAMP: Coroutine<256> = Coroutine::new();
static OBSERVER: Thread<2048> = Thread::new();
static CHANGES: Queue<(bool, u64), 4> = Queue::new();

const HALF_A_PERIOD: u64 = 250_000; // microseconds

async fn blink() {
    let mut lamp = Pin::lamp();
    let mut due = time::now();
    for on in [true, false].into_iter().cycle() {
        let Ok(()) = if on { lamp.set_high() } else { lamp.set_low() };
        CHANGES.sent((on, time::now())).await;
        due += HALF_A_PERIOD;
        delay_until(due).await;
    }
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&STACK, || {
        let observer = OBSERVER.spawn(Priority::new(1), "observer", |me| {
            let mut since = 0;
            for _ in 0..8 {
                match CHANGES.receive(me) {
                    (true, at) => {
                        event!("lamp on");
                        since = at;
                    }
                    (false, at) => event!("lamp off after {} us", at - since),
                }
            }
            board::exit(true)
        });
        let lamp = LAMP.spawn(Priority::new(2), "lamp", blink());
        assert!(observer.is_ok() && lamp.is_ok());
    })
}
