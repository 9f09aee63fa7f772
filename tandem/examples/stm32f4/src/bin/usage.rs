//! The use of the processor's time: by task, in interrupts, and idle (feature `processor-time`).
//! Two threads of one priority take turns of 10 ms (feature `time-slice`); a coroutine runs every
//! 50 ms.
#![no_std]
#![no_main]

use core::hint::black_box;
use tandem::{
    Coroutine, Me, Priority, Queue, SharedStack, Thread, delay_until, idle_time, interrupt_time,
    set_time_slice, time,
};
use tandem_stm32f4::{self as board, event};

static STACK: SharedStack<1024> = SharedStack::new();
static REPORTER: Thread<2048> = Thread::new();
static EQUALS: [Thread<1024>; 2] = [const { Thread::new() }; 2];
static SAMPLER: Coroutine<128> = Coroutine::new();
static ENDS: Queue<u64, 2> = Queue::new();

const SLICE: u64 = 10_000; // microseconds
const SECOND: u64 = 1_000_000;

fn compute(rounds: u32) {
    (0..rounds).for_each(|round| {
        black_box(round);
    });
}

async fn sample() {
    let mut due = time::now();
    loop {
        due += SECOND / 20;
        delay_until(due).await;
        compute(4_000);
    }
}

fn report(me: &Me) {
    let start = time::now();
    set_time_slice(SLICE);
    for thread in &EQUALS {
        let body = |me: &Me| {
            compute(1_000_000);
            ENDS.send(me, time::now());
        };
        assert!(thread.spawn(Priority::new(1), "equal", body).is_ok());
    }
    assert!(SAMPLER.spawn(Priority::new(2), "sampler", sample()).is_ok());
    me.delay_until(start + SECOND);
    let [first, second] = EQUALS.each_ref().map(|thread| thread.info().processor_time());
    let rows = [
        ("equal", first),
        ("equal", second),
        ("sampler", SAMPLER.info().processor_time()),
        ("reporter", me.info().processor_time()),
        ("interrupts", interrupt_time()),
        ("idle", idle_time()),
    ];
    for (name, used) in rows {
        event!("{name:<10} {used:>7} us, {:>2} %", used * 100 / SECOND);
    }
    let sum: u64 = rows.iter().map(|row| row.1).sum();
    assert!(sum.abs_diff(time::now()) < SECOND / 100, "all time is accounted for");
    assert!(first.abs_diff(second) < SECOND / 100, "they have computed the same");
    let apart = ENDS.receive(me).abs_diff(ENDS.receive(me));
    // One after the other, they would end 250 ms apart. A thread that the coroutine has pre-empted
    // begins a new slice, so their turns are not the same.
    assert!(apart < SECOND / 8, "they have taken turns");
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&STACK, || {
        assert!(REPORTER.spawn(Priority::new(3), "reporter", report).is_ok());
    })
}
