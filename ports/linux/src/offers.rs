//! Which experiments this port offers, for which kinds of task: one plain table.

use chronoscope_suite::{
    Refusal, Trial,
    experiments::{interference, inversion, switch, ticks},
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
        ("switch", "thread-thread") => switch::run::<Thread, Thread>(trial).await,
        ("switch", "process-process") => switch::run::<Process, Process>(trial).await,
        ("switch", "coroutine-coroutine") => switch::run::<Coroutine, Coroutine>(trial).await,
        ("switch", "thread-coroutine") => switch::run::<Thread, Coroutine>(trial).await,
        ("switch", "coroutine-thread") => switch::run::<Coroutine, Thread>(trial).await,
        ("ticks", "thread") => ticks::run::<Thread>(trial).await,
        ("ticks", "coroutine") => ticks::run::<Coroutine>(trial).await,
        ("ticks", "process") => ticks::run::<Process>(trial).await,
        ("inversion", "thread") => inversion::run::<Thread>(trial).await,
        ("inversion", "process") => inversion::run::<Process>(trial).await,
        ("interference", "thread") => interference::run::<Thread>(trial).await,
        ("interference", "process") => interference::run::<Process>(trial).await,
        _ => Err(Refusal::not_offered("this port does not offer the experiment for these kinds of task")),
    }
}
