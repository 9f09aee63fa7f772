//! Processor time: threads, a coroutine, a handler and the idle task share a known time, and the
//! sum of their times is the time that has passed.
#![no_std]
#![no_main]

use tandem::{
    Coroutine, Me, Priority, SharedStack, Thread, delay_until, idle_time, interrupt_time, time,
    trace,
};
use tandem_firmware::{
    board::{self, nanoseconds, ticks},
    println,
};

static SHARED: SharedStack<1024> = SharedStack::new();
static DIRECTOR: Thread<2048> = Thread::new();
static BUSY: [Thread<1024>; 2] = [const { Thread::new() }; 2];
static COROUTINE: Coroutine<128> = Coroutine::new();

const MS: u64 = nanoseconds(1_000_000);

/// Computes for this time of the clock, if nothing else runs meanwhile.
fn compute(duration: u64) {
    let end = time::now() + duration;
    while time::now() < end {}
}

fn near(name: &str, time: u64, expected: u64) {
    println!("{:<10} {:>9} ticks, {} expected", name, time, expected);
    assert!(time >= expected && time < expected + expected / 20 + nanoseconds(30_000));
}

fn director(me: &Me) {
    let start = time::now();
    let before = (idle_time(), interrupt_time(), me.info().processor_time());
    for (i, thread) in BUSY.iter().enumerate() {
        let spawned = thread.spawn(Priority::new(2), "busy", move |me| {
            for _ in 0..4 {
                compute((i as u64 + 1) * MS);
                me.yield_now();
            }
        });
        assert!(spawned.is_ok());
    }
    let coroutine = COROUTINE.spawn(Priority::new(3), "coroutine", async move {
        compute(MS);
        delay_until(start + 15 * MS).await;
        compute(MS);
    });
    assert!(coroutine.is_ok());
    me.delay_until(start + 20 * MS);
    board::raise(0);
    let idle = idle_time() - before.0;
    let interrupts = interrupt_time() - before.1;
    let own = me.info().processor_time() - before.2;
    let threads = BUSY.each_ref().map(|thread| thread.info().processor_time());
    let coroutine = COROUTINE.info().processor_time();
    let passed = time::now() - start;
    near("first", threads[0], 4 * MS);
    near("second", threads[1], 8 * MS);
    near("coroutine", coroutine, 2 * MS);
    near("handlers", interrupts, MS / 2);
    let sum = threads[0] + threads[1] + coroutine + interrupts + own + idle;
    near("all", sum, passed - nanoseconds(20_000));
    assert!(idle > 5 * MS);
    cost(me);
    board::exit(true)
}

/// The cost of the account, in instructions of a yield to an equal.
fn cost(me: &Me) {
    static YIELDING: Thread<1024> = Thread::new();
    let equal =
        YIELDING.spawn(Priority::new(6), "equal", |me| (0..100).for_each(|_| me.yield_now()));
    assert!(equal.is_ok());
    me.yield_now();
    let start = ticks();
    (0..50).for_each(|_| me.yield_now());
    println!("a yield takes {} instructions", ticks().wrapping_sub(start) / 100);
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    tandem::start(&SHARED, || {
        assert!(DIRECTOR.spawn(Priority::new(6), "director", director).is_ok());
    })
}

extern "C" fn on_raise() {
    trace::interrupt(|| compute(MS / 2));
}

fn on_alarm() {
    trace::interrupt(|| {
        board::stop_alarm();
        time::expire();
    });
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![on_raise];
