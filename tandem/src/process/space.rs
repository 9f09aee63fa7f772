//! Address spaces: the kernel's tables, a set of tables for each process, and copies out of a
//! process's memory.
//!
//! # Layout
//! | virtual | |
//! |---|---|
//! | 0 to 0x3fff_ffff | devices, for the kernel |
//! | 0x4000_0000 | the program, at most 2 MiB: the same pages in all processes |
//! | 0x4800_0000 | the arena, 2 MiB, in the first family |
//! | 0x4fe0_0000 | the page of a process's coroutines, if it has one |
//! | below 0x5000_0000 | the stack; nothing is mapped below it |
//! | 0x8000_0000 to 0xbfff_ffff | memory at its physical addresses, for the kernel |
//!
//! # Soundness
//! - Pages come from the region that the program has given by the unsafe [`Memory::new`]; each is
//!   handed out once. Tables are written here only, of a process that does not run.
//! - The kernel's mapping is the identity, in every address space, so pointers of the kernel are
//!   valid before and after paging is turned on, whatever process's tables are used.
//! - Translations that the processor may hold of an address space are dropped by `sfence.vma`
//!   before the first instruction of its next process.

use super::{
    abi::PROCESSES,
    table::{self, ENTRIES, EXECUTE, GLOBAL, LARGE, PAGE, READ, USER, WRITE},
};
use crate::{
    arch::masked,
    shared::{Masked, Shared},
};
use core::{arch::asm, ops::Range};

pub(super) const PROGRAM: usize = 0x4000_0000;
pub(super) const ARENA: usize = 0x4800_0000;
pub(super) const STACK_END: usize = 0x5000_0000;
/// The page of coroutines: the lowest that the last table of the stack maps.
pub(super) const COROUTINES: usize = STACK_END - LARGE;
const RAM: usize = 0x8000_0000;

/// The pages of a kernel stack. Two: the report of a fault formats text.
const KERNEL_STACK: usize = 2 * PAGE;

