//! Memory shared by handlers and tasks, accessed only with interrupts masked.
//!
//! # Soundness
//! The kernel runs on one core. With interrupts masked, nothing else runs on it, so one context has
//! all of this memory to itself. [`Masked`] proves that state: it is created where interrupts are
//! masked and passed by value, never stored in memory. It stays valid across a switch to another
//! context, since the switch returns with interrupts masked again; the others may have changed any
//! value meanwhile. An NMI and faults are not masked, so their handlers must not call the kernel.

use core::cell::UnsafeCell;

/// Proof that interrupts are masked.
#[derive(Clone, Copy)]
pub(crate) struct Masked(());

impl Masked {
    /// # Safety
    /// Interrupts are masked while the value is in use, except while other contexts run between a
    /// switch and its return.
    #[inline(always)]
    pub(crate) const unsafe fn assume() -> Self {
        Self(())
    }
}

/// A cell whose access needs proof that interrupts are masked.
///
/// Values are copied in and out, so no reference to the content exists. Not for more than one core.
#[repr(transparent)]
pub(crate) struct Shared<T>(UnsafeCell<T>);

// SAFETY: `get` and `set` need a `Masked`, which one context of the single core can have at a time.
// `peek` and `poke` are a single machine access each, and unsafe.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: as for `Sync`. The content is plain data, or pointers that only the kernel follows.
unsafe impl<T> Send for Shared<T> {}

impl<T: Copy> Shared<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn get(&self, _: Masked) -> T {
        // SAFETY: interrupts are masked, so nothing else accesses the cell, and no reference
        // outlives the copy.
        unsafe { *self.0.get() }
    }

    #[inline(always)]
    pub(crate) fn set(&self, _: Masked, value: T) {
        // SAFETY: as for `get`.
        unsafe { *self.0.get() = value }
    }

    /// Reads without proof, in one machine access.
    ///
    /// # Safety
    /// `T` is a byte or a word, and a value that a handler overwrites right afterwards is still
    /// correct to use.
    #[inline(always)]
    pub(crate) unsafe fn peek(&self) -> T {
        // SAFETY: volatile, and of a size that the processor reads at once, so a handler writes
        // before or after it. The caller answers for the rest.
        unsafe { self.0.get().read_volatile() }
    }

    /// Writes without proof, in one machine access.
    ///
    /// # Safety
    /// `T` is a byte or a word, and overwriting a value that a handler has just stored is correct.
    #[inline(always)]
    pub(crate) unsafe fn poke(&self, value: T) {
        // SAFETY: volatile, and of a size that the processor writes at once. The caller answers for
        // the rest.
        unsafe { self.0.get().write_volatile(value) }
    }
}
