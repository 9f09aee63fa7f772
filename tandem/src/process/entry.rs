//! The way from a process into the kernel and back, in assembly.
//!
//! # State
//! While a process runs in user mode, `sscratch` is the address of its [`Frame`], the high end of
//! its kernel stack; it is more than 1, by which the entries of interrupts distinguish a process
//! from the kernel. In the kernel, `sscratch` and `tp` are as `context` describes. A process is a
//! thread of the kernel whose context, when it is suspended in user mode, continues at one of the
//! two routines here that return to user mode; so the ready set and the switch know no processes.
//!
//! # System calls
//! `a7` is the number, `a0` to `a5` are the arguments and the results. Call 0 does nothing, call 1
//! yields; for others, [`CALLS`](super::call::CALLS) has a function, and [`fast`](super::fast) the
//! frequent cases of four. `s0`, `s1`, `sp` and `tp` are
//! preserved. All other registers are 0 or results afterwards, but `nothing` changes `t0` alone: no
//! register shows a value of the kernel's or of another process's. A result register that a call
//! does not use keeps an earlier value of the process's own.
//!
//! A caller's `s2` to `s11` are not saved: a program saves those that it uses, in a loop once for
//! all its calls.
//!
//! # Interrupts
//! An entry saves all registers in the frame and jumps to the kernel's own entry as if the kernel
//! thread had been interrupted at [`tandem_user_restore`](self). So the handler, and a switch at
//! its end, are as for any other thread, on the kernel stack.
//!
//! # Soundness
//! - The entries run masked, and use no memory but the frame, which is mapped in every address
//!   space and which user mode cannot access, until `tp` and `sscratch` are the kernel's.
//! - `sret` to user mode follows the clearing of SPP, in each routine that contains one.
//! - A process gets back its own registers only: each routine loads or clears every one.
//! - Floating-point and vector state is off in `sstatus` (FS and VS are 0, and nothing sets them),
//!   so such an instruction traps, and no such register exists to leak.

#[cfg(not(any(events, feature = "time-slice")))]
use super::fast::{count, direct, fast_paths, find, save};
use super::{
    abi, call, coroutines, life,
    records::{Frame, Large, OBJECT_SHIFT, Object, Process},
};
use crate::records::{
    Header, KERNEL, Kernel, Waiter,
    offset::{CURRENT, SWITCHES},
};
use core::{arch::global_asm, mem::offset_of};

/// Branches to the frequent cases of four calls.
#[cfg(not(any(events, feature = "time-slice")))]
macro_rules! choose {
    () => {
        "li t0, {CALL}
        beq a7, t0, 21f
        li t0, {REPLY}
        beq a7, t0, 22f
        li t0, {TAKE}
        bltu t0, a7, 4f
        bne t0, a7, 23f
        j 30f"
    };
}
/// Builds that trace or slice time have none: each step has events of its own.
#[cfg(any(events, feature = "time-slice"))]
macro_rules! choose {
    () => {
        "# {CALL} {REPLY} {TAKE} {COUNT_OF} {BITMAP} {SWITCHES} {prev} {bit} {OBJECT_SHIFT} {CALLS_OF} \
         {NAME} {TAG} {LARGE} {WAITERS} {IDLE} {DIRECT} {NEXT_WAITER} {WAITING} {DOWN} {STATE} \
         {OBJECTS} {SEMAPHORE} {ENDPOINT} {HANDLE} {ENDPOINT_OF} {PROCESS}"
    };
}
#[cfg(any(events, feature = "time-slice"))]
macro_rules! fast_paths {
    () => {
        ""
    };
}

