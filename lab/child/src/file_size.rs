//! The limit of a file's size (`ulimit -f`): a write beyond it is an error, and not the end.

use nix::sys::signal::{SigHandler, Signal, signal};

/// From now on, a write beyond the limit fails with EFBIG, in this process and in its children. By
/// default SIGXFSZ ends the process without a word.
#[allow(unsafe_code)]
pub fn fail_beyond_the_limit() {
    // SAFETY: `signal` is unsafe for the handlers it may install; ignoring a signal installs none.
    let ignored = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) };
    // It fails for an unknown signal only.
    debug_assert!(ignored.is_ok());
}
