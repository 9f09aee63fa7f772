//! Condition variables. As with mutexes, guards are forgotten between two calls.

use crate::me;
use core::mem::forget;
use tandem::{Condvar, Mutex};

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_condvar_init(condvar: *mut Condvar) {
    // SAFETY: the memory is the program's, and not in use yet, by the header.
    unsafe { condvar.write(Condvar::new()) }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_condvar_notify_one(condvar: &Condvar) {
    condvar.notify_one();
}

#[unsafe(no_mangle)]
extern "C" fn tandem_condvar_notify_all(condvar: &Condvar) {
    condvar.notify_all();
}

#[unsafe(no_mangle)]
extern "C" fn tandem_condvar_wait(condvar: &Condvar, mutex: &'static Mutex<()>) {
    let me = me("tandem_condvar_wait");
    // SAFETY: the mutex has no value, and its guard was forgotten when it was locked.
    forget(condvar.wait(&me, unsafe { mutex.force_guard(&me) }));
}

#[unsafe(no_mangle)]
extern "C" fn tandem_condvar_wait_until(
    condvar: &Condvar,
    mutex: &'static Mutex<()>,
    due: u64,
) -> bool {
    let me = me("tandem_condvar_wait_until");
    // SAFETY: as in `tandem_condvar_wait`.
    let (guard, notified) = condvar.wait_until(&me, unsafe { mutex.force_guard(&me) }, due);
    forget(guard);
    notified
}
