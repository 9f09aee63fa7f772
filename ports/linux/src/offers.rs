//! The experiments that the port to Linux offers, and the transports of those that call servers.

use chronoscope_suite::{Refusal, Trial, experiments::transaction};

use crate::{
    chain::run as chain,
    coroutine::Coroutine,
    fault::run as fault,
    gaps::noise,
    kernel::Linux,
    latency,
    periodic::period,
    plain::spawn,
    process::Process,
    thread::Thread,
    transport::{
        Binder, Descriptors, Eventfd, Futex, Hwbinder, Memory, Mq, Passthrough, Pipe, ProcessVm,
        Seqpacket, Tcp, Through, Unix,
    },
};

chronoscope_suite::offers! {
    kernel Linux: interrupts log;
    kind "thread" Thread: delays reaping messages mutexes processor_time;
    kind "process" Process: delays reaping messages mutexes processor_time;
    kind "coroutine" Coroutine: delays reaping messages;
    pair "thread-thread" Thread, Thread;
    pair "process-process" Process, Process;
    pair "coroutine-coroutine" Coroutine, Coroutine;
    pair "thread-coroutine" Thread, Coroutine;
    pair "coroutine-thread" Coroutine, Thread;
    own "period" period;
    own "spawn" spawn;
    own "transaction" transact;
    own "latency" call;
    own "noise" noise;
    own "fault" fault;
    own "chain" chain;
    refuse "masked" "Linux keeps interrupts off where no signal shows it";
    otherwise "this port does not offer the experiment for these kinds of task";
}

/// Evaluates the expression with `W` as the type of the request's transport to another process.
macro_rules! by_transport {
    ($trial:ident, $W:ident => $run:expr) => {
        by_transport! { @match $trial $W $run;
            "binder" Through<Binder>,
            "hwbinder" Through<Hwbinder>,
            "unix" Descriptors<Unix>,
            "seqpacket" Descriptors<Seqpacket>,
            "pipe" Descriptors<Pipe>,
            "tcp" Descriptors<Tcp>,
            "mq" Descriptors<Mq>,
            "futex" Memory<Futex>,
            "eventfd" Memory<Eventfd>,
            "process_vm" Memory<ProcessVm>,
        }
    };
    (@match $trial:ident $W:ident $run:expr; $($word:literal $transport:ty,)*) => {
        match $trial.request.word("transport") {
            $($word => {
                type $W = $transport;
                $run
            })*
            _ => Err(Refusal::not_offered("this port has no such transport")),
        }
    };
}

/// Runs `transaction` over the request's transport.
async fn transact(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    if trial.request.word("transport") == "passthrough" {
        return transaction::run::<Process, Passthrough>(trial).await;
    }
    by_transport!(trial, W => transaction::run::<Process, W>(trial).await)
}

/// Runs `latency` over the request's transport.
async fn call(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    if trial.request.word("transport") == "passthrough" {
        return latency::run::<Passthrough>(trial).await;
    }
    by_transport!(trial, W => latency::run::<W>(trial).await)
}
