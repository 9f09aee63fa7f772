//! Tests of the parts that do not depend on a processor, against simple models.

mod coroutines;
mod foreign;
mod idle;
mod interleavings;
mod more;
mod ready;
mod services;
mod systemview;
mod timers;
mod waiters;
mod wakers;

use crate::{
    arch::{self, Mask},
    context, kernel,
    records::{Header, Level, Priority, TIMERS, Task},
    shared::Masked,
    time::{self, Driver},
};
use std::cell::Cell;

/// A xorshift generator: deterministic, so that every run is the same.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % n
    }
}

/// The number of rounds to try: fewer under Miri, which is slow.
pub(crate) const fn rounds(n: usize) -> usize {
    if cfg!(miri) { n / 200 + 1 } else { n }
}

/// The length of one round: shorter under Miri.
pub(crate) const fn steps(n: usize) -> usize {
    if cfg!(miri) { n / 20 } else { n }
}

/// A `Masked` for data structures that only the calling thread uses.
pub(crate) fn proof() -> Masked {
    // SAFETY: each test accesses data of its own, on one thread.
    unsafe { Masked::assume() }
}

pub(crate) fn task(level: Level) -> Task {
    let task: Task = Box::leak(Box::new(Header::new()));
    assert!(task.claim("test", Priority::LOWEST).is_ok());
    task.set_base(proof(), level);
    task.set_level(proof(), level);
    task
}

/// Runs `body` where handlers nest, as on Cortex-M, and where they do not, as on RISC-V.
pub(crate) fn on_both_kinds_of_processor(mut body: impl FnMut()) {
    for nest in [true, false] {
        arch::NEST.set(nest);
        body();
    }
    arch::NEST.set(true);
}

thread_local! {
    pub(crate) static NOW: Cell<u64> = const { Cell::new(0) };
    pub(crate) static ARMED: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// The alarm's interrupt and the filing of timers, again as long as it is set for a time that has come.
pub(crate) fn tick() {
    loop {
        ARMED.set(u64::MAX);
        if arch::handlers_nest() {
            time::expire();
        } else {
            let (mask, _) = Mask::set();
            time::expire();
            mask.restore();
        }
        time::filing::run();
        if ARMED.get() > NOW.get() {
            return;
        }
    }
}

/// The alarm's handler, and the filing of timers as if the task that files were the most urgent.
pub(crate) fn expire() {
    time::expire();
    time::filing::run();
}

struct Clock;

// SAFETY: the functions call nothing of the kernel.
unsafe impl Driver for Clock {
    const HERTZ: u64 = 1_000_000;
    const SHORTEST: u64 = 2;

    fn now() -> u64 {
        NOW.get()
    }

    fn arm(due: u64) {
        ARMED.set(due);
    }
}

crate::drive_time_with!(Clock);

/// Makes the calling test the idle task of the kernel, and excludes other tests until the guard is
/// dropped.
pub(crate) fn begin_test() -> std::sync::MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    reset();
    turn
}

/// Forgets all tasks and timers.
pub(crate) fn reset() {
    arch::reset(context::catch_up);
    let (mask, m) = Mask::set();
    TIMERS.reset(m);
    kernel::reset(m);
    mask.restore();
}
