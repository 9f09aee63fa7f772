//! Scales map values to positions in a picture, and choose an axis' ticks.

use chronoscope_units::show_ratio;

/// An axis' scale: maps the values `low` to `high` to the positions `from` to `to`, in SVG units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub low: f64,
    pub high: f64,
    pub from: f64,
    pub to: f64,
    pub log: bool,
}

/// Ratio of the largest to the smallest value above which a scale is logarithmic: a linear one
/// would squeeze the smallest into a hundredth of the picture.
const LOG_RATIO: f64 = 100.0;

impl Scale {
    /// A linear scale from `low` to `high`, which must differ.
    pub fn exact(low: f64, high: f64, [from, to]: [f64; 2]) -> Self {
        Self { low, high, from, to, log: false }
    }

    /// A linear scale whose ends are rounded outwards to ticks.
    pub fn linear(low: f64, high: f64, ends: [f64; 2]) -> Self {
        let (low, high) = distinct(low, high);
        let step = step(low, high);
        Self::exact((low / step).floor() * step, (high / step).ceil() * step, ends)
    }

    /// A logarithmic scale that includes both ends. Ends must be positive; others are clamped to
    /// the smallest positive number.
    pub fn log(low: f64, high: f64, [from, to]: [f64; 2]) -> Self {
        // Beyond these ends a margin, or a power of ten, is no finite number.
        let [low, high] = [low, high].map(|end| end.clamp(1e-200, 1e200));
        let (low, high) = distinct(low, high);
        // A margin keeps marks off the frame.
        let margin = (high / low).powf(0.04);
        Self { low: low / margin, high: high * margin, from, to, log: true }
    }

    /// A logarithmic scale for positive values that span more than [`LOG_RATIO`], otherwise a
    /// linear one that includes zero. Values that are not finite are ignored.
    pub fn fitting(values: impl Iterator<Item = f64> + Clone, ends: [f64; 2]) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let low = finite.clone().fold(f64::INFINITY, f64::min);
        let high = finite.fold(f64::NEG_INFINITY, f64::max);
        match (low, high) {
            (low, high) if low > high => Self::linear(0.0, 1.0, ends),
            (low, high) if low > 0.0 && high / low > LOG_RATIO => Self::log(low, high, ends),
            (low, high) => Self::linear(low.min(0.0), high.max(0.0), ends),
        }
    }

    /// The position of a value, clamped to the ends of the scale.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Round values for ticks, few enough for labels not to overlap.
    pub fn ticks(&self) -> Vec<f64> {
        if !self.log {
            let step = step(self.low, self.high);
            let first = (self.low / step - 1e-9).ceil() as i64;
            let last = (self.high / step + 1e-9).floor() as i64;
            return (first..=last).map(|index| index as f64 * step).collect();
        }
        let decades = (self.high / self.low).log10();
        let within = |mantissas: &[f64], every: i32| -> Vec<f64> {
            let exponents = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
            let exponents = exponents.filter(|exponent| exponent.rem_euclid(every) == 0);
            let all = exponents.flat_map(|exponent| {
                mantissas.iter().map(move |mantissa| mantissa * 10_f64.powi(exponent))
            });
            all.filter(|value| (self.low..=self.high).contains(value)).collect()
        };
        match decades {
            small if small < 0.8 => {
                // The span is too small for 1, 2, 5: it has the ticks of a linear scale.
                let step = step(self.low, self.high);
                let first = (self.low / step).ceil() as i64;
                (first..)
                    .map(|index| index as f64 * step)
                    .take_while(|value| *value <= self.high)
                    .collect()
            }
            some if some < 2.0 => within(&[1.0, 2.0, 5.0], 1),
            many if many <= 5.5 => within(&[1.0], 1),
            _ => within(&[1.0], (decades / 4.0).ceil() as i32),
        }
    }
}

/// The position of a share of samples on an axis of the tail: −log₁₀(1 − share), so 1 for p90 and
/// 2 for p99. Each step holds a tenth of the samples of the one before it.
pub fn tail(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// A ratio to a thousandth, and closer where it would look like 0 or like 1.
pub fn times(ratio: f64) -> String {
    format!("×{}", show_ratio(ratio, 3))
}

/// Makes the ends of a scale finite, ordered and distinct.
fn distinct(low: f64, high: f64) -> (f64, f64) {
    match (low, high) {
        _ if !low.is_finite() || !high.is_finite() => (0.0, 1.0),
        (low, high) if low < high => (low, high),
        (low, _) if low > 0.0 => (low * 0.5, low * 1.5),
        (low, _) => (low, low + 1.0),
    }
}

/// The distance of linear ticks: 1, 2 or 5 times a power of ten, for three to six steps.
fn step(low: f64, high: f64) -> f64 {
    let rough = (high - low) / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let mantissa = rough / power;
    let round =
        [1.0, 2.0, 5.0].into_iter().find(|round| mantissa <= *round * 1.0001).unwrap_or(10.0);
    round * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_hold_all_values() {
        for (low, high) in
            [(0.0, 1.0), (0.0, 7.3e9), (-3.0, 11.0), (41.0, 41.0), (0.0, 0.0), (1e-9, 2e-9)]
        {
            let scale = Scale::linear(low, high, [0.0, 100.0]);
            let ticks = scale.ticks();
            assert!((3..=8).contains(&ticks.len()), "{low} {high}: {ticks:?}");
            assert!(scale.low <= low && high <= scale.high, "{scale:?}");
            assert!((0.0..=100.0).contains(&scale.at(low)));
        }
        assert_eq!(
            Scale::linear(0.0, 98.0, [0.0, 1.0]).ticks(),
            [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
        );
    }

    #[test]
    fn logarithmic_ticks_are_few_and_within() {
        for (low, high) in
            [(1.0, 1e9), (3.0, 900.0), (0.02, 0.03), (1.0, 15.0), (5.0, 5.0), (1e-12, 1e12)]
        {
            let scale = Scale::log(low, high, [0.0, 100.0]);
            let ticks = scale.ticks();
            assert!((1..=8).contains(&ticks.len()), "{low} {high}: {ticks:?}");
            assert!(ticks.iter().all(|tick| (scale.low..=scale.high).contains(tick)), "{ticks:?}");
        }
        assert_eq!(Scale::log(10.0, 10_000.0, [0.0, 1.0]).ticks(), [10.0, 100.0, 1000.0, 10_000.0]);
    }

    #[test]
    fn places_follow_values() {
        let scale = Scale::linear(0.0, 10.0, [100.0, 0.0]);
        assert_eq!(
            [0.0, 5.0, 10.0, 99.0, -1.0].map(|value| scale.at(value)),
            [100.0, 50.0, 0.0, 0.0, 100.0]
        );
        let scale = Scale { low: 1.0, high: 100.0, from: 0.0, to: 10.0, log: true };
        assert_eq!(
            [1.0, 10.0, 100.0, 0.0].map(|value| scale.at(value).round()),
            [0.0, 5.0, 10.0, 0.0]
        );
    }

    #[test]
    fn wide_spans_are_logarithmic() {
        assert!(Scale::fitting([1.0, 1e6].into_iter(), [0.0, 1.0]).log);
        assert!(!Scale::fitting([50.0, 60.0].into_iter(), [0.0, 1.0]).log);
        assert!(!Scale::fitting([0.0, 1e6].into_iter(), [0.0, 1.0]).log, "zero has no logarithm");
        assert!(!Scale::fitting([f64::NAN].into_iter(), [0.0, 1.0]).log);
    }
}
