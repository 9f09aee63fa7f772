//! Pins that show a logic analyser what is measured: D0 to D7 of the RTL bench.

use crate::registers::{PIN_CLEAR, PIN_SET};

/// Sets a pin: a store. In an image without the feature `pins`, nothing.
#[inline(always)]
pub fn drive(pin: u8, high: bool) {
    if cfg!(feature = "pins") {
        let register = if high { PIN_SET } else { PIN_CLEAR };
        register.write(1 << pin);
    }
}
