//! The kernel's events during the case, attached to the samples as text. Only the image with the
//! feature `traced` has it: recording takes instructions, which are in that image's figures.
//!
//! `lab/report/src/timeline/tandem.rs` reads this form.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use board::clock;
use chronoscope_suite::{Trial, trial::name};
use tandem::{
    Info,
    trace::{Event, Record, Ring, Tracer},
};

use crate::kernel::Tandem;

/// The latest events, in 12 KiB.
static RING: Ring<1024> = Ring::new();

/// The case runs.
static RECORDING: AtomicBool = AtomicBool::new(false);

struct Recorder;

tandem::trace_with!(Recorder);

// SAFETY: the function calls nothing of the kernel but `Ring::push`.
unsafe impl Tracer for Recorder {
    #[inline(always)]
    fn event(event: Event, task: Info) {
        if RECORDING.load(Relaxed) {
            RING.push(Record { clock: clock::read(), event, task });
        }
    }
}

/// Runs the case, and records it.
pub fn traced<R>(case: impl FnOnce() -> R) -> R {
    RECORDING.store(true, Relaxed);
    let outcome = case();
    RECORDING.store(false, Relaxed);
    outcome
}

/// Sends the recorded events.
pub fn report(trial: &mut Trial<'_, Tandem>) {
    trial.attach("tandem", b"# tandem 1\n");
    while let Some((lost, Record { clock, event, task })) = RING.pop() {
        if lost > 0 {
            trial.attach("tandem", name(format_args!("# lost {lost}\n")).as_bytes());
        }
        let line = name(format_args!("{clock} {} {:x} {}\n", event as u8, task.id(), task.name()));
        trial.attach("tandem", line.as_bytes());
    }
}
