//! A lamp that blinks on a Raspberry Pi Pico: a coroutine switches it, and a thread changes the
//! period every five seconds.
//!
//! The kernel runs on core 0. Core 1 stays in the boot ROM, where it sleeps.
#![no_std]
#![no_main]

mod board;

use board::Lamp;
use tandem::{Coroutine, Priority, SharedStack, Signal, Thread, delay_until, time};

static STACK: SharedStack<1024> = SharedStack::new();
static BLINKER: Coroutine<256> = Coroutine::new();
static DIRECTOR: Thread<1024> = Thread::new();
/// The next half of a period, in microseconds.
static PERIOD: Signal<u64> = Signal::new();

async fn blink() {
    let mut lamp = Lamp::new();
    let mut half_a_period = 500_000; // microseconds
    let mut due = time::now();
    for on in [true, false].into_iter().cycle() {
        lamp.switch(on);
        half_a_period = PERIOD.try_take().unwrap_or(half_a_period);
        due += half_a_period;
        delay_until(due).await;
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&STACK, || {
        let director = DIRECTOR.spawn(Priority::new(1), "director", |me| {
            for half_a_period in [100_000, 500_000].into_iter().cycle() {
                me.delay_until(time::now() + 5_000_000);
                PERIOD.signal(half_a_period);
            }
        });
        let blinker = BLINKER.spawn(Priority::new(2), "blinker", blink());
        assert!(director.is_ok() && blinker.is_ok());
    })
}

/// Switches the lamp on for ever.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    Lamp::new().switch(true);
    loop {
        cortex_m::asm::wfi();
    }
}
