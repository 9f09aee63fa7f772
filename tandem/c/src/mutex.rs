//! Mutexes. The guard of a lock is forgotten, and the lock is released by force.

use crate::me;
use core::mem::forget;
use tandem::Mutex;

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_mutex_init(mutex: *mut Mutex<()>) {
    // SAFETY: the memory is the program's, and not in use yet, by the header.
    unsafe { mutex.write(Mutex::new(())) }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_mutex_lock(mutex: &'static Mutex<()>) {
    forget(mutex.lock(&me("tandem_mutex_lock")));
}

#[unsafe(no_mangle)]
extern "C" fn tandem_mutex_lock_until(mutex: &'static Mutex<()>, due: u64) -> bool {
    mutex.lock_until(&me("tandem_mutex_lock_until"), due).map(forget).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_mutex_try_lock(mutex: &'static Mutex<()>) -> bool {
    mutex.try_lock(&me("tandem_mutex_try_lock")).map(forget).is_some()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_mutex_unlock(mutex: &'static Mutex<()>) {
    // SAFETY: the mutex has no value, and its guard was forgotten when it was locked.
    unsafe { mutex.force_unlock(&me("tandem_mutex_unlock")) }
}
