//! No pins: QEMU's plugin does not know those of this machine.

/// Does nothing.
#[inline(always)]
pub fn drive(_pin: u8, _high: bool) {}
