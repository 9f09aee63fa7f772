//! The port of the suite to embassy: `embassy-executor`, `embassy-sync`, `embassy-time` and
//! `defmt`. On Cortex-M each priority has an interrupt executor.
//!
//! embassy has one kind of task, coroutines. Tasks of one executor do not pre-empt each other;
//! tasks of a more urgent interrupt's executor do.

#![no_std]
#![no_main]

mod kernel;
mod levels;
mod offers;
mod pool;
mod tasks;
mod time;
mod trace;

use board::host;
use chronoscope_suite::{
    Request, Trial,
    arena::Arena,
    trial::{Names, refuse},
};

use crate::{kernel::Embassy, levels::Spawners};

#[board::entry]
fn main() -> ! {
    let arena = board::start();
    pool::start();
    levels::run(|spawners| {
        if tasks::direct(spawners, direct(arena, spawners)).is_err() {
            host::fail(format_args!("there is no room for the first task"));
        }
    })
}

/// The kernel's name in targets.
const NAME: &str = if cfg!(feature = "thread") { "embassy-thread" } else { "embassy" };

/// The director: reads the request, runs the experiment, ends the program.
async fn direct(arena: Arena, spawners: Spawners) {
    let names = || Names { kernel: NAME, release: env!("RELEASE") };
    let mut buffer = [0; size_of::<host::Buffer>()];
    let text = host::request(&mut buffer);
    let mut sink = host::Output::stream();
    match Request::parse(text)
        .and_then(|request| Ok((request, arena.place(Embassy::new(&request, spawners)?)?)))
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
