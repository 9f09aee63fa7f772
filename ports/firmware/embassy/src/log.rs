//! The log of embassy's users: defmt, into a buffer in memory that a debug probe empties (`defmt-rtt`).
//!
//! There is no probe here, so older lines are written over. That costs the same: the target does not wait for a probe.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use chronoscope_suite::kernel::Log;
use defmt_rtt as _;

use crate::kernel::Embassy;

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

impl Log for Embassy {
    #[inline]
    fn log(&self, round: u32, ticks: u64) {
        defmt::info!("round {=u32} at {=u64}", round, ticks);
    }

    /// To be asked after every line, which is shorter than the buffer.
    fn logged(&self) -> u64 {
        // SAFETY: defmt-rtt defines the block with this layout.
        let block = unsafe { &_SEGGER_RTT };
        let write = block.write.load(Relaxed);
        let bytes = (write + block.size - SEEN.load(Relaxed)) % block.size;
        SEEN.store(write, Relaxed);
        ACCEPTED.store(ACCEPTED.load(Relaxed) + bytes, Relaxed);
        ACCEPTED.load(Relaxed).into()
    }
}
