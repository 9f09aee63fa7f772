//! The clock that marks read, and the slots that marks are stored in.

use core::sync::atomic::{self, Ordering::Relaxed};

use crate::wire::Domain;

/// The clock that marks read and delays are due on.
pub trait Clock {
    /// Where a mark stores what it read: `AtomicU32` or `AtomicU64`, as wide as the clock's counter.
    type Slot: Slot;
    /// What the ticks of this clock mean.
    const DOMAIN: Domain;

    /// What they mean in this run, where that is known only then.
    fn domain(&self) -> Domain {
        Self::DOMAIN
    }

    /// Reads the counter: the cheapest read there is.
    fn read(&self) -> <Self::Slot as Slot>::Raw;

    /// Ticks since some fixed point; never wraps during a case. Its low bits are those of [`read`](Self::read).
    fn now(&self) -> u64;

    /// Ticks per second.
    fn hertz(&self) -> u64;

    /// Sets a pin for a logic analyser, at the cost of one store. Nothing at all where the image drives no pins, which is the
    /// usual one: a store between two marks would be in every figure.
    #[inline(always)]
    fn drive(&self, _pin: u8, _high: bool) {}
}

/// A place for one clock value, as wide as the clock's counter.
pub trait Slot: Sync + Sized + 'static {
    type Raw: Copy + Send + 'static;

    fn empty() -> Self;
    fn store(&self, raw: Self::Raw);
    fn load(&self) -> Self::Raw;
    /// The counter's low bits of a 64-bit time.
    fn truncate(time: u64) -> Self::Raw;
    /// Ticks from `start` to `end`, right across one wrap of the counter; negative when `end`
    /// comes first. The two must lie less than half the counter's range apart.
    fn between(start: Self::Raw, end: Self::Raw) -> i64;
}

macro_rules! slot {
    ($atomic:ty, $raw:ty, $signed:ty) => {
        impl Slot for $atomic {
            type Raw = $raw;

            fn empty() -> Self {
                <$atomic>::new(0)
            }

            #[inline(always)]
            fn store(&self, raw: $raw) {
                self.store(raw, Relaxed);
            }

            #[inline(always)]
            fn load(&self) -> $raw {
                self.load(Relaxed)
            }

            #[inline(always)]
            fn truncate(time: u64) -> $raw {
                time as $raw
            }

            #[inline(always)]
            fn between(start: $raw, end: $raw) -> i64 {
                i64::from(end.wrapping_sub(start) as $signed)
            }
        }
    };
}

slot!(atomic::AtomicU32, u32, i32);
#[cfg(target_has_atomic = "64")]
slot!(atomic::AtomicU64, u64, i64);

/// The raw counter value of a clock.
pub type Raw<C> = <<C as Clock>::Slot as Slot>::Raw;