global_asm!(
    ".pushsection .trap.process, \"ax\"",
    ".option push",
    ".option norvc",
    // Writes satp if it is not this process's already, and counts it.
    ".macro tandem_enter_space fence",
    "ld t0, {SPACE}(sp)",
    "csrr t1, satp",
    "beq t0, t1, 77f",
    "csrw satp, t0",
    ".if \\fence",
    "sfence.vma",
    ".endif",
    "ld t1, {ENTRIES}(sp)",
    "addi t1, t1, 1",
    "sd t1, {ENTRIES}(sp)",
    "77:",
    ".endm",
    ".macro tandem_to_user",
    "li t0, 1 << 8", // SPP
    "csrc sstatus, t0",
    ".endm",
    ".macro tandem_clear_temporaries",
    ".irp n, 1, 3, 5, 6, 7, 28, 29, 30, 31",
    "li x\\n, 0",
    ".endr",
    ".endm",
    ".irp fence, 0, 1",
    ".option norvc",
    ".balign 256",
    ".global tandem_process_vectors_\\fence",
    "tandem_process_vectors_\\fence:",
    "j tandem_user_exception_\\fence",
    "j tandem_user_line_1",
    "j tandem_user_exception_\\fence",
    "j tandem_user_exception_\\fence",
    "j tandem_user_exception_\\fence",
    "j tandem_user_line_5",
    "j tandem_user_exception_\\fence",
    "j tandem_user_exception_\\fence",
    "j tandem_user_exception_\\fence",
    "j tandem_user_line_9",
    ".option rvc",
    "tandem_user_exception_\\fence:",
    "csrrw sp, sscratch, sp",
    "csrr t0, scause",
    "addi t0, t0, -8", // a call from user mode
    "bnez t0, 8f",
    "li t0, 1",
    "bltu t0, a7, 3f",
    "beqz a7, 2f",
    // Yield: the next of the ring.
    "sd tp, 8*4(sp)",
    "ld tp, {KERNEL}(sp)",
    "ld a0, {CURRENT}(tp)",
    "csrr t0, sepc",
    "ld a1, {next}(a0)",
    "addi t0, t0, 4",
    "ld a3, {head}(a0)",
    "beq a1, a0, 1f",
    "sd a1, 0(a3)",
    "sd t0, 0(sp)",
    "csrrw t1, sscratch, zero",
    "ld ra, {RESUME}(sp)",
    "sd t1, 8*2(sp)",
    "j tandem_suspend",
    "1:", // alone
    "ld tp, 8*4(sp)",
    "li a0, 0",
    "li a1, 0",
    "li a3, 0",
    "2:", // nothing
    "csrr t0, sepc",
    "addi t0, t0, 4",
    "csrw sepc, t0",
    "csrrw sp, sscratch, sp",
    "li t0, 0",
    "sret",
    "3:",
    choose!(),
    // A function of the table.
    "4:",
    "sd tp, 8*4(sp)",
    "ld tp, {KERNEL}(sp)",
    "csrr t0, sepc",
    "addi t0, t0, 4",
    "sd t0, 0(sp)",
    "csrrw t1, sscratch, zero",
    "sd t1, 8*2(sp)",
    "li t0, {COUNT}",
    "bltu a7, t0, 5f",
    "li a7, 0", // refuses
    "5:",
    "slli t0, a7, 3",
    "ld t1, {TABLE}(sp)",
    "add t1, t1, t0",
    "ld t1, 0(t1)",
    "mv a6, sp",
    "jalr t1",
    "bnez a1, 6f",
    "ld t0, {RETURN}(sp)",
    "jr t0",
    "6:", // a1 is the task to switch to
    "ld a0, {CURRENT}(tp)",
    "ld ra, {ANSWER}(sp)",
    "j tandem_suspend",
    // An exception: of the kernel, or of the process, which ends.
    "8:",
    "csrr t1, sstatus",
    "andi t1, t1, 1 << 8",
    "bnez t1, 9f",
    "lla tp, {kernel}",
    "csrw sscratch, zero",
    "csrr a0, scause",
    "csrr a1, sepc",
    "csrr a2, stval",
    "mv a3, sp",
    "csrsi sstatus, 2",
    "tail {fault}",
    "9:",
    "csrrw sp, sscratch, sp",
    "j tandem_vectors",
    fast_paths!(),
    ".endr",
    // Interrupts.
    ".irp line, 1, 5, 9",
    "tandem_user_line_\\line:",
    "csrrw sp, sscratch, sp",
    "addi sp, sp, -2",
    "bltz sp, 1f", // sscratch was 0 or 1: of the kernel
    "addi sp, sp, 2",
    ".irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, \
     25, 26, 27, 28, 29, 30, 31",
    "sd x\\n, 8*\\n(sp)",
    ".endr",
    "csrrw t0, sscratch, zero",
    "sd t0, 8*2(sp)",
    "csrr t0, sepc",
    "sd t0, 0(sp)",
    "ld t0, {RESTORE}(sp)",
    "csrw sepc, t0",
    "li t0, 1 << 8",
    "csrs sstatus, t0",
    "lla tp, {kernel}",
    "ld t0, {PAGE}(sp)",
    "beqz t0, 2f",
    "call {publish}",
    "2:",
    "j tandem_vectors + 4 * \\line",
    "1:",
    "addi sp, sp, 2",
    "csrrw sp, sscratch, sp",
    "j tandem_vectors + 4 * \\line",
    ".endr",
    // Continues a process that has yielded.
    ".irp fence, 0, 1",
    ".if \\fence",
    ".global tandem_user_resume_fence",
    "tandem_user_resume_fence:",
    ".else",
    ".global tandem_user_resume",
    "tandem_user_resume:",
    ".endif",
    "tandem_enter_space \\fence",
    "tandem_to_user",
    "ld t0, 0(sp)",
    "ld tp, 8*4(sp)",
    "csrw sepc, t0",
    "csrw sscratch, sp",
    "ld sp, 8*2(sp)",
    "tandem_clear_temporaries",
    ".irp n, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27",
    "li x\\n, 0",
    ".endr",
    "sret",
    // Continues a process after a call, with its results.
    ".if \\fence",
    ".global tandem_user_answer_fence",
    "tandem_user_answer_fence:",
    ".else",
    ".global tandem_user_answer",
    "tandem_user_answer:",
    ".endif",
    "tandem_enter_space \\fence",
    "tandem_to_user",
    "ld t0, 0(sp)",
    "ld tp, 8*4(sp)",
    "csrw sepc, t0",
    "csrw sscratch, sp",
    ".irp n, 10, 11, 12, 13, 14, 15",
    "ld x\\n, 8*\\n(sp)",
    ".endr",
    "ld sp, 8*2(sp)",
    "tandem_clear_temporaries",
    ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27",
    "li x\\n, 0",
    ".endr",
    "sret",
    // Ends a call without a switch: s0 to s11 are the process's own.
    ".if \\fence",
    ".global tandem_user_return_fence",
    "tandem_user_return_fence:",
    ".else",
    ".global tandem_user_return",
    "tandem_user_return:",
    ".endif",
    "tandem_enter_space \\fence",
    "tandem_to_user",
    "ld t0, 0(sp)",
    "ld tp, 8*4(sp)",
    "csrw sepc, t0",
    "csrw sscratch, sp",
    ".irp n, 11, 12, 13, 14, 15",
    "ld x\\n, 8*\\n(sp)",
    ".endr",
    "li a6, 0",
    "li a7, 0",
    "ld sp, 8*2(sp)",
    "tandem_clear_temporaries",
    "sret",
    // Continues a process with all its registers.
    ".if \\fence",
    ".global tandem_user_restore_fence",
    "tandem_user_restore_fence:",
    ".else",
    ".global tandem_user_restore",
    "tandem_user_restore:",
    ".endif",
    "csrci sstatus, 2",
    "tandem_enter_space \\fence",
    "tandem_to_user",
    "ld t0, 0(sp)",
    "csrw sepc, t0",
    "csrw sscratch, sp",
    ".irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, \
     25, 26, 27, 28, 29, 30, 31, 2",
    "ld x\\n, 8*\\n(sp)",
    ".endr",
    "sret",
    ".endr",
    ".option pop",
    ".popsection",
    kernel = sym KERNEL,
    fault = sym life::fault,
    publish = sym coroutines::publish,
    TABLE = const offset_of!(Frame, table),
    PAGE = const offset_of!(Frame, page),
    COUNT = const call::CALLS.len(),
    CURRENT = const CURRENT,
    CALL = const abi::CALL,
    REPLY = const abi::REPLY,
    TAKE = const abi::TAKE,
    SWITCHES = const SWITCHES,
    BITMAP = const Kernel::BITMAP,
    next = const offset_of!(Header, next),
    prev = const offset_of!(Header, prev),
    bit = const offset_of!(Header, bit),
    head = const offset_of!(Header, head),
    CALLS_OF = const offset_of!(Process, calls),
    OBJECT_SHIFT = const OBJECT_SHIFT,
    NAME = const Object::NAME,
    TAG = const Object::TAG,
    LARGE = const Object::LARGE,
    WAITERS = const Object::WAITERS,
    COUNT_OF = const Object::COUNT,
    IDLE = const offset_of!(Large, idle),
    DIRECT = const offset_of!(Large, direct),
    NEXT_WAITER = const Waiter::NEXT,
    WAITING = const Waiter::TASK,
    DOWN = const Waiter::DOWN,
    STATE = const Waiter::STATE,
    KERNEL = const offset_of!(Frame, kernel),
    OBJECTS = const offset_of!(Frame, objects),
    SEMAPHORE = const offset_of!(Frame, semaphores),
    ENDPOINT = const offset_of!(Frame, endpoints),
    HANDLE = const offset_of!(Frame, handle),
    ENDPOINT_OF = const offset_of!(Frame, endpoint),
    PROCESS = const offset_of!(Frame, process),
    SPACE = const offset_of!(Frame, space),
    RESUME = const offset_of!(Frame, resume),
    RESTORE = const offset_of!(Frame, restore),
    ANSWER = const offset_of!(Frame, answer),
    RETURN = const offset_of!(Frame, back),
    ENTRIES = const offset_of!(Frame, entries),
);
