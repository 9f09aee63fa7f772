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

    /// Reads without the proof what one store of a byte or word changes.
    ///
    /// # Safety
    /// An outdated value must do no harm, and `T` is a byte or a word, which no interrupt can split.
    #[inline(always)]
    pub(crate) unsafe fn peek(&self) -> T {
        // SAFETY: volatile, of a size that is read at once; handlers may write, but not while this reads.
        unsafe { self.0.get().read_volatile() }
    }

    /// Writes a byte or word without the proof.
    ///
    /// # Safety
    /// `T` is a byte or a word, and overwriting what a handler has just stored does no harm.
    #[inline(always)]
    pub(crate) unsafe fn poke(&self, value: T) {
        // SAFETY: volatile, of a size that is written at once.
        unsafe { self.0.get().write_volatile(value) }
    }
}
