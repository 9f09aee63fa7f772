//! What each call of the kernel costs, in instructions, between two marks.
#![no_std]
#![no_main]

use core::cell::UnsafeCell;
use cortex_m_semihosting::hprintln;
use tandem::{Coroutine, Me, Priority, Semaphore, SharedStack, Thread, yield_now};
use tandem_firmware::board;

/// Marks, in the order in which they were made.
struct Marks(UnsafeCell<[u32; 1024]>, UnsafeCell<usize>);
// SAFETY: one task at a time marks, in turns.
unsafe impl Sync for Marks {}

static A: Marks = Marks(UnsafeCell::new([0; 1024]), UnsafeCell::new(0));

static SHARED: SharedStack<1024> = SharedStack::new();
static MAIN: Thread<1024> = Thread::new();
static T: [Thread<512>; 2] = [const { Thread::new() }; 2];
static DONE: Semaphore = Semaphore::new(0);
static S: Semaphore = Semaphore::new(0);

fn yields(me: &Me) {
    for _ in 0..400 {
        me.yield_now();
    }
    DONE.give();
}

fn director(me: &Me) {
    hprintln!("hello");
    let t0 = board::ticks();
    let t1 = board::ticks();
    hprintln!("control {}", t1 - t0);
    for t in &T {
        t.spawn(Priority::new(3), "yield", yields).unwrap();
    }
    let t0 = board::ticks();
    DONE.take(me);
    DONE.take(me);
    let t1 = board::ticks();
    hprintln!("800 yields {}", t1 - t0);
    let _ = (&A, &S);
    board::exit(true)
}

static CO: Coroutine<64> = Coroutine::new();

#[cortex_m_rt::entry]
fn main() -> ! {
    board::enable_fpu();
    board::start_ticks();
    tandem::start(&SHARED, || {
        MAIN.spawn(Priority::new(5), "director", director).unwrap();
        CO.spawn(Priority::new(6), "co", async {
            hprintln!("co 1");
            yield_now().await;
            hprintln!("co 2");
        })
        .unwrap();
    })
}

#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [usize; 1] = [0];
