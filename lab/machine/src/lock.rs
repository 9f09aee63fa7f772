//! Locks whose data no panic leaves half changed.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose data is valid even if a thread panicked while it held the lock.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
