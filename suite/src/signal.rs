//! A generated ADC signal, identical on every target.

/// The middle of the ADC's range.
pub const MIDDLE: f32 = 2048.0;

/// A sine with a dither of a few steps, as a 12-bit ADC reads it. The phase is counted in
/// `rate`-ths of a period, so no rounding error adds up.
pub struct Adc {
    /// Samples per second.
    rate: u64,
    /// Periods per second.
    frequency: u64,
    phase: u64,
    noise: u32,
}

impl Adc {
    /// Creates a signal of `frequency` periods a second, read `rate` times a second. Equal seeds give
    /// equal signals.
    pub fn new(rate: u64, frequency: u64, seed: u32) -> Self {
        Self { rate, frequency, phase: 0, noise: seed }
    }

    /// Returns the next sample, 0 to 4095.
    pub fn read(&mut self) -> u16 {
        const AMPLITUDE: f32 = 1800.0;
        self.phase = (self.phase + self.frequency) % self.rate;
        self.noise = self.noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let dither = (self.noise >> 29) as f32 - 3.5;
        // The value is positive, so the cast after adding 0.5 rounds to nearest.
        (MIDDLE + AMPLITUDE * sine(self.phase as f32 / self.rate as f32) + dither + 0.5) as u16
    }
}

/// Returns the sine of an angle in turns, 0 to 1, by a Taylor series. Its error of 4e-6 is far
/// below a step of 12 bits.
fn sine(turn: f32) -> f32 {
    let folded = match turn {
        ..0.25 => turn,
        ..0.75 => 0.5 - turn,
        _ => turn - 1.0,
    };
    let angle = folded * core::f32::consts::TAU;
    let square = angle * angle;
    angle
        * (1.0
            - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0 * (1.0 - square / 72.0))))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn the_sine_is_a_sine() {
        for step in 0..=1000 {
            let turn = step as f32 / 1000.0;
            assert!((sine(turn) - (turn * core::f32::consts::TAU).sin()).abs() < 1e-5, "{turn}");
        }
    }
}
