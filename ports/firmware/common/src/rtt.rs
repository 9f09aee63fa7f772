//! The number of bytes that a log through `defmt-rtt` has accepted, read from the buffer in memory
//! that a debug probe empties.
//!
//! No probe empties it here, so older lines are overwritten. That costs the same: the target does
//! not wait for a probe.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Gives a port's kernel the log of its users: defmt, into a buffer in memory that a debug probe
/// empties (`defmt-rtt`). A macro, because the image links `defmt-rtt` and not this crate.
#[macro_export]
macro_rules! log_by_defmt {
    ($kernel:ty) => {
        use defmt_rtt as _;

        impl ::chronoscope_suite::kernel::Log for $kernel {
            #[inline]
            fn log(&self, round: u32, ticks: u64) {
                ::defmt::info!("round {=u32} at {=u64}", round, ticks);
            }

            fn logged(&self) -> u64 {
                ::board::rtt::accepted()
            }
        }
    };
}

/// The start of RTT's control block, which debug probes look for by its name. The layout is
/// SEGGER's.
#[repr(C)]
struct ControlBlock {
    id: [u8; 16],
    channels: [u32; 2],
    name: *const u8,
    buffer: *const u8,
    size: u32,
    /// The index of the next byte to write.
    write: AtomicU32,
}

unsafe extern "Rust" {
    static _SEGGER_RTT: ControlBlock;
}

/// The bytes counted up to the last call of [`accepted`], and the buffer's write index at that
/// call.
static ACCEPTED: AtomicU32 = AtomicU32::new(0);
static SEEN: AtomicU32 = AtomicU32::new(0);

/// Bytes accepted so far. To be asked after every line, which is shorter than the buffer; by ports
/// with `defmt-rtt` alone.
pub fn accepted() -> u64 {
    // SAFETY: defmt-rtt defines the block with this layout.
    let block = unsafe { &_SEGGER_RTT };
    let write = block.write.load(Relaxed);
    let bytes = (write + block.size - SEEN.load(Relaxed)) % block.size;
    SEEN.store(write, Relaxed);
    ACCEPTED.store(ACCEPTED.load(Relaxed) + bytes, Relaxed);
    ACCEPTED.load(Relaxed).into()
}
