//! The port of the suite to RTIC 2, with `rtic-sync`, `rtic-time` and `defmt`.
//!
//! RTIC has one kind of task here, coroutines: async software tasks. The program declares all of
//! them ([`app`]), each with a priority, and each can run once at a time. Tasks of one priority
//! share an interrupt, whose handler polls the woken ones in the order of their names.

#![no_std]
#![no_main]

mod app;
mod device;
mod event;
mod kernel;
mod lend;
mod levels;
mod offers;
mod queue;
mod semaphore;
mod slot;
mod tasks;
mod time;

use board::host;
use chronoscope_suite::{
    Request, Trial,
    arena::Arena,
    trial::{Names, refuse},
};

use crate::kernel::Rtic;

/// The work of RTIC's `init`. It runs before any task, with interrupts masked.
fn start() {
    let arena = board::start();
    time::start();
    lend::start();
    if tasks::direct(direct(arena)).is_err() {
        host::fail(format_args!("there is no room for the first task"));
    }
}

/// The director: reads the request, runs the experiment, ends the program.
async fn direct(arena: Arena) {
    let names = || Names { kernel: "rtic", release: env!("RELEASE") };
    let mut buffer = [0; size_of::<host::Buffer>()];
    let text = host::request(&mut buffer);
    let mut sink = host::Output::stream();
    match Request::parse(text).and_then(|request| Ok((request, arena.place(Rtic::new(&request)?)?)))
    {
        Ok((request, kernel)) => {
            let mut trial = Trial::new(kernel, &arena, request, &mut sink, names());
            let outcome = offers::run(&mut trial).await;
            trial.end(outcome);
        }
        Err(refusal) => refuse(&mut sink, names(), text, refusal),
    }
    host::exit();
}
