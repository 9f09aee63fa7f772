//! External interrupts (RM0090, 12.3): by software, and by the edges of the pins that SYSCFG selects.

/// The numbers of the registers.
const IMR: usize = 0;
const RISING: usize = 2;
const FALLING: usize = 3;
const SWIER: usize = 4;
const PR: usize = 5;

/// The lines, each with the interrupt's number.
pub const INTERRUPTS: [(u32, u32); 23] = [
    (0, 6),
    (1, 7),
    (2, 8),
    (3, 9),
    (4, 10),
    (5, 23),
    (6, 23),
    (7, 23),
    (8, 23),
    (9, 23),
    (10, 40),
    (11, 40),
    (12, 40),
    (13, 40),
    (14, 40),
    (15, 40),
    (16, 1),
    (17, 41),
    (18, 42),
    (19, 62),
    (20, 76),
    (21, 2),
    (22, 3),
];

const LINES: u32 = (1 << INTERRUPTS.len()) - 1;

#[derive(Debug, Default, PartialEq)]
pub struct Exti {
    registers: [u32; PR + 1],
}

impl Exti {
    pub fn value(&self, word: usize) -> u32 {
        self.registers.get(word).copied().unwrap_or(0)
    }

    pub fn write(&mut self, word: usize, value: u32) {
        let value = value & LINES;
        match word {
            SWIER => {
                let new = value & !self.registers[SWIER];
                self.registers[SWIER] |= value;
                self.request(new);
            }
            // A 1 clears the pending bit, and the bit that has raised it.
            PR => {
                self.registers[PR] &= !value;
                self.registers[SWIER] &= !value;
            }
            _ => {
                if let Some(register) = self.registers.get_mut(word) {
                    *register = value;
                }
            }
        }
    }

    /// The levels of pins have changed; bits are lines.
    pub fn edges(&mut self, rising: u32, falling: u32) {
        self.request(rising & self.registers[RISING] | falling & self.registers[FALLING]);
    }

    fn request(&mut self, lines: u32) {
        self.registers[PR] |= lines & self.registers[IMR];
    }

    /// The interrupts' levels, several of one number.
    pub fn levels(&self) -> impl Iterator<Item = (u32, bool)> {
        let pending = self.registers[PR] & self.registers[IMR];
        INTERRUPTS.into_iter().map(move |(line, interrupt)| (interrupt, pending >> line & 1 == 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(exti: &Exti) -> Vec<u32> {
        exti.levels().filter(|(_, level)| *level).map(|(interrupt, _)| interrupt).collect()
    }

    #[test]
    fn a_request_by_software_waits_until_it_is_cleared() {
        let mut exti = Exti::default();
        exti.write(SWIER, 1 << 3);
        assert_eq!((exti.value(PR), pending(&exti)), (0, vec![]), "line 3 is masked");
        exti.write(PR, 1 << 3);
        exti.write(IMR, 1 << 3 | 1 << 7);
        exti.write(SWIER, 1 << 3 | 1 << 7);
        assert_eq!((exti.value(PR), pending(&exti)), (1 << 3 | 1 << 7, vec![9, 23]));
        exti.write(PR, 1 << 3);
        assert_eq!((exti.value(PR), exti.value(SWIER)), (1 << 7, 1 << 7));
        // The bit is still 1, so that another 1 requests nothing.
        exti.write(SWIER, 1 << 7);
        exti.write(PR, 1 << 7);
        assert_eq!((exti.value(PR), exti.value(SWIER), pending(&exti)), (0, 0, vec![]));
    }

    #[test]
    fn edges_request_as_they_are_selected() {
        let mut exti = Exti::default();
        exti.write(IMR, 0b11);
        exti.write(RISING, 0b01);
        exti.write(FALLING, 0b10);
        exti.edges(0b10, 0b01);
        assert_eq!(exti.value(PR), 0);
        exti.edges(0b01, 0b10);
        assert_eq!(exti.value(PR), 0b11);
    }
}
