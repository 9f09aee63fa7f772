//! The ratio of two distributions, quantile by quantile (the shift function of Doksum 1974, as a
//! ratio). Where B is slower everywhere by one factor, it is flat; where only the tail differs, it
//! bends there.

use chronoscope_run::{Repetition, SeriesResult};
use chronoscope_statistics::{Interval, order::order_interval};

/// Fewest samples of a side: p99 is then one of them.
const MIN_SAMPLES: u64 = 100;

/// Fewest values of a side with the more values; fewer are no distribution.
const MIN_VALUES: usize = 8;

/// The ratio B / A of quantiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    /// Share of samples and ratio, from 1 % to 99.9 %, or as far as the samples allow.
    pub ratios: Vec<(f64, f64)>,
    /// The quantiles of A and B at the shares of `ratios`.
    pub values: Vec<[f64; 2]>,
    /// The shortest sample of A and of B.
    pub least: [f64; 2],
    /// The longest sample of A and of B.
    pub worst: [f64; 2],
    /// The number of samples of the side with fewer.
    pub samples: u64,
    /// The intervals of the ratio, by rising share; empty for exact figures and below five
    /// repetitions.
    pub band: Vec<InBand>,
}

/// The interval of the ratio at one quantile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InBand {
    /// The name of the quantile, as `p99`.
    pub name: &'static str,
    /// The share of samples below the quantile, from 0 to 1.
    pub share: f64,
    /// The interval of the ratio.
    pub interval: Interval,
}

