//! The kernel's side of experiments with processes: starts the program in user mode that the image
//! contains, gives it the lab's request, and passes its stream to the host.

#![no_std]
#![no_main]

#[path = "../../src/machine.rs"]
mod machine;
#[path = "../../src/time.rs"]
mod time;

use core::{
    cell::RefCell,
    fmt::{self, Write},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use board::{alarm, clock, host, interrupts};
use chronoscope_suite::{
    kernel::{Handler, Source},
    request::MAX_REQUEST,
    trial::Sink,
};
use critical_section::Mutex;
use tandem::{
    Priority, SharedStack, Thread,
    process::{self, Cause, Ended, Host, Memory, Program},
};

/// The program, whose pages are mapped as they are.
#[repr(C, align(4096))]
struct Aligned<T: ?Sized>(T);

static PROGRAM: &Aligned<[u8]> = &Aligned(*include_bytes!(env!("PROGRAM")));

/// The image's code and constants, and the memory of processes. `memory.x` of the chip has the
/// first; nothing else uses the second.
const CODE: core::ops::Range<usize> = 0x8000_1000..0x8010_0000;
const PAGES: core::ops::Range<usize> = 0x8100_0000..0x8200_0000;

/// Coroutines are not used: the idle task sleeps on this stack.
static COROUTINES: SharedStack<2048> = SharedStack::new();
static MAIN: Thread<8192> = Thread::new();

#[board::entry]
fn main() -> ! {
    tandem::start(&COROUTINES, || {
        if MAIN.spawn(Priority::LOWEST, "main", run).is_err() {
            host::fail(format_args!("the main thread cannot start"));
        }
    })
}

fn run(me: &tandem::Me<'_>) {
    board::start_devices();
    let lines: [(Source, Handler); 2] = [
        (Source::Software, &|| enter(machine::RAISED)),
        (Source::Timer, &|| enter(machine::TIMED)),
    ];
    for (source, handler) in lines {
        if interrupts::attach(source, handler).is_err() {
            host::fail(format_args!("the board has no source {source:?}"));
        }
    }
    let mut buffer = [0; size_of::<host::Buffer>()];
    let request = host::request(&mut buffer);
    let (asids, rest) = without_asid(request);
    let mut text = Text { bytes: [0; MAX_REQUEST + RATE], length: 0 };
    let written = rest.into_iter().try_for_each(|piece| text.write_str(piece));
    // A process reads the clock and no device, so it learns here what a tick is.
    let told = board::clock::cycles_per_second().map(|hertz| write!(text, " cycles={hertz}"));
    if written.is_err() || told.is_some_and(|told| told.is_err()) {
        host::fail(format_args!("the request is too long"));
    }
    let program = Program::new(&PROGRAM.0);
    let request = &text.bytes[..text.length];
    // SAFETY: the linker script places code and constants in `CODE`, and nothing in `PAGES`.
    let memory = || unsafe { Memory::new(CODE, PAGES) };
    if process::start::<Console>(me, &program, memory(), asids, request).is_err() {
        host::fail(format_args!("the program cannot start"));
    }
    // The program runs, and goes on: a second start changes nothing.
    if request.starts_with(b"check")
        && process::start::<Console>(me, &program, memory(), asids, request).is_ok()
    {
        host::fail(format_args!("a second program has started"));
    }
    let end = process::wait_for_first(me);
    match end.cause {
        Cause::Own(0) => host::exit(),
        _ => host::fail(format_args!("{end}")),
    }
}

/// The time at which the last handler was entered.
static ENTERED: AtomicUsize = AtomicUsize::new(0);

/// The handler of a line: notes the time, and wakes the driver.
fn enter(line: usize) {
    ENTERED.store(clock::now() as usize, Relaxed);
    process::rise(line);
}

/// The longest word that tells the clock's rate.
const RATE: usize = " cycles=4294967295".len();

/// The request for the program.
struct Text {
    bytes: [u8; MAX_REQUEST + RATE],
    length: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let room = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// The request without `asid=on` or `asid=off`, in pieces, and whether the former holds.
fn without_asid(request: &str) -> (bool, impl Iterator<Item = &str> + Clone) {
    let pieces = request.split_inclusive(' ').filter(|word| !word.starts_with("asid="));
    (!request.split(' ').any(|word| word == "asid=off"), pieces)
}

/// The host's standard output, opened at the first write.
static STREAM: Mutex<RefCell<Option<host::Output>>> = Mutex::new(RefCell::new(None));

struct Console;

impl Host for Console {
    fn write(bytes: &[u8]) {
        critical_section::with(|token| {
            STREAM.borrow_ref_mut(token).get_or_insert_with(host::Output::stream).write(bytes);
        });
    }

    fn report(end: &Ended) {
        host::complain(format_args!("{end}"));
    }

    fn device(request: usize, word: usize) -> Option<usize> {
        match request {
            machine::RAISE => interrupts::raise(),
            machine::ARM => alarm::EXPERIMENT.set(word as u64),
            machine::ENTERED => return Some(ENTERED.load(Relaxed)),
            _ => return None,
        }
        Some(0)
    }
}