/// A program: an ELF image for RV64, little-endian, linked at 0x4000_0000, whose segments begin
/// with pages in the file as in memory. No segment is writable.
#[derive(Clone, Copy)]
pub struct Program(&'static [u8]);

impl Program {
    /// The program in `image`.
    ///
    /// # Panics
    /// If the image does not begin and end with a page of memory: processes can read whole pages,
    /// so also what lies behind its last byte.
    #[must_use]
    pub fn new(image: &'static [u8]) -> Self {
        assert!(image.as_ptr().addr().is_multiple_of(PAGE), "a program begins with a page");
        assert!(image.len().is_multiple_of(PAGE), "a program ends with a page: fill it up");
        Self(image)
    }

    fn word(&self, at: usize, bytes: usize) -> usize {
        let bytes = self.0.get(at..at + bytes).expect("a program is an ELF image");
        bytes.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
    }
}

/// The memory of the image and of processes.
pub struct Memory {
    code: Range<usize>,
    pages: Range<usize>,
}

impl Memory {
    /// Divides the memory: `code` is read and executed, `pages` belongs to processes, and the rest
    /// of the GiB from 0x8000_0000 is read and written.
    ///
    /// # Panics
    /// Unless `code` lies in the first 2 MiB from 0x8000_0000, and both begin and end with pages.
    ///
    /// # Safety
    /// The image writes nothing in `code`, executes nothing outside of it, and nothing else uses
    /// `pages`, which is memory.
    #[must_use]
    pub unsafe fn new(code: Range<usize>, pages: Range<usize>) -> Self {
        let ends = [code.start, code.end, pages.start, pages.end];
        assert!(ends.iter().all(|end| end.is_multiple_of(PAGE)), "memory is divided by pages");
        assert!(code.start >= RAM && code.end <= RAM + LARGE, "code is in the first 2 MiB");
        Self { code, pages }
    }
}

struct Pages {
    next: Shared<usize>,
    end: Shared<usize>,
    /// The kernel's table for the GiB of memory.
    kernel: Shared<usize>,
    /// The last table of the program's pages.
    program: Shared<usize>,
    /// The arena's physical address.
    arena: Shared<usize>,
    asids: Shared<bool>,
}

static PAGES: Pages = Pages {
    next: Shared::new(0),
    end: Shared::new(0),
    kernel: Shared::new(0),
    program: Shared::new(0),
    arena: Shared::new(0),
    asids: Shared::new(false),
};

/// Takes pages of memory that nothing uses. `None` if there are too few.
fn pages(m: Masked, bytes: usize) -> Option<usize> {
    let first = PAGES.next.get(m);
    let next = first.checked_add(bytes).filter(|next| *next <= PAGES.end.get(m))?;
    PAGES.next.set(m, next);
    Some(first)
}

/// Fills memory with zeros: a store for each word, and a jump for 32 of them. `bytes` is a multiple
/// of 256.
#[inline(always)]
pub(super) fn clear(page: usize, bytes: usize) {
    // SAFETY: callers pass memory from `pages` that no running process uses.
    unsafe {
        asm!(
            "2:",
            ".irp word, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, \
             22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
            "sd zero, 8*\\word({at})",
            ".endr",
            "addi {at}, {at}, 256",
            "bltu {at}, {end}, 2b",
            at = inout(reg) page => _,
            end = in(reg) page + bytes,
            options(nostack)
        );
    }
}

/// Writes an entry of a table.
fn write(table: usize, index: usize, entry: u64) {
    debug_assert!(table.is_multiple_of(PAGE) && index < ENTRIES);
    // SAFETY: callers pass a table that they have taken from `pages`.
    unsafe { (table as *mut u64).add(index).write_volatile(entry) };
}

fn new_table(m: Masked) -> Option<usize> {
    let table = pages(m, PAGE)?;
    clear(table, PAGE);
    Some(table)
}

/// Takes the page of a record's coroutines. `None` if there is none left.
pub(super) fn claim_page(m: Masked) -> Option<usize> {
    pages(m, PAGE)
}

/// Makes the tables of the kernel and of the program, and turns paging on. Returns the address of
/// the program's first instruction.
///
/// # Panics
/// If the program has another form than [`Program`] describes, or the memory does not suffice.
pub(super) fn set_up(program: &Program, memory: Memory, asids: bool) -> usize {
    masked(|m| {
        PAGES.next.set(m, memory.pages.start.next_multiple_of(LARGE));
        PAGES.end.set(m, memory.pages.end);
        PAGES.asids.set(m, asids);
        let arena = pages(m, LARGE).expect("memory for the arena");
        clear(arena, LARGE);
        PAGES.arena.set(m, arena);
        PAGES.kernel.set(m, kernel_tables(m, &memory.code).expect("memory for tables"));
        let (table, entry) = program_table(m, program).expect("memory for tables");
        PAGES.program.set(m, table);
        let root = new_table(m).expect("memory for tables");
        write_root(m, root);
        let highest = enter(root);
        assert!(!asids || highest >= PROCESSES, "the core has too few ASIDs: start without them");
        entry
    })
}

/// The middle table of the GiB of memory, which all address spaces share.
fn kernel_tables(m: Masked, code: &Range<usize>) -> Option<usize> {
    let (middle, last) = (new_table(m)?, new_table(m)?);
    for at in 1..ENTRIES {
        write(middle, at, table::leaf(RAM + at * LARGE, READ | WRITE | GLOBAL));
    }
    write(middle, 0, table::branch(last));
    // The first page holds the code in machine mode: not mapped.
    for at in 1..ENTRIES {
        let page = RAM + at * PAGE;
        let permission = if code.contains(&page) { EXECUTE } else { WRITE };
        write(last, at, table::leaf(page, READ | permission | GLOBAL));
    }
    Some(middle)
}

/// Maps the kernel in a root.
fn write_root(m: Masked, root: usize) {
    write(root, table::index(0, 2), table::leaf(0, READ | WRITE | GLOBAL));
    write(root, table::index(RAM, 2), table::branch(PAGES.kernel.get(m)));
}

/// The last table of the program's pages, and the address of its first instruction.
fn program_table(m: Masked, program: &Program) -> Option<(usize, usize)> {
    const ENTRY: usize = 24;
    const HEADERS: usize = 32;
    const HEADER: usize = 56;
    const LOADED: usize = 1;
    let table = new_table(m)?;
    let (headers, count) = (program.word(HEADERS, 8), program.word(HEADERS + 24, 2));
    for header in (0..count).map(|number| headers + number * HEADER) {
        let [kind, flags] = [0, 4].map(|field| program.word(header + field, 4));
        let [offset, address, in_file, size] =
            [8, 16, 32, 40].map(|field| program.word(header + field, 8));
        if kind != LOADED || size == 0 {
            continue;
        }
        assert!(flags & 2 == 0, "no segment of a program is writable");
        assert!(in_file == size && offset + size <= program.0.len(), "a segment is in the file");
        assert!(address >= PROGRAM && address + size <= PROGRAM + LARGE, "a program is at 1 GiB");
        assert!(offset % PAGE == address % PAGE, "a segment begins as in the file");
        let permissions = if flags & 1 != 0 { READ | EXECUTE } else { READ };
        let first = address / PAGE * PAGE;
        for page in (first..address + size).step_by(PAGE) {
            let physical = program.0.as_ptr().addr() + offset / PAGE * PAGE + (page - first);
            write(table, table::index(page, 0), table::leaf(physical, permissions | USER));
        }
    }
    Some((table, program.word(ENTRY, 8)))
}

const MODE: usize = 8 << 60;

const ASID: u32 = 44;

/// Turns paging on, with the kernel's own root. Returns the highest ASID that the core has.
fn enter(root: usize) -> usize {
    let satp = MODE | root >> 12;
    let found: usize;
    // SAFETY: the root maps all memory and devices at their physical addresses, and code as such;
    // its entries are global, so the ASID makes no difference. Bits that the core does not have
    // read as 0.
    unsafe {
        asm!(
            // The stores to the tables come before the first walk of them.
            "sfence.vma",
            "csrw satp, {all}",
            "csrr {found}, satp",
            "csrw satp, {none}",
            "sfence.vma",
            all = in(reg) satp | 0xffff << ASID,
            none = in(reg) satp,
            found = out(reg) found,
            options(nostack)
        );
    }
    found >> ASID & 0xffff
}

/// Returns whether each process has an ASID of its own.
pub(super) fn has_asids(m: Masked) -> bool {
    PAGES.asids.get(m)
}

/// The memory of a process: tables, and the pages that it does not share. Used by one process after
/// the other.
#[derive(Clone, Copy)]
pub(super) struct Space {
    root: usize,
    middle: usize,
    /// The low end of the stack's pages, and their number of bytes.
    stack: usize,
    size: usize,
    /// The high end of the kernel stack.
    pub(super) kernel_stack: usize,
    pub(super) satp: usize,
}

impl Space {
    /// Takes the memory of a process. `number`, from 1, is its ASID. `None` if there is too little.
    /// [`build`](Self::build) is to follow.
    pub(super) fn claim(m: Masked, number: usize, stack: usize) -> Option<Self> {
        let root = pages(m, 3 * PAGE + KERNEL_STACK + stack)?;
        let [middle, last] = [root + PAGE, root + 2 * PAGE];
        let kernel_stack = last + PAGE + KERNEL_STACK;
        let asid = if PAGES.asids.get(m) { number } else { 0 };
        let satp = MODE | asid << ASID | root >> 12;
        Some(Self { root, middle, stack: kernel_stack, size: stack, kernel_stack, satp })
    }

    /// Makes the tables, in memory that has been taken. Interrupts may be on: nothing else uses the
    /// space.
    pub(super) fn build(&self) {
        let (root, middle, last) = (self.root, self.middle, self.middle + PAGE);
        clear(root, 3 * PAGE);
        let program = masked(|m| {
            write_root(m, root);
            PAGES.program.get(m)
        });
        write(root, table::index(PROGRAM, 2), table::branch(middle));
        write(middle, table::index(PROGRAM, 1), table::branch(program));
        write(middle, table::index(STACK_END - 1, 1), table::branch(last));
        for page in (0..self.size).step_by(PAGE) {
            let entry = table::leaf(self.stack + page, READ | WRITE | USER);
            write(last, table::index(STACK_END - self.size + page, 0), entry);
        }
    }

    /// Prepares the memory for its next process: clears the stack, and maps the arena or not.
    /// Interrupts may be on: nothing else uses the space.
    pub(super) fn renew(&self, arena: Option<usize>) {
        clear(self.stack, self.size);
        let entry = arena.map_or(0, |arena| table::leaf(arena, READ | WRITE | USER));
        write(self.middle, table::index(ARENA, 1), entry);
        self.fence();
    }

    /// Maps a page that belongs to this space for its process's coroutines, or none. The process is
    /// in the kernel.
    pub(super) fn map_coroutines(&self, page: Option<usize>) {
        let entry = page.map_or(0, |page| table::leaf(page, READ | WRITE | USER));
        write(self.middle + PAGE, table::index(COROUTINES, 0), entry);
        self.fence();
    }

    /// Drops the processor's translations of this address space.
    fn fence(&self) {
        // SAFETY: the processor reads the tables again.
        unsafe {
            asm!("sfence.vma zero, {}", in(reg) self.satp >> ASID & 0xffff, options(nostack))
        };
    }

    /// Copies `bytes` to the high end of the stack, below `above` bytes. Returns the address for
    /// the process. The caller has checked that they fit.
    pub(super) fn place(&self, bytes: &[u8]) -> usize {
        let room = bytes.len().next_multiple_of(16);
        debug_assert!(room < self.size);
        let at = self.stack + self.size - room;
        // SAFETY: within the stack's pages, which no process uses yet.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        STACK_END - room
    }

    /// Calls `visit` for the parts of `length` bytes from `address`, as the kernel sees them.
    /// Returns `false` if the process may not read some of them; parts before have been visited.
    ///
    /// The process, or another that shares the memory, may change the bytes meanwhile: the kernel
    /// must not depend on their values.
    pub(super) fn read(
        &self,
        address: usize,
        length: usize,
        mut visit: impl FnMut(*const u8, usize),
    ) -> bool {
        let (mut at, mut rest) = (address, length);
        while rest > 0 {
            let entry = |place: usize| {
                // SAFETY: `translate` reads entries of this space's tables only.
                unsafe { (place as *const u64).read_volatile() }
            };
            let Some((physical, room)) = table::translate(self.root, at, READ | USER, entry) else {
                return false;
            };
            let part = room.min(rest);
            visit(physical as *const u8, part);
            (at, rest) = (at + part, rest - part);
        }
        true
    }
}

/// The arena's physical address.
pub(super) fn arena(m: Masked) -> usize {
    PAGES.arena.get(m)
}

/// Writes bytes at the beginning of the arena. Called once, before the first process runs.
pub(super) fn write_request(m: Masked, bytes: &[u8]) {
    assert!(bytes.len() <= PAGE, "a request fits a page");
    // SAFETY: within the arena, which nothing else uses yet.
    unsafe {
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), PAGES.arena.get(m) as *mut u8, bytes.len());
    }
}
