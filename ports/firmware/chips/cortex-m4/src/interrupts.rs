//! The interrupts that experiments raise. Their handlers pre-empt everything else; next comes the
//! kernel's alarm. With the feature `basepri`, the levels above are exempt: the kernel masks those
//! from [`FIRST`] on.

use core::cell::Cell;

use chronoscope_suite::{
    Refusal,
    kernel::{Handler, Source},
};
use cortex_m::{asm, peripheral::NVIC};

use crate::{
    alarm::EXPERIMENT,
    lines::{self, Line},
};

/// The handler of one source.
struct Attached(Cell<Handler>);

// SAFETY: the cell is written while its line is disabled, and read by that line's handler only.
unsafe impl Sync for Attached {}

static SOFTWARE: Attached = Attached(Cell::new(&|| ()));
static TIMER: Attached = Attached(Cell::new(&|| ()));

/// The most urgent level from which the kernel may be called.
const FIRST: u8 = if cfg!(feature = "basepri") { 4 } else { 0 };

pub(crate) fn start() {
    set_urgency(FIRST);
    lines::set_urgency(Line::Alarm, FIRST + 1);
    lines::enable(Line::Alarm);
}

fn set_urgency(level: u8) {
    lines::set_urgency(Line::Software, level);
    lines::set_urgency(Line::Timer, level);
}

/// Gives both lines the most urgent level, which the kernel does not mask.
#[cfg(feature = "basepri")]
pub fn exempt() {
    set_urgency(0);
}

/// Returns whether BASEPRI masks interrupts.
#[cfg(feature = "basepri")]
#[inline(always)]
pub fn masks() -> bool {
    cortex_m::register::basepri::read() != 0
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
    lines::enable(line);
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
