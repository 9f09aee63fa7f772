//! The part of a Cortex-M0 in the check: general registers and flags.

use core::arch::naked_asm;

#[path = "cortex_m.rs"]
mod cortex_m;
pub use cortex_m::{offset, run, sweep};

pub const WORDS: usize = 14;
/// The number of the probe's instructions at which it is to be interrupted.
pub const BODY: usize = 4 * 8 + 1;
pub const BODY_BYTES: usize = 2 * BODY;

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
        "push {{r4-r7, lr}}",
        "mov r4, r8",
        "mov r5, r9",
        "mov r6, r10",
        "mov r7, r11",
        "push {{r4-r7}}",
        "push {{r1}}",
        "ldr r4, =0xe000e010",
        "str r2, [r4, #4]",
        "str r2, [r4, #8]",
        "movs r2, #7",
        "str r2, [r4]",
        "lsrs r3, r3, #1",
        "bcc 3f", // one instruction more, or not
        "nop",
        "3: subs r3, #1", // two instructions per iteration
        "bpl 3b",
        ".irp n, 8, 9, 10, 11, 12, 14",
        "mov r1, r0",
        "adds r1, #\\n",
        "mov r\\n, r1",
        ".endr",
        ".irp n, 1, 2, 3, 4, 5, 6, 7",
        "adds r\\n, r0, #\\n",
        ".endr",
        ".global probe_body",
        "probe_body:",
        ".rept 8",
        "cmp r0, r1", // lower
        "bhs 4f",     // never, unless the flags are lost
        "adds r2, #1",
        "subs r2, #1",
        "4:",
        ".endr",
        "nop",
        "push {{r0-r7}}",
        "mov r1, r8",
        "mov r2, r9",
        "mov r3, r10",
        "mov r4, r11",
        "mov r5, r12",
        "mov r6, lr",
        "ldr r7, [sp, #32]",
        "adds r7, #32",
        "stm r7!, {{r1-r6}}",
        "ldr r7, [sp, #32]",
        "pop {{r0-r3}}",
        "stm r7!, {{r0-r3}}",
        "pop {{r0-r3}}",
        "stm r7!, {{r0-r3}}",
        "add sp, #4",
        "pop {{r4-r7}}",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        "pop {{r4-r7, pc}}",
    )
}

/// Overwrites every register, and restores those that a function preserves.
#[unsafe(naked)]
pub extern "C" fn trash() {
    naked_asm!(
        "push {{r4-r7, lr}}",
        "mov r4, r8",
        "mov r5, r9",
        "mov r6, r10",
        "mov r7, r11",
        "push {{r4-r7}}",
        "movs r0, #0",
        ".irp n, 1, 2, 3, 4, 5, 6, 7",
        "mvns r\\n, r0",
        ".endr",
        ".irp n, 8, 9, 10, 11, 12, 14",
        "mov r\\n, r0",
        ".endr",
        "pop {{r4-r7}}",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        "pop {{r4-r7, pc}}",
    )
}
