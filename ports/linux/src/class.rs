//! The scheduling class of the calling thread: policy and real-time priority. The module knows no
//! settings of the case.

use std::io;

use chronoscope_suite::{Reason, Refusal};

/// Puts the calling thread in a class (policy and real-time priority), and reads it back.
///
/// # Errors
/// [`Reason::NotPermitted`] when the class is denied to this user.
pub fn set_class((policy, level): (libc::c_int, libc::c_int)) -> Result<(), Refusal> {
    let parameter = libc::sched_param { sched_priority: level };
    // SAFETY: `parameter` is a valid sched_param for the length of the call; 0 is the calling
    // thread.
    let status = unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) };
    if status == 0 && class_of_caller() == (policy, level) {
        return Ok(());
    }
    let what = match policy {
        libc::SCHED_RR => "real-time scheduling (SCHED_RR) is not permitted",
        _ => "real-time scheduling (SCHED_FIFO) is not permitted",
    };
    Err(Refusal::new(
        Reason::NotPermitted,
        what,
        "run as root, give the port cap_sys_nice with setcap, raise `ulimit -r`, or pass --set \
         policy=other",
    )
    .with_code(io::Error::last_os_error().raw_os_error().unwrap_or(0)))
}

/// Returns the policy and the real-time priority of the calling thread, as reported by the kernel.
pub fn class_of_caller() -> (libc::c_int, libc::c_int) {
    let mut parameter = libc::sched_param { sched_priority: -1 };
    // SAFETY: `parameter` is valid for writing; 0 is the calling thread.
    unsafe {
        libc::sched_getparam(0, &raw mut parameter);
        (libc::sched_getscheduler(0), parameter.sched_priority)
    }
}
