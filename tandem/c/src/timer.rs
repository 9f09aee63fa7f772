//! Timers that call a function.

use crate::me;
use core::ffi::c_void;
use tandem::{Callback, Callbacks};

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_timers_init(timers: *mut Callbacks) {
    // SAFETY: the memory is the program's, and not in use yet, by the header.
    unsafe { timers.write(Callbacks::new()) }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_timers_run(timers: &Callbacks) -> ! {
    timers.run(&me("tandem_timers_run"))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_timer_init(
    timer: *mut Callback,
    timers: &'static Callbacks,
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    // SAFETY: the memory is the program's, and not in use yet; the function is to be called with
    // the argument, by the header.
    unsafe { timer.write(Callback::foreign(timers, function, argument)) }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_timer_start_once(timer: &'static Callback, due: u64) {
    timer.start_once(due);
}

#[unsafe(no_mangle)]
extern "C" fn tandem_timer_start_periodic(timer: &'static Callback, due: u64, period: u64) {
    timer.start_periodic(due, period);
}

#[unsafe(no_mangle)]
extern "C" fn tandem_timer_stop(timer: &'static Callback) {
    timer.stop();
}

#[unsafe(no_mangle)]
extern "C" fn tandem_timer_is_running(timer: &Callback) -> bool {
    timer.due().is_some()
}
