//! Traps: the vectors, the way to a handler and back, and the pre-emption at its end.
//!
//! A trap pushes the registers that a function may change onto the interrupted task's stack, 16
//! words, and calls the handler on the handlers' stack. If the handler has requested a switch, the
//! epilogue pushes `mepc` and a context as `switch` does, and resumes the task that the handler
//! left as the most urgent; otherwise it restores the 16 words. So a frame is pushed once, and
//! handlers use no space on tasks' stacks.
//!
//! # Soundness
//! - Interrupts stay masked from the trap to `mret` or to the resumed context, so handlers do not
//!   nest, and one stack serves them all. It is free below the frames of the main program, which
//!   becomes the idle task on another stack.
//! - The epilogue restores every register that the handler may have changed, and the calling
//!   convention preserves the others.
//! - `wanted` is the most urgent task or `None`, in which case the epilogue searches.

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

/// Installs the vectors, and gives handlers the stack from the present stack pointer down. The main
/// program uses that stack until it becomes the idle task, with interrupts masked.
#[inline(always)]
pub(super) fn set_up(m: Masked) {
    const VECTORED: usize = 1;
    unsafe extern "C" {
        static tandem_vectors: u32;
    }
    let stack: usize;
    // SAFETY: reads the stack pointer, and sets tp to the kernel's record. The compiler never
    // allocates tp, and reads it only for thread-local statics, which do not exist without an
    // operating system. The vectors lead to handlers that are defined.
    unsafe {
        asm!("mv {}, sp", out(reg) stack, options(nomem, nostack, preserves_flags));
        asm!("mv tp, {}", in(reg) &raw const KERNEL, options(nostack, preserves_flags));
        asm!(
            "csrw mtvec, {}", in(reg) (&raw const tandem_vectors).addr() | VECTORED,
            options(nostack, preserves_flags)
        );
    }
    KERNEL.handlers.set(m, stack & !15);
}

/// Asserts that the task noted by a handler is the most urgent, in builds with debug assertions.
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
    // SAFETY: only the epilogue calls this, with interrupts masked.
    KERNEL.ready.most_urgent(unsafe { Masked::assume() })
}

// Ibex and CV32E40P need an alignment of 256 bytes. Jumps reach 1 MiB, so larger code does not
// link.
global_asm!(
    ".pushsection .trap.vector, \"ax\"", // riscv-rt places this section first: little padding
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
    "csrs mscratch, sp", // keeps bit 0, which a critical section may have set
    "lw sp, {handlers}(tp)",
    ".endm",
    // The standard lines have a full copy each: 50 bytes that save a jump and a load.
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
    "j tandem_go_on", // the address at which a pre-empted task continues
    ".endr",
    // The chip's own lines share one copy, which finds the handler's address behind the call.
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
    // Suspends the interrupted task, to continue behind the call, and resumes the most urgent task.
    ".balign 4", // a jump to a 4-byte instruction across words takes a cycle more
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
    "csrc mstatus, t0", // the privilege of a task from here on; the trap set machine
    "beqz a1, 3f",
    check_wanted!(),
    resume!("4f"), // a copy: the jump there would take two cycles
    "ret",
    // A task requested the switch, with interrupts masked by other means, or a slice has ended.
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
    "lui sp, %hi({kernel} + {handlers})", // not by tp, which may be wrong
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

/// The field of `mstatus` with the privilege to which `mret` returns and, with MPRV, that of loads
/// and stores.
const MPP: u32 = 3 << 11;

/// The bits of `mstatus` at the `mret` that resumes a pre-empted task: to machine mode (MPP), with
/// interrupts on (MPIE).
const AFTER_TRAP: u32 = MPP | 1 << 7;

/// The handler of every line that has none, named so by `tandem.x`. Panics.
#[unsafe(no_mangle)]
extern "C" fn tandem_stray() -> ! {
    guard::report(0)
}
