//! The slot of a mark for a clock of 64 bits, on machines whose atomic accesses have 32.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use chronoscope_suite::mark::Slot;

/// The low and the high half of a time. Each place of a buffer has one writer, and is read after
/// that writer has ended, so no reader sees the halves of two times.
pub struct Halves([AtomicU32; 2]);

impl Slot for Halves {
    type Raw = u64;

    fn empty() -> Self {
        Self([const { AtomicU32::new(0) }; 2])
    }

    #[inline(always)]
    fn store(&self, raw: u64) {
        self.0[0].store(raw as u32, Relaxed);
        self.0[1].store((raw >> 32) as u32, Relaxed);
    }

    #[inline(always)]
    fn load(&self) -> u64 {
        let [low, high] = [0, 1].map(|half: usize| self.0[half].load(Relaxed));
        u64::from(high) << 32 | u64::from(low)
    }

    #[inline(always)]
    fn truncate(time: u64) -> u64 {
        time
    }

    #[inline(always)]
    fn between(start: u64, end: u64) -> i64 {
        end.wrapping_sub(start).cast_signed()
    }
}
