//! The parts that the checks on all Cortex-M have in common.

use super::{BODY_BYTES, WORDS, probe};
use core::arch::asm;
use tandem_firmware::board::SYSTICK_PER_1000;

/// The reload values of SysTick, and the number of instructions that the probe waits: all from the
/// first instructions of the probe to behind its body. Where SysTick's tick is longer than an
/// instruction, the waits are as long as one tick or more.
pub fn sweep() -> impl Iterator<Item = (u32, u32)> {
    let ticks = |instructions| instructions * SYSTICK_PER_1000 / 1000;
    let reloads = ticks(15)..ticks(360);
    reloads.flat_map(|reload| (0..2000 / SYSTICK_PER_1000 + 1).map(move |shift| (reload, shift)))
}

/// Runs the probe, to be interrupted at one of its instructions.
pub fn run(pattern: u32, found: &mut [u32; WORDS], reload: u32, shift: u32) {
    // SAFETY: the array has the length that the probe writes.
    unsafe { probe(pattern, found.as_mut_ptr(), reload, shift) };
}

/// The offset in bytes of the interrupted instruction in the probe's body, if it is there. For the
/// alarm's handler.
pub fn offset() -> Option<usize> {
    unsafe extern "C" {
        static probe_body: u8;
    }
    let stack: *const u32;
    // SAFETY: reads the process stack pointer, which points to the exception frame of the
    // interrupted task.
    let at = unsafe {
        asm!("mrs {}, psp", out(reg) stack, options(nomem, nostack, preserves_flags));
        *stack.add(6)
    };
    let offset = at.wrapping_sub((&raw const probe_body).addr() as u32 & !1) as usize;
    (offset < BODY_BYTES).then_some(offset)
}
