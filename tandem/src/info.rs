//! The handle to a task, for reading its state.

use crate::{
    arch::masked,
    records::{Info, KERNEL, Life, Priority},
};
use core::fmt;

impl PartialEq for Info {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(other.0)
    }
}

impl Eq for Info {}

impl fmt::Debug for Info {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Info").field(&self.name()).finish()
    }
}

impl Info {
    /// The name given at the latest spawn. `idle` for the kernel's idle task, and for storage in
    /// which no task has been spawned.
    #[must_use]
    pub fn name(self) -> &'static str {
        masked(|m| self.0.name(m))
    }

    /// The effective priority, after inheritance and ceilings; after the task has ended, its own.
    /// `None` for the idle task, before [`start`](crate::start) too, and for storage in which no
    /// task has been spawned.
    #[must_use]
    pub fn priority(self) -> Option<Priority> {
        masked(|m| {
            self.0.name.get(m)?; // the idle task has none, nor has storage before its first spawn
            let is_alive = self.0.life.get(m) != Life::Over;
            Some(Priority::of_level(if is_alive { self.0.level.get(m) } else { self.0.base(m) }))
        })
    }

    /// An identifier, unique among tasks: the address of the kernel's record. For traces.
    #[must_use]
    pub fn id(self) -> usize {
        core::ptr::from_ref(self.0).addr()
    }

    /// Returns whether the task has been spawned and has not ended. `false` for the idle task.
    #[must_use]
    pub fn is_alive(self) -> bool {
        masked(|m| self.0.life.get(m) != Life::Over)
    }

    /// The number of switches to this task. Wraps at 2³².
    #[cfg(feature = "count")]
    #[must_use]
    pub fn switches(self) -> u32 {
        masked(|m| self.0.switches.get(m))
    }
}

/// The running task; in a handler, the task that it interrupted; before [`start`](crate::start),
/// the idle task.
///
/// May be called anywhere, with interrupts masked too. Constant time.
#[must_use]
pub fn current() -> Info {
    masked(|m| Info(KERNEL.current_or_idle(m)))
}
