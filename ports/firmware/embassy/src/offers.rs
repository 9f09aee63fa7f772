//! Which experiments this port offers: one plain table.

use chronoscope_suite::{
    Refusal, Trial,
    experiments::{
        delay, interrupt, log, masked, message, period, pipeline, spawn, switch, ticks, wakeup,
    },
};

use crate::{kernel::Embassy, tasks::Coroutine};

/// Runs what the request names.
///
/// # Errors
/// [`Refusal`] from the experiment, or because embassy has no such combination.
pub async fn run(trial: &mut Trial<'_, Embassy>) -> Result<(), Refusal> {
    let request = trial.request;
    match (request.spec().name, request.tasks()) {
        ("delay", "coroutine") => delay::run::<Coroutine>(trial).await,
        ("period", "coroutine") => period::run::<Coroutine>(trial).await,
        ("switch", "coroutine-coroutine") => switch::run::<Coroutine, Coroutine>(trial).await,
        ("ticks", "coroutine") => ticks::run::<Coroutine>(trial).await,
        ("spawn", "coroutine") => spawn::run::<Coroutine>(trial).await,
        ("interrupt", _) => interrupt::run(trial).await,
        ("masked", "coroutine") => masked::run::<Coroutine>(trial).await,
        ("wakeup", "coroutine") => wakeup::run::<Coroutine>(trial).await,
        ("message", "coroutine") => message::run::<Coroutine>(trial).await,
        ("log", "coroutine") => log::run::<Coroutine>(trial).await,
        ("pipeline", "coroutine") => pipeline::run::<Coroutine>(trial).await,
        ("inversion", _) => Err(Refusal::not_offered("embassy's mutexes know no priorities")),
        ("interference", _) => {
            Err(Refusal::not_offered("embassy keeps no account of processor time"))
        }
        _ => Err(Refusal::not_offered("embassy has coroutines only")),
    }
}
