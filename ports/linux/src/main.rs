//! The port of the suite to Linux. One process runs one case: it takes the request from its command
//! line, writes the stream to standard output, and ends.
//!
//! The program is kept small, because a process with a small address space is cheap to switch to,
//! and because it must also serve as the only program of a virtual machine.

mod chain;
mod class;
mod clock;
mod conditions;
mod contract;
mod coroutine;
mod deadline;
mod doctor;
mod executor;
mod fault;
mod gaps;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod guest;
mod hwlat;
mod interrupts;
mod kernel;
mod latency;
mod load;
mod log;
mod mutex;
mod noise;
mod offers;
mod output;
mod pasts;
mod perf;
mod periodic;
mod placement;
mod plain;
mod preemption;
mod process;
mod processor_time;
mod processors;
mod queue;
mod requirements;
mod semaphore;
mod settings;
mod sleeping;
mod stop;
mod thread;
mod trace;
mod transport;
mod vary;

use std::{
    env,
    io::{self, Write},
    mem::MaybeUninit,
    process::ExitCode,
    ptr, slice,
};

use chronoscope_suite::{
    Reason, Refusal, Request, Trial, arena::Arena, task::block_on, trial::Names,
};
use rustix::{
    mm::{MapFlags, ProtFlags, mmap_anonymous},
    system::uname,
};

use crate::{conditions::Conditions, kernel::Linux, load::Load, output::Output};

fn main() -> ExitCode {
    let text = env::args().skip(1).collect::<Vec<_>>().join(" ");
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if text == guest::ARGUMENT {
        guest::main(run);
    }
    let mut deliver = |stream: &[u8]| {
        let mut output = io::stdout();
        output.write_all(stream).and_then(|()| output.flush())
    };
    match run(&text, &mut deliver) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            complain(refusal);
            ExitCode::FAILURE
        }
    }
}

fn complain(refusal: Refusal) {
    eprintln!("chronoscope-linux: {}: {}", refusal.what, refusal.mend);
}

/// Runs the case and delivers its stream. Errors before the record `Hello` are returned; all others
/// go into the stream.
fn run(text: &str, deliver: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), Refusal> {
    // SAFETY: a process is one case, and this is its only child-death setting.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let release = uname();
    let release = release.release().to_string_lossy();
    let mut sink = Output::new(deliver);
    if text.starts_with("doctor") {
        doctor::run(&mut sink, &release, text)?;
        return sink.finish();
    }
    let request = Request::parse(text)?;
    let arena = Arena::new(shared_memory(arena_bytes(&request))?);
    let names = Names { kernel: "linux", release: &release };
    match Linux::new(&request).and_then(|kernel| arena.place(kernel)) {
        Ok(kernel) => {
            kernel.begin();
            let mut trial = Trial::new(kernel, &arena, request, &mut sink, names);
            let conditions = Conditions::before(kernel);
            let outcome = match Load::start(kernel.settings.load) {
                Ok(load) => {
                    let outcome = traced(kernel, || block_on(offers::run(&mut trial)));
                    load.iter().for_each(|load| load.report(&mut trial));
                    outcome
                }
                Err(refusal) => Err(refusal),
            };
            conditions.report(&mut trial);
            kernel.trace.iter().for_each(|trace| trace.report(&mut trial));
            kernel.report(&mut trial);
            placement::report(&mut trial);
            preemption::report(&mut trial, kernel.settings.preemption);
            trial.end(outcome);
        }
        Err(refusal) => chronoscope_suite::trial::refuse(&mut sink, names, text, refusal),
    }
    sink.finish()
}

/// Runs the case, with a trace if the case asks for one.
fn traced(kernel: &Linux, case: impl FnOnce() -> Result<(), Refusal>) -> Result<(), Refusal> {
    let Some(trace) = &kernel.trace else { return case() };
    trace.start()?;
    let outcome = case();
    trace.stop();
    outcome
}

/// Returns the size of the arena: room for marks, semaphores, and the experiment's shared objects.
fn arena_bytes(request: &Request<'_>) -> usize {
    let loops = request.given("loops").and_then(|loops| loops.parse().ok()).unwrap_or(10_000_usize);
    // In other experiments, `loops` counts the loops of all tasks together.
    let tasks =
        if matches!(request.spec().name, "delay" | "period") { request.count("tasks") } else { 1 };
    let calls = match request.spec().name {
        "transaction" => call_bytes(request, loops),
        "latency" => latency_bytes(request),
        "noise" => gaps::arena_bytes(request),
        "period" => periodic::arena_bytes(request),
        "chain" => 24 * loops * request.count("depth"),
        _ => 0,
    };
    (1 << 20) + loops * (32 + 16 * tasks) + calls
}

/// Returns the room for each worker's marks, a line from each worker to each service, and the
/// payload.
fn call_bytes(request: &Request<'_>, loops: usize) -> usize {
    let [size, workers, services] = ["size", "workers", "services"].map(|name| request.count(name));
    workers * (32 * loops + services * (2 * size + 512)) + size
}

/// Returns the room for each pair's marks, and for the callers and servers of its calls.
fn latency_bytes(request: &Request<'_>) -> usize {
    let [pairs, loops] = ["pairs", "loops"].map(|name| request.count(name));
    pairs * (loops * (32 + 2 * 2 * 24) + pairs * 512)
}

/// Maps zeroed memory that forked tasks share with this process. Never unmapped.
fn shared_memory(bytes: usize) -> Result<&'static mut [MaybeUninit<u8>], Refusal> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
    let region = unsafe { mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::SHARED) };
    let region = region.map_err(|error| {
        Refusal::new(
            Reason::Exhausted,
            "not enough memory for the case",
            "ask for fewer loops or tasks",
        )
        .with_code(error.raw_os_error())
    })?;
    // SAFETY: the mapping holds `bytes` bytes, is never unmapped, and this is the only reference to
    // it.
    Ok(unsafe { slice::from_raw_parts_mut(region.cast(), bytes) })
}
