//! Traps: the vectors, the way to a handler and back, and the pre-emption at its end.
//!
//! A trap pushes the registers that a function may overwrite to the interrupted task's stack, 16 words, and calls the handler
//! on the handlers' stack. If the handler has asked for a switch, the epilogue pushes `mepc` and a context as
//! `switch` does, and resumes the task that the handler has left as the most urgent; else it restores the 16 words. So a frame is pushed once,
//! and handlers take no room of tasks' stacks.

use super::{
    guard,
    switch::{
        FRAME, WITH_WAITER, call_on_run, load_stack_and_count, load_upper, move_guard, resume,
        store_upper,
    },
};
use crate::{
    arch::offset::{CURRENT, SWITCHES},
    kernel::{KERNEL, Kernel, on_run},
    shared::Masked,
    task::Task,
};
use core::arch::{asm, global_asm};

pub(super) fn is_set_up(m: Masked) -> bool {
    KERNEL.handlers.get(m) != 0
}

/// Takes the traps, and the stack from here down for their handlers. The main program uses it until it
/// becomes the idle task, and lets no interrupt in before.
#[inline(always)]
pub(super) fn set_up(m: Masked) {
    const VECTORED: usize = 1;
    unsafe extern "C" {
        static tandem_vectors: u32;
    }
    let stack: usize;
    // SAFETY: reads the stack pointer, and keeps the kernel's record in tp. The compiler never allocates tp, and reads it for thread-local
    // statics only, which a target without an operating system has none of. The vectors lead to handlers that exist.
    unsafe {
        asm!("mv {}, sp", out(reg) stack, options(nomem, nostack, preserves_flags));
        asm!("mv tp, {}", in(reg) &raw const KERNEL, options(nostack, preserves_flags));
        asm!("csrw mtvec, {}", in(reg) (&raw const tandem_vectors).addr() | VECTORED, options(nostack, preserves_flags));
    }
    KERNEL.handlers.set(m, stack & !15);
}

/// In builds with the kernel's own checks: that what a handler left is the most urgent.
extern "C" fn check_wanted(wanted: Task) -> Task {
    debug_assert!(most_urgent().is(wanted), "handlers leave the most urgent task");
    wanted
}

#[cfg(debug_assertions)]
macro_rules! check_wanted {
    () => {
        "lw sp, {handlers}(tp)\nmv a0, a1\njal {check_wanted}\nmv a1, a0"
    };
}
#[cfg(not(debug_assertions))]
macro_rules! check_wanted {
    () => {
        "# {check_wanted}"
    };
}

extern "C" fn most_urgent() -> Task {
    // SAFETY: called by the epilogue alone, with interrupts masked.
    KERNEL.ready.most_urgent(unsafe { Masked::assume() })
}

