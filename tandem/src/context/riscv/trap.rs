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
    exception::TRAP,
    guard::{self, limit, load_guard, move_guard, restrict},
    switch::{
        FRAME, WITH_WAITER, call_on_run, load_stack_and_count, load_upper, resume, store_upper,
    },
};
use crate::arch::privilege::{
    AFTER_TRAP, EPC, SCRATCH, STATUS, VECTORS, WORD, load, store, trap_return,
};
use crate::{
    polls::on_run,
    records::{
        KERNEL, Kernel, Task,
        offset::{CURRENT, SWITCHES},
    },
    shared::Masked,
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
            "csrw {vectors}, {}", in(reg) (&raw const tandem_vectors).addr() | VECTORED,
            vectors = const VECTORS, options(nostack, preserves_flags)
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
        concat!(load!("sp, {handlers}(tp)"), "\nmv a0, a1\njal {check_wanted}\nmv a1, a0")
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

/// The entries of the vectors, by the number of the interrupt.
#[cfg(target_arch = "riscv32")]
macro_rules! vectors {
    () => {
        ".irp line, exception, exception, exception, MachineSoft, exception, exception, exception, \
        MachineTimer, exception, exception, exception, MachineExternal, exception, exception, \
        exception, exception, Local16, Local17, Local18, Local19, Local20, Local21, Local22, \
        Local23, Local24, Local25, Local26, Local27, Local28, Local29, Local30, Local31"
    };
}
#[cfg(target_arch = "riscv64")]
macro_rules! vectors {
    () => {
        ".irp line, exception, SupervisorSoft, exception, exception, exception, SupervisorTimer, \
        exception, exception, exception, SupervisorExternal"
    };
}

/// The lines that the architecture defines.
#[cfg(target_arch = "riscv32")]
macro_rules! standard_lines {
    () => {
        ".irp line, MachineSoft, MachineTimer, MachineExternal"
    };
}
#[cfg(target_arch = "riscv64")]
macro_rules! standard_lines {
    () => {
        ".irp line, SupervisorSoft, SupervisorTimer, SupervisorExternal"
    };
}

/// The chip's own lines share one copy of the code, which finds the handler's address behind the
/// call. In supervisor mode there are none.
#[cfg(target_arch = "riscv32")]
macro_rules! local_lines {
    () => {
        ".irp line, Local16, Local17, Local18, Local19, Local20, Local21, Local22, Local23, \
        Local24, Local25, Local26, Local27, Local28, Local29, Local30, Local31
        tandem_trap_\\line:
        .option rvc
        c.addi16sp sp, -{TRAP}
        c.swsp ra, 0(sp)
        .option norvc
        jal tandem_enter_local
        .word \\line
        .endr
        .option rvc
        tandem_enter_local:
        tandem_enter
        lw ra, 0(ra)
        jalr ra
        csrrwi sp, {SCRATCH}, 0
        andi t0, sp, 1
        beqz t0, tandem_restore
        jal tandem_preempt"
    };
}
#[cfg(target_arch = "riscv64")]
macro_rules! local_lines {
    () => {
        ""
    };
}

/// Sets the stack pointer to the handlers' stack, not by `tp`, which may be wrong.
#[cfg(target_arch = "riscv32")]
macro_rules! load_handlers_stack {
    () => {
        "lui sp, %hi({kernel} + {handlers})\nlw sp, %lo({kernel} + {handlers})(sp)"
    };
}
#[cfg(target_arch = "riscv64")]
macro_rules! load_handlers_stack {
    () => {
        "lla sp, {kernel}\nld sp, {handlers}(sp)"
    };
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
    vectors!(),
    "j tandem_trap_\\line",
    ".endr",
    ".macro tandem_enter",
    store!("t0, {W}(sp)"),
    store!("t1, 2*{W}(sp)"),
    store!("t2, 3*{W}(sp)"),
    store!("t3, 4*{W}(sp)"),
    store!("t4, 5*{W}(sp)"),
    store!("t5, 6*{W}(sp)"),
    store!("t6, 7*{W}(sp)"),
    store!("a0, 8*{W}(sp)"),
    store!("a1, 9*{W}(sp)"),
    store!("a2, 10*{W}(sp)"),
    store!("a3, 11*{W}(sp)"),
    store!("a4, 12*{W}(sp)"),
    store!("a5, 13*{W}(sp)"),
    store!("a6, 14*{W}(sp)"),
    store!("a7, 15*{W}(sp)"),
    "csrs {SCRATCH}, sp", // keeps bit 0, which a critical section may have set
    load!("sp, {handlers}(tp)"),
    ".endm",
    // The standard lines have a full copy each: 50 bytes that save a jump and a load.
    standard_lines!(),
    "tandem_trap_\\line:",
    ".option rvc",
    "addi sp, sp, -{TRAP}",
    store!("ra, 0(sp)"),
    "tandem_enter",
    ".option norvc",
    "jal \\line",
    "csrrwi sp, {SCRATCH}, 0",
    "andi t0, sp, 1",
    "beqz t0, tandem_restore",
    "jal tandem_preempt",
    "j tandem_go_on", // the address at which a pre-empted task continues
    ".endr",
    local_lines!(),
    ".option rvc",
    "tandem_go_on:",
    load!("t0, 10*{W}(sp)"),
    "csrw {EPC}, t0",
    "li t0, {AFTER_TRAP}",
    "csrs {STATUS}, t0",
    load_upper!(),
    "addi sp, sp, {FRAME}",
    "tandem_restore:",
    load!("ra, 0(sp)"),
    load!("t0, {W}(sp)"),
    load!("t1, 2*{W}(sp)"),
    load!("t2, 3*{W}(sp)"),
    load!("t3, 4*{W}(sp)"),
    load!("t4, 5*{W}(sp)"),
    load!("t5, 6*{W}(sp)"),
    load!("t6, 7*{W}(sp)"),
    load!("a0, 8*{W}(sp)"),
    load!("a1, 9*{W}(sp)"),
    load!("a2, 10*{W}(sp)"),
    load!("a3, 11*{W}(sp)"),
    load!("a4, 12*{W}(sp)"),
    load!("a5, 13*{W}(sp)"),
    load!("a6, 14*{W}(sp)"),
    load!("a7, 15*{W}(sp)"),
    "addi sp, sp, {TRAP}",
    trap_return!(),
    // Suspends the interrupted task, to continue behind the call, and resumes the most urgent task.
    ".balign 4", // a jump to a 4-byte instruction across words takes a cycle more
    "tandem_preempt:",
    load!("a0, {current}(tp)"),
    "addi sp, sp, -{FRAME} - 1",
    load!("t0, {W}(a0)"),
    "csrr t1, {EPC}",
    limit!(),
    "bltu sp, t0, 5f", // before the first store, which the guard does not stop
    store_upper!(),
    store!("t1, 10*{W}(sp)"),
    store!("s0, -{W}(sp)"),
    load!("a1, {wanted}(tp)"),
    store!("s1, -2*{W}(sp)"),
    store!("ra, -3*{W}(sp)"),
    store!("sp, 0(a0)"),
    restrict!(),
    "beqz a1, 3f",
    check_wanted!(),
    resume!("4f"), // a copy: the jump there would take two cycles
    "ret",
    // A task requested the switch, with interrupts masked by other means, or a slice has ended.
    "3:",
    load!("sp, {handlers}(tp)"),
    "jal {most_urgent}",
    "mv a1, a0",
    "j tandem_resume",
    "4: j tandem_start_poll",
    "5:",
    load!("sp, {handlers}(tp)"),
    "tail {overflow}",
    "tandem_trap_exception:",
    "csrr a0, {SCRATCH}",
    load_handlers_stack!(),
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
    AFTER_TRAP = const AFTER_TRAP,
    EPC = const EPC,
    SCRATCH = const SCRATCH,
    STATUS = const STATUS,
    TRAP = const TRAP,
    W = const WORD,
);

/// The handler of every line that has none, named so by `tandem.x`. Panics.
#[unsafe(no_mangle)]
extern "C" fn tandem_stray() -> ! {
    guard::report(0)
}
