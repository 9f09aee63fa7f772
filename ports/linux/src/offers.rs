//! Which experiments this port offers, for which kinds of task: one plain table.

use chronoscope_suite::{
    Refusal, Trial,
    experiments::{
        delay, interference, interrupt, inversion, log, message, period, pipeline, spawn, switch,
        ticks, transaction, wakeup,
    },
};

use crate::{
    coroutine::Coroutine,
    kernel::Linux,
    latency,
    process::Process,
    thread::Thread,
    transport::{
        Binder, Descriptors, Eventfd, Futex, Hwbinder, Memory, Passthrough, Pipe, ProcessVm,
        Seqpacket, Through, Unix,
    },
};

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
        ("interrupt", _) => interrupt::run(trial).await,
        ("wakeup", "thread") => wakeup::run::<Thread>(trial).await,
        ("wakeup", "process") => wakeup::run::<Process>(trial).await,
        ("wakeup", "coroutine") => wakeup::run::<Coroutine>(trial).await,
        ("masked", _) => {
            Err(Refusal::not_offered("Linux keeps interrupts off where no signal shows it"))
        }
        ("transaction", _) => transact(trial).await,
        ("latency", _) => call(trial).await,
        _ => Err(Refusal::not_offered(
            "this port does not offer the experiment for these kinds of task",
        )),
    }
}

/// `transaction`, by transport.
async fn transact(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    match trial.request.word("transport") {
        "binder" => transaction::run::<Process, Through<Binder>>(trial).await,
        "hwbinder" => transaction::run::<Process, Through<Hwbinder>>(trial).await,
        "unix" => transaction::run::<Process, Descriptors<Unix>>(trial).await,
        "seqpacket" => transaction::run::<Process, Descriptors<Seqpacket>>(trial).await,
        "pipe" => transaction::run::<Process, Descriptors<Pipe>>(trial).await,
        "futex" => transaction::run::<Process, Memory<Futex>>(trial).await,
        "eventfd" => transaction::run::<Process, Memory<Eventfd>>(trial).await,
        "process_vm" => transaction::run::<Process, Memory<ProcessVm>>(trial).await,
        "passthrough" => transaction::run::<Process, Passthrough>(trial).await,
        _ => Err(Refusal::not_offered("this port has no such transport")),
    }
}

/// `latency`, by transport.
async fn call(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    match trial.request.word("transport") {
        "binder" => latency::run::<Through<Binder>>(trial).await,
        "hwbinder" => latency::run::<Through<Hwbinder>>(trial).await,
        "unix" => latency::run::<Descriptors<Unix>>(trial).await,
        "seqpacket" => latency::run::<Descriptors<Seqpacket>>(trial).await,
        "pipe" => latency::run::<Descriptors<Pipe>>(trial).await,
        "futex" => latency::run::<Memory<Futex>>(trial).await,
        "eventfd" => latency::run::<Memory<Eventfd>>(trial).await,
        "process_vm" => latency::run::<Memory<ProcessVm>>(trial).await,
        _ => Err(Refusal::not_offered("this port has no such transport")),
    }
}
