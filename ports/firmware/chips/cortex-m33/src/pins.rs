//! No pins: QEMU's plugin does not know this machine's.

/// Does nothing.
#[inline(always)]
pub fn drive(_pin: u8, _high: bool) {}
