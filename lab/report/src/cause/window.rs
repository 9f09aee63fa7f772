//! Finds the repetition with a series' worst sample and the time windows of its samples. It needs
//! all samples to be kept, and knows no trace.

use chronoscope_run::{CaseResult, Repetition, SeriesResult, Unit};

/// The stretch of time by which a sample exceeded its nominal length, in the unit of the series'
/// samples (ns or ticks), from the start of the repetition's first sample. Events during the
/// nominal part, such as a delay of 50 ms, do not make the sample late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    pub start: f64,
    pub length: f64,
}

/// All samples of a repetition, in the order of measurement.
#[derive(Debug, PartialEq)]
pub struct RepetitionSamples {
    pub index: usize,
    pub windows: Vec<Window>,
    /// The nominal length of each sample, in the same unit.
    pub nominal: f64,
    /// The index of the worst sample; the first of equally long ones.
    pub place: usize,
}

impl RepetitionSamples {
    /// The repetition with the worst sample; the first of equally long ones. `None` if not all
    /// samples were kept.
    pub fn with_worst(case: &CaseResult, series: &SeriesResult) -> Option<Self> {
        let repetitions = Self::all(case, series)?;
        repetitions
            .into_iter()
            .rev()
            .max_by(|one, other| one.worst().length.total_cmp(&other.worst().length))
    }

    /// The first repetition; `None` if not all samples were kept.
    pub fn first(case: &CaseResult, series: &SeriesResult) -> Option<Self> {
        Self::all(case, series)?.into_iter().next()
    }

    pub fn worst(&self) -> Window {
        self.windows[self.place]
    }

    /// All repetitions; `None` unless each has samples and all of them were kept.
    fn all(case: &CaseResult, series: &SeriesResult) -> Option<Vec<Self>> {
        // A repetition without samples of the series has no entry, so the entries' indices would
        // not be repetitions.
        if series.by_repetition.len() != case.repetitions || series.unit == Unit::Count {
            return None;
        }
        let mut left = series.samples.as_slice();
        let mut entry = |(index, counted): (usize, &Repetition)| {
            let (these, later) = left.split_at_checked(usize::try_from(counted.count).ok()?)?;
            left = later;
            let first = these.first()?.0;
            let window = |&(start, value): &(f64, f64)| Window {
                start: start - first + series.nominal,
                length: value * series.per,
            };
            let windows: Vec<Window> = these.iter().map(window).collect();
            let by_length = |one: &usize, other: &usize| {
                windows[*one].length.total_cmp(&windows[*other].length)
            };
            let place = (0..windows.len()).rev().max_by(by_length)?;
            Some(Self { index, windows, nominal: series.nominal, place })
        };
        series.by_repetition.iter().enumerate().map(&mut entry).collect()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use chronoscope_run::sample;

    /// A case with a series whose repetitions have these samples.
    pub fn case_of(repetitions: &[&[(f64, f64)]]) -> CaseResult {
        let mut case = sample::case("wakeup", "");
        case.repetitions = repetitions.len();
        let series = &mut case.series[0];
        series.samples = repetitions.concat();
        let counted = |samples: &&[(f64, f64)]| Repetition {
            count: samples.len() as u64,
            ..series.by_repetition[0]
        };
        series.by_repetition = repetitions.iter().map(counted).collect();
        case
    }

    #[test]
    fn the_worst_is_found_in_its_repetition() {
        let mut case =
            case_of(&[&[(5.0, 1.0), (9.0, 3.0)], &[(7.0, 2.0), (27.0, 8.0), (40.0, 8.0)]]);
        case.series[0].nominal = 100.0;
        let repetition = RepetitionSamples::with_worst(&case, &case.series[0]).unwrap();
        assert_eq!(
            (repetition.index, repetition.worst()),
            (1, Window { start: 120.0, length: 8.0 })
        );
    }

    #[test]
    fn what_was_not_kept_whole_has_no_worst() {
        let case = case_of(&[&[(0.0, 1.0), (9.0, 3.0)], &[(0.0, 2.0)]]);
        let mut cut = case.clone();
        cut.series[0].samples.pop();
        let mut missing = case.clone();
        missing.repetitions = 3;
        for case in [cut, missing] {
            assert_eq!(RepetitionSamples::with_worst(&case, &case.series[0]), None);
        }
        assert!(RepetitionSamples::with_worst(&case, &case.series[0]).is_some());
    }
}
