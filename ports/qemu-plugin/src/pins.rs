//! The mapping from stores to pins.

use crate::emulator::Processor;

/// The number of pins in a waveform.
pub const PINS: u32 = 8;

/// The way in which the guest drives its pins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pins {
    /// 32 words: a store of any value to word n sets pin n, and to word 16 + n clears it, like the
    /// bit-band words of a port's BSRR on a Cortex-M4.
    Words { base: u64 },
    /// Two registers: the 1 bits of a stored value select the pins to set, or to clear.
    Masks { set: u64, clear: u64 },
}

impl Pins {
    /// Returns `true` if a store to `address` may drive a pin.
    pub fn contains(self, address: u64) -> bool {
        match self {
            Self::Words { base } => address.wrapping_sub(base) < 4 * 32,
            Self::Masks { set, clear } => address == set || address == clear,
        }
    }

    /// Returns the pins that a store to `address` sets, and those that it clears. `value` returns
    /// the stored value.
    pub fn driven(self, address: u64, value: impl FnOnce() -> u32) -> Option<(u32, u32)> {
        const ALL: u32 = (1 << PINS) - 1;
        match self {
            Self::Words { base } => match address.wrapping_sub(base) / 4 {
                word @ 0..8 => Some((1 << word, 0)),
                word @ 16..24 => Some((0, 1 << (word - 16))),
                _ => None,
            },
            Self::Masks { set, .. } if address == set => Some((value() & ALL, 0)),
            Self::Masks { clear, .. } if address == clear => Some((0, value() & ALL)),
            Self::Masks { .. } => None,
        }
    }
}

/// Returns the register that a RISC-V store instruction stores: `sw`, `sh`, `sb`, `c.sw`, `c.swsp`;
/// `None` for other instructions.
pub fn source(instruction: u32) -> Option<usize> {
    let field = |shift: u32, mask: u32| (instruction >> shift & mask) as usize;
    match (instruction & 0x7f, instruction & 0xe003) {
        (0x23, _) => Some(field(20, 0x1f)),
        (_, 0xc000) => Some(8 + field(2, 7)),
        (_, 0xc002) => Some(field(2, 0x1f)),
        _ => None,
    }
}

/// Returns the value stored by the current instruction, read from its register just after the
/// store: version 1 of the interface does not pass it.
pub fn stored(processor: &Processor, source: usize) -> u32 {
    if source == 0 { 0 } else { processor.register(source) }
}
