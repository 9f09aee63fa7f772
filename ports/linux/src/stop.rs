//! The request to end a case early: SIGTERM, after which the case keeps what it has measured.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static IS_REQUESTED: AtomicBool = AtomicBool::new(false);

/// Lets SIGTERM request the end of the case.
pub fn on_request() {
    extern "C" fn stop(_: libc::c_int) {
        IS_REQUESTED.store(true, Relaxed);
    }
    // SAFETY: the handler only stores to an atomic, and has the type that the call expects.
    unsafe { libc::signal(libc::SIGTERM, stop as *const () as libc::sighandler_t) };
}

/// Returns `true` once the end is requested.
pub fn is_requested() -> bool {
    IS_REQUESTED.load(Relaxed)
}
