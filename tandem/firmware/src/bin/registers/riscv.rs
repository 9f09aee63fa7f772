//! RISC-V's part of the check: all registers except `sp`, `gp` and `tp`, which no task changes.

use core::arch::{asm, naked_asm};
use tandem::time::Driver;
use tandem_firmware::board::{Clock, ticks};

#[cfg_attr(target_arch = "riscv32", path = "riscv/rv32.rs")]
#[cfg_attr(target_arch = "riscv64", path = "riscv/rv64.rs")]
mod width;

use width::{CYCLES, ENABLED, EPC, fold, load, spread, store, subtract};

/// The bytes of a word.
const WORD: usize = size_of::<usize>();

pub const WORDS: usize = 28;
/// The number of the probe's instructions at which it is to be interrupted.
pub const BODY: usize = 9 * 8 + 1;
/// The largest size of the body: some instructions are compressed.
pub const BODY_BYTES: usize = 4 * BODY;

/// Instructions per tick of the clock.
const TICK: u64 = 1_000_000_000 / Clock::HERTZ;

/// The number of instructions by which the end of the probe's wait precedes the alarm; some occur
/// more than once.
pub fn sweep() -> impl Iterator<Item = (u32, u32)> {
    (0..4).flat_map(|round| (20..140).map(move |lead| (lead, round)))
}

/// The name and the expected value of the word number `i`.
pub fn expected(i: usize, pattern: u32) -> (char, usize, u32) {
    let number = if i == 0 { 1 } else { i + 4 };
    ('x', number, pattern + number as u32)
}

/// Runs the probe, to be interrupted at one of its instructions. QEMU's alarm comes whole ticks
/// after it was armed, exact to the instruction.
pub fn run(pattern: u32, found: &mut [u32; WORDS], lead: u32, _: u32) {
    const TICKS: u64 = 10;
    let alarm = critical_section::with(|_| {
        loop {
            let now = Clock::now();
            Clock::arm(now + TICKS);
            let armed = ticks();
            if Clock::now() == now {
                break armed.wrapping_add((TICKS * TICK) as u32);
            }
        }
    });
    let mut words = [0; WORDS];
    // SAFETY: the array has the length that the probe writes.
    unsafe { probe(spread(pattern), words.as_mut_ptr(), alarm.wrapping_sub(lead)) };
    for (found, word) in found.iter_mut().zip(words) {
        *found = fold(word, pattern);
    }
}

/// The offset in bytes of the interrupted instruction in the probe's body, if it is there. For the
/// alarm's handler.
pub fn offset() -> Option<usize> {
    unsafe extern "C" {
        static probe_body: u8;
        static probe_end: u8;
    }
    let at: usize;
    // SAFETY: reading has no effect.
    unsafe {
        asm!("csrr {}, {EPC}", out(reg) at, EPC = const EPC, options(nomem, nostack, preserves_flags));
    }
    let body = (&raw const probe_body).addr()..(&raw const probe_end).addr();
    body.contains(&at).then(|| at - body.start)
}

/// Waits until the low half of the cycle counter is `time`, fills every register from `pattern`, runs the body, and stores
/// every register to `out`.
///
/// # Safety
/// `out` is valid for writes of `WORDS` words.
#[unsafe(naked)]
unsafe extern "C" fn probe(pattern: usize, out: *mut usize, time: u32) {
    naked_asm!(
        "addi sp, sp, -16 * {W}",
        store!("ra, 0(sp)"),
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11",
        store!("s\\n, (\\n * {W} + {W})(sp)"),
        ".endr",
        store!("a1, 13 * {W}(sp)"),
        "csrr t0, {CYCLES}",
        subtract!("t0, a2, t0"),
        "andi t1, t0, 1",
        "beqz t1, 3f", // one instruction more, or not
        "nop",
        "3: addi t0, t0, -2", // two instructions per iteration
        "bgtz t0, 3b",
        ".irp n, 1, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 10",
        "addi x\\n, a0, \\n",
        ".endr",
        ".global probe_body",
        "probe_body:",
        ".rept 8",
        "addi t0, t0, 1",
        "addi t0, t0, -1",
        store!("a7, 14 * {W}(sp)"),
        "mul a7, a6, a5",
        load!("a7, 14 * {W}(sp)"),
        "beq s0, s1, 3f", // never
        "3: xor s2, s2, t6",
        "csrr ra, {ENABLED}",
        "xor s2, s2, t6",
        ".endr",
        "addi ra, a0, 1 - 10",
        ".global probe_end",
        "probe_end:",
        store!("t0, 14 * {W}(sp)"),
        load!("t0, 13 * {W}(sp)"),
        store!("ra, 0(t0)"),
        ".irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
        store!("x\\n, (\\n * {W} - 4 * {W})(t0)"),
        ".endr",
        load!("t1, 14 * {W}(sp)"),
        store!("t1, {W}(t0)"),
        load!("ra, 0(sp)"),
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11",
        load!("s\\n, (\\n * {W} + {W})(sp)"),
        ".endr",
        "addi sp, sp, 16 * {W}",
        "ret",
        CYCLES = const CYCLES,
        ENABLED = const ENABLED,
        W = const WORD,
    )
}

/// Overwrites every register that a function may overwrite, and declares it to the compiler.
#[inline(never)]
pub fn trash() {
    // SAFETY: every register is declared, except s0 and s1, which the compiler reserves and which
    // are restored.
    unsafe {
        asm!(
            "addi sp, sp, -4 * {W}",
            store!("s0, 0(sp)"),
            store!("s1, {W}(sp)"),
            ".irp n, 1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
            "li x\\n, -\\n",
            ".endr",
            load!("s0, 0(sp)"),
            load!("s1, {W}(sp)"),
            "addi sp, sp, 4 * {W}",
            W = const WORD,
            out("ra") _, out("t0") _, out("t1") _, out("t2") _, out("t3") _, out("t4") _,
            out("t5") _, out("t6") _,
            out("a0") _, out("a1") _, out("a2") _, out("a3") _, out("a4") _, out("a5") _,
            out("a6") _, out("a7") _,
            out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _, out("s7") _,
            out("s8") _, out("s9") _,
            out("s10") _, out("s11") _,
        );
    }
}
