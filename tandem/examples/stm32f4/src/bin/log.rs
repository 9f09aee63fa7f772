//! A log by `defmt`, from a coroutine, a thread and a handler: the program sends numbers, and the
//! texts stay in its image on the host.
//!
//! It goes out through the debugger, by `defmt-semihosting`; with a probe, `defmt-rtt` takes less
//! time. Either logs within a critical section.
#![no_std]
#![no_main]

use defmt::{Format, info, warn};
use defmt_semihosting as _; // the global logger
use tandem::{Coroutine, Me, Priority, Queue, Semaphore, SharedStack, Thread, delay_until, time};
use tandem_stm32f4::{self as board, button};

static STACK: SharedStack<2048> = SharedStack::new();
static SAMPLER: Coroutine<256> = Coroutine::new();
static CONSUMER: Thread<2048> = Thread::new();
static SAMPLES: Queue<Sample, 2> = Queue::new();
static PRESSED: Semaphore = Semaphore::new(0);

defmt::timestamp!("{=u64:us}", time::now());

#[derive(Clone, Copy, Format)]
struct Sample {
    number: u32,
    level: i16,
}

async fn sample() {
    let mut due = time::now();
    for number in 1.. {
        due += 100_000;
        delay_until(due).await;
        let sample = Sample { number, level: 20 - 15 * number as i16 };
        if sample.level < 0 {
            warn!("{}: level {=i16} is below 0", tandem::current().name(), sample.level);
        }
        SAMPLES.sent(sample).await;
    }
}

fn consume(me: &Me) {
    for _ in 0..3 {
        info!("{=str}: {}", tandem::current().name(), SAMPLES.receive(me));
    }
    button::press();
    PRESSED.take(me);
    board::exit(true)
}

/// The handler of the button's interrupt.
fn on_press() {
    info!("handler: pressed, {=bool}", PRESSED.try_take());
    PRESSED.give();
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    button::on_press(on_press);
    tandem::start(&STACK, || {
        let sampler = SAMPLER.spawn(Priority::new(2), "sampler", sample());
        let consumer = CONSUMER.spawn(Priority::new(1), "consumer", consume);
        assert!(sampler.is_ok() && consumer.is_ok());
    })
}
