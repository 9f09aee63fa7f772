//! Two alarms, each an interrupt at a given time: one for the kernel, one for experiments.
//!
//! QEMU emulates no compare channels of these timers, only the interrupt at the reload value. It
//! counts to that value from the write of the reload register, as long as the counter has never
//! been written. So setting an alarm writes the number of ticks that are left. [`start`] checks
//! this behaviour, since another version of QEMU may differ.

use cortex_m::peripheral::NVIC;

use crate::{
    clock, host,
    lines::Line,
    registers::{
        Register::{Control, InterruptEnable, Reload},
        TIM2, TIM3, Timer,
    },
};

/// The kernel's alarm. The port defines its handler, `ALARM`.
pub static KERNEL: Alarm = Alarm(TIM2);

/// The experiments' timer interrupt.
pub static EXPERIMENT: Alarm = Alarm(TIM3);

/// A timer that interrupts once, at a due time.
pub struct Alarm(Timer);

/// The shortest and the longest alarm. The shortest must not be over before the interrupt is
/// enabled.
const SHORTEST: i64 = 8;
const LONGEST: i64 = 1 << 30;

impl Alarm {
    /// Sets the alarm to `due`, or to the earliest possible time if `due` has passed. A due time
    /// more than a second ahead fires early: the handler sets the alarm again.
    #[inline]
    pub fn set(&self, due: u64) {
        let left = due.wrapping_sub(clock::now()).cast_signed();
        if (SHORTEST..=LONGEST).contains(&left) {
            // The clock is read again: every tick from here to the write makes the alarm late by
            // one.
            let left = (due as u32).wrapping_sub(clock::read()).cast_signed();
            self.0.write(Reload, left.max(SHORTEST as i32).cast_unsigned());
        } else {
            self.0.write(Reload, left.clamp(SHORTEST, LONGEST) as u32);
        }
        self.0.write(InterruptEnable, 1);
    }

    /// Fires every `ticks` ticks from now on.
    pub fn every(&self, ticks: u32) {
        self.0.write(Reload, ticks);
        self.0.write(InterruptEnable, 1);
    }

    /// Stops the alarm. A handler calls it first: otherwise the timer fires again after as many
    /// ticks.
    #[inline(always)]
    pub fn stop(&self) {
        self.0.write(InterruptEnable, 0);
    }
}

pub(crate) fn start() {
    const TICKS: u32 = 1000;
    TIM2.write(Control, 1);
    TIM3.write(Control, 1);
    let start = clock::read();
    EXPERIMENT.set(clock::now() + u64::from(TICKS));
    let waited = loop {
        let waited = clock::read().wrapping_sub(start);
        if NVIC::is_pending(Line::Timer) || waited > 10 * TICKS {
            break waited;
        }
    };
    EXPERIMENT.stop();
    NVIC::unpend(Line::Timer);
    if !(TICKS..TICKS + 100).contains(&waited) {
        host::fail(format_args!(
            "this QEMU's timers fire after {waited} ticks instead of {TICKS}: use Debian's QEMU 7.2"
        ));
    }
}
