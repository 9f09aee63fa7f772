//! The repetition that a series' worst sample was taken in, where all its samples were kept.

use crate::run::{CaseResult, Repetition, SeriesResult};

/// What a sample took beyond its nominal length, as a stretch of time, in ticks since the repetition's first sample started; where time
/// is told in ns, in ns. What happens while a delay of 50 ms is not over yet makes nothing late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    pub start: f64,
    pub length: f64,
}

/// All samples of one repetition, in the order of their numbers.
#[derive(Debug, PartialEq)]
pub struct Taken {
    pub repetition: usize,
    pub windows: Vec<Window>,
    /// Of each sample, in the same unit.
    pub nominal: f64,
    /// Which of them is the worst: the first of those that are equally long.
    pub place: usize,
}

impl Taken {
    /// The repetition with the worst sample: the first of those that are equally long.
    pub fn with_worst(case: &CaseResult, series: &SeriesResult) -> Option<Self> {
        let repetitions = Self::all(case, series)?;
        repetitions
            .into_iter()
            .rev()
            .max_by(|one, other| one.worst().length.total_cmp(&other.worst().length))
    }

    /// The first repetition.
    pub fn first(case: &CaseResult, series: &SeriesResult) -> Option<Self> {
        Self::all(case, series)?.into_iter().next()
    }

    pub fn worst(&self) -> Window {
        self.windows[self.place]
    }

    /// All repetitions, if each has samples, and all of these were kept.
    fn all(case: &CaseResult, series: &SeriesResult) -> Option<Vec<Self>> {
        // One that has no sample of the series is not told, and the others are then not known by their places.
        if series.by_repetition.len() != case.repetitions || series.unit == "count" {
            return None;
        }
        let mut left = series.samples.as_slice();
        let mut taken = |(repetition, counted): (usize, &Repetition)| {
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
            Some(Self { repetition, windows, nominal: series.nominal, place })
        };
        series.by_repetition.iter().enumerate().map(&mut taken).collect()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::report::sample;

    /// A case with one series, whose samples of each repetition are these.
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
        let taken = Taken::with_worst(&case, &case.series[0]).unwrap();
        assert_eq!((taken.repetition, taken.worst()), (1, Window { start: 120.0, length: 8.0 }));
    }

    #[test]
    fn what_was_not_kept_whole_has_no_worst() {
        let case = case_of(&[&[(0.0, 1.0), (9.0, 3.0)], &[(0.0, 2.0)]]);
        let mut cut = case.clone();
        cut.series[0].samples.pop();
        let mut missing = case.clone();
        missing.repetitions = 3;
        for case in [cut, missing] {
            assert_eq!(Taken::with_worst(&case, &case.series[0]), None);
        }
        assert!(Taken::with_worst(&case, &case.series[0]).is_some());
    }
}
