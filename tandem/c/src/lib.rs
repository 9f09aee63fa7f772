//! The functions of `tandem.h`. Each calls its counterpart in the crate `tandem`.
//!
//! # Soundness
//! The header states the rules for C programs: objects are initialized before their use, stay in
//! place, and are accessed through these functions only; pointers are valid. Every `unsafe`
//! function here relies on that and nothing else. What C's types cannot exclude, such as waiting in
//! a handler, is checked, and ends in `tandem_panic`.
#![no_std]

mod board;
mod condvar;
mod group;
mod mutex;
mod queue;
mod section;
mod semaphore;
mod sizes;
mod stream;
mod task;
mod timer;

#[cfg(feature = "panics")]
use core::fmt;
use tandem::Me;

/// The running thread. In a critical section, the kernel itself refuses calls that must wait.
///
/// # Panics
/// In a handler, or before the start. On RV32, in a critical section too.
#[inline(always)]
fn me(call: &str) -> Me<'static> {
    match thread() {
        Some(me) => me,
        None => refuse(call),
    }
}

/// The running thread; `None` in a handler or before the start. On the process stack, there is a
/// thread or a coroutine, which is in Rust and does not make these calls.
#[cfg(target_arch = "arm")]
#[inline(always)]
fn thread() -> Option<Me<'static>> {
    const PROCESS_STACK: u32 = 2;
    let control: u32;
    // SAFETY: reads a register. Its bit for the process stack is 0 in handlers.
    unsafe {
        core::arch::asm!(
            "mrs {}, control", out(reg) control, options(nomem, nostack, preserves_flags)
        );
    }
    // SAFETY: the caller has been called by a thread.
    (control & PROCESS_STACK != 0).then(|| unsafe { tandem::raw::me() })
}

/// The running thread; `None` in a handler, in a critical section, or before the start.
#[cfg(target_arch = "riscv32")]
#[inline(always)]
fn thread() -> Option<Me<'static>> {
    Me::current()
}

#[cold]
#[inline(never)]
fn refuse(call: &str) -> ! {
    panic!(
        "task {}: {call} in a handler, in a critical section or before the start",
        tandem::current().name()
    )
}

/// The message of a panic, as far as it fits.
#[cfg(feature = "panics")]
struct Message {
    text: [u8; 200],
    length: usize,
}

#[cfg(feature = "panics")]
impl fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = &mut self.text[self.length..];
        let fits = text.len().min(rest.len());
        rest[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.length += fits;
        Ok(())
    }
}

#[cfg(feature = "panics")]
unsafe extern "C" {
    fn tandem_panic(message: *const u8, length: usize) -> !;
}

/// Reports the message, with the running task's name where the message names none.
#[cfg(feature = "panics")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    const HEAD: &str = "task ";
    let mut message = Message { text: [0; 200], length: 0 };
    // Writing to memory cannot fail.
    let _ = fmt::write(&mut message, format_args!("{}", info.message()));
    if !message.text.windows(HEAD.len()).any(|part| part == HEAD.as_bytes()) {
        message.length = 0;
        let name = tandem::current().name();
        let _ = fmt::write(&mut message, format_args!("{HEAD}{name}: {}", info.message()));
    }
    // SAFETY: the message is valid for the call, which does not return.
    unsafe { tandem_panic(message.text.as_ptr(), message.length) }
}
