//! The priority of a thread is set while another spawns it. Its record still has the waiter of its
//! earlier life, on a stack that has been used for other things since.
#![no_std]
#![no_main]

use core::hint::black_box;
use portable_atomic::{AtomicU32, Ordering::Relaxed};
use tandem::{Me, Priority, Semaphore, SharedStack, Thread, time};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
};

static SHARED: SharedStack<1024> = SharedStack::new();
static SPAWNED: Thread<32768> = Thread::new();
static SPAWNER: Thread<2048> = Thread::new();
static URGENT: Thread<1024> = Thread::new();
static UNITS: Semaphore = Semaphore::new(0);
/// The priorities set while the thread was claimed and had not run.
static SET: AtomicU32 = AtomicU32::new(0);

/// Nobody writes to these. The words on the used stack are their address.
static BYSTANDERS: [AtomicU32; 16] = [const { AtomicU32::new(0) }; 16];

const PRIORITY: Priority = Priority::new(5);
const SECOND: &str = "second life";

/// Fills the stack below with words that look like links of a waiter, and in some places, which depend
/// on `shift`, like its state.
#[inline(never)]
fn fill(shift: usize) {
    let address = BYSTANDERS.as_ptr().addr();
    let mut words = [address; 64];
    words.iter_mut().skip(shift).step_by(8).for_each(|word| *word = 2);
    black_box(&mut words);
}

fn spawner(me: &Me) {
    for shift in 0..8 {
        let first = SPAWNED.spawn(PRIORITY, "first life", move |me| {
            UNITS.take(me);
            fill(shift);
        });
        assert!(first.is_ok());
        UNITS.give();
        SPAWNED.info().join(me);
        // The stack is painted before the thread runs.
        let set = SET.load(Relaxed);
        let second = SPAWNED.spawn_measured(PRIORITY, SECOND, move |me| {
            assert!(SET.load(Relaxed) > set, "the priority was set before the thread ran");
            assert_eq!(me.info().priority(), Some(Priority::new(6)));
        });
        assert!(second.is_ok());
        SPAWNED.info().join(me);
    }
    assert!(BYSTANDERS.iter().all(|word| word.load(Relaxed) == 0));
    println!("a priority is set before the thread runs: ok");
    board::exit(true)
}

fn urgent(me: &Me) {
    loop {
        me.delay_until(time::now() + nanoseconds(4_000));
        let info = SPAWNED.info();
        if info.is_alive() && info.name() == SECOND && SPAWNED.set_priority(me, Priority::new(6)) {
            SET.store(SET.load(Relaxed) + 1, Relaxed);
        }
    }
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        assert!(SPAWNER.spawn(Priority::new(1), "spawner", spawner).is_ok());
        assert!(URGENT.spawn(Priority::new(10), "urgent", urgent).is_ok());
    })
}

fn on_alarm() {
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![];
