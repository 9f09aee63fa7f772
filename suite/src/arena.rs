//! The memory of an experiment: allocated once and never freed.
//!
//! A case runs in a fresh process, or on a freshly reset chip, so every value in the arena is
//! `'static`. A port whose tasks are processes must give the arena a region of shared memory.

use core::{
    cell::Cell,
    mem::{MaybeUninit, align_of},
    slice,
};

use crate::refusal::Refusal;

/// A bump allocator over one `'static` region. Values are never dropped. Not `Sync`: only the
/// director allocates.
pub struct Arena {
    left: Cell<&'static mut [MaybeUninit<u8>]>,
}

impl Arena {
    /// Creates an arena that owns `region`.
    pub fn new(region: &'static mut [MaybeUninit<u8>]) -> Self {
        Self { left: Cell::new(region) }
    }

    /// Moves `value` into the arena, aligned for its type. Constant time.
    ///
    /// # Errors
    /// [`Refusal::full`] when the region has no room left. The arena stays usable.
    pub fn place<T: 'static>(&self, value: T) -> Result<&'static T, Refusal> {
        let slot = &mut self.carve::<T>(1)?[0];
        Ok(slot.write(value))
    }

    /// Places `count` adjacent values, made by `make(0)`, `make(1)`, …
    ///
    /// # Errors
    /// [`Refusal::full`] when the region has no room left; a refusal by `make`, which leaves the
    /// memory of the slice allocated.
    pub fn fill<T: 'static>(
        &self,
        count: usize,
        make: impl FnMut(usize) -> Result<T, Refusal>,
    ) -> Result<&'static [T], Refusal> {
        self.lend(count, make).map(|values| &*values)
    }

    /// Places values like [`fill`](Self::fill), and returns them for one task's exclusive use.
    ///
    /// # Errors
    /// The errors of [`fill`](Self::fill).
    pub fn lend<T: 'static>(
        &self,
        count: usize,
        mut make: impl FnMut(usize) -> Result<T, Refusal>,
    ) -> Result<&'static mut [T], Refusal> {
        let slots = self.carve::<T>(count)?;
        for (index, slot) in slots.iter_mut().enumerate() {
            slot.write(make(index)?);
        }
        // SAFETY: the loop above has written every slot, and `carve` has returned the only
        // reference.
        Ok(unsafe { slice::from_raw_parts_mut(slots.as_mut_ptr().cast::<T>(), count) })
    }

    fn carve<T>(&self, count: usize) -> Result<&'static mut [MaybeUninit<T>], Refusal> {
        let region = self.left.take();
        let padding = region.as_ptr().align_offset(align_of::<T>());
        let end = size_of::<T>().checked_mul(count).and_then(|size| size.checked_add(padding));
        let Some(end) = end.filter(|&end| end <= region.len()) else {
            self.left.set(region);
            return Err(Refusal::full());
        };
        let (taken, left) = region.split_at_mut(end);
        self.left.set(left);
        let start = taken[padding..].as_mut_ptr().cast::<MaybeUninit<T>>();
        // SAFETY: `start` is aligned for T, `count * size_of::<T>()` bytes of exclusively owned
        // `'static` memory follow it, and `MaybeUninit` needs no initial value.
        Ok(unsafe { slice::from_raw_parts_mut(start, count) })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::{boxed::Box, vec};

    use super::*;

    fn arena(bytes: usize) -> Arena {
        Arena::new(Box::leak(vec![MaybeUninit::uninit(); bytes].into_boxed_slice()))
    }

    #[test]
    fn values_are_aligned_and_apart() {
        let arena = arena(64);
        let byte = arena.place(7_u8).unwrap();
        let words = arena.fill(3, |i| Ok(i as u64)).unwrap();
        assert_eq!((*byte, words), (7, &[0, 1, 2][..]));
        assert_eq!(words.as_ptr().align_offset(align_of::<u64>()), 0);
    }

    #[test]
    fn a_full_arena_refuses_and_stays_usable() {
        let arena = arena(16);
        assert!(arena.fill(usize::MAX, |_| Ok(0_u64)).is_err());
        assert!(arena.place([0_u8; 17]).is_err());
        assert!(arena.place([0_u8; 16]).is_ok());
        assert!(arena.place(0_u8).is_err());
        assert!(arena.fill(0, |_| Ok(0_u8)).is_ok());
    }
}
