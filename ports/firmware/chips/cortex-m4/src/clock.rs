//! The clock: one tick is one instruction.
//!
//! QEMU's timers of this chip count at 1 GHz of virtual time, and with `-icount shift=0` every
//! instruction takes 1 ns of it. TIM5 counts all of them, in 32 bits; TIM4 counts every 65536th, so
//! the two together are a counter of 48 bits that needs no interrupt to extend it. A processor that
//! sleeps executes nothing while time goes on.

use chronoscope_suite::wire::Domain;

use crate::registers::{
    Register::{Control, Count, Prescaler},
    TIM4, TIM5,
};

/// Ticks per second.
pub const HERTZ: u64 = 1_000_000_000;

/// Ticks per second.
pub const fn hertz() -> u64 {
    HERTZ
}

/// The unit of a tick.
pub const fn domain() -> Domain {
    Domain::Instructions
}

pub(crate) fn start() {
    TIM5.write(Control, 1);
    TIM4.write(Prescaler, u16::MAX.into());
    TIM4.write(Control, 1);
    // Again, if TIM5 has just come to a multiple of 65536 and it is not certain on which side TIM4
    // was set.
    loop {
        let before = TIM5.read(Count);
        TIM4.write(Count, before >> 16);
        if TIM5.read(Count) >> 16 == before >> 16 {
            break;
        }
    }
}

/// The low 32 bits.
#[inline(always)]
pub fn read() -> u32 {
    TIM5.read(Count)
}

/// The time since the start, in ticks. Two reads of a timer.
#[inline(always)]
pub fn now() -> u64 {
    let coarse = u64::from(TIM4.read(Count)) << 16;
    // Read after the other, so it is ahead by less than 65536 and a few ticks.
    coarse + u64::from(read().wrapping_sub(coarse as u32))
}
