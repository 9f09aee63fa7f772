//! The part of a Cortex-M with an FPU in the check: general registers, FPU registers, flags and the
//! state of an IT block.

use core::arch::{asm, naked_asm};

#[path = "cortex_m.rs"]
mod cortex_m;
pub use cortex_m::{offset, run, sweep};

pub const WORDS: usize = 46;
/// The number of the probe's instructions at which it is to be interrupted.
pub const BODY: usize = 6 * 8 + 33;
pub const BODY_BYTES: usize = 14 * 8 + 4 * 32 + 2;

/// The name and the expected value of the word number `i`.
pub fn expected(i: usize, pattern: u32) -> (char, usize, u32) {
    match i {
        0..32 => ('s', i, pattern + i as u32),
        45 => ('r', 14, pattern + 14),
        _ => ('r', i - 32, pattern + i as u32 - 32),
    }
}

/// Fills every register from `pattern`, runs the body, and stores every register to `out`: s0-s31,
/// r0-r12, lr, and the sum of the effects of conditional instructions. First arms SysTick with
/// `reload`, and waits `shift` instructions.
///
/// # Safety
/// `out` is valid for writes of `WORDS` words.
#[unsafe(naked)]
unsafe extern "C" fn probe(pattern: u32, out: *mut u32, reload: u32, shift: u32) {
    naked_asm!(
        ".fpu fpv4-sp-d16",
        "push {{r4-r11, lr}}",
        "vpush {{s16-s31}}",
        "push {{r0, r1, r2}}",
        "mov r12, r3",
        "mov r3, r0",
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
        "vmov s\\n, r3",
        "add r3, #1",
        ".endr",
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
        "vmov.f32 s5, s5",
        ".endr",
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
        "vmov.f32 s\\n, s\\n",
        ".endr",
        "nop",
        "push {{r0-r12, lr}}",
        "vpush {{s0-s31}}",
        "ldr r4, [sp, #(46 * 4 + 4)]",
        "mov r5, sp",
        "movs r6, #46",
        "2: ldr r7, [r5], #4",
        "str r7, [r4], #4",
        "subs r6, #1",
        "bne 2b",
        "add sp, #(46 * 4 + 12)",
        "vpop {{s16-s31}}",
        "pop {{r4-r11, pc}}",
    )
}

/// Overwrites every register that a function may overwrite, and declares it to the compiler.
#[inline(never)]
pub fn trash() {
    // SAFETY: every register is declared, except r6, r7 and r9, which the compiler reserves and
    // which are restored.
    unsafe {
        asm!(
            "push {{r6, r7, r9}}",
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14",
            "mvn r\\n, #\\n",
            ".endr",
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
            "vmov s\\n, lr",
            ".endr",
            "cmp lr, lr",
            "pop {{r6, r7, r9}}",
            out("r0") _, out("r1") _, out("r2") _, out("r3") _, out("r4") _, out("r5") _,
            out("r8") _, out("r10") _, out("r11") _,
            out("r12") _, out("lr") _,
            out("s0") _, out("s1") _, out("s2") _, out("s3") _, out("s4") _, out("s5") _,
            out("s6") _, out("s7") _,
            out("s8") _, out("s9") _, out("s10") _, out("s11") _, out("s12") _, out("s13") _,
            out("s14") _, out("s15") _,
            out("s16") _, out("s17") _, out("s18") _, out("s19") _, out("s20") _, out("s21") _,
            out("s22") _, out("s23") _,
            out("s24") _, out("s25") _, out("s26") _, out("s27") _, out("s28") _, out("s29") _,
            out("s30") _, out("s31") _,
        );
    }
}
