//! Pins that show a logic analyser what is measured: PA0 to PA7.

const PORT_A_SET_AND_RESET: usize = 0x4002_0018;

/// Where each bit of the peripherals' registers is a word.
const BIT_BAND: usize = 0x4200_0000;
const WORDS: usize = BIT_BAND + (PORT_A_SET_AND_RESET - 0x4000_0000) * 32;

/// Sets a pin: a store. In an image without the feature `pins`, nothing.
///
/// The register has a bit that sets a pin, and one 16 further that clears it. By way of the bit-band the address alone
/// tells which, and that is all that a plugin of QEMU's learns of a store.
#[inline(always)]
pub fn drive(pin: u8, high: bool) {
    if cfg!(feature = "pins") {
        let bit = usize::from(pin) + if high { 0 } else { 16 };
        // SAFETY: the register touches no memory of the program.
        unsafe { core::ptr::with_exposed_provenance_mut::<u32>(WORDS + 4 * bit).write_volatile(1) };
    }
}
