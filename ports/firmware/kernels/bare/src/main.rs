//! The floor: no kernel, only what a program must do by hand in place of one.
//!
//! Threads are stacks that hand the processor to each other; there are no priorities, nothing is pre-empted but by an
//! interrupt's handler, and nothing guards against misuse. What a kernel costs more than this is the price of what it does.

#![no_std]
#![no_main]

mod kernel;
mod offers;
mod queue;
mod semaphore;
mod thread;

use board::host;
use chronoscope_suite::{
    Request, Trial,
    task::block_on,
    trial::{Names, refuse},
};

use crate::kernel::Bare;

/// The main program is the director, on the stack that it was started with.
#[board::entry]
fn main() -> ! {
    let names = || Names { kernel: "bare", release: env!("CARGO_PKG_VERSION") };
    let arena = board::start();
    thread::start();
    let mut buffer = [0; size_of::<host::Buffer>()];
    let text = host::request(&mut buffer);
    let mut sink = host::Output::stream();
    match Request::parse(text).and_then(|request| Ok((request, arena.place(Bare::new(&request)?)?)))
    {
        Ok((request, kernel)) => {
            let mut trial = Trial::new(kernel, &arena, request, &mut sink, names());
            let outcome = block_on(offers::run(&mut trial));
            trial.end(outcome);
        }
        Err(refusal) => refuse(&mut sink, names(), text, refusal),
    }
    host::exit();
}
