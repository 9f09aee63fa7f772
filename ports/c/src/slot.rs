//! The memory of a mark, as wide as the clock's counter.

#[cfg(not(feature = "clock-call64"))]
pub type Slot = core::sync::atomic::AtomicU32;
#[cfg(all(feature = "clock-call64", target_has_atomic = "64"))]
pub type Slot = core::sync::atomic::AtomicU64;
#[cfg(all(feature = "clock-call64", not(target_has_atomic = "64")))]
pub type Slot = crate::halves::Halves;

/// The counter's value in a mark.
pub type Raw = <Slot as chronoscope_suite::mark::Slot>::Raw;
