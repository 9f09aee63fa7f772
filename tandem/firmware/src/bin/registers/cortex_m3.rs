//! The part of a Cortex-M without an FPU in the check: general registers, flags and the state of an
//! IT block.

use core::arch::naked_asm;

#[path = "cortex_m.rs"]
mod cortex_m;
pub use cortex_m::{offset, run, sweep};

pub const WORDS: usize = 14;
/// The number of the probe's instructions at which it is to be interrupted.
pub const BODY: usize = 5 * 8 + 1;
pub const BODY_BYTES: usize = 10 * 8 + 2;

/// The name and the expected value of the word number `i`.
pub fn expected(i: usize, pattern: u32) -> (char, usize, u32) {
    let number = if i == 13 { 14 } else { i };
    ('r', number, pattern + number as u32)
}

/// Fills every register from `pattern`, runs the body, and stores every register to `out`: r0-r12,
/// lr. First arms SysTick with `reload`, and waits `shift` instructions.
///
/// # Safety
/// `out` is valid for writes of `WORDS` words.
#[unsafe(naked)]
unsafe extern "C" fn probe(pattern: u32, out: *mut u32, reload: u32, shift: u32) {
    naked_asm!(
        "push {{r4-r11, lr}}",
        "push {{r0, r1, r2}}",
        "mov r12, r3",
        "movw r3, #0xe010",
        "movt r3, #0xe000",
        "str r2, [r3, #4]",
        "str r2, [r3, #8]",
        "movs r2, #7",
        "str r2, [r3]",
        "lsrs r12, #1",
        "bcc 3f", // one instruction more, or not
        "nop",
        "3: subs r12, #1", // two instructions per iteration
        "bpl 3b",
        ".irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14",
        "add r\\n, r0, #\\n",
        ".endr",
        ".global probe_body",
        "probe_body:",
        ".rept 8",
        "cmp r0, r1", // not equal, and lower
        "itte ne",
        "addne r2, #1",
        "subne r2, #1",
        "addeq r2, #1",
        ".endr",
        "nop",
        "push {{r0-r12, lr}}",
        "ldr r4, [sp, #(14 * 4 + 4)]",
        "mov r5, sp",
        "movs r6, #14",
        "2: ldr r7, [r5], #4",
        "str r7, [r4], #4",
        "subs r6, #1",
        "bne 2b",
        "add sp, #(14 * 4 + 12)",
        "pop {{r4-r11, pc}}",
    )
}

/// Overwrites every register, and restores those that a function preserves.
#[unsafe(naked)]
pub extern "C" fn trash() {
    naked_asm!(
        "push {{r4-r11, lr}}",
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14",
        "mvn r\\n, #\\n",
        ".endr",
        "cmp lr, lr",
        "pop {{r4-r11, pc}}",
    )
}