// 256 bytes is the alignment that Ibex and CV32E40P ask for. Jumps reach 1 MiB: code larger than that fails to link.
global_asm!(
    ".pushsection .trap.vector, \"ax\"", // where riscv-rt puts such tables: first, with little padding
    ".option push",
    ".option norvc",
    ".balign 256",
    ".global tandem_vectors",
    "tandem_vectors:",
    ".irp line, exception, exception, exception, MachineSoft, exception, exception, exception, MachineTimer, \
        exception, exception, exception, MachineExternal, exception, exception, exception, exception, \
        Local16, Local17, Local18, Local19, Local20, Local21, Local22, Local23, \
        Local24, Local25, Local26, Local27, Local28, Local29, Local30, Local31",
    "j tandem_trap_\\line",
    ".endr",
    ".macro tandem_enter",
    "sw t0, 4(sp)",
    "sw t1, 8(sp)",
    "sw t2, 12(sp)",
    "sw t3, 16(sp)",
    "sw t4, 20(sp)",
    "sw t5, 24(sp)",
    "sw t6, 28(sp)",
    "sw a0, 32(sp)",
    "sw a1, 36(sp)",
    "sw a2, 40(sp)",
    "sw a3, 44(sp)",
    "sw a4, 48(sp)",
    "sw a5, 52(sp)",
    "sw a6, 56(sp)",
    "sw a7, 60(sp)",
    "csrs mscratch, sp", // beside bit 0, which a critical section may have left set
    "lw sp, {handlers}(tp)",
    ".endm",
    // Every chip's own lines have all of it for themselves: 50 bytes that save a jump and a load.
    ".irp line, MachineSoft, MachineTimer, MachineExternal",
    "tandem_trap_\\line:",
    ".option rvc",
    "addi sp, sp, -64",
    "sw ra, 0(sp)",
    "tandem_enter",
    ".option norvc",
    "jal \\line",
    "csrrwi sp, mscratch, 0",
    "andi t0, sp, 1",
    "beqz t0, tandem_restore",
    "jal tandem_preempt",
    "j tandem_go_on", // where a pre-empted task does so
    ".endr",
    // The others share it, and leave the handler's address where it is found.
    ".irp line, Local16, Local17, Local18, Local19, Local20, Local21, Local22, Local23, \
        Local24, Local25, Local26, Local27, Local28, Local29, Local30, Local31",
    "tandem_trap_\\line:",
    ".option rvc",
    "c.addi16sp sp, -64",
    "c.swsp ra, 0(sp)",
    ".option norvc",
    "jal tandem_enter_local",
    ".word \\line",
    ".endr",
    ".option rvc",
    "tandem_enter_local:",
    "tandem_enter",
    "lw ra, 0(ra)",
    "jalr ra",
    "tandem_leave:",
    "csrrwi sp, mscratch, 0",
    "andi t0, sp, 1",
    "beqz t0, tandem_restore",
    "jal tandem_preempt",
    "tandem_go_on:",
    "lw t0, 40(sp)",
    "csrw mepc, t0",
    "li t0, {AFTER_TRAP}",
    "csrs mstatus, t0",
    load_upper!(),
    "addi sp, sp, {FRAME}",
    "tandem_restore:",
    "lw ra, 0(sp)",
    "lw t0, 4(sp)",
    "lw t1, 8(sp)",
    "lw t2, 12(sp)",
    "lw t3, 16(sp)",
    "lw t4, 20(sp)",
    "lw t5, 24(sp)",
    "lw t6, 28(sp)",
    "lw a0, 32(sp)",
    "lw a1, 36(sp)",
    "lw a2, 40(sp)",
    "lw a3, 44(sp)",
    "lw a4, 48(sp)",
    "lw a5, 52(sp)",
    "lw a6, 56(sp)",
    "lw a7, 60(sp)",
    "addi sp, sp, 64",
    "mret",
    // Suspend the task that was interrupted, to go on behind the call, and resume the most urgent.
    ".balign 4", // where a jump to four bytes that lie across words takes a cycle more
    "tandem_preempt:",
    "addi sp, sp, -{FRAME} - 1",
    store_upper!(),
    "csrr t0, mepc",
    "sw t0, 40(sp)",
    "sw s0, -4(sp)",
    "sw s1, -8(sp)",
    "lw a0, {current}(tp)",
    "sw ra, -12(sp)",
    "lw t0, 4(a0)",
    "lw a1, {wanted}(tp)",
    "slli t0, t0, 2", // from the guard's value to an address in it
    "bltu sp, t0, 5f",
    "sw sp, 0(a0)",
    "li t0, {MPP}",
    "csrc mstatus, t0", // from here on as in a task: MPP has been machine
    "beqz a1, 3f",
    check_wanted!(),
    resume!("4f"), // once more: the jump there would take two cycles
    "ret",
    // It was a task that asked for the switch, with interrupts masked by hand, or a slice that ended.
    "3:",
    "lw sp, {handlers}(tp)",
    "jal {most_urgent}",
    "mv a1, a0",
    "j tandem_resume",
    "4: j tandem_start_poll",
    "5:",
    "lw sp, {handlers}(tp)",
    "tail {overflow}",
    "tandem_trap_exception:",
    "csrr a0, mscratch",
    "lui sp, %hi({kernel} + {handlers})", // not by tp, which may be what went wrong
    "lw sp, %lo({kernel} + {handlers})(sp)",
    "tail {report}",
    ".option pop",
    ".popsection",
    handlers = const Kernel::HANDLERS,
    kernel = sym KERNEL,
    current = const CURRENT,
    wanted = const Kernel::WANTED,
    check_wanted = sym check_wanted,
    most_urgent = sym most_urgent,
    on_run = sym on_run,
    overflow = sym guard::overflow,
    report = sym guard::report,
    switches = const SWITCHES,
    FRAME = const FRAME,
    WITH_WAITER = const WITH_WAITER,
    MPP = const MPP,
    AFTER_TRAP = const AFTER_TRAP,
);

/// The privilege that `mret` goes to: meanwhile, with MPRV, that of loads and stores.
const MPP: u32 = 3 << 11;

/// What `mret` finds in `mstatus` when it ends a trap that came in a task: it goes to machine mode (MPP) with interrupts on (MPIE).
const AFTER_TRAP: u32 = MPP | 1 << 7;

/// `tandem.x` makes this the handler of every line that has none.
#[unsafe(no_mangle)]
extern "C" fn tandem_stray() -> ! {
    guard::report(0)
}
