//! The tree of clocks of STM32F2 and F4: the rates of the buses and of their timers, by the registers of
//! RCC (RM0090, 7.2 and 7.3).

const HSI: u64 = 16_000_000;

/// The numbers of RCC's registers.
const PLLCFGR: usize = 1;
const CFGR: usize = 2;
const APB1ENR: usize = 0x40 / 4;
const DCKCFGR: usize = 0x8c / 4;

/// The distance from the registers that enable a peripheral's clock back to those that reset it.
const RESET: usize = 0x20 / 4;

/// The bit of a peripheral in a register that enables its clock, and in one that resets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// The number of the register that enables the clock.
    pub word: usize,
    pub bit: u32,
}

impl Gate {
    pub fn is_clocked(self, rcc: &[u32]) -> bool {
        rcc.get(self.word).is_some_and(|word| word >> self.bit & 1 == 1)
    }

    pub fn is_reset(self, rcc: &[u32]) -> bool {
        let word = self.word.checked_sub(RESET).and_then(|word| rcc.get(word));
        word.is_some_and(|word| word >> self.bit & 1 == 1)
    }

    /// The rates of the peripheral's bus and of a timer on it, in Hz; 0 while the clock is off.
    pub fn rates(self, rcc: &[u32], crystal: u64) -> Rates {
        if !self.is_clocked(rcc) {
            return Rates::default();
        }
        let register = |word: usize| rcc.get(word).copied().unwrap_or(0);
        let core = core(register(PLLCFGR), register(CFGR), crystal);
        let shift = if self.word == APB1ENR { 10 } else { 13 };
        let divisor = divisor(register(CFGR) >> shift & 7);
        let bus = core / divisor;
        // A divided bus's timers have twice its rate; with TIMPRE four times, at most the core's.
        let factor = match (divisor, register(DCKCFGR) >> 24 & 1) {
            (1, _) => 1,
            (_, 0) => 2,
            (divisor, _) => divisor.min(4),
        };
        Rates { bus, timer: bus * factor }
    }
}

/// Rates in Hz.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    pub bus: u64,
    pub timer: u64,
}

/// The divisor of a bus by its three bits in CFGR.
fn divisor(bits: u32) -> u64 {
    if bits < 4 { 1 } else { 2 << (bits - 4) }
}

/// The rate of the core and of AHB; 0 if no clock is chosen or the PLL's dividers are not valid.
fn core(pll: u32, configuration: u32, crystal: u64) -> u64 {
    let system = match configuration & 3 {
        0 => HSI,
        1 => crystal,
        2 => {
            let source = if pll >> 22 & 1 == 1 { crystal } else { HSI };
            let [m, n] = [pll & 63, pll >> 6 & 511].map(u64::from);
            let p = 2 * (u64::from(pll >> 16 & 3) + 1);
            if m < 2 { 0 } else { source * n / (m * p) }
        }
        _ => 0,
    };
    match configuration >> 4 & 15 {
        bits @ 8..12 => system >> (bits - 7),
        // There is no divisor 32.
        bits @ 12.. => system >> (bits - 6),
        _ => system,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIM2: Gate = Gate { word: APB1ENR, bit: 0 };
    const TIM1: Gate = Gate { word: 0x44 / 4, bit: 0 };

    /// RCC with these PLLCFGR and CFGR, and all clocks enabled.
    fn rcc(pll: u32, configuration: u32) -> Vec<u32> {
        let mut words = vec![0; 64];
        (words[PLLCFGR], words[CFGR], words[0x40 / 4], words[0x44 / 4]) =
            (pll, configuration, 1, 1);
        words
    }

    #[test]
    fn rates_are_the_manual_s() {
        // After a reset: HSI, undivided.
        let reset = rcc(0x2400_3010, 0);
        assert_eq!(TIM2.rates(&reset, 8_000_000), Rates { bus: HSI, timer: HSI });
        // 8 MHz / 4 × 168 / 2 = 168 MHz; APB1 divided by 4, APB2 by 2.
        let fast = rcc(4 | 168 << 6 | 1 << 22, 2 | 5 << 10 | 4 << 13);
        let rates = |bus, timer| Rates { bus, timer };
        assert_eq!(TIM2.rates(&fast, 8_000_000), rates(42_000_000, 84_000_000));
        assert_eq!(TIM1.rates(&fast, 8_000_000), rates(84_000_000, 168_000_000));
        // With TIMPRE.
        let mut fast = fast;
        fast[DCKCFGR] = 1 << 24;
        assert_eq!(TIM2.rates(&fast, 8_000_000), rates(42_000_000, 168_000_000));
        // AHB divided by 2, and by 64.
        assert_eq!(TIM2.rates(&rcc(0, 8 << 4), 0), rates(HSI / 2, HSI / 2));
        assert_eq!(TIM2.rates(&rcc(0, 12 << 4), 0), rates(HSI / 64, HSI / 64));
    }

    #[test]
    fn a_clock_that_is_off_or_not_valid_has_no_rate() {
        assert_eq!(TIM2.rates(&[0; 64], 8_000_000), Rates::default());
        assert_eq!(TIM2.rates(&rcc(0, 2), 8_000_000), Rates::default());
        assert_eq!(TIM2.rates(&rcc(0, 3), 8_000_000), Rates::default());
        assert_eq!(TIM2.rates(&[], 8_000_000), Rates::default());
    }
}