/// The quantiles that repetitions have: name, share, and value.
type OfRepetition = (&'static str, f64, fn(&Repetition) -> Option<f64>);
const OF_REPETITIONS: [OfRepetition; 3] = [
    ("p50", 0.5, |one| Some(one.p50)),
    ("p99", 0.99, |one| one.p99),
    ("p99.9", 0.999, |one| one.p999),
];

impl Shift {
    /// Compares the distributions of two series. `None` with too few samples or values, or where a
    /// quantile is not positive.
    ///
    /// The band is distribution-free: order statistics of the repetitions' quantiles, the lower end
    /// of B over the upper of A and the reverse. Each holds with 95 %, or 93.75 % with five repetitions, if
    /// repetitions are independent; the scatter between stored runs is in none. `exact` figures have no
    /// band.
    pub fn between(a: &SeriesResult, b: &SeriesResult, exact: bool) -> Option<Self> {
        let samples = a.summary.count.min(b.summary.count);
        if samples < MIN_SAMPLES || a.histogram.len().max(b.histogram.len()) < MIN_VALUES {
            return None;
        }
        let hundredths = (1..=99).map(|percent| f64::from(percent) / 100.0);
        let thousandths = (991..=999).map(|thousandth| f64::from(thousandth) / 1000.0);
        let supported = |share: &f64| (1.0 - share) * samples as f64 >= 1.0 - 1e-9;
        let shares: Vec<f64> = hundredths.chain(thousandths).filter(supported).collect();
        let (of_a, of_b) = (quantiles(a, &shares)?, quantiles(b, &shares)?);
        let ratios: Vec<(f64, f64)> = shares
            .iter()
            .zip(of_a.iter().zip(&of_b))
            .map(|(share, (a, b))| (*share, b / a))
            .collect();
        let values = of_a.iter().zip(&of_b).map(|(a, b)| [*a, *b]).collect();
        let first = |series: &SeriesResult| series.histogram.first().map(|bucket| bucket.0);
        let last = |series: &SeriesResult| series.histogram.last().map(|bucket| bucket.0);
        let (least, worst) = ([first(a)?, first(b)?], [last(a)?, last(b)?]);
        let band = if exact { Vec::new() } else { band(a, b) };
        let usable = ratios.iter().all(|(_, ratio)| ratio.is_finite());
        usable.then_some(Self { ratios, values, least, worst, samples, band })
    }

    /// The largest factor between the sides at any quantile, at least 1.
    pub fn largest(&self) -> f64 {
        self.ratios.iter().map(|(_, ratio)| ratio.max(1.0 / ratio)).fold(1.0, f64::max)
    }
}

/// The nearest-rank quantiles at rising shares; `None` if one is not positive.
fn quantiles(series: &SeriesResult, shares: &[f64]) -> Option<Vec<f64>> {
    let all: u64 = series.histogram.iter().fold(0, |sum, bucket| sum.saturating_add(bucket.1));
    let mut buckets = series.histogram.iter();
    let (mut value, mut up_to) = (f64::NAN, 0_u64);
    let at = shares.iter().map(|share| {
        // Rounding must not move a quantile to the next sample.
        let rank = (share * all as f64 * (1.0 - 1e-12)).ceil() as u64;
        while up_to < rank {
            let (next, count) = buckets.next()?;
            (value, up_to) = (*next, up_to.saturating_add(*count));
        }
        (value > 0.0).then_some(value)
    });
    at.collect()
}

fn band(a: &SeriesResult, b: &SeriesResult) -> Vec<InBand> {
    let interval = |series: &SeriesResult, of: fn(&Repetition) -> Option<f64>| {
        let values: Option<Vec<f64>> = series.by_repetition.iter().map(of).collect();
        order_interval(&values?).filter(|ends| ends.low > 0.0)
    };
    let quantiles = OF_REPETITIONS.iter().filter_map(|(name, share, of)| {
        let (a, b) = (interval(a, *of)?, interval(b, *of)?);
        let interval = Interval { low: b.low / a.high, high: b.high / a.low };
        Some(InBand { name, share: *share, interval })
    });
    quantiles.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    /// A series of 5 × 1000 samples from 1 to 1000, all `times` as long; the tail of a twentieth is
    /// longer still by `tail`.
    fn series(times: f64, tail: f64) -> SeriesResult {
        let mut series = sample::series("s", 500.0 * times);
        let longer = |value: u32| if value > 950 { tail } else { 1.0 };
        series.histogram =
            (1..=1000).map(|value| (f64::from(value) * times * longer(value), 5)).collect();
        for (one, more) in series.by_repetition.iter_mut().zip(0..) {
            let more = 1.0 + f64::from(more) / 100.0;
            one.p50 = 500.0 * times * more;
            one.p99 = Some(990.0 * times * tail * more);
            one.p999 = Some(999.0 * times * tail * more);
        }
        series
    }

    #[test]
    fn a_longer_tail_bends_the_curve() {
        let shift = Shift::between(&series(1.0, 1.0), &series(2.0, 3.0), false).unwrap();
        assert_eq!(shift.ratios.len(), 108);
        let at = |share: f64| shift.ratios.iter().find(|one| one.0 == share).unwrap().1;
        assert_eq!([at(0.01), at(0.5), at(0.95), at(0.99), at(0.999)], [2.0, 2.0, 2.0, 6.0, 6.0]);
        assert_eq!(shift.largest(), 6.0);
        let names: Vec<&str> = shift.band.iter().map(|one| one.name).collect();
        assert_eq!(names, ["p50", "p99", "p99.9"]);
        let p50 = shift.band[0].interval;
        assert!((p50.low - 2.0 / 1.04).abs() < 1e-9 && (p50.high - 2.08).abs() < 1e-9, "{p50:?}");
        let better = Shift::between(&series(2.0, 1.0), &series(1.0, 1.0), true).unwrap();
        assert_eq!((better.largest(), better.band.len()), (2.0, 0));
    }

    #[test]
    fn what_has_no_distribution_has_no_curve() {
        let a = series(1.0, 1.0);
        let mut few = a.clone();
        few.summary.count = 99;
        assert_eq!(Shift::between(&a, &few, false), None);
        few.summary.count = 100;
        assert!(Shift::between(&a, &few, false).is_some());
        let mut constant = a.clone();
        constant.histogram = vec![(5.0, 5000)];
        assert_eq!(Shift::between(&constant, &constant, true), None);
        let values = |number: u32| {
            let histogram = (1..=number).map(|value| (f64::from(value), 1000)).collect();
            SeriesResult { histogram, ..a.clone() }
        };
        assert_eq!(Shift::between(&values(7), &values(7), true), None);
        assert!(Shift::between(&values(7), &values(8), true).is_some());
        let mut zero = a.clone();
        zero.histogram[0].0 = 0.0;
        zero.histogram[0].1 = 500;
        assert_eq!(Shift::between(&zero, &a, false), None);
        assert_eq!(Shift::between(&a, &zero, false), None);
        // A ratio to medians of 0 has no interval.
        let mut at_zero = a.clone();
        at_zero.by_repetition.iter_mut().for_each(|one| one.p50 = 0.0);
        for (a, b) in [(&a, &at_zero), (&at_zero, &a)] {
            let shift = Shift::between(a, b, false).unwrap();
            let names: Vec<&str> = shift.band.iter().map(|one| one.name).collect();
            assert_eq!(names, ["p99", "p99.9"]);
        }
        // 500 samples have no p99.9, and four repetitions no interval.
        let mut short = a.clone();
        short.summary.count = 500;
        short.by_repetition.truncate(4);
        let shift = Shift::between(&a, &short, false).unwrap();
        assert_eq!((shift.ratios.last().unwrap().0, shift.band.len()), (0.998, 0));
    }
}
