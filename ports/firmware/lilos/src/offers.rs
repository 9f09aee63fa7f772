//! What lilos can do: one plain table.

use chronoscope_suite::{
    Refusal, Request, Trial,
    experiments::{
        delay, interrupt, log, masked, message, period, pipeline, spawn, switch, ticks, wakeup,
    },
};

use crate::{kernel::Lilos, tasks::Coroutine};

/// Tasks of the case that are made when others run already. lilos must know before how many there will be.
pub fn spare_places(request: &Request<'_>) -> usize {
    match request.spec().name {
        "spawn" => request.count("tasks"),
        "pipeline" => 1,
        // All but the spinner.
        "masked" => request.count("tasks") + 1,
        "delay" | "period" if request.word("idle") == "spin" => 1,
        _ => 0,
    }
}

/// Runs what the request names.
///
/// # Errors
/// [`Refusal`] from the experiment, or because lilos has no such thing.
pub async fn run(trial: &mut Trial<'_, Lilos>) -> Result<(), Refusal> {
    let request = trial.request;
    match (request.spec().name, request.tasks()) {
        ("switch", "coroutine-coroutine") => switch::run::<Coroutine, Coroutine>(trial).await,
        ("delay", "coroutine") => delay::run::<Coroutine>(trial).await,
        ("period", "coroutine") => period::run::<Coroutine>(trial).await,
        ("message", "coroutine") => message::run::<Coroutine>(trial).await,
        ("spawn", "coroutine") => spawn::run::<Coroutine>(trial).await,
        ("pipeline", "coroutine") => pipeline::run::<Coroutine>(trial).await,
        ("ticks", "coroutine") => ticks::run::<Coroutine>(trial).await,
        ("wakeup", "coroutine") => wakeup::run::<Coroutine>(trial).await,
        ("interrupt", _) => interrupt::run(trial).await,
        ("masked", "coroutine") => masked::run::<Coroutine>(trial).await,
        ("log", "coroutine") => log::run::<Coroutine>(trial).await,
        ("inversion", _) => {
            Err(Refusal::not_offered("lilos has no priorities, so none can be inverted"))
        }
        ("interference", _) => {
            Err(Refusal::not_offered("lilos keeps no account of processor time"))
        }
        _ => Err(Refusal::not_offered("lilos has coroutines only")),
    }
}
