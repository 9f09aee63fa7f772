//! The hooks around sleep: called in turn with interrupts masked, and no wake-up is lost, wherever
//! between the first hook and `wfi` an interrupt comes or a task is woken.
#![no_std]
#![no_main]

use portable_atomic::{AtomicU32, Ordering::Relaxed};
use tandem::{
    Coroutine, Me, Priority, Semaphore, SharedStack, SleepHooks, Thread, delay_until, next_alarm,
    time,
};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
};

static SHARED: SharedStack<2048> = SharedStack::new();
static DIRECTOR: Thread<4096> = Thread::new();
static COROUTINE: Coroutine<256> = Coroutine::new();
static GIVEN: Semaphore = Semaphore::new(0);

/// The calls of each hook, and of handlers.
static BEFORE: AtomicU32 = AtomicU32::new(0);
static AFTER: AtomicU32 = AtomicU32::new(0);
static HANDLED: AtomicU32 = AtomicU32::new(0);
/// The value of `HANDLED` in the first hook.
static SEEN: AtomicU32 = AtomicU32::new(0);
/// The work of the next call of the first hook.
static WORK: AtomicU32 = AtomicU32::new(NOTHING);
const NOTHING: u32 = 0;
const RAISE: u32 = 1;
const GIVE: u32 = 2;
/// The alarm for the director is set.
const LOOK: u32 = 3;
const LOOKED: u32 = 4;

const MS: u64 = nanoseconds(1_000_000);
/// The longest time from an interrupt to the director, with both hooks: 10,000 instructions.
const LATE: u64 = nanoseconds(10_000);
/// The instructions that the first hook spins for.
const BUSY: u32 = 300;

struct Hooks;
tandem::sleep_with!(Hooks);

impl SleepHooks for Hooks {
    fn before() {
        assert_eq!(BEFORE.fetch_add(1, Relaxed), AFTER.load(Relaxed));
        SEEN.store(HANDLED.load(Relaxed), Relaxed);
        board::spin(BUSY);
        match WORK.swap(NOTHING, Relaxed) {
            RAISE => board::raise(0),
            GIVE => GIVEN.give(),
            LOOK => {
                assert!(next_alarm().is_some_and(|due| due < time::now() + 2 * MS));
                WORK.store(LOOKED, Relaxed);
            }
            _ => {}
        }
    }

    fn after() {
        assert_eq!(SEEN.load(Relaxed), HANDLED.load(Relaxed), "no handler runs between the hooks");
        AFTER.fetch_add(1, Relaxed);
    }
}

/// Waits for a unit that a wake-up in the first hook brings.
fn woken_by(me: &Me, name: &str, work: u32) {
    let start = time::now();
    WORK.store(work, Relaxed);
    assert_eq!(GIVEN.take_until(me, start + 100 * MS), Ok(()), "{name}");
    let passed = time::now() - start;
    println!("{}: the task runs after {} ticks", name, passed);
    assert!(passed < LATE, "{name}: a wake-up has been lost");
}

fn director(me: &Me) {
    let before = BEFORE.load(Relaxed);
    WORK.store(LOOK, Relaxed);
    me.delay_until(time::now() + MS);
    assert!(BEFORE.load(Relaxed) > before && WORK.load(Relaxed) == LOOKED);
    woken_by(me, "an interrupt in the first hook", RAISE);
    woken_by(me, "a unit given in the first hook", GIVE);
    // The alarm at each instruction from the delay to the sleep and beyond.
    for offset in 0..3 * BUSY {
        let due = time::now() + nanoseconds(1000) + u64::from(offset);
        me.delay_until(due);
        let late = time::now() - due;
        assert!(late < LATE, "{late} ticks late with offset {offset}");
    }
    // A coroutine's polls are above the idle task's frame.
    let delays = COROUTINE.spawn(Priority::new(7), "coroutine", async {
        for _ in 0..10 {
            delay_until(time::now() + MS / 10).await;
        }
        GIVEN.give();
    });
    assert!(delays.is_ok());
    GIVEN.take(me);
    println!("{} sleeps", AFTER.load(Relaxed));
    board::exit(true)
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
    HANDLED.fetch_add(1, Relaxed);
    GIVEN.give();
}

fn on_alarm() {
    HANDLED.fetch_add(1, Relaxed);
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![on_raise];
