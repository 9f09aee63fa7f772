//! The precision of a figure on a wall clock: the digits on which the repetitions of its series
//! agree. Figures of other clocks claim all their digits.

use crate::{Repetition, SeriesResult, Statistic, Unit};

/// Half the range of the repetitions, relative to the figure, up to which the figure claims three
/// digits: the third digit of 999 is good to as much.
const THREE_DIGITS: f64 = 0.005;

/// Half the range of the repetitions, relative to the figure, up to which the figure claims two
/// digits.
const TWO_DIGITS: f64 = 0.05;

/// The factor by which one repetition's percentile must exceed all others to be named.
const ALONE: f64 = 1.1;

/// The fewest repetitions of which one can be named.
const FEWEST: usize = 3;

/// The digits that a figure claims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precision {
    /// All digits: the repetitions agree, or there is one, or the clock is exact.
    Full,
    /// Two digits.
    Two,
    /// The range of the repetitions' figures: they do not agree on two digits.
    Range {
        /// The smallest figure, in the series' unit.
        low: f64,
        /// The largest figure, in the series' unit.
        high: f64,
    },
}

/// Two values between which an exact figure alternates, with the share of samples that each has.
pub type Alternation = [(f64, f64); 2];

impl SeriesResult {
    /// The precision of a statistic, from the figures that the repetitions have for it.
    pub fn precision(&self, statistic: &Statistic) -> Precision {
        let of_repetition = statistic.headline.filter(|_| self.unit == Unit::Nanoseconds);
        let (Some(of_repetition), Some(value)) = (of_repetition, statistic.of_series(self)) else {
            return Precision::Full;
        };
        let figures: Vec<f64> = self.by_repetition.iter().filter_map(of_repetition).collect();
        let low = figures.iter().copied().fold(f64::INFINITY, f64::min);
        let high = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match (high - low) / 2.0 / value.abs() {
            _ if figures.len() < 2 => Precision::Full,
            apart if apart > TWO_DIGITS && low >= 0.0 => Precision::Range { low, high },
            apart if apart > THREE_DIGITS => Precision::Two,
            _ => Precision::Full,
        }
    }

    /// Returns the second largest p99 of the repetitions if a single one determines the p99 of the
    /// series: all others are more than a tenth below. `None` otherwise, and for other clocks than
    /// a wall clock.
    pub fn p99_of_one(&self) -> Option<f64> {
        let pooled = self.summary.p99.filter(|_| self.unit == Unit::Nanoseconds)?;
        let each: Option<Vec<f64>> =
            self.by_repetition.iter().map(|one: &Repetition| one.p99).collect();
        let mut each = each.filter(|each| each.len() >= FEWEST)?;
        each.sort_unstable_by(f64::total_cmp);
        let next = each[each.len() - 2];
        (pooled > ALONE * next).then_some(next)
    }

    /// Returns the number of operations in each sample, which is their mean; `None` where each is
    /// timed alone.
    pub fn batch(&self) -> Option<u64> {
        (self.per >= 1.5).then(|| self.per.round() as u64)
    }

    /// Returns whether the median of figures in instructions or cycles is one of several values by
    /// chance: start states differ in it, or it [alternates](Self::alternation). The mean is the
    /// figure then.
    pub fn is_many_valued(&self) -> bool {
        let mut medians = self.by_repetition.iter().map(|one| one.p50);
        let first = medians.next();
        self.unit.is_ticks()
            && (medians.any(|median| Some(median) != first) || self.alternation().is_some())
    }

    /// Returns the two values between which samples in instructions or cycles alternate: together
    /// they have nine tenths of the samples, and each has a tenth at least.
    pub fn alternation(&self) -> Option<Alternation> {
        let mut most = self.histogram.clone();
        most.sort_unstable_by_key(|(_, count)| std::cmp::Reverse(*count));
        let share = |count: u64| count as f64 / self.summary.count.max(1) as f64;
        let [(one, of_one), (other, of_other), ..] = most[..] else { return None };
        let is_bimodal = share(of_one.saturating_add(of_other)) >= 0.9 && share(of_other) >= 0.1;
        (self.unit.is_ticks() && is_bimodal)
            .then(|| [(one, share(of_one)), (other, share(of_other))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn series(p50: f64, medians: &[f64]) -> SeriesResult {
        let mut series = sample::series("switch", p50);
        let first = series.by_repetition[0];
        series.by_repetition =
            medians.iter().map(|p50| Repetition { p50: *p50, ..first }).collect();
        series
    }

    fn of_p50(series: &SeriesResult) -> Precision {
        series.precision(Statistic::find("p50").unwrap())
    }

    #[test]
    fn a_figure_has_the_digits_that_its_repetitions_agree_on() {
        let medians = [19.7e3, 27.6e3, 28.6e3, 33.7e3, 48.1e3];
        let range = Precision::Range { low: 19.7e3, high: 48.1e3 };
        assert_eq!(of_p50(&series(28.6e3, &medians)), range);
        assert_eq!(of_p50(&series(29.0, &[28.0, 29.0, 30.0])), Precision::Two);
        assert_eq!(of_p50(&series(290.0, &[289.0, 290.0, 291.0])), Precision::Full);
        assert_eq!(of_p50(&series(28.6e3, &medians[..1])), Precision::Full);
        // The excess over a delay can be negative; a range of it would be hard to read.
        assert_eq!(of_p50(&series(2.0, &[-3.0, 2.0, 4.0])), Precision::Two);
        let exact = SeriesResult { unit: Unit::Instructions, ..series(28.6e3, &medians) };
        assert_eq!(of_p50(&exact), Precision::Full);
    }

    #[test]
    fn a_percentile_of_one_repetition_is_named() {
        let with = |pooled: f64, p99s: [f64; 5]| {
            let mut series = series(1.0, &[1.0; 5]);
            series.summary.p99 = Some(pooled);
            for (repetition, p99) in series.by_repetition.iter_mut().zip(p99s) {
                repetition.p99 = Some(p99);
            }
            series.p99_of_one()
        };
        assert_eq!(with(13.6e6, [40e3, 60e3, 55e3, 14e6, 33e3]), Some(60e3));
        assert_eq!(with(13.6e6, [40e3, 60e3, 12.5e6, 14e6, 33e3]), None);
        assert_eq!(with(70e3, [40e3, 65e3, 55e3, 14e6, 33e3]), None);
    }

    #[test]
    fn two_values_are_an_alternation() {
        let with = |histogram: &[(f64, u64)]| {
            let mut series = series(41.0, &[41.0; 2]);
            series.unit = Unit::Instructions;
            series.summary.count = histogram.iter().map(|(_, count)| count).sum();
            series.histogram = histogram.to_vec();
            series.alternation()
        };
        assert_eq!(with(&[(41.0, 60), (45.0, 40)]), Some([(41.0, 0.6), (45.0, 0.4)]));
        assert_eq!(with(&[(41.0, 30), (45.0, 60), (99.0, 10)]), Some([(45.0, 0.6), (41.0, 0.3)]));
        assert_eq!(with(&[(41.0, 91), (45.0, 9)]), None);
        assert_eq!(with(&[(41.0, 50), (45.0, 30), (47.0, 20)]), None);
        assert_eq!(with(&[(41.0, 100)]), None);
        let wall = series(41.0, &[41.0; 2]);
        assert_eq!(wall.alternation(), None);
    }
}
