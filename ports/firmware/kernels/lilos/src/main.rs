//! The port to lilos: one executor, tasks that are never pre-empted, and handlers that pre-empt
//! them.
//!
//! lilos is given all its tasks at once, as an array, and visits each entry of it in each round. So
//! the array is as long as the case has tasks, and no longer: see [`place`].

#![no_std]
#![no_main]

mod kernel;
mod offers;
mod place;
mod queue;
mod semaphore;
mod tasks;
mod time;

use board::host;
use chronoscope_suite::{
    Request, Trial,
    trial::{Names, refuse},
};

use crate::kernel::Lilos;

#[board::entry]
fn main() -> ! {
    let names = || Names { kernel: "lilos", release: env!("RELEASE") };
    let arena = board::start();
    let mut buffer = [0; size_of::<host::Buffer>()];
    let text = host::request(&mut buffer);
    let mut sink = host::Output::stream();
    match Request::parse(text)
        .and_then(|request| Ok((request, arena.place(Lilos::new(&request)?)?)))
    {
        Ok((request, kernel)) => kernel.run(offers::spare_places(&request), async {
            let mut trial = Trial::new(kernel, &arena, request, &mut sink, names());
            let outcome = offers::run(&mut trial).await;
            trial.end(outcome);
        }),
        Err(refusal) => refuse(&mut sink, names(), text, refusal),
    }
    host::exit();
}
