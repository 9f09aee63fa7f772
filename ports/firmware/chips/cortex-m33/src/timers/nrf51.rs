//! The nRF51's timers: TIMER0 for the clock and the kernel's alarm, TIMER1 for the clock, TIMER2 for
//! the experiments. They count up; TIMER0 and TIMER2 at 8 MHz, 125 ns a tick. (At 16 MHz, QEMU's
//! rounding of half nanoseconds would add up.)

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::registers::{read, write};

/// The instructions, of 128 ns, in 256 ticks.
pub const COARSE: u32 = 250;
/// 1 − 125 / 128, as a multiple and a shift.
pub const SLOWER: (i32, u32) = (3, 7);

/// The ticks in a number of instructions, rounded up: 1.024 of it. Without a division, for which
/// this processor has no instruction.
#[inline(always)]
pub fn ticks(instructions: u32) -> u32 {
    // 0.024 is 1572.864 / 65536.
    let (high, low) = (instructions >> 16, instructions & 0xffff);
    instructions + high * 1572 + ((high * 3539) >> 12) + ((low * 1573) >> 16) + 1
}

/// An interrupt line: its number in the chip's table.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Line {
    /// TIMER0: the kernel's alarm.
    Alarm = 8,
    /// TIMER2: the experiments' timer.
    Timer = 10,
    /// SWI0: raised in software by experiments.
    Software = 20,
}

const TIMER0: usize = 0x4000_8000;
const TIMER1: usize = 0x4000_9000;
const TIMER2: usize = 0x4000_a000;

const START: usize = 0x000;
const CAPTURE: usize = 0x040;
/// The event of channel 1, which is the alarms'; channel 0 is captured.
const COMPARE_1: usize = 0x144;
const INTERRUPT_SET: usize = 0x304;
const INTERRUPT_CLEAR: usize = 0x308;
const BITMODE: usize = 0x508;
const PRESCALER: usize = 0x510;
const CHANNEL_0: usize = 0x540;
const CHANNEL_1: usize = 0x544;
/// The interrupt of channel 1.
const INTERRUPT: u32 = 1 << 17;

pub static KERNEL: Timer = Timer(TIMER0, AtomicU32::new(0));
pub static EXPERIMENT: Timer = Timer(TIMER2, AtomicU32::new(0));

pub fn start() {
    const BITS_32: u32 = 3;
    // The clock of 16 MHz is divided by two to this power.
    for (timer, prescaler) in [(TIMER0, 1), (TIMER1, 9), (TIMER2, 1)] {
        write(timer + BITMODE, BITS_32);
        write(timer + PRESCALER, prescaler);
        write(timer + START, 1);
    }
    EXPERIMENT.1.store(captured(TIMER2).wrapping_sub(fine()), Relaxed);
}

#[inline(always)]
fn captured(timer: usize) -> u32 {
    write(timer + CAPTURE, 1);
    read(timer + CHANNEL_0)
}

/// The ticks since the start. Wraps.
#[inline(always)]
pub fn fine() -> u32 {
    captured(TIMER0)
}

/// The ticks since the start, in units of 256.
#[inline(always)]
pub fn coarse() -> u32 {
    captured(TIMER1)
}

/// A timer that raises an interrupt, and its count when [`fine`] is 0.
pub struct Timer(usize, AtomicU32);

impl Timer {
    /// Has the interrupt come when [`fine`] is `due`, or as soon as possible.
    #[inline(always)]
    pub fn set(&self, due: u32) {
        /// The count must not pass the time before the timer compares it.
        const SHORTEST: i32 = 16;
        self.stop();
        let now = fine();
        let left = due.wrapping_sub(now).cast_signed().max(SHORTEST);
        let at = now.wrapping_add_signed(left).wrapping_add(self.1.load(Relaxed));
        write(self.0 + CHANNEL_1, at);
        write(self.0 + INTERRUPT_SET, INTERRUPT);
    }

    #[inline(always)]
    pub fn stop(&self) {
        write(self.0 + INTERRUPT_CLEAR, INTERRUPT);
        write(self.0 + COMPARE_1, 0);
    }
}
