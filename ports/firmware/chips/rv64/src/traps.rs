//! Entries of interrupts and exceptions: `riscv-rt`'s vectored entries, which save the caller-saved
//! registers. Unexpected ones end the run with a message.
//!
//! A kernel may point `stvec` at its own entries, as tandem does, and call the same handlers by the
//! same names, `SupervisorSoft` and `SupervisorExternal`.

use riscv::{
    interrupt::Interrupt,
    register::{scause, sepc, stval},
};
use riscv_rt::{TrapFrame, core_interrupt};

use crate::{alarm, host, interrupts, registers::CLAIM};

#[core_interrupt(Interrupt::SupervisorSoft)]
fn supervisor_soft() {
    interrupts::software();
}

#[core_interrupt(Interrupt::SupervisorExternal)]
fn supervisor_external() {
    let number = CLAIM.read();
    alarm::fired();
    CLAIM.write(number);
}

#[unsafe(no_mangle)]
extern "C" fn ExceptionHandler(frame: &TrapFrame) -> ! {
    let cause = match scause::read().code() {
        0 | 4 | 6 => "misaligned access",
        1 | 5 | 7 => "access to nothing",
        2 => "illegal instruction",
        3 => "breakpoint",
        12 | 13 | 15 => "page fault",
        _ => "exception",
    };
    let (at, value) = (sepc::read(), stval::read());
    host::fail(format_args!(
        "{cause} at {at:#018x}, called from {:#018x}, stval {value:#x}",
        frame.ra
    ))
}

#[unsafe(no_mangle)]
extern "C" fn DefaultHandler() -> ! {
    host::fail(format_args!("interrupt {}, which has no handler", scause::read().code()))
}
