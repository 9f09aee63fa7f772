//! Levels on Cortex-M: an interrupt executor for each priority, each on its own line.

use core::arch::asm;

use board::{
    lines::{Line, set_urgency},
    wfi,
};
use embassy_executor::InterruptExecutor;

use super::Spawners;

pub const LEVELS: usize = 9;

/// The first level's interrupt, as the processor counts: exceptions come before interrupts.
const FIRST_EXCEPTION: u32 = 16 + Line::Spare0 as u32;

const LINES: [Line; LEVELS] = [
    Line::Spare0,
    Line::Spare1,
    Line::Spare2,
    Line::Spare3,
    Line::Spare4,
    Line::Spare5,
    Line::Spare6,
    Line::Spare7,
    Line::Spare8,
];

static EXECUTORS: [InterruptExecutor; LEVELS] = [const { InterruptExecutor::new() }; LEVELS];

/// Starts all executors. More urgent than they are the experiments' interrupts, at 0, and the
/// kernel's alarm, at 1.
pub fn run(begin: impl FnOnce(Spawners)) -> ! {
    begin(core::array::from_fn(|level| {
        set_urgency(LINES[level], 2 + (LEVELS - 1 - level) as u8);
        EXECUTORS[level].start(LINES[level])
    }));
    // All tasks run in interrupts; only sleep remains for the main program.
    loop {
        wfi();
    }
}

/// The level of `Urgent(urgency)`.
pub fn urgent(urgency: u8) -> usize {
    usize::from(urgency).clamp(1, LEVELS - 1)
}

/// The level whose interrupt handler runs; meaningless outside of tasks.
#[inline(always)]
pub fn active() -> usize {
    let exception: u32;
    // SAFETY: the register may be read at any time.
    unsafe { asm!("mrs {}, ipsr", out(reg) exception, options(nomem, nostack, preserves_flags)) };
    exception.wrapping_sub(FIRST_EXCEPTION) as usize
}

macro_rules! handlers {
    ($($name:ident $level:literal),*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            // SAFETY: this is the handler of the line that run() has given to this executor.
            unsafe { EXECUTORS[$level].on_interrupt() }
        }
    )*};
}

handlers!(LINE_0 0, LINE_1 1, LINE_2 2, LINE_3 3, LINE_4 4, LINE_5 5, LINE_6 6, LINE_7 7, LINE_8 8);
