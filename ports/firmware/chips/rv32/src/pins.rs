//! Pins D0 to D7 of the RTL bench, on which a logic analyser sees the measured intervals.

use crate::registers::{PIN_CLEAR, PIN_SET};

/// Drives a pin by one store. Does nothing in an image without the feature `pins`.
#[inline(always)]
pub fn drive(pin: u8, high: bool) {
    if cfg!(feature = "pins") {
        let register = if high { PIN_SET } else { PIN_CLEAR };
        register.write(1 << pin);
    }
}
