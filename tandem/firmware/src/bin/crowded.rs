//! A tick beside sleepers that share a slot: the most urgent thread does not wait for their timers to be
//! filed.
//!
//! In each round many coroutines sleep until times that are near each other, so that their timers are
//! filed anew when the first is due. Two ways to the most urgent thread are measured meanwhile, in
//! instructions. An interrupt as urgent as the alarm's is raised where the alarm's handler begins, the
//! latest place for one that must wait for it. And the thread's own delay ends at another instruction of
//! the filing in each round.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use tandem::{Coroutine, Me, Priority, Semaphore, SharedStack, Thread, delay_until, time};
use tandem_firmware::{
    board::{self, instructions, mark, nanoseconds},
    println,
};

const SLEEPERS: usize = 200;
/// Rounds, in each of which the thread's delay ends a little later.
const ROUNDS: u32 = 400;
/// The instructions between two interrupts' arrivals.
const STEP: u64 = nanoseconds(211);

static SHARED: SharedStack<2048> = SharedStack::new();
static DIRECTOR: Thread<2048> = Thread::new();
static URGENT: Thread<1024> = Thread::new();
static COROUTINES: [Coroutine<64>; SLEEPERS] = [const { Coroutine::new() }; SLEEPERS];

static BEGIN: Semaphore = Semaphore::new(0);
static RAISED: Semaphore = Semaphore::new(0);
static OVER: Semaphore = Semaphore::new(0);
/// The time at which the sleepers' slot is due.
static DUE: AtomicU64 = AtomicU64::new(0);
static RAISES: AtomicBool = AtomicBool::new(false);
static START: AtomicU32 = AtomicU32::new(0);
static WOKEN: AtomicU32 = AtomicU32::new(0);
static LONGEST: AtomicU32 = AtomicU32::new(0);
static AWAKE: AtomicU32 = AtomicU32::new(0);

/// The most urgent thread: waits for the interrupt in the first round, then for times.
fn urgent(me: &Me) {
    for _ in 0..8 {
        RAISED.take(me);
        WOKEN.store(mark(), Relaxed);
        OVER.give();
    }
    loop {
        BEGIN.take(me);
        let due = DUE.load(Relaxed);
        me.delay_until(due);
        let late = (time::now() - due) as u32;
        LONGEST.fetch_max(late, Relaxed);
        OVER.give();
    }
}

/// Has all coroutines sleep until times from `due` on.
fn sleep_all(me: &Me, due: u64) {
    DUE.store(due, Relaxed);
    for _ in 0..SLEEPERS {
        BED.give();
    }
    me.delay_until(time::now() + nanoseconds(1_000));
    assert!(time::now() < due, "the sleepers take longer to lie down");
}

static BED: Semaphore = Semaphore::new(0);

async fn sleeper(number: u64) {
    loop {
        BED.taken().await;
        delay_until(DUE.load(Relaxed) + number % 64 * nanoseconds(1_000)).await;
        AWAKE.fetch_add(1, Relaxed);
    }
}
