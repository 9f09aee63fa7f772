//! Pins PA0 to PA7, on which a logic analyser sees the measured intervals.

const PORT_A_SET_AND_RESET: usize = 0x4002_0018;

/// The bit-band alias: each bit of the peripherals' registers is a word.
const BIT_BAND: usize = 0x4200_0000;
const WORDS: usize = BIT_BAND + (PORT_A_SET_AND_RESET - 0x4000_0000) * 32;

/// Drives a pin by one store. Does nothing in an image without the feature `pins`.
///
/// Bit n of the register sets pin n, and bit 16 + n clears it. Through the bit-band alias the
/// address alone names the edge; QEMU's plugin interface shows only the address of a store.
#[inline(always)]
pub fn drive(pin: u8, high: bool) {
    if cfg!(feature = "pins") {
        let bit = usize::from(pin) + if high { 0 } else { 16 };
        // SAFETY: the register touches no memory of the program.
        unsafe { core::ptr::with_exposed_provenance_mut::<u32>(WORDS + 4 * bit).write_volatile(1) };
    }
}
