//! Pins: this machine has none.

/// Does nothing.
#[inline(always)]
pub fn drive(_pin: u8, _high: bool) {}
