//! The idle task's sleep with the program's hooks around it. With the feature `sleep-hooks`.
//!
//! Interrupts are masked from the first hook to the end of the second one. An interrupt that comes
//! meanwhile is pending: `wfi` returns at once, and its handler runs after the second hook. So the
//! state that the first hook has seen is the state in which the processor sleeps.

use crate::{
    arch,
    records::{KERNEL, TIMERS},
};

/// The program's hooks around sleep. [`sleep_with!`](crate::sleep_with) installs an implementation.
///
/// The idle task calls both with interrupts masked, on the shared stack of
/// [`start`](crate::start), below all polls. They may call whatever a handler may, such as
/// [`Semaphore::give`](crate::Semaphore::give) and [`next_alarm`]; a task that they wake runs after
/// the second one. They leave interrupts masked. Their duration delays every interrupt (with the
/// feature `basepri`, those that the kernel masks).
///
/// A handler or task never runs between the two hooks. Handlers whose interrupt has ended the sleep
/// run after the second one.
pub trait SleepHooks {
    /// Called before the processor sleeps: selects the sleep mode, stops clocks, or prepares the
    /// board for a long sleep until [`next_alarm`].
    fn before();

    /// Called after the processor has slept, also if it did not sleep since an interrupt was
    /// pending or `before` has woken a task: restores what [`before`](Self::before) has changed.
    fn after();
}

/// Installs a type that implements [`SleepHooks`](crate::SleepHooks). Exactly once in a program.
#[macro_export]
macro_rules! sleep_with {
    ($hooks:ty) => {
        #[unsafe(no_mangle)]
        extern "Rust" fn _tandem_before_sleep() {
            <$hooks as $crate::SleepHooks>::before()
        }
        #[unsafe(no_mangle)]
        extern "Rust" fn _tandem_after_sleep() {
            <$hooks as $crate::SleepHooks>::after()
        }
    };
}

// SAFETY: `sleep_with!` defines these functions, with these signatures. A program without it does
// not link.
unsafe extern "Rust" {
    safe fn _tandem_before_sleep();
    safe fn _tandem_after_sleep();
}

/// Sleeps until an interrupt, with the hooks around the sleep. The caller is the idle task, with
/// interrupts on.
pub(crate) fn sleep() {
    section(|| {
        _tandem_before_sleep();
        // A hook that has unmasked interrupts by hand may have let a handler wake a task.
        let m = arch::mask_again();
        if KERNEL.ready.is_empty(m) {
            arch::wait_for_interrupt(m);
        }
        _tandem_after_sleep();
    });
}

/// Runs `body` with interrupts masked, and lets a task run that it has woken.
fn section(body: impl FnOnce()) {
    #[cfg(not(riscv))]
    arch::masked(|_| body());
    // The end of a critical section is where a pending switch is made.
    #[cfg(riscv)]
    critical_section::with(|_| body());
}

/// The time for which the kernel's alarm is set, in ticks of the board's clock; `None` if it is not
/// set. No timer, time limit or time slice ends before.
///
/// May be called anywhere, with interrupts masked too. Constant time.
#[must_use]
pub fn next_alarm() -> Option<u64> {
    arch::masked(|m| Some(TIMERS.armed.get(m)).filter(|due| *due < u64::MAX))
}
