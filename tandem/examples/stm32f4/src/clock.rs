//! The kernel's clock, in microseconds: TIM5. Its alarm is SysTick.

use crate::{TIM5_CNT, read, tandem_clock::Wide, write};
use tandem::{
    time::{self, Driver},
    trace,
};

/// Cycles of the processor in a microsecond.
const PROCESSOR_MHZ: u32 = if cfg!(feature = "qemu") { 168 } else { 16 };

const SYST_CSR: usize = 0xe000_e010;
const SYST_RVR: usize = 0xe000_e014;
const SYST_CVR: usize = 0xe000_e018;

/// The kernel's clock, in microseconds: TIM5. Its alarm is SysTick.
pub struct Clock;

// SAFETY: the functions call nothing of the kernel.
unsafe impl Driver for Clock {
    const HERTZ: u64 = 1_000_000;

    fn now() -> u64 {
        static WIDE: Wide = Wide::new();
        // Called with interrupts masked, by the contract of `Driver`.
        WIDE.extend(read(TIM5_CNT))
    }

    fn arm(due: u64) {
        // SysTick has 24 bits. An alarm that comes early is set again.
        let longest = u64::from(0xff_ffff / PROCESSOR_MHZ);
        let left = due.saturating_sub(Self::now()).clamp(1, longest) as u32;
        write(SYST_RVR, left * PROCESSOR_MHZ);
        write(SYST_CVR, 0);
        write(SYST_CSR, 0b111);
    }
}

/// The alarm's handler.
#[unsafe(no_mangle)]
extern "C" fn SysTick() {
    // Counts the handler's time in the example `usage`, and costs nothing in the others.
    trace::interrupt(|| {
        write(SYST_CSR, 0);
        time::expire();
    });
}
