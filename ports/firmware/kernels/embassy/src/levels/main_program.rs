//! The executor of the main program alone: one level, on which nothing pre-empts a task but a
//! handler. On RISC-V embassy has no other; on Cortex-M most users start with it.

use core::mem::MaybeUninit;

use embassy_executor::Executor;

use super::Spawners;

pub const LEVELS: usize = 1;

/// Starts the executor.
pub fn run(begin: impl FnOnce(Spawners)) -> ! {
    static mut EXECUTOR: MaybeUninit<Executor> = MaybeUninit::uninit();
    let executor = &raw mut EXECUTOR;
    // SAFETY: this function never returns, so it is called once, and nothing else names EXECUTOR.
    let executor = unsafe { (*executor).write(Executor::new()) };
    executor.run(|spawner| begin([spawner.make_send()]))
}

/// The level of `Urgent(urgency)`: there is no other.
pub fn urgent(_: u8) -> usize {
    0
}

/// The level that runs.
#[inline(always)]
pub fn active() -> usize {
    0
}
