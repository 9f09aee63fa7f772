//! What can be done without a kernel: one plain table.

use chronoscope_suite::{
    Refusal, Trial,
    experiments::{interrupt, masked, message, switch},
};

use crate::{kernel::Bare, thread::Thread};

/// Runs what the request names.
///
/// # Errors
/// [`Refusal`] from the experiment, or because it takes a kernel.
pub async fn run(trial: &mut Trial<'_, Bare>) -> Result<(), Refusal> {
    let request = trial.request;
    match (request.spec().name, request.tasks()) {
        ("switch", "thread-thread") => switch::run::<Thread, Thread>(trial).await,
        ("message", "thread") => message::run::<Thread>(trial).await,
        ("masked", "thread") => masked::run::<Thread>(trial).await,
        ("interrupt", _) => interrupt::run(trial).await,
        _ => Err(Refusal::not_offered(
            "without a kernel there are interrupts, and threads that give way to each other",
        )),
    }
}
