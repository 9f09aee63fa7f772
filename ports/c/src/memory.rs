//! The memory that the port has handed over: marks, bodies, and `chrono_alloc`.

use core::{
    cell::Cell,
    ffi::c_void,
    mem::MaybeUninit,
    ptr::{null, null_mut},
    slice,
};

use chronoscope_suite::{Reason, Refusal, arena::Arena};

/// The least size, in bytes: the kernel's value and a few marks.
const LEAST: usize = 4096;

/// The arena, from `start` on; null before.
struct Region(Cell<*const Arena>);

// SAFETY: written once, before there are tasks. Only one task at a time creates tasks and objects:
// the director, while it sets up an experiment.
unsafe impl Sync for Region {}

static REGION: Region = Region(Cell::new(null()));

/// An arena that lies in its own memory, so that it lives as long.
struct Own(Cell<Option<Arena>>);

/// Takes the memory over.
///
/// # Errors
/// [`Refusal`] if it is too small.
///
/// # Safety
/// `bytes` from `memory` on must be used by nothing else. Called once.
pub unsafe fn start(memory: *mut MaybeUninit<u8>, bytes: usize) -> Result<&'static Arena, Refusal> {
    if memory.is_null() || bytes < LEAST {
        let mend = "give chrono_target 16 KiB or more";
        return Err(Refusal::new(Reason::Exhausted, "the port has handed over no memory", mend));
    }
    // SAFETY: as the caller says.
    let arena = Arena::new(unsafe { slice::from_raw_parts_mut(memory, bytes) });
    let own = arena.place(Own(Cell::new(None)))?;
    own.0.set(Some(arena));
    // SAFETY: nothing takes the value out or replaces it, so the reference stays valid.
    let arena = unsafe { (*own.0.as_ptr()).as_ref() }.ok_or(Refusal::full())?;
    REGION.0.set(arena);
    Ok(arena)
}

/// A unit of [`alloc`]: as aligned as any object of C.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Unit([u64; 2]);

/// Zeroed memory, aligned to 16 bytes.
///
/// # Errors
/// [`Refusal::full`], and before [`start`].
pub fn alloc(bytes: usize) -> Result<*mut c_void, Refusal> {
    // SAFETY: null, or the arena that `start` has placed.
    let arena = unsafe { REGION.0.get().as_ref() }.ok_or(Refusal::full())?;
    let units = arena.lend(bytes.div_ceil(size_of::<Unit>()), |_| Ok(Unit([0; 2])))?;
    Ok(units.as_mut_ptr().cast())
}

#[unsafe(no_mangle)]
extern "C" fn chrono_alloc(bytes: usize) -> *mut c_void {
    alloc(bytes).unwrap_or(null_mut())
}
