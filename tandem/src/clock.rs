//! The board's clock and alarm, as the program implements them.

use crate::{arch::masked, records::TIMERS, shared::Masked};

/// The board's clock and alarm. [`drive_time_with!`](crate::drive_time_with) installs an
/// implementation. [How to write a clock](crate::time#how-to-write-a-clock) has one.
///
/// The handler of the alarm's interrupt must clear the interrupt's cause and call
/// [`expire`](crate::time::expire).
///
/// # Safety
/// The functions do not call the kernel, do not drop what waits for it, and leave interrupts masked:
/// the kernel is amid a change of its records when it calls them.
///
/// An implementation promises that, so it is unsafe:
///
/// ```compile_fail,E0200
/// struct Clock;
/// impl tandem::time::Driver for Clock {
///     const HERTZ: u64 = 1_000_000;
///     fn now() -> u64 {
///         0
///     }
///     fn arm(_: u64) {}
/// }
/// ```
pub unsafe trait Driver {
    /// Ticks per second. With the feature `embassy-time`, equal to the feature `tick-hz-…` of the
    /// crate `embassy-time`.
    const HERTZ: u64;

    /// The shortest time slice, and the shortest period of a [`Callback`](crate::Callback), in ticks:
    /// at least 1. Shorter ones are refused, since their ends alone could take all of the
    /// processor's time. By default a ten-thousandth of a second, or a tick if that is longer.
    const SHORTEST: u64 = if Self::HERTZ > 10_000 { Self::HERTZ / 10_000 } else { 1 };

    /// Ticks since a fixed point in the past. Monotonic; never wraps. Called with interrupts
    /// masked, in tasks and handlers.
    ///
    /// Where a narrower counter is extended to 64 bits, it must be read at least once a period.
    fn now() -> u64;

    /// Sets the alarm: its interrupt is to be raised when `now` reaches `due`, at once if it has.
    /// Replaces the alarm set before. Called with interrupts masked, in tasks and handlers.
    ///
    /// An alarm that comes early is harmless: [`expire`](crate::time::expire) sets it again. A timer too narrow for
    /// `due` interrupts at the end of its range.
    fn arm(due: u64);

    /// Arms like [`arm`](Self::arm), where the clock has just been read, a few instructions ago:
    /// `now`. For an implementation that needs the time and would read it again.
    #[inline(always)]
    fn arm_from(now: u64, due: u64) {
        let _ = now;
        Self::arm(due);
    }

    /// The clock of the account that the feature `processor-time` keeps: ticks since a fixed point in
    /// the past. Monotonic; never wraps. By default [`now`](Self::now). Called at each switch, with
    /// interrupts masked.
    ///
    /// A board whose clock advances by an interrupt, once a millisecond for example, needs another one
    /// here, such as the processor's counter of cycles: all switches take place between two such
    /// ticks, so that `now` shows no time between them.
    fn processor_clock() -> u64 {
        Self::now()
    }
}

/// Installs a type that implements [`Driver`](crate::time::Driver) as the kernel's clock. Exactly
/// once in a program.
#[macro_export]
macro_rules! drive_time_with {
    ($driver:ty) => {
        const _: () = $crate::time::check_rate(<$driver as $crate::time::Driver>::HERTZ);
        const _: () = assert!(<$driver as $crate::time::Driver>::SHORTEST > 0, "at least a tick");
        #[unsafe(no_mangle)]
        extern "Rust" fn _tandem_shortest() -> u64 {
            <$driver as $crate::time::Driver>::SHORTEST
        }
        #[unsafe(no_mangle)]
        extern "Rust" fn _tandem_now() -> u64 {
            <$driver as $crate::time::Driver>::now()
        }
        #[unsafe(no_mangle)]
        extern "Rust" fn _tandem_arm(due: u64) {
            <$driver as $crate::time::Driver>::arm(due)
        }
        #[unsafe(no_mangle)]
        extern "Rust" fn _tandem_arm_from(now: u64, due: u64) {
            <$driver as $crate::time::Driver>::arm_from(now, due)
        }
        #[unsafe(no_mangle)]
        extern "Rust" fn _tandem_processor_clock() -> u64 {
            <$driver as $crate::time::Driver>::processor_clock()
        }
    };
}

/// Accepts every rate: without `embassy-time`, only the board defines one.
#[cfg(not(feature = "embassy-time"))]
#[doc(hidden)]
pub const fn check_rate(_: u64) {}
/// Asserts that the board's clock has the tick rate of `embassy-time`, set by its feature
/// `tick-hz-…`.
#[cfg(feature = "embassy-time")]
#[doc(hidden)]
pub const fn check_rate(hertz: u64) {
    assert!(
        hertz == embassy_time_driver::TICK_HZ,
        "the board's clock and `embassy-time` differ in ticks per second"
    );
}

// SAFETY: `drive_time_with!` defines these functions, with these signatures. A program without it
// does not link.
unsafe extern "Rust" {
    pub(crate) safe fn _tandem_shortest() -> u64;
    pub(crate) safe fn _tandem_now() -> u64;
    pub(crate) safe fn _tandem_arm(due: u64);
    pub(crate) safe fn _tandem_arm_from(now: u64, due: u64);
    #[cfg(feature = "processor-time")]
    pub(crate) safe fn _tandem_processor_clock() -> u64;
}

/// The time, in ticks of the board's clock. May be called anywhere, with interrupts masked too.
#[must_use]
pub fn now() -> u64 {
    masked(|_| _tandem_now())
}

/// Sets the alarm for `due`, unless it is set for an earlier time.
#[cfg(feature = "time-slice")]
pub(crate) fn arm(m: Masked, due: u64) {
    if due < TIMERS.armed.get(m) {
        set_alarm(m, due);
    }
}

#[inline(always)]
pub(crate) fn set_alarm(m: Masked, due: u64) {
    TIMERS.armed.set(m, due);
    _tandem_arm(due);
}
