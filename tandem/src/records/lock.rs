//! The record of a mutex or of a ceiling.

use super::{Level, Task, WaitQueue};
use crate::shared::Shared;
use core::ptr::NonNull;

/// The part of a mutex, or of a ceiling, that does not depend on the type of its value.
///
/// The assembly writes `owner` and `next` at once.
#[repr(C)]
pub(crate) struct Lock {
    /// The task that uses the value. The idle task, if nobody will ever unlock.
    pub(crate) owner: Shared<Option<Task>>,
    /// The next in the owner's list of held locks.
    pub(crate) next: Shared<Option<NonNull<Lock>>>,
    pub(crate) waiters: WaitQueue,
    /// The level to which the owner is raised in any case: `IDLE_LEVEL` for a mutex.
    pub(crate) ceiling: Level,
}

impl Lock {
    pub(crate) const fn new(ceiling: Level) -> Self {
        Self {
            owner: Shared::new(None),
            waiters: WaitQueue::new(),
            next: Shared::new(None),
            ceiling,
        }
    }
}
