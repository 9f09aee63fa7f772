//! The interrupts that experiments raise. Handlers run with interrupts masked: nothing pre-empts
//! them.

use core::cell::Cell;

use chronoscope_suite::{
    Refusal,
    kernel::{Handler, Source},
};
use riscv::{
    interrupt::{self, Interrupt},
    register::sip,
};

/// The handler of one source.
struct Attached(Cell<Handler>);

// SAFETY: there is one processor, and the cell is written with interrupts masked, and read by a
// handler only.
unsafe impl Sync for Attached {}

static RAISED: Attached = Attached(Cell::new(&|| ()));
static TIMED: Attached = Attached(Cell::new(&|| ()));

pub(crate) fn start() {
    // SAFETY: each of these interrupts has a handler, and there are no critical sections that mask
    // one alone.
    unsafe {
        interrupt::enable_interrupt(Interrupt::SupervisorSoft);
        interrupt::enable_interrupt(Interrupt::SupervisorExternal);
        interrupt::enable();
    }
}

/// Sets the handler of `source`.
///
/// # Errors
/// [`Refusal`] for a line from outside.
pub fn attach(source: Source, handler: Handler) -> Result<(), Refusal> {
    let attached = match source {
        Source::Software => &RAISED,
        Source::Timer => &TIMED,
        Source::External => {
            return Err(Refusal::not_offered("only the RTL bench raises a line from outside"));
        }
    };
    critical_section::with(|_| attached.0.set(handler));
    Ok(())
}

/// Raises the software interrupt; its handler has run when this returns.
#[inline(always)]
pub fn raise() {
    // SAFETY: the interrupt has a handler.
    unsafe { sip::set_ssoft() };
}

/// The supervisor's software interrupt.
#[inline(always)]
pub(crate) fn software() {
    RAISED.0.get()();
    // SAFETY: the handler has run.
    unsafe { sip::clear_ssoft() };
}

/// Nothing raises a line from outside.
pub fn stimulate(_due: u64) {}

/// The time of the last rise of the line: there is none.
pub fn stimulated() -> u64 {
    0
}

/// Runs the handler of the experiments' timer.
#[inline(always)]
pub(crate) fn timer() {
    TIMED.0.get()();
}

pub(crate) fn is_external_pending() -> bool {
    interrupt::is_interrupt_pending(Interrupt::SupervisorExternal)
}
