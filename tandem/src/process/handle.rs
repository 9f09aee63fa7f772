//! Handles: the names by which processes call the kernel's objects. Knows no processor: tests run
//! it on the host.
//!
//! A handle holds an index and a generation. A place's generation grows when its object is freed,
//! so a handle of an object that is gone names nothing, until the 20 bits of the generation have
//! come round. An object belongs to a family of processes; for others, its handle names nothing.

use core::cell::Cell;

/// The number of a family of processes.
pub(super) type Family = u8;

const INDEX_BITS: u32 = 12;

/// A handle as a process sees it: the index in the low 12 bits, the generation above. Never 0, and
/// never negative as a number of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Handle(u32);

impl Handle {
    pub(super) fn word(self) -> usize {
        self.0 as usize
    }
}

/// The name of a place: its present handle, and the family that may use it.
#[repr(C)]
pub(super) struct Place {
    /// The present handle; 0 without an object. The first field: the assembly reads it.
    name: Cell<u32>,
    /// The last handle.
    last: Cell<u32>,
    family: Cell<Family>,
}

impl Place {
    pub(super) const fn new() -> Self {
        Self { name: Cell::new(0), last: Cell::new(0), family: Cell::new(0) }
    }

    /// Gives the place at `index` to an object of `family`. Returns its handle.
    pub(super) fn occupy(&self, index: usize, family: Family) -> Handle {
        debug_assert!(!self.is_used() && index < 1 << INDEX_BITS);
        let next = (self.last.get() >> INDEX_BITS).wrapping_add(1).max(1);
        let generation = if next >> (32 - INDEX_BITS) != 0 { 1 } else { next };
        let handle = generation << INDEX_BITS | index as u32;
        self.name.set(handle);
        self.last.set(handle);
        self.family.set(family);
        Handle(handle)
    }

    /// Frees the place: its handle names nothing from here on.
    pub(super) fn vacate(&self) {
        self.name.set(0);
    }

    pub(super) fn is_used(&self) -> bool {
        self.name.get() != 0
    }

    #[cfg(target_os = "none")]
    pub(super) fn family(&self) -> Family {
        self.family.get()
    }

    /// The present handle, if an object is there.
    pub(super) fn handle(&self) -> Option<Handle> {
        self.is_used().then(|| Handle(self.name.get()))
    }

    /// Returns whether `word` names the object here, for a process of `family`.
    #[inline(always)]
    pub(super) fn is_named(&self, word: usize, family: Family) -> bool {
        self.name.get() as usize == word && word != 0 && self.family.get() == family
    }
}

/// The index in a word that may be a handle.
#[inline(always)]
pub(super) fn index(word: usize) -> usize {
    word & ((1 << INDEX_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_names_its_object_alone() {
        let place = Place::new();
        assert!(!place.is_named(0, 0), "an empty place");
        let first = place.occupy(7, 3).word();
        assert_eq!(index(first), 7);
        assert!(place.is_named(first, 3) && !place.is_named(first, 2), "another family");
        assert!(!place.is_named(first | 1 << 40, 3), "bits above the handle");
        place.vacate();
        assert!(!place.is_named(first, 3) && place.handle().is_none(), "a freed object");
        let second = place.occupy(7, 3).word();
        assert!(second != first && !place.is_named(first, 3) && place.is_named(second, 3));
    }

    #[test]
    fn generations_come_round_without_zero() {
        let place = Place::new();
        place.last.set(((1 << 20) - 1) << INDEX_BITS);
        assert_eq!(place.occupy(5, 0).word(), 1 << INDEX_BITS | 5);
    }

    /// All words of a small range, against a model that knows which handles are alive.
    #[test]
    fn words_that_are_no_handle_name_nothing() {
        let places = [const { Place::new() }; 4];
        let mut alive = std::collections::BTreeMap::new();
        let mut seed = 1_u32;
        for _ in 0..if cfg!(miri) { 5 } else { 500 } {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (seed >> 16) as usize % 4;
            if places[at].is_used() {
                places[at].vacate();
                alive.remove(&at);
            } else {
                let family = (seed >> 20) as u8 & 1;
                alive.insert(at, (places[at].occupy(at, family).word(), family));
            }
            for word in (0..4).flat_map(|index| (0..80).map(move |g| g << INDEX_BITS | index)) {
                for family in [0, 1] {
                    let named = places[index(word)].is_named(word, family);
                    assert_eq!(named, alive.get(&index(word)) == Some(&(word, family)));
                }
            }
        }
    }
}
