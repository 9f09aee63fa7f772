//! With the feature `basepri`, an interrupt more urgent than the kernel masks is never delayed: the
//! time from when it is due to its handler is the same at every instruction of a load of thirty
//! threads, mutexes, queues and coroutines. An interrupt that the kernel masks is delayed. In the
//! end, such an urgent handler calls the kernel, which reports it.
//!
//! The interrupt is SysTick, so the load uses no timers.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use tandem::{
    Ceiling, Coroutine, Event, Me, Mutex, Priority, Queue, Semaphore, SharedStack, Thread,
    time::{self, Driver},
    yield_now,
};
use tandem_firmware::{
    board::{self, Clock, instructions, mark},
    println,
};

const OTHERS: usize = 29;
/// The time for which the interrupt is set, in instructions, and the number of instructions by
/// which the load's begin is moved: it takes as long as that at least.
const DUE: u64 = 3_000;
const SHIFTS: u32 = 2_800;

static SHARED: SharedStack<1024> = SharedStack::new();
static DIRECTOR: Thread<2048> = Thread::new();
static HIGHER: Thread<1024> = Thread::new();
static THREADS: [Thread<512>; OTHERS] = [const { Thread::new() }; OTHERS];
static COROUTINE: Coroutine<128> = Coroutine::new();
static TO_HIGHER: Semaphore = Semaphore::new(0);
static TURN: Semaphore = Semaphore::new(0);
static BACK: Semaphore = Semaphore::new(0);
static EVENT: Event = Event::new();
static MUTEX: Mutex<u32> = Mutex::new(0);
static CEILING: Ceiling<u32> = Ceiling::new(Priority::HIGHEST, 0);
static QUEUE: Queue<u32, 2> = Queue::new();

static START: AtomicU32 = AtomicU32::new(0);
static CAME: AtomicU32 = AtomicU32::new(0);
static HAS_COME: AtomicBool = AtomicBool::new(false);
/// The handler is to call the kernel.
static CALLS: AtomicBool = AtomicBool::new(false);

/// Uses the kernel in most ways, until the interrupt has come.
fn load(me: &Me) {
    while !HAS_COME.load(Relaxed) {
        let guard = MUTEX.lock(me);
        TO_HIGHER.give();
        drop(guard);
        QUEUE.send(me, 1);
        CEILING.with(|value| *value += 1);
        EVENT.signal(1);
        QUEUE.receive(me);
        for _ in 0..OTHERS {
            TURN.give();
            BACK.take(me);
            me.yield_now();
        }
    }
}

/// The shortest and the longest time from the setting of the interrupt to its handler.
fn sweep(me: &Me, priority: u8) -> (u32, u32) {
    board::set_alarm_priority(priority);
    let (mut least, mut most) = (u32::MAX, 0);
    for shift in 0..SHIFTS {
        HAS_COME.store(false, Relaxed);
        set_interrupt();
        board::spin(shift);
        load(me);
        let at = |mark: &AtomicU32| instructions(mark.load(Relaxed));
        let took = at(&CAME).wrapping_sub(at(&START));
        (least, most) = (least.min(took), most.max(took));
    }
    (least, most)
}

#[inline(never)]
fn set_interrupt() {
    critical_section::with(|_| {
        let now = Clock::now();
        START.store(mark(), Relaxed);
        Clock::arm_from(now, now + DUE);
    });
}

fn direct(me: &Me) {
    let (least, most) = sweep(me, 0);
    println!("more urgent than the kernel masks: {} to {} instructions", least, most);
    let (masked_least, masked_most) = sweep(me, board::USUAL);
    println!("as urgent as the kernel masks: {} to {} instructions", masked_least, masked_most);
    assert!(most - least <= 1, "an interrupt has been delayed");
    assert!(masked_most - masked_least > 20, "the load masks interrupts");
    // The last: the report ends the program.
    board::set_alarm_priority(0);
    CALLS.store(true, Relaxed);
    set_interrupt();
    board::spin(2 * DUE as u32);
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        let higher = HIGHER.spawn(Priority::new(5), "higher", |me| {
            loop {
                TO_HIGHER.take(me);
                *MUTEX.lock(me) += 1;
            }
        });
        assert!(higher.is_ok());
        let coroutine = COROUTINE.spawn(Priority::new(4), "coroutine", async {
            loop {
                EVENT.signalled().await;
                yield_now().await;
            }
        });
        assert!(coroutine.is_ok());
        for thread in &THREADS {
            let other = thread.spawn(Priority::new(2), "other", |me| {
                loop {
                    TURN.take(me);
                    BACK.give();
                }
            });
            assert!(other.is_ok());
        }
        assert!(DIRECTOR.spawn(Priority::new(2), "director", direct).is_ok());
        assert!(time::now() > 0);
    })
}

/// Does not call the kernel, which it may not, except to be refused.
fn on_alarm() {
    CAME.store(mark(), Relaxed);
    board::stop_alarm();
    HAS_COME.store(true, Relaxed);
    if CALLS.load(Relaxed) {
        TURN.give();
    }
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![];
