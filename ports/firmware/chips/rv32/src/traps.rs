//! Where the processor goes from what it was doing: interrupts by `riscv-rt`'s vectored entries, which save the registers
//! that a function may use. What nobody expects ends the run and names itself.
//!
//! A kernel may point `mtvec` at entries of its own, as tandem does, and call the same handlers by the same names,
//! `MachineSoft` and `MachineExternal`.

use riscv::{
    interrupt::Interrupt,
    register::{mcause, mepc, mtval},
};
use riscv_rt::{TrapFrame, core_interrupt};

use crate::{host, interrupts};

#[core_interrupt(Interrupt::MachineSoft)]
fn machine_soft() {
    interrupts::software();
}

#[core_interrupt(Interrupt::MachineExternal)]
fn machine_external() {
    interrupts::external();
}

#[unsafe(no_mangle)]
extern "C" fn ExceptionHandler(frame: &TrapFrame) -> ! {
    let cause = match mcause::read().code() {
        0 | 4 | 6 => "misaligned access",
        1 | 5 | 7 => "access to nothing",
        2 => "illegal instruction",
        3 => "breakpoint",
        _ => "exception",
    };
    let (at, value) = (mepc::read(), mtval::read());
    host::fail(format_args!(
        "{cause} at {at:#010x}, called from {:#010x}, mtval {value:#x}",
        frame.ra
    ))
}

#[unsafe(no_mangle)]
extern "C" fn DefaultHandler() -> ! {
    host::fail(format_args!("interrupt {}, which has no handler", mcause::read().code()))
}
