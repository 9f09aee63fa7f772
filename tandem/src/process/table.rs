//! Page tables of Sv39: entries, and the translation of a virtual address by reading them. Knows no
//! processor: tests run it on the host.
//!
//! # Contents of a table
//! A table is a page of 512 entries. An address has an index of nine bits for each of three tables,
//! and an offset of twelve. An entry with a permission is a leaf: it maps a page of 4 KiB in the
//! last table, of 2 MiB in the one before, of 1 GiB in the root.

/// The bytes of a page.
pub const PAGE: usize = 4096;
/// The entries of a table.
pub(super) const ENTRIES: usize = 512;
/// The bytes that an entry of the table before the last maps.
pub(super) const LARGE: usize = PAGE * ENTRIES;

/// Bits of an entry. Accessed and dirty are set from the start: no processor then needs to write a
/// table, and none traps because it does not.
const VALID: u64 = 1;
pub(super) const READ: u64 = 1 << 1;
pub(super) const WRITE: u64 = 1 << 2;
pub(super) const EXECUTE: u64 = 1 << 3;
pub(super) const USER: u64 = 1 << 4;
pub(super) const GLOBAL: u64 = 1 << 5;
const ACCESSED: u64 = 1 << 6;
const DIRTY: u64 = 1 << 7;

/// The entry that maps `physical` with these permissions.
///
/// # Panics
/// If the page would be both writable and executable.
pub(super) const fn leaf(physical: usize, permissions: u64) -> u64 {
    assert!(permissions & (WRITE | EXECUTE) != WRITE | EXECUTE, "writable or executable, not both");
    (physical as u64 >> 12) << 10 | permissions | VALID | ACCESSED | DIRTY
}

/// The entry that leads to the table at `physical`.
pub(super) const fn branch(physical: usize) -> u64 {
    (physical as u64 >> 12) << 10 | VALID
}

/// The index of an address in a table of `level`: 2 for the root, 0 for the last.
pub(super) const fn index(address: usize, level: usize) -> usize {
    address >> (12 + 9 * level) & (ENTRIES - 1)
}

/// The highest address of the lower half, plus one. Above it, an address of 39 bits would have to
/// be extended with ones; no process has such memory.
pub(super) const TOP: usize = 1 << 38;

/// The physical address of `address` by the tables from `root` down, and the number of bytes from
/// there to the end of the page. `None` unless all bits of `needs` are set in the leaf.
///
/// `read` returns the entry at a physical address: three calls at most.
pub(super) fn translate(
    root: usize,
    address: usize,
    needs: u64,
    read: impl Fn(usize) -> u64,
) -> Option<(usize, usize)> {
    if address >= TOP {
        return None;
    }
    let mut table = root;
    for level in [2, 1, 0] {
        let entry = read(table + 8 * index(address, level));
        let target = (entry >> 10 << 12) as usize & ((1 << 56) - 1);
        if entry & VALID == 0 {
            return None;
        }
        if entry & (READ | WRITE | EXECUTE) != 0 {
            let size = PAGE << (9 * level);
            let offset = address & (size - 1);
            let fits = entry & needs == needs;
            return fits.then_some((target + offset, size - offset));
        }
        table = target;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A root at page 1, a middle table at page 2, a last one at page 3.
    fn memory() -> BTreeMap<usize, u64> {
        let user = READ | WRITE | USER;
        BTreeMap::from([
            (PAGE + 8, branch(2 * PAGE)),
            (PAGE + 16, leaf(0x8000_0000, READ | GLOBAL)),
            (2 * PAGE, branch(3 * PAGE)),
            (2 * PAGE + 8 * 64, leaf(0x8140_0000, user)),
            (3 * PAGE + 8 * 5, leaf(0x8100_7000, user)),
            (3 * PAGE + 8 * 6, leaf(0x8100_8000, READ | EXECUTE | USER)),
            (3 * PAGE + 8 * 7, branch(4 * PAGE)),
        ])
    }

    fn find(address: usize, needs: u64) -> Option<(usize, usize)> {
        let memory = memory();
        translate(PAGE, address, needs, |at| memory.get(&at).copied().unwrap_or(0))
    }

    #[test]
    fn pages_of_all_sizes_are_found() {
        assert_eq!(find(0x4000_5123, READ | USER), Some((0x8100_7123, PAGE - 0x123)));
        assert_eq!(find(0x4800_0010, WRITE | USER), Some((0x8140_0010, LARGE - 0x10)));
        assert_eq!(find(0x8000_0004, READ), Some((0x8000_0004, (1 << 30) - 4)));
    }

    #[test]
    fn a_permission_that_is_missing_is_refused() {
        assert_eq!(find(0x8000_0004, READ | USER), None, "the kernel's memory");
        assert_eq!(find(0x4000_6000, WRITE | USER), None, "text");
        assert_eq!(find(0x4000_4000, READ | USER), None, "no page");
        assert_eq!(find(0x4000_7000, READ), None, "a branch in the last table");
        assert_eq!(find(TOP, READ), None);
        assert_eq!(find(usize::MAX, READ), None);
    }

    #[test]
    #[should_panic(expected = "not both")]
    fn no_page_is_writable_and_executable() {
        let _ = leaf(0, WRITE | EXECUTE);
    }
}
