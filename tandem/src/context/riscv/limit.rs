//! The stack limits of RV64 in supervisor mode, in which the PMP cannot be written: the switch
//! compares the stack pointer of the task that it suspends with the end of its stack, and ends the
//! program if it is below. So does the epilogue of a trap, before it pre-empts a task.
//!
//! So an overflow is found at the next switch, after it may have changed memory below the stack. A
//! call that went too deep and has returned by then is not found. Nothing limits the handlers'
//! stack.
//!
//! # Soundness
//! This module only reads.

use super::{
    exception::{Exception, TRAP},
    switch::{FRAME, WITH_WAITER},
};
use crate::arch::privilege::WORD;
use crate::{
    info::current,
    records::{GuardValue, KERNEL},
    shared::Masked,
};

/// The bytes of a stack below its end, for that which the kernel stores below a stack pointer: the
/// context and the waiter where it has compared that, and before, the frame of a trap, or the
/// frame of a switch with the words below it.
pub(crate) const GUARD: usize = 160;
const _: () = assert!(
    WITH_WAITER <= GUARD && TRAP <= GUARD && FRAME + 3 * WORD <= GUARD && GUARD.is_multiple_of(32)
);

/// The end of the stack beginning at `low`.
pub(super) const fn value(low: usize) -> GuardValue {
    low + GUARD
}

/// The lowest address that a task with this value may use.
pub(super) const fn end(value: GuardValue) -> usize {
    value
}

pub(super) fn set_up() {}

/// The limit needs no register, so the switch neither loads nor writes it.
macro_rules! load_guard {
    () => {
        ""
    };
}
macro_rules! move_guard {
    () => {
        ""
    };
}

/// The limit, in t0, is an address already.
macro_rules! limit {
    () => {
        ""
    };
}

/// Leaves for [`report_limit`] if the stack pointer is below the limit of the task in a0.
macro_rules! check_limit {
    () => {
        concat!(load!("a4, {W}(a0)"), "\nbltu sp, a4, 5f")
    };
}

/// Ends the program on the handlers' stack, with the name of the current task.
macro_rules! report_limit {
    () => {
        concat!("5:\n", load!("sp, {handlers}(tp)"), "\ntail {overflow}")
    };
}

/// The privilege of a task equals a handler's.
macro_rules! restrict {
    () => {
        ""
    };
}
pub(super) use {check_limit, limit, load_guard, move_guard, report_limit, restrict};

/// Panics with the cause of an exception, or of an interrupt that cannot have a handler. `scratch`
/// is the value of `sscratch`.
pub(super) extern "C" fn report(scratch: usize) -> ! {
    let Exception { cause, at, value } = Exception::of_trap();
    // SAFETY: an exception masks interrupts.
    let m = unsafe { Masked::assume() };
    let name = KERNEL.current_or_idle(m).name(m);
    let place = if scratch <= 1 { "" } else { "a handler that interrupted " };
    panic!("fault in {place}task {name}: scause {cause}, sepc {at:#x}, stval {value:#x}")
}

/// Panics for a task that has left its stack, or has less left than its context takes.
pub(super) extern "C" fn overflow() -> ! {
    panic!("stack overflow in task {}", current().name())
}
