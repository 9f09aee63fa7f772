//! Entries of interrupts and exceptions: `riscv-rt`'s vectored entries, which save the caller-saved
//! registers. Unexpected ones end the run with a message.
//!
//! A kernel may point `mtvec` at its own entries, as tandem does, and call the same handlers by the
//! same names, `MachineSoft` and `MachineExternal`.

use riscv::{
    interrupt::Interrupt,
    register::{mcause, mepc, mtval},
};
use riscv_rt::{TrapFrame, core_interrupt};

use crate::{
    alarm, host, interrupts,
    registers::{CLAIM, STIMULUS},
};

#[core_interrupt(Interrupt::MachineSoft)]
fn machine_soft() {
    interrupts::software();
}

#[core_interrupt(Interrupt::MachineExternal)]
fn machine_external() {
    // PLIC passes on the alarm and the stimulus.
    let number = CLAIM.read();
    if number == STIMULUS {
        interrupts::stimulus();
    } else {
        alarm::fired();
    }
    CLAIM.write(number);
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
