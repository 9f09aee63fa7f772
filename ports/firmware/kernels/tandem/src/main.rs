//! The port of the suite to tandem: threads and coroutines under one priority order.

#![no_std]
#![no_main]

mod coroutine;
mod kernel;
mod mutex;
mod offers;
mod pool;
mod record;
mod thread;
mod time;
#[cfg(feature = "traced")]
mod trace;

use board::host;
use chronoscope_suite::{
    Refusal, Request, Trial,
    task::block_on,
    trial::{Names, refuse},
};
use tandem::SharedStack;

use crate::{
    kernel::{Tandem, level},
    record::Record,
};

/// The stack for polls of all coroutines: one poll of each priority on top of the others.
static COROUTINES: SharedStack<2048> = SharedStack::new();

/// The director's thread. Its stack holds the experiment's futures and the formatting of names.
static DIRECTOR: tandem::Thread<8192> = tandem::Thread::new();
static RECORD: Record = Record::new("director");

#[board::entry]
fn main() -> ! {
    tandem::start(&COROUTINES, || {
        let priority = level(chronoscope_suite::Priority::Ordinary);
        if DIRECTOR.spawn(priority, RECORD.name(), |_| direct()).is_err() {
            host::fail(format_args!("the director cannot start"));
        }
    })
}

/// The kernel's name in targets.
const NAME: &str = if cfg!(feature = "basepri") { "tandem-basepri" } else { "tandem" };

/// The director, a thread: reads the request, runs the experiment, ends the program.
fn direct() {
    let arena = board::start();
    pool::start();
    let names = || Names { kernel: NAME, release: env!("RELEASE") };
    let mut buffer = [0; size_of::<host::Buffer>()];
    let text = host::request(&mut buffer);
    let mut sink = host::Output::stream();
    match Request::parse(text)
        .and_then(|request| Ok((request, arena.place(Tandem::new(&request)?)?)))
    {
        Ok((request, kernel)) => {
            let mut trial = Trial::new(kernel, &arena, request, &mut sink, names());
            let outcome = run(&mut trial);
            trial.end(outcome);
        }
        Err(refusal) => refuse(&mut sink, names(), text, refusal),
    }
    host::exit();
}

#[cfg(not(feature = "traced"))]
fn run(trial: &mut Trial<'_, Tandem>) -> Result<(), Refusal> {
    block_on(offers::run(trial))
}

#[cfg(feature = "traced")]
fn run(trial: &mut Trial<'_, Tandem>) -> Result<(), Refusal> {
    let outcome = trace::traced(|| block_on(offers::run(trial)));
    trace::report(trial);
    outcome
}
