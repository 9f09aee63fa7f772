//! The interrupts that experiments raise. Handlers run with interrupts masked: nothing pre-empts them.

use core::cell::Cell;

use chronoscope_suite::kernel::{Handler, Source};
use riscv::interrupt::{self, Interrupt};

use crate::{
    alarm,
    registers::{CLAIM, SOFTWARE},
};

/// The handler of one source.
struct Attached(Cell<Handler>);

// SAFETY: there is one processor, and the cell is written with interrupts masked, and read by a handler only.
unsafe impl Sync for Attached {}

static RAISED: Attached = Attached(Cell::new(&|| ()));
static TIMED: Attached = Attached(Cell::new(&|| ()));

pub(crate) fn start() {
    // SAFETY: each of these interrupts has a handler, and there are no critical sections that mask one alone.
    unsafe {
        interrupt::enable_interrupt(Interrupt::MachineSoft);
        interrupt::enable_interrupt(Interrupt::MachineExternal);
        interrupt::enable();
    }
}

/// Sets the handler of `source`.
pub fn attach(source: Source, handler: Handler) {
    let attached = match source {
        Source::Software => &RAISED,
        Source::Timer => &TIMED,
    };
    critical_section::with(|_| attached.0.set(handler));
}

/// Raises the software interrupt; its handler has run when this returns.
#[inline(always)]
pub fn raise() {
    SOFTWARE.write(1);
    // The write may be on its way while the processor goes on; it has arrived when it can be read.
    SOFTWARE.read();
}

/// The machine's software interrupt.
#[inline(always)]
pub(crate) fn software() {
    RAISED.0.get()();
    SOFTWARE.write(0);
}

/// The machine's external interrupt: the alarm is all that PLIC passes on.
#[inline(always)]
pub(crate) fn external() {
    let number = CLAIM.read();
    alarm::fired();
    CLAIM.write(number);
}

#[inline(always)]
pub(crate) fn timer() {
    TIMED.0.get()();
}

pub(crate) fn is_external_pending() -> bool {
    interrupt::is_interrupt_pending(Interrupt::MachineExternal)
}
