//! Which experiments this port offers: one plain table.

use chronoscope_suite::{
    Refusal, Trial,
    experiments::{
        delay, interrupt, inversion, log, masked, message, period, pipeline, spawn, switch, ticks,
        wakeup,
    },
};

use crate::{coroutine::Coroutine, kernel::Tandem, thread::Thread};

/// Runs what the request names.
///
/// # Errors
/// [`Refusal`] from the experiment, or because tandem has no such combination.
pub async fn run(trial: &mut Trial<'_, Tandem>) -> Result<(), Refusal> {
    let request = trial.request;
    match (request.spec().name, request.tasks()) {
        ("delay", "thread") => delay::run::<Thread>(trial).await,
        ("delay", "coroutine") => delay::run::<Coroutine>(trial).await,
        ("period", "thread") => period::run::<Thread>(trial).await,
        ("period", "coroutine") => period::run::<Coroutine>(trial).await,
        ("switch", "thread-thread") => switch::run::<Thread, Thread>(trial).await,
        ("switch", "coroutine-coroutine") => switch::run::<Coroutine, Coroutine>(trial).await,
        ("switch", "thread-coroutine") => switch::run::<Thread, Coroutine>(trial).await,
        ("switch", "coroutine-thread") => switch::run::<Coroutine, Thread>(trial).await,
        ("ticks", "thread") => ticks::run::<Thread>(trial).await,
        ("ticks", "coroutine") => ticks::run::<Coroutine>(trial).await,
        ("spawn", "thread") => spawn::run::<Thread>(trial).await,
        ("spawn", "coroutine") => spawn::run::<Coroutine>(trial).await,
        ("interrupt", _) => interrupt::run(trial).await,
        ("masked", "thread") => masked::run::<Thread>(trial).await,
        ("masked", "coroutine") => masked::run::<Coroutine>(trial).await,
        ("wakeup", "thread") => wakeup::run::<Thread>(trial).await,
        ("wakeup", "coroutine") => wakeup::run::<Coroutine>(trial).await,
        ("message", "thread") => message::run::<Thread>(trial).await,
        ("message", "coroutine") => message::run::<Coroutine>(trial).await,
        ("inversion", "thread") => inversion::run::<Thread>(trial).await,
        ("log", "thread") => log::run::<Thread>(trial).await,
        ("log", "coroutine") => log::run::<Coroutine>(trial).await,
        ("pipeline", "thread") => pipeline::run::<Thread>(trial).await,
        ("pipeline", "coroutine") => pipeline::run::<Coroutine>(trial).await,
        ("interference", _) => {
            Err(Refusal::not_offered("tandem keeps no account of processor time"))
        }
        _ => Err(Refusal::not_offered("tandem has threads and coroutines")),
    }
}
