//! How much a log through `defmt-rtt` has accepted: the buffer in memory that a debug probe empties.
//!
//! There is no probe here, so older lines are written over. That costs the same: the target does not wait for a probe.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The start of RTT's control block, which debug probes look for by its name. The layout is SEGGER's.
#[repr(C)]
struct ControlBlock {
    id: [u8; 16],
    channels: [u32; 2],
    name: *const u8,
    buffer: *const u8,
    size: u32,
    /// Where the next byte goes.
    write: AtomicU32,
}

unsafe extern "Rust" {
    static _SEGGER_RTT: ControlBlock;
}

/// Bytes up to the last time that somebody asked, and where the next byte went then.
static ACCEPTED: AtomicU32 = AtomicU32::new(0);
static SEEN: AtomicU32 = AtomicU32::new(0);

/// Bytes accepted so far. To be asked after every line, which is shorter than the buffer; by ports with `defmt-rtt` alone.
pub fn accepted() -> u64 {
    // SAFETY: defmt-rtt defines the block with this layout.
    let block = unsafe { &_SEGGER_RTT };
    let write = block.write.load(Relaxed);
    let bytes = (write + block.size - SEEN.load(Relaxed)) % block.size;
    SEEN.store(write, Relaxed);
    ACCEPTED.store(ACCEPTED.load(Relaxed) + bytes, Relaxed);
    ACCEPTED.load(Relaxed).into()
}
