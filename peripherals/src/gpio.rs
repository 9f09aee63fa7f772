//! A port of pins (RM0090, 8.4). Nothing is connected: an input reads its pull.

/// The numbers of the registers.
const MODER: usize = 0;
const OTYPER: usize = 1;
const PUPDR: usize = 3;
const IDR: usize = 4;
const ODR: usize = 5;
const BSRR: usize = 6;
const LAST: usize = 9;

#[derive(Clone, Debug, PartialEq)]
pub struct Gpio {
    registers: [u32; LAST + 1],
    /// MODER, OSPEEDR and PUPDR after a reset.
    reset: [u32; 3],
}

impl Gpio {
    /// A port with these MODER, OSPEEDR and PUPDR after a reset.
    pub fn new(reset: [u32; 3]) -> Self {
        let mut registers = [0; _];
        (registers[MODER], registers[2], registers[PUPDR]) = (reset[0], reset[1], reset[2]);
        Self { registers, reset }
    }

    pub fn reset(&mut self) {
        *self = Self::new(self.reset);
    }

    /// The levels of the pins: an output's own, but high by the pull for an open drain that is off.
    pub fn levels(&self) -> u32 {
        let [mode, kind, pull, out] = [MODER, OTYPER, PUPDR, ODR].map(|word| self.registers[word]);
        let level = |pin: u32| {
            let is_pulled_up = pull >> (2 * pin) & 3 == 1;
            let is_open_drain = kind >> pin & 1 == 1;
            let is_set = out >> pin & 1 == 1;
            match mode >> (2 * pin) & 3 {
                1 if is_open_drain => is_set && is_pulled_up,
                1 => is_set,
                // Analogue: the input is off.
                3 => false,
                _ => is_pulled_up,
            }
        };
        (0..16).map(|pin| u32::from(level(pin)) << pin).sum()
    }

    pub fn value(&self, word: usize) -> u32 {
        match word {
            IDR => self.levels(),
            BSRR => 0,
            _ => self.registers.get(word).copied().unwrap_or(0),
        }
    }

    pub fn write(&mut self, word: usize, value: u32) {
        match word {
            IDR => {}
            ODR => self.registers[ODR] = value & 0xffff,
            // A bit that is set and reset at once is set.
            BSRR => {
                self.registers[ODR] = self.registers[ODR] & !(value >> 16) | value & 0xffff;
            }
            _ => {
                if let Some(register) = self.registers.get_mut(word) {
                    *register = value;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_read_back_and_inputs_read_their_pull() {
        let mut port = Gpio::new([0xa800_0000, 0, 0x6400_0000]);
        assert_eq!(port.value(MODER), 0xa800_0000);
        // PA15 and PA13 are pulled up after a reset.
        assert_eq!(port.value(IDR), 1 << 15 | 1 << 13);
        // PA5 an output, PA6 an open drain with a pull-up, PA7 one without.
        port.write(MODER, 0b01_01_01 << 10);
        port.write(OTYPER, 0b11 << 6);
        port.write(PUPDR, 1 << 12);
        port.write(BSRR, 0b111 << 5);
        assert_eq!(
            (port.value(IDR), port.value(ODR), port.value(BSRR)),
            (0b011 << 5, 0b111 << 5, 0)
        );
        port.write(BSRR, 1 << 21 | 1 << 22 | 1 << 6);
        assert_eq!(port.value(ODR), 0b110 << 5, "setting wins");
        port.write(IDR, 0);
        assert_eq!(port.value(IDR), 1 << 6);
    }
}
