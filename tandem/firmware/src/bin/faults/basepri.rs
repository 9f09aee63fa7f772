//! BASEPRI belongs to the task that raises it, on processors that have it.

use super::{Call, DONE, LOW, LOWER, MS, SPINNING, THREADS, UNITS, expect_culprit, pause};
use core::pin::pin;
use cortex_m::register::basepri;
use portable_atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use tandem::{Coroutine, Me, Mutex, Priority, Semaphore, delay_until, time, yield_now};
use tandem_firmware::println;

/// Masks the interrupts of the lowest four fifths of all priorities, PendSV among them.
const RAISED: u8 = 0x40;
static NEVER: Semaphore = Semaphore::new(0);
static POLLED: [Coroutine<128>; 1] = [const { Coroutine::new() }; 1];

fn set(priority: u8) {
    // SAFETY: masks interrupts, or unmasks those that the same thread has masked.
    unsafe { basepri::write(priority) };
}

/// While BASEPRI is raised, tasks that are woken wait, and see it at 0 when they run.
fn no_task_runs(me: &Me) {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    static EQUAL_RUNS: AtomicBool = AtomicBool::new(false);
    let higher = LOWER.spawn(Priority::new(LOW.value() + 1), "higher", |me| {
        for _ in 0..3 {
            UNITS.take(me);
            assert_eq!(basepri::read(), 0, "the BASEPRI of another thread");
            RUNS.fetch_add(1, Relaxed);
        }
    });
    assert!(higher.is_ok());
    let raises = THREADS[0].spawn(LOW, "raises", |me| {
        for round in 0..3 {
            set(RAISED);
            UNITS.give();
            me.yield_now();
            assert_eq!((RUNS.load(Relaxed), basepri::read()), (round, RAISED));
            assert!(!EQUAL_RUNS.load(Relaxed));
            set(0);
            assert_eq!(RUNS.load(Relaxed), round + 1);
        }
        me.yield_now();
        assert!(EQUAL_RUNS.load(Relaxed));
        // It ends with the thread.
        set(RAISED);
    });
    assert!(raises.is_ok());
    let equal = POLLED[0].spawn(LOW, "equal", async {
        assert_eq!(basepri::read(), 0);
        EQUAL_RUNS.store(true, Relaxed);
        yield_now().await;
        assert_eq!(basepri::read(), 0);
        DONE.give();
    });
    assert!(equal.is_ok());
    DONE.take(me);
    pause(me);
    assert_eq!(basepri::read(), 0);
}

/// A mutex that is unlocked while BASEPRI is raised: the thread that waits for it runs later.
fn no_heir_runs(me: &Me) {
    static HELD: Mutex<u32> = Mutex::new(0);
    let unlocks = THREADS[0].spawn(LOW, "unlocks", |me| {
        let mut held = HELD.lock(me);
        let heir = LOWER.spawn(Priority::new(LOW.value() + 1), "heir", |me| {
            *HELD.lock(me) += 1;
        });
        assert!(heir.is_ok());
        set(RAISED);
        *held = 1;
        drop(held);
        assert!(HELD.try_lock(me).is_none());
        assert!(basepri::read() == RAISED && LOWER.info().is_alive());
        set(0);
        assert!(!LOWER.info().is_alive());
        assert_eq!(*HELD.lock(me), 2);
        DONE.give();
    });
    assert!(unlocks.is_ok());
    DONE.take(me);
    pause(me);
}

pub fn belongs_to_its_task(me: &Me, spinning: &mut usize) {
    no_task_runs(me);
    no_heir_runs(me);
    const TEXT: &str = "culprit: would wait with BASEPRI raised";
    // Where the kernel masks by BASEPRI, raising it by hand is a critical section.
    let text = |call| if cfg!(feature = "basepri") { call } else { TEXT };
    let waits: [Call; 3] = [
        ("culprit: Semaphore::take would wait in a critical section", |me| {
            set(RAISED);
            NEVER.take(me);
        }),
        ("culprit: Me::delay_until would wait in a critical section", |me| {
            set(RAISED);
            me.delay_until(time::now() + MS);
        }),
        ("culprit: Me::block_on would wait in a critical section", |me| {
            set(RAISED);
            me.block_on(async {
                let mut delay = pin!(delay_until(time::now() + MS));
                delay.as_mut().await;
            });
        }),
    ];
    for (call, body) in waits {
        expect_culprit(me, spinning, text(call), |priority, storage| {
            assert!(SPINNING[storage].spawn(priority, "culprit", body).is_ok());
        });
    }
    expect_culprit(me, spinning, TEXT, |priority, _| {
        let polled = POLLED[0].spawn(priority, "culprit", async {
            set(RAISED);
            yield_now().await;
        });
        assert!(polled.is_ok());
    });
    println!("BASEPRI belongs to its task: ok");
}
