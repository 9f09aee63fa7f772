//! Memory that handlers and tasks share: touched only while interrupts are masked.

use core::cell::UnsafeCell;

/// Proof that interrupts are masked. Made where they are masked, never stored.
#[derive(Clone, Copy)]
pub(crate) struct Masked(());

impl Masked {
    /// # Safety
    /// Interrupts are masked, and stay so while the value is in use, but for switches to other contexts.
    #[inline(always)]
    pub(crate) const unsafe fn assume() -> Self {
        Self(())
    }
}

/// A cell for which every access needs the proof that interrupts are masked.
///
/// On one core that excludes every other access; values are copied in and out, so no reference into it exists.
#[repr(transparent)]
pub(crate) struct Shared<T>(UnsafeCell<T>);

// SAFETY: `get` and `set` demand `Masked`, which only one context of a single-core machine can hold at a time.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: as for `Sync`; what is stored is plain data and pointers that the kernel alone follows.
unsafe impl<T> Send for Shared<T> {}

impl<T: Copy> Shared<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn get(&self, _: Masked) -> T {
        // SAFETY: interrupts are masked, so no other access exists; no reference outlives the copy.
        unsafe { *self.0.get() }
    }

    #[inline(always)]
    pub(crate) fn set(&self, _: Masked, value: T) {
        // SAFETY: as in `get`.
        unsafe { *self.0.get() = value }
    }

    /// Its owner alone can see it: no proof needed.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}
