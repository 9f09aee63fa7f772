//! Measures how long the most urgent thread waits for a mutex at the end of a chain of waiting
//! owners, while a busy task of a priority in between is ready. The time grows with the length of
//! the chain, not with the busy task's work.
//!
//! An owner that is pre-empted at any instruction of its own wait passes a priority on that it
//! inherits there.
#![no_std]
#![no_main]

use portable_atomic::{AtomicU32, Ordering::Relaxed};
use tandem::{Me, Mutex, Priority, Semaphore, SharedStack, Thread, time};
use tandem_firmware::{
    board::{self, nanoseconds, ticks},
    println,
};

const LINKS: usize = 4;
const HELD: u32 = 1000;

static SHARED: SharedStack<1024> = SharedStack::new();
static DIRECTOR: Thread<2048> = Thread::new();
static OWNERS: [Thread<1024>; LINKS] = [const { Thread::new() }; LINKS];
static HOG: Thread<1024> = Thread::new();
static MUTEXES: [Mutex<()>; LINKS] = [const { Mutex::new(()) }; LINKS];
/// Lets owner 0 go on, from the same instruction in every run.
static GO: Semaphore = Semaphore::new(0);
static HOGGED: AtomicU32 = AtomicU32::new(0);
/// The time at which the last owner ran again.
static RAN: AtomicU32 = AtomicU32::new(0);

fn spin(n: u32) {
    let start = ticks();
    while ticks().wrapping_sub(start) < n {}
}

/// Owner 0 is ready. Every other owner waits for the mutex of the one before, and holds the mutex for
/// which the next one waits.
fn own(me: &Me, i: usize) {
    let own = MUTEXES[i].lock(me);
    if i == 0 {
        GO.take(me);
        RAN.store(ticks(), Relaxed);
        spin(HELD);
    } else {
        drop(MUTEXES[i - 1].lock(me));
    }
    drop(own);
}

/// Waits behind `links` owners. Returns the instructions until the last owner ran, and until the
/// mutex was locked.
fn wait_behind(me: &Me, links: usize, work: u32) -> (u32, u32) {
    for (i, owner) in OWNERS[..links].iter().enumerate() {
        assert!(owner.spawn(Priority::new(i as u8), "owner", move |me| own(me, i)).is_ok());
        me.delay_until(time::now() + nanoseconds(100_000));
    }
    let hogged = HOGGED.load(Relaxed);
    let hog = move |_: &Me| {
        spin(work);
        HOGGED.fetch_add(1, Relaxed);
    };
    assert!(HOG.spawn(Priority::new(10), "hog", hog).is_ok());
    GO.give();
    let start = ticks();
    drop(MUTEXES[links - 1].lock(me));
    let waited = ticks().wrapping_sub(start);
    assert_eq!(HOGGED.load(Relaxed), hogged, "the hog ran while a more urgent thread waited");
    me.delay_until(time::now() + nanoseconds(1_000_000));
    assert!(
        HOGGED.load(Relaxed) == hogged + 1 && OWNERS.iter().all(|owner| !owner.info().is_alive())
    );
    (RAN.load(Relaxed).wrapping_sub(start), waited)
}

/// Owner 1 waits for the mutex of owner 0, which waits for `GO`. The urgent thread wants the
/// mutex of owner 1, and becomes ready when owner 1 has made `steps` steps towards its wait.
/// Whatever it interrupts, owner 0 inherits its priority.
fn inherits_after(me: &Me, steps: usize) {
    let own_first = OWNERS[0].spawn(Priority::new(0), "owner", move |me| own(me, 0));
    me.delay_until(time::now() + nanoseconds(10_000));
    let start = time::now() + nanoseconds(20_000);
    let own_second = OWNERS[1].spawn(Priority::new(1), "owner", move |me| {
        let own = MUTEXES[1].lock(me);
        me.delay_until(start);
        for _ in 0..steps {
            core::hint::black_box(());
        }
        drop(MUTEXES[0].lock(me));
        drop(own);
    });
    let urgent = HOG.spawn(Priority::new(15), "urgent", move |me| {
        me.delay_until(start + nanoseconds(1_500));
        drop(MUTEXES[1].lock(me));
    });
    assert!(own_first.is_ok() && own_second.is_ok() && urgent.is_ok());
    me.delay_until(start + nanoseconds(20_000));
    assert_eq!(OWNERS[0].info().priority(), Some(Priority::new(15)), "after {steps} steps");
    GO.give();
    me.delay_until(time::now() + nanoseconds(20_000));
    assert!(OWNERS.iter().all(|owner| !owner.info().is_alive()) && !HOG.info().is_alive());
}

fn direct(me: &Me) {
    (0..600).for_each(|steps| inherits_after(me, steps));
    println!("a priority inherited while its owner begins to wait is passed on");
    let mut before = (0, 0);
    for links in 1..=LINKS {
        let (ran, waited) = wait_behind(me, links, 0);
        for work in [100_000, 200_000] {
            assert_eq!(
                wait_behind(me, links, work),
                (ran, waited),
                "the hog's work does not matter"
            );
        }
        println!(
            "{} links: the last owner runs after {}, the mutex is ours after {}",
            links, ran, waited
        );
        let (more, longer) = (ran - before.0, waited - before.1);
        assert!(
            links == 1 || (more < 1000 && longer < 2000),
            "each link costs the same few instructions"
        );
        before = (ran, waited);
    }
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        assert!(DIRECTOR.spawn(Priority::new(20), "director", direct).is_ok())
    })
}

fn on_alarm() {
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![];
