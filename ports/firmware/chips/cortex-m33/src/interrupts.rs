//! The interrupts that experiments raise. Their handlers pre-empt everything else; next comes the
//! kernel's alarm.

use core::cell::Cell;

use chronoscope_suite::{
    Refusal,
    kernel::{Handler, Source},
};
use cortex_m::{
    asm,
    interrupt::InterruptNumber,
    peripheral::{NVIC, Peripherals},
};

use crate::{alarm::EXPERIMENT, timers::Line};

// SAFETY: these are the fixed numbers of the chip's vector table.
unsafe impl InterruptNumber for Line {
    fn number(self) -> u16 {
        self as u16
    }
}

/// Sets the urgency of a line's handler: 0 pre-empts all others, 3 none.
fn set_urgency(line: Line, level: u8) {
    // SAFETY: the registers that it gives access to are used for this line alone, before the line
    // is enabled.
    let mut peripherals = unsafe { Peripherals::steal() };
    // SAFETY: the program has no critical sections based on priorities.
    unsafe { peripherals.NVIC.set_priority(line, level << 6) };
}

fn enable(line: Line) {
    // SAFETY: the program has no critical sections based on masking single lines.
    unsafe { NVIC::unmask(line) };
}

/// The handler of one source.
struct Attached(Cell<Handler>);

// SAFETY: the cell is written while its line is disabled, and read by that line's handler only.
unsafe impl Sync for Attached {}

static SOFTWARE: Attached = Attached(Cell::new(&|| ()));
static TIMER: Attached = Attached(Cell::new(&|| ()));

pub(crate) fn start() {
    set_urgency(Line::Software, 0);
    set_urgency(Line::Timer, 0);
    set_urgency(Line::Alarm, 1);
    enable(Line::Alarm);
}

/// Sets the handler of `source`, and lets it run from now on.
///
/// # Errors
/// [`Refusal`] for a stimulus from outside.
pub fn attach(source: Source, handler: Handler) -> Result<(), Refusal> {
    let (attached, line) = match source {
        Source::Software => (&SOFTWARE, Line::Software),
        Source::Timer => (&TIMER, Line::Timer),
        Source::External => {
            return Err(Refusal::not_offered("only the RTL bench raises a line from outside"));
        }
    };
    NVIC::mask(line);
    attached.0.set(handler);
    enable(line);
    Ok(())
}

/// Does nothing: this machine has no line that is raised from outside.
pub const fn stimulate(_due: u64) {}

/// Always 0: this machine has no line that is raised from outside.
pub const fn stimulated() -> u64 {
    0
}

/// Raises the software interrupt; its handler has run when this returns.
#[inline(always)]
pub fn raise() {
    NVIC::pend(Line::Software);
    // The processor may go on for some instructions before it sees the interrupt, but not past
    // these.
    asm::dsb();
    asm::isb();
}

pub(crate) unsafe extern "C" fn software() {
    SOFTWARE.0.get()();
}

pub(crate) unsafe extern "C" fn timer() {
    TIMER.0.get()();
    EXPERIMENT.stop();
}
