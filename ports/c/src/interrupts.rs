//! The two lines that experiments raise.

use core::cell::Cell;

use chronoscope_suite::{
    Refusal,
    kernel::{Handler, Interrupts, Source},
};

use crate::{kernel::Kernel, port};

/// The handler of one line.
struct Attached(Cell<Handler>);

// SAFETY: written before the port enables the line, and read by that line's handler only.
unsafe impl Sync for Attached {}

static SOFTWARE: Attached = Attached(Cell::new(&|| ()));
static TIMER: Attached = Attached(Cell::new(&|| ()));

#[unsafe(no_mangle)]
extern "C" fn chrono_on_software() {
    SOFTWARE.0.get()();
}

#[unsafe(no_mangle)]
extern "C" fn chrono_on_timer() {
    TIMER.0.get()();
}

/// The handler of a line that was attached: for machines written in Rust, which can call it without
/// the detour of `chrono_on_timer` or `chrono_on_software`.
pub fn handler(is_timer: bool) -> Handler {
    let line = if is_timer { &TIMER } else { &SOFTWARE };
    line.0.get()
}

impl Interrupts for Kernel {
    fn attach(&'static self, source: Source, handler: Handler) -> Result<(), Refusal> {
        let (line, is_timer) = match source {
            Source::Software => (&SOFTWARE, false),
            Source::Timer => (&TIMER, true),
            Source::External => {
                return Err(Refusal::not_offered("only the RTL bench raises a line from outside"));
            }
        };
        line.0.set(handler);
        // SAFETY: called by the task that will be interrupted.
        match unsafe { port::chrono_attach(is_timer) } {
            true => Ok(()),
            false => Err(Refusal::not_offered("this machine has no such interrupt")),
        }
    }

    #[inline(always)]
    fn raise(&self) {
        // SAFETY: the line was attached.
        unsafe { port::chrono_raise() };
    }

    fn arm(&self, due: u64) {
        // SAFETY: the line was attached.
        unsafe { port::chrono_arm(due) };
    }
}
