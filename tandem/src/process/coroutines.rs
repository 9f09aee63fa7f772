//! Coroutines in processes: how the kernel knows the most urgent one of each process.
//!
//! A process with coroutines has a page for them at [`space::COROUTINES`]. The process writes the
//! priority of its most urgent coroutine there, and the kernel the bits of bells that have been
//! rung. `docs/processes.md` has the invariant and its proof.
//!
//! # The page
//! | offset | written by | |
//! |--:|---|---|
//! | 0 | the process | the priority that it publishes |
//! | 4 | the kernel | the priority that the kernel knows |
//! | 8 | both | the inbox: a bit for each bell that has been rung |
//! | 16 | the process | its own records, which the kernel never accesses |
//!
//! # Soundness
//! The page belongs to the process, which may write anything there whenever it runs. The kernel
//! reads two words: a priority, limited to the family's highest, and the inbox, which it compares
//! with 0. No address, index or count comes from the page. Accesses are atomic, and go by the
//! page's physical address, which belongs to the record for ever.

use super::{
    object,
    records::{Process, calls, publishing_calls, this},
    space,
};
use crate::{
    arch::masked,
    records::{KERNEL, Level, Priority, Task},
    shared::Masked,
};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The bells that an inbox has bits for. The process uses the highest bit for itself.
pub(super) const SLOTS: usize = 63;

/// The words of a page that the kernel accesses.
#[repr(C)]
struct Words {
    urgent: AtomicU32,
    known: AtomicU32,
    inbox: AtomicU64,
}

/// The words of a process that has a page.
fn words(m: Masked, process: &Process) -> &'static Words {
    let page = process.page.get(m);
    debug_assert!(page != 0);
    // SAFETY: the page is mapped for the kernel at this address, and is the record's for ever.
    // Atomic integers may be changed by others at any time.
    unsafe { &*(page as *const Words) }
}

/// The tag of no object, in the frame of a process whose calls all go by the table.
const NO_TAG: u16 = u16::MAX;

/// Gives the calling process a page, cleared. Returns its address; `None` without memory.
/// Interrupts are on.
pub(super) fn open(me: &'static Process) -> Option<usize> {
    let page = masked(|m| {
        if me.page.get(m) == 0 {
            me.page.set(m, space::claim_page(m)?);
        }
        Some(me.page.get(m))
    })?;
    space::clear(page, super::table::PAGE);
    masked(|m| {
        me.space(m).map_coroutines(Some(page));
        let words = words(m, me);
        let priority = priority(me.task().base(m));
        words.urgent.store(priority, Relaxed);
        words.known.store(priority, Relaxed);
        let frame = me.frame(m);
        // SAFETY: the process is in this call, so its frame is not in use.
        unsafe {
            (&raw mut (*frame).page).write(page);
            (&raw mut (*frame).table).write(publishing_calls());
            (&raw mut (*frame).semaphores).write(NO_TAG);
            (&raw mut (*frame).endpoints).write(NO_TAG);
            (&raw mut (*frame).handle).write(usize::MAX);
        }
    });
    Some(space::COROUTINES)
}

/// Takes the page from a process that ends, if it has one, and makes its bells dead. Interrupts are
/// on.
#[inline(never)]
pub(super) fn close(me: &'static Process) {
    // SAFETY: the process is in the kernel for good, so its frame is not in use.
    if masked(|m| unsafe { (*me.frame(m)).page }) == 0 {
        return;
    }
    object::silence(me);
    masked(|m| {
        me.listens.set(m, false);
        me.space(m).map_coroutines(None);
        let frame = me.frame(m);
        // SAFETY: as above.
        unsafe {
            (&raw mut (*frame).page).write(0);
            (&raw mut (*frame).table).write(calls());
        }
    });
}

fn priority(level: Level) -> u32 {
    u32::from(Priority::of_level(level).value())
}

/// The level that a process publishes, within its family's bounds.
fn published(m: Masked, process: &Process) -> Level {
    let urgent = words(m, process).urgent.load(Relaxed).min(31);
    process.allowed(m, Priority::new(urgent as u8).level())
}

/// Gives a process the level of its most urgent coroutine. `front`: in front of its equals.
fn set_level(m: Masked, process: &'static Process, level: Level, front: bool) {
    process.header.set_base(m, level);
    words(m, process).known.store(priority(level), Relaxed);
    process.settle_among(m, front);
}

/// Raises the calling process, which has a page, to the level that it publishes.
#[inline(always)]
pub(super) fn raise(m: Masked, me: &'static Process) {
    let level = published(m, me);
    if level < me.task().base(m) {
        set_level(m, me, level, true);
    }
}

/// Does the work of [`raise`] for the entry of an interrupt from a process that has a page.
pub(super) extern "C" fn publish() {
    // SAFETY: a trap masks interrupts, and the entry calls the function so.
    let m = unsafe { Masked::assume() };
    raise(m, this(m));
}

/// The task to switch to, if one is more urgent than the caller or in front of it.
fn reschedule(m: Masked, me: &'static Process) -> Option<Task> {
    let urgent = KERNEL.ready.most_urgent(m);
    (!urgent.is(me.task())).then_some(urgent)
}

/// Gives the caller the level that it publishes, unless its inbox has a bit: then a coroutine may
/// be more urgent than what it publishes. With `yields`, moves it behind its equals.
pub(super) fn give_way(m: Masked, me: &'static Process, yields: bool) -> Option<Task> {
    let level = published(m, me);
    if level != me.task().base(m) && words(m, me).inbox.load(Relaxed) == 0 {
        set_level(m, me, level, true);
    }
    if yields {
        KERNEL.ready.rotate(m, me.task());
    }
    reschedule(m, me)
}

/// Has the caller wait until one of its bells is rung, unless one has been.
pub(super) fn listen(m: Masked, me: &'static Process) -> Option<Task> {
    if words(m, me).inbox.load(Relaxed) != 0 {
        return None;
    }
    me.listens.set(m, true);
    Some(KERNEL.ready.remove_head(m, me.task()))
}

/// Rings a bell of `owner`, whose coroutine has `level`.
pub(super) fn ring(
    m: Masked,
    me: &'static Process,
    owner: &'static Process,
    slot: usize,
    level: Level,
) -> Option<Task> {
    words(m, owner).inbox.fetch_or(1 << slot, Relaxed);
    if owner.listens.get(m) {
        owner.listens.set(m, false);
        set_level(m, owner, level, false);
        KERNEL.ready.insert(m, owner.task());
    } else if level < owner.task().base(m) {
        set_level(m, owner, level, owner.is(me));
    }
    reschedule(m, me)
}
