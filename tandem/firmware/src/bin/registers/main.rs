//! Checks that a pre-empted task gets every register back. It is interrupted at every instruction
//! of a loop, with more urgent threads and coroutines that overwrite all registers.
#![no_std]
#![no_main]

#[cfg_attr(fpu, path = "cortex_m4.rs")]
#[cfg_attr(all(target_arch = "arm", not(fpu), not(thumb1)), path = "cortex_m3.rs")]
#[cfg_attr(thumb1, path = "cortex_m0.rs")]
#[cfg_attr(chip = "virt", path = "riscv.rs")]
mod chip;

use chip::{BODY, BODY_BYTES, WORDS, expected, trash};
use portable_atomic::{AtomicU32, Ordering::Relaxed};
use tandem::{Coroutine, Me, Priority, Semaphore, SharedStack, Thread};
use tandem_firmware::{board, println};

static SHARED: SharedStack<1024> = SharedStack::new();
static PROBES: [Thread<1024>; 2] = [const { Thread::new() }; 2];
static THREAD: Thread<1024> = Thread::new();
static COROUTINE: Coroutine<128> = Coroutine::new();
static TO_THREAD: Semaphore = Semaphore::new(0);
static TO_COROUTINE: Semaphore = Semaphore::new(0);
static HITS: [AtomicU32; BODY_BYTES / 2] = [const { AtomicU32::new(0) }; BODY_BYTES / 2];
static CHECKED: AtomicU32 = AtomicU32::new(0);
static TURNS: AtomicU32 = AtomicU32::new(0);

fn check(pattern: u32, found: &[u32; WORDS], step: (u32, u32)) {
    for (i, &word) in found.iter().enumerate() {
        let (kind, number, expected) = expected(i, pattern);
        if word != expected {
            println!("{}{}: {:#x}, expected {:#x}; at {:?}", kind, number, word, expected, step);
            board::exit(false);
        }
    }
    CHECKED.fetch_add(1, Relaxed);
}

/// Two threads run this at one priority and take turns, so that each is also suspended and resumed
/// by a yield.
fn probes(me: &Me, pattern: u32) {
    let mut found = [0; WORDS];
    for step in chip::sweep() {
        chip::run(pattern, &mut found, step.0, step.1);
        check(pattern, &found, step);
        me.yield_now();
    }
    if TURNS.fetch_add(1, Relaxed) == 1 {
        let hit = HITS.iter().filter(|hit| hit.load(Relaxed) > 0).count();
        let runs = CHECKED.load(Relaxed);
        println!("registers: {} runs whole; interrupted at {} of {} instructions", runs, hit, BODY);
        board::exit(hit == BODY);
    }
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        let spawned = THREAD.spawn(Priority::new(4), "urgent thread", |me| {
            loop {
                TO_THREAD.take(me);
                trash();
                TO_COROUTINE.give();
                trash();
            }
        });
        assert!(spawned.is_ok());
        let coroutine = COROUTINE.spawn(Priority::new(5), "urgent coroutine", async {
            loop {
                TO_COROUTINE.taken().await;
                trash();
            }
        });
        assert!(coroutine.is_ok());
        for (i, thread) in PROBES.iter().enumerate() {
            assert!(
                thread
                    .spawn(Priority::new(2), "probe", move |me| probes(me, 0x1000 * (i as u32 + 1)))
                    .is_ok()
            );
        }
    })
}

/// The alarm's handler: records the offset at which it came, and wakes the more urgent tasks.
fn on_alarm() {
    board::stop_alarm();
    if let Some(offset) = chip::offset() {
        HITS[offset / 2].fetch_add(1, Relaxed);
    }
    trash();
    TO_THREAD.give();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![];
