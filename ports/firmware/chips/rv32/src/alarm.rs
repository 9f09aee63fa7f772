//! Two alarms, each an interrupt at a given time: one for the kernel, one for experiments.
//!
//! The architecture's timer, `mtimecmp`, counts at 10 MHz in QEMU's `virt` and would be late by up
//! to 99 instructions. The real-time clock of `virt` has an alarm in nanoseconds, which with `-rtc
//! clock=vm` are virtual: instructions. Both alarms share it: it is set to the sooner of them.
//! [`start`] checks its behaviour.

use core::cell::Cell;

use chronoscope_suite::wire::Domain;

use crate::{
    clock, host, interrupts,
    registers::{
        ALARM_HIGH, ALARM_IS_SET, ALARM_LOW, CLEAR_ALARM, CLEAR_INTERRUPT, ENABLED, INTERRUPT_ON,
        REAL_TIME_CLOCK, REAL_TIME_CLOCK_PRIORITY, TIME_HIGH, TIME_LOW,
    },
};

/// The kernel's alarm. The port defines its handler, `ALARM`.
pub static KERNEL: Alarm = Alarm(Cell::new(NEVER));

/// The experiments' timer interrupt.
pub static EXPERIMENT: Alarm = Alarm(Cell::new(NEVER));

/// An alarm and its due time.
pub struct Alarm(Cell<u64>);

// SAFETY: there is one processor, and the cell is used with the alarm's interrupt masked only.
unsafe impl Sync for Alarm {}

const NEVER: u64 = u64::MAX;

unsafe extern "C" {
    safe fn ALARM();
}

impl Alarm {
    /// Sets the alarm to `due`. It fires at once if `due` has passed.
    #[inline]
    pub fn set(&self, due: u64) {
        critical_section::with(|_| {
            self.0.set(due);
            set_hardware(EXPERIMENT.0.get().min(KERNEL.0.get()));
        });
    }

    /// Does nothing: this alarm stops by firing. Handlers call it first, for machines whose alarm
    /// would fire again.
    #[inline(always)]
    pub fn stop(&self) {}
}

/// Sets the hardware's alarm. Interrupts must be masked, as for all functions below.
#[inline(always)]
fn set_hardware(due: u64) {
    ALARM_HIGH.write((due >> 32) as u32);
    ALARM_LOW.write(due as u32);
}

/// The real-time clock's handler.
#[inline(always)]
pub(crate) fn fired() {
    CLEAR_INTERRUPT.write(1);
    if ALARM_IS_SET.read() != 0 {
        // Masked code set the alarm again after it had fired.
        return;
    }
    // The experiments' alarm is more urgent: it is served first if both are due.
    if EXPERIMENT.0.get() <= clock::now() {
        goes_off(&EXPERIMENT, &KERNEL);
        interrupts::timer();
    } else {
        goes_off(&KERNEL, &EXPERIMENT);
        ALARM();
    }
}

#[inline(always)]
fn goes_off(alarm: &Alarm, other: &Alarm) {
    alarm.0.set(NEVER);
    if other.0.get() != NEVER {
        set_hardware(other.0.get());
    }
}

/// Lets the real-time clock interrupt, and tries it.
pub(crate) fn start() {
    const TICKS: u32 = 1000;
    // On the bench a look at a clock takes tens of cycles, and more where fetches wait.
    let near = match clock::domain() {
        Domain::Instructions => 100,
        _ => 400,
    };
    REAL_TIME_CLOCK_PRIORITY.write(1);
    ENABLED.write(1 << REAL_TIME_CLOCK);
    INTERRUPT_ON.write(1);
    #[cfg(feature = "uart")]
    clock::set_real_time();
    let start = clock::now();
    let time = u64::from(TIME_LOW.read()) + (u64::from(TIME_HIGH.read()) << 32);
    if !(start..start + u64::from(near)).contains(&time) {
        host::fail(format_args!(
            "this machine's clocks differ: {start} and {time}: the lab gives QEMU -rtc clock=vm"
        ));
    }
    EXPERIMENT.set(start + u64::from(TICKS));
    let waited = loop {
        // In this order, or it could look early.
        let pending = interrupts::is_external_pending();
        let waited = clock::read().wrapping_sub(start as u32);
        if pending || waited > 10 * TICKS {
            break waited;
        }
    };
    EXPERIMENT.0.set(NEVER);
    CLEAR_ALARM.write(1);
    CLEAR_INTERRUPT.write(1);
    if !(TICKS..TICKS + near).contains(&waited) {
        host::fail(format_args!(
            "this machine's alarm goes off after {waited} ticks instead of {TICKS}"
        ));
    }
}
