//! The suite as a library for kernels written in C; `include/chronoscope.h` is its interface.
//!
//! [`port`] declares the functions that a port defines in C, [`kernel`] implements the suite's
//! traits with them, and [`offers`] selects the experiment. A task's body stays a future of the
//! suite: C gets an entry and a pointer, and the body blocks inside its one poll.
//!
//! The crate needs link-time optimisation: the weak references in [`port`] hold for one object
//! file, and LTO makes one of the whole library.

#![no_std]

mod evidence;
#[cfg(all(feature = "clock-call64", not(target_has_atomic = "64")))]
mod halves;
mod interrupts;
mod kernel;
mod memory;
mod offers;
mod port;
mod slot;
mod target;
mod text;

use core::ffi::c_char;

use chronoscope_suite::{
    Reason, Refusal, Request, Trial,
    task::block_on,
    trial::{Names, Sink, refuse},
};

pub use crate::{interrupts::handler, target::Target};
use crate::{kernel::Kernel, target::ABI, text::text};

/// The stream's destination: the port's output.
struct Stream;

impl Sink for Stream {
    fn write(&mut self, bytes: &[u8]) {
        // SAFETY: the port reads that many bytes at the address.
        unsafe { port::chrono_write(bytes.as_ptr(), bytes.len()) };
    }
}

/// Runs a case. Called by the port, in the task that is the director.
///
/// # Safety
/// `target` and the addresses in it must be as the header says: texts that end with a zero byte,
/// and `bytes` of memory that nothing else uses. `request` must be such a text, too. Called once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chrono_main(target: &'static Target, request: *const c_char) {
    let mut sink = Stream;
    // SAFETY: the caller's texts end with a zero byte. All versions of the interface begin with
    // `abi`; the other fields are read only where it is this one.
    let request = unsafe { text(request, chronoscope_suite::request::MAX_REQUEST + 1) };
    if target.abi != ABI {
        let names = Names { kernel: "unknown", release: "" };
        let what = "the image was compiled with a chronoscope.h of another version";
        let mend = "compile it with the header of this version of ports/c";
        refuse(&mut sink, names, request, Refusal::new(Reason::Invalid, what, mend));
        return;
    }
    // SAFETY: as above.
    let [name, release, build] =
        [target.kernel, target.release, target.build].map(|at| unsafe { text(at, TEXT) });
    let names = || Names { kernel: name, release };
    // SAFETY: as the caller says; this function is called once.
    let arena = unsafe { memory::start(target.memory, target.bytes) };
    let prepared = arena.and_then(|arena| {
        let request = Request::parse(request)?;
        Ok((request, arena, arena.place(Kernel::new(target, &request)?)?))
    });
    match prepared {
        Ok((request, arena, kernel)) => {
            let mut trial = Trial::new(kernel, arena, request, &mut sink, names());
            trial.build(build);
            let outcome = block_on(offers::run(&mut trial));
            evidence::send(&mut trial);
            trial.end(outcome);
        }
        Err(refusal) => refuse(&mut sink, names(), request, refusal),
    }
}

/// The length at which a text of the target is cut, in bytes.
const TEXT: usize = 200;

/// Reports a panic of the library through the port: for the panic handler of a static library.
#[cfg(feature = "panics")]
pub fn panicked(info: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn chrono_fail(complaint: *const c_char, length: usize);
    }
    let text = info.message().as_str().unwrap_or("the library panicked");
    loop {
        // SAFETY: the port reads that many bytes at the address.
        unsafe { chrono_fail(text.as_ptr().cast(), text.len()) };
    }
}
