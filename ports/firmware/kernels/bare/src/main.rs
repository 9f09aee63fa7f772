//! The floor: no kernel, only the code that a program must have in place of one.
//!
//! Threads are stacks that switch to each other. There are no priorities, only interrupt handlers
//! pre-empt, and nothing guards against misuse. The difference between a kernel's figure and this
//! one is the price of the kernel.

#![no_std]
#![no_main]

mod kernel;
mod offers;
mod queue;
mod ring;
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
