//! The limit of a file's size (`ulimit -f`): a write beyond it becomes an error of the write.

use nix::sys::signal::{SigHandler, Signal, signal};

/// Makes later writes beyond the limit fail with EFBIG, in this process and in its children. By
/// default SIGXFSZ ends the process without a message.
#[allow(unsafe_code)]
pub fn fail_beyond_the_limit() {
    // SAFETY: `signal` is unsafe for the handlers it may install; ignoring a signal installs none.
    let ignored = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) };
    // `signal` fails for an unknown signal only.
    debug_assert!(ignored.is_ok());
}
