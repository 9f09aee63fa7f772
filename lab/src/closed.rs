//! Looks whether standard output was closed when the program was started, as by `>&-`.
//!
//! The standard library opens `/dev/null` in the place of a closed stream before it calls `main`, and
//! an answer written there would be lost with status 0. The look is therefore taken earlier, by a
//! function that the loader calls.
//!
//! Soundness: the loader calls each function of `.init_array` once, before `main` and on its thread.
//! [`look`] makes one system call and stores one flag: it uses nothing that the standard library sets
//! up, and cannot unwind.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: the loader expects addresses of functions with C's calling convention in this section; the
// arguments that it passes are ignored.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    let is_closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
    IS_CLOSED.store(is_closed, Ordering::Relaxed);
}

/// True if standard output was closed at the start.
pub fn standard_output() -> bool {
    IS_CLOSED.load(Ordering::Relaxed)
}
