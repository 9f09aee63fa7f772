//! The clock that marks read, and the slots that marks are stored in.

use core::sync::atomic::{self, Ordering::Relaxed};

use crate::wire::Domain;

/// The clock that marks read and that the due times of delays refer to.
pub trait Clock {
    /// The type that stores a raw counter value: `AtomicU32` or `AtomicU64`, as wide as the
    /// counter.
    type Slot: Slot;
    /// The clock domain: the meaning of a tick.
    const DOMAIN: Domain;

    /// Returns the clock domain of this run. Override it if the domain is known only at run time.
    fn domain(&self) -> Domain {
        Self::DOMAIN
    }

    /// Reads the raw counter by the cheapest means. Its cost is the cost of a mark.
    fn read(&self) -> <Self::Slot as Slot>::Raw;

    /// Returns the ticks since an arbitrary fixed point. It never wraps during a case; its low bits
    /// equal the value of [`read`](Self::read).
    fn now(&self) -> u64;

    /// Returns the frequency in ticks per second.
    fn hertz(&self) -> u64;

    /// Sets the level of a pin for a logic analyser, at the cost of one store. Compiles to nothing
    /// in the usual image, which drives no pins: a store between two marks would be part of every
    /// figure.
    #[inline(always)]
    fn drive(&self, _pin: u8, _high: bool) {}
}

/// Storage for one raw clock value, written and read by relaxed atomic operations.
pub trait Slot: Sync + Sized + 'static {
    /// A value of the clock, as wide as its counter.
    type Raw: Copy + Send + 'static;

    /// Creates a slot with the value 0.
    fn empty() -> Self;
    /// Stores a value.
    fn store(&self, raw: Self::Raw);
    /// Returns the value that was stored last.
    fn load(&self) -> Self::Raw;
    /// Returns the low bits of a 64-bit time, as wide as the counter.
    fn truncate(time: u64) -> Self::Raw;
    /// Returns the ticks from `start` to `end`, correct across one wrap of the counter, and
    /// negative if `end` comes first. The two must be less than half the counter's range apart.
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

/// The raw counter value of clock `C`.
pub type Raw<C> = <<C as Clock>::Slot as Slot>::Raw;
