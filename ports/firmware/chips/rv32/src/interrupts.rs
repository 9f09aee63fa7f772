//! The interrupts that experiments raise. Handlers run with interrupts masked: nothing pre-empts
//! them.

use core::cell::Cell;

use chronoscope_suite::{
    Refusal,
    kernel::{Handler, Source},
    wire::Domain,
};
use riscv::interrupt::{self, Interrupt};

use crate::{
    clock,
    registers::{
        ENABLED, FIRED_HIGH, FIRED_LOW, REAL_TIME_CLOCK, SOFTWARE, STIMULUS, STIMULUS_DONE,
        STIMULUS_HIGH, STIMULUS_LOW, STIMULUS_PRIORITY,
    },
};

/// The handler of one source.
struct Attached(Cell<Handler>);

// SAFETY: there is one processor, and the cell is written with interrupts masked, and read by a
// handler only.
unsafe impl Sync for Attached {}

static RAISED: Attached = Attached(Cell::new(&|| ()));
static TIMED: Attached = Attached(Cell::new(&|| ()));
static STIMULATED: Attached = Attached(Cell::new(&|| ()));

pub(crate) fn start() {
    // SAFETY: each of these interrupts has a handler, and there are no critical sections that mask
    // one alone.
    unsafe {
        interrupt::enable_interrupt(Interrupt::MachineSoft);
        interrupt::enable_interrupt(Interrupt::MachineExternal);
        interrupt::enable();
    }
}

/// Sets the handler of `source`.
///
/// # Errors
/// [`Refusal`] for the bench's stimulus in QEMU.
pub fn attach(source: Source, handler: Handler) -> Result<(), Refusal> {
    let attached = match source {
        Source::Software => &RAISED,
        Source::Timer => &TIMED,
        Source::External if clock::domain() == Domain::Cycles => &STIMULATED,
        Source::External => {
            return Err(Refusal::not_offered("only the RTL bench raises a line from outside"));
        }
    };
    critical_section::with(|_| {
        attached.0.set(handler);
        if source == Source::External {
            STIMULUS_PRIORITY.write(1);
            ENABLED.write(1 << REAL_TIME_CLOCK | 1 << STIMULUS);
        }
    });
    Ok(())
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

/// Has the bench raise its line at `due`, or up to 255 cycles later.
pub fn stimulate(due: u64) {
    STIMULUS_HIGH.write((due >> 32) as u32);
    STIMULUS_LOW.write(due as u32);
}

/// The clock's value at the last rise of the line.
pub fn stimulated() -> u64 {
    u64::from(FIRED_HIGH.read()) << 32 | u64::from(FIRED_LOW.read())
}

/// Runs the handler of the bench's stimulus, and lowers its line.
#[inline(always)]
pub(crate) fn stimulus() {
    STIMULATED.0.get()();
    STIMULUS_DONE.write(1);
}

/// Runs the handler of the experiments' timer.
#[inline(always)]
pub(crate) fn timer() {
    TIMED.0.get()();
}

pub(crate) fn is_external_pending() -> bool {
    interrupt::is_interrupt_pending(Interrupt::MachineExternal)
}
