//! Which experiments this port offers, for which kinds of task: one plain table.

use chronoscope_suite::{
    Refusal, Trial,
    experiments::{delay, interrupt, period, switch, wakeup},
};

use crate::{coroutine::Coroutine, kernel::Linux, process::Process, thread::Thread};

/// Runs what the request names.
///
/// # Errors
/// [`Refusal`] from the experiment, or because Linux has no such combination.
pub async fn run(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    let request = trial.request;
    let experiment = request.spec().name;
    match (experiment, request.tasks()) {
        ("delay", "thread") => delay::run::<Thread>(trial).await,
        ("delay", "process") => delay::run::<Process>(trial).await,
        ("delay", "coroutine") => delay::run::<Coroutine>(trial).await,
        ("period", "thread") => period::run::<Thread>(trial).await,
        ("period", "process") => period::run::<Process>(trial).await,
        ("period", "coroutine") => period::run::<Coroutine>(trial).await,
        ("switch", "thread-thread") => switch::run::<Thread, Thread>(trial).await,
        ("switch", "process-process") => switch::run::<Process, Process>(trial).await,
        ("switch", "coroutine-coroutine") => switch::run::<Coroutine, Coroutine>(trial).await,
        ("switch", "thread-coroutine") => switch::run::<Thread, Coroutine>(trial).await,
        ("switch", "coroutine-thread") => switch::run::<Coroutine, Thread>(trial).await,
        ("interrupt", _) => interrupt::run(trial).await,
        ("wakeup", "thread") => wakeup::run::<Thread>(trial).await,
        ("wakeup", "process") => wakeup::run::<Process>(trial).await,
        ("wakeup", "coroutine") => wakeup::run::<Coroutine>(trial).await,
        _ => Err(Refusal::not_offered("this port does not offer the experiment for these kinds of task")),
    }
}
