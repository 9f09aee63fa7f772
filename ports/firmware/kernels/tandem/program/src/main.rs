//! The program in user mode: the suite with `kind=process`, checks of the kernel's promises, its
//! benchmark, and hostile processes. The request's first word chooses.

#![no_std]
#![no_main]

mod bench;
mod check;
mod coroutines;
mod fuzz;
mod kernel;
mod limits;
mod lines;
#[path = "../../src/machine.rs"]
mod machine;
mod marks;
mod offers;
mod output;
mod races;
mod scene;
mod tasks;
mod transport;

use core::{panic::PanicInfo, slice, str};

use chronoscope_suite::{
    Refusal, Request, Trial,
    arena::Arena,
    task::block_on,
    trial::{Names, refuse},
};
use tandem_user as user;

use crate::{kernel::Processes, output::Output};

/// The arena's bytes; the first page is the request's.
const ARENA: usize = 2 << 20;
const PAGE: usize = 4096;

/// The first process. The kernel has stored the request at the beginning of the arena.
#[unsafe(no_mangle)]
extern "C" fn _start(request: *mut u8, length: usize) -> ! {
    // SAFETY: the kernel passes the arena's address and the request's length; nobody writes there.
    let text = unsafe { slice::from_raw_parts(request, length) };
    let text = str::from_utf8(text).unwrap_or_default().trim();
    let (text, rate) = match text.rsplit_once(" cycles=") {
        Some((text, rate)) => (text, rate.parse().ok()),
        None => (text, None),
    };
    // SAFETY: the arena goes on behind the request's page, and no other process runs yet.
    let region = unsafe { slice::from_raw_parts_mut(request.add(PAGE).cast(), ARENA - PAGE) };
    let mut words = text.split_ascii_whitespace();
    match words.next() {
        Some("check") => check::run(region, words.next().unwrap_or("all")),
        // SAFETY: zeroed by the kernel, aligned to a page, and of atomic integers.
        Some("bench") => bench::run(unsafe { &*region.as_ptr().cast() }, words.next()),
        Some("fuzz") => fuzz::run(words),
        _ => measure(text, rate, Arena::new(region)),
    }
    user::end(0)
}

/// Runs an experiment. `rate` is the clock's if its ticks are cycles.
fn measure(text: &str, rate: Option<u64>, arena: Arena) {
    let names = || Names { kernel: "tandem", release: env!("RELEASE") };
    match Request::parse(text)
        .and_then(|request| Ok((request, arena.place(Processes::new(&request, rate)?)?)))
    {
        Ok((request, kernel)) => {
            let mut sink = Output;
            let mut trial = Trial::new(kernel, &arena, request, &mut sink, names());
            let outcome = experiment(&mut trial);
            trial.end(outcome);
        }
        Err(refusal) => refuse(&mut Output, names(), text, refusal),
    }
}

/// Runs an experiment, and adds the kernel's count of writes of `satp`.
fn experiment(trial: &mut Trial<'_, Processes>) -> Result<(), Refusal> {
    let before = user::counts().all_entries;
    block_on(offers::run(trial))?;
    let entries = user::counts().all_entries - before;
    trial.figure("satp writes", "", entries as f64);
    Ok(())
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    output::line(format_args!("{info}"));
    user::end(101)
}
