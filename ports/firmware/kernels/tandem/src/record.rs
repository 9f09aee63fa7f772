//! The port's data of a task, for `reap`.
//!
//! The kernel identifies the running task by its name. The name's bytes are in the task's record,
//! so their address gives the record.

use core::{cell::Cell, ptr, str};

use tandem::Semaphore;

const LONGEST: usize = 9;

#[repr(C)]
pub struct Record {
    name: [u8; LONGEST],
    length: u8,
    /// Tasks that this one has spawned and not reaped. Only the task itself counts.
    children: Cell<u32>,
    /// Given once by each child that ends.
    pub ended: Semaphore,
}

// SAFETY: the cell is its own task's alone.
unsafe impl Sync for Record {}

impl Record {
    /// `name`: the task's name in the kernel's fault messages.
    pub const fn new(name: &'static str) -> Self {
        let mut bytes = [0; LONGEST];
        let (copied, _) = bytes.split_at_mut(name.len());
        copied.copy_from_slice(name.as_bytes());
        Self {
            name: bytes,
            length: name.len() as u8,
            children: Cell::new(0),
            ended: Semaphore::new(0),
        }
    }

    /// The name to spawn the task with, so that [`current`] finds the record.
    #[inline(always)]
    pub fn name(&'static self) -> &'static str {
        ptr::from_ref(self).expose_provenance();
        // SAFETY: these are all bytes of the text that the record was made with.
        unsafe { str::from_utf8_unchecked(self.name.get_unchecked(..usize::from(self.length))) }
    }

    pub fn adopt(&self) {
        self.children.set(self.children.get() + 1);
    }

    /// Counts a child as reaped. Returns false if there is none to wait for.
    pub fn disown(&self) -> bool {
        let children = self.children.get();
        self.children.set(children.saturating_sub(1));
        children > 0
    }
}

/// The record of the running task.
#[inline]
pub fn current() -> &'static Record {
    let name = tandem::current().name();
    // SAFETY: all tasks of this program are called by a record's `name`, its first field; a record
    // is static.
    unsafe { &*ptr::with_exposed_provenance(name.as_ptr().addr()) }
}
