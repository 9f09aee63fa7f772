//! Which stores drive which pins.

use crate::emulator::Processor;

/// Pins of a waveform.
pub const PINS: u32 = 8;

/// How the guest drives its pins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pins {
    /// 32 words: a store to word n sets pin n, to word 16 + n clears it, whatever is stored. So are
    /// the words that a Cortex-M4's bit-band has for the bits of a port's BSRR.
    Words { base: u64 },
    /// Two registers: the ones in what is stored are the pins that go high, or low.
    Masks { set: u64, clear: u64 },
}

impl Pins {
    /// Whether a store there may drive a pin.
    pub fn contains(self, address: u64) -> bool {
        match self {
            Self::Words { base } => address.wrapping_sub(base) < 4 * 32,
            Self::Masks { set, clear } => address == set || address == clear,
        }
    }

    /// The pins that a store to `address` makes high, and low. `value`: what it stores.
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

/// Which register a RISC-V instruction stores, if it stores one: `sw`, `sh`, `sb`, `c.sw`,
/// `c.swsp`.
pub fn source(instruction: u32) -> Option<usize> {
    let field = |shift: u32, mask: u32| (instruction >> shift & mask) as usize;
    match (instruction & 0x7f, instruction & 0xe003) {
        (0x23, _) => Some(field(20, 0x1f)),
        (_, 0xc000) => Some(8 + field(2, 7)),
        (_, 0xc002) => Some(field(2, 0x1f)),
        _ => None,
    }
}

/// What is stored by the instruction that executes, as the interface's version 1 does not tell it:
/// the register, read just after.
pub fn stored(processor: &Processor, source: usize) -> u32 {
    if source == 0 { 0 } else { processor.register(source) }
}
