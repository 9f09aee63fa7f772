//! Two alarms, each an interrupt at a given time: one for the kernel, one for experiments.

use cortex_m::peripheral::NVIC;

use crate::{
    clock, host,
    timers::{self, Line, Timer},
};

/// The kernel's alarm. The port defines its handler, `ALARM`.
pub static KERNEL: Alarm = Alarm(&timers::KERNEL);

/// The experiments' timer interrupt.
pub static EXPERIMENT: Alarm = Alarm(&timers::EXPERIMENT);

/// A timer that interrupts once, at a due time.
pub struct Alarm(&'static Timer);

/// The longest alarm.
const LONGEST: i64 = 1 << 29;

impl Alarm {
    /// Sets the alarm to `due`, or to the earliest possible time if `due` has passed. A due time
    /// more than half a second ahead fires early: the handler sets the alarm again.
    #[inline]
    pub fn set(&self, due: u64) {
        let (now, count) = clock::now_and_count();
        let left = due.wrapping_sub(now).cast_signed().clamp(0, LONGEST);
        self.0.set(count.wrapping_add(timers::ticks(left as u32)));
    }

    /// Stops the alarm. A handler calls it first.
    #[inline(always)]
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// Ends the run unless an alarm comes when it is due.
pub(crate) fn check() {
    const TICKS: u32 = 1000;
    let start = clock::now();
    EXPERIMENT.set(start + u64::from(TICKS));
    let waited = loop {
        let waited = (clock::now() - start) as u32;
        if NVIC::is_pending(Line::Timer) || waited > 10 * TICKS {
            break waited;
        }
    };
    EXPERIMENT.stop();
    NVIC::unpend(Line::Timer);
    if !(TICKS..TICKS + 200).contains(&waited) {
        host::fail(format_args!(
            "this QEMU's timers fire after {waited} ticks instead of {TICKS}: use Debian's QEMU 7.2"
        ));
    }
}
