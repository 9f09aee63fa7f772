//! Which experiments this port offers, for which kinds of task: one plain table.

use chronoscope_suite::{
    Refusal, Trial,
    experiments::{interference, inversion, log, message, pipeline, spawn, switch, ticks},
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
        ("message", "thread") => message::run::<Thread>(trial).await,
        ("message", "process") => message::run::<Process>(trial).await,
        ("message", "coroutine") => message::run::<Coroutine>(trial).await,
        ("spawn", "thread") => spawn::run::<Thread>(trial).await,
        ("spawn", "process") => spawn::run::<Process>(trial).await,
        ("spawn", "coroutine") => spawn::run::<Coroutine>(trial).await,
        ("log", "thread") => log::run::<Thread>(trial).await,
        ("log", "process") => log::run::<Process>(trial).await,
        ("log", "coroutine") => log::run::<Coroutine>(trial).await,
        ("pipeline", "thread") => pipeline::run::<Thread>(trial).await,
        ("pipeline", "process") => pipeline::run::<Process>(trial).await,
        ("pipeline", "coroutine") => pipeline::run::<Coroutine>(trial).await,
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
