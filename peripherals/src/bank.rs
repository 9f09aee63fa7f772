//! A bank of registers that keep the written value; ready bits follow their enables.

/// A place in a bank: the number of the register, and of its bit.
pub type Place = (usize, u32);

/// A bank of registers.
#[derive(Debug, Default, PartialEq)]
pub struct Bank {
    pub origin: u32,
    pub words: Vec<u32>,
    /// The bits that always read 1.
    pub set: Vec<u32>,
    /// Bits, and the bits that read as they do.
    pub follow: Vec<(Place, Place)>,
    /// Stores change nothing.
    pub is_constant: bool,
}

impl Bank {
    pub fn new(origin: u32, bytes: u32) -> Self {
        let words = vec![0; bytes as usize / 4];
        Self { origin, set: words.clone(), words, ..Self::default() }
    }

    /// A word that always reads this value.
    pub fn constant(origin: u32, value: u32) -> Self {
        Self { words: vec![value], is_constant: true, ..Self::new(origin, 4) }
    }

    pub fn has(&self, address: u32) -> bool {
        (address.wrapping_sub(self.origin) as usize) < 4 * self.words.len()
    }

    /// The value of a register; 0 beyond the bank.
    pub fn read(&self, word: usize) -> u32 {
        let Some(mut value) = self.words.get(word).copied() else { return 0 };
        for ((from, from_bit), (to, to_bit)) in &self.follow {
            if *to == word {
                let bit = self.words.get(*from).map_or(0, |word| word >> from_bit & 1);
                value = value & !(1 << to_bit) | bit << to_bit;
            }
        }
        value | self.set[word]
    }

    pub fn write(&mut self, word: usize, value: u32) {
        if let Some(own) = self.words.get_mut(word).filter(|_| !self.is_constant) {
            *own = value;
        }
    }
}
