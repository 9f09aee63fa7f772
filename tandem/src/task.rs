//! The operations on a task's record.

#[cfg(any(test, feature = "tasks"))]
use crate::records::TASKS;
use crate::{
    arch::masked,
    records::{Header, KERNEL, Level, Life, Priority, StillAlive, Task},
    shared::Masked,
    trace,
};
#[cfg(riscv)]
use core::ptr::NonNull;

impl Header {
    /// Begins a life of the task, linked to itself and not yet ready. Until
    /// [`admit`](Self::admit), the task has no bit for a level, so a waker of its earlier life has
    /// no effect.
    ///
    /// # Errors
    /// If the task is alive.
    #[inline(never)]
    pub(crate) fn claim(
        &'static self,
        name: &'static str,
        priority: Priority,
    ) -> Result<(), StillAlive> {
        masked(|m| {
            if self.life.get(m) != Life::Over {
                return Err(StillAlive);
            }
            self.life.set(m, Life::Alive);
            self.name.set(m, Some(name));
            self.next.set(m, Some(self));
            self.prev.set(m, Some(self));
            self.again.set(m, false);
            self.set_base(m, priority.level());
            self.level.set(m, priority.level());
            #[cfg(any(test, feature = "tasks"))]
            self.list(m);
            trace::emit(trace::Event::Created, self);
            Ok(())
        })
    }

    /// Enters the task's storage into the list of all, unless it is there already.
    #[cfg(any(test, feature = "tasks"))]
    fn list(&'static self, m: Masked) {
        self.painted.set(m, None);
        if self.listed.get(m).is_none() {
            self.listed.set(m, Some(TASKS.get(m).unwrap_or(self)));
            TASKS.set(m, Some(self));
        }
    }

    /// Lets a claimed task become ready: gives it the bit of its level.
    #[inline(always)]
    pub(crate) fn admit(&self, m: Masked) {
        self.set_level(m, self.level.get(m));
    }

    #[inline(always)]
    pub(crate) fn set_level(&self, m: Masked, level: Level) {
        self.set_level_of(m, level, 0x8000_0000_u32.unbounded_shr(level));
    }

    /// Sets the level like [`set_level`](Self::set_level), with the bit of the level.
    #[inline(always)]
    pub(crate) fn set_level_of(&self, m: Masked, level: Level, bit: u32) {
        self.level.set(m, level);
        self.bit.set(m, bit);
        #[cfg(riscv)]
        self.head.set(m, Some(NonNull::from(KERNEL.ready.head(level))));
    }

    /// The name given at the latest spawn. The idle task is never spawned and has none, so it is
    /// called `idle`.
    pub(crate) fn name(&self, m: Masked) -> &'static str {
        self.name.get(m).unwrap_or("idle")
    }

    pub(crate) fn base(&self, m: Masked) -> Level {
        Level::from(self.base.get(m))
    }

    pub(crate) fn set_base(&self, m: Masked, level: Level) {
        self.base.set(m, level as u8);
    }

    /// Returns whether the task is running or suspended. For a coroutine: whether a poll has
    /// started and not returned.
    pub(crate) fn is_open(&'static self, m: Masked) -> bool {
        self.saved.exists(m) || KERNEL.runs(m, self)
    }

    #[inline(always)]
    pub(crate) fn is(&self, other: Task) -> bool {
        core::ptr::eq(self, other)
    }
}
