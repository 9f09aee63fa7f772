//! The statistics that a comparison can judge, and the choice of those that it judges.

use crate::Repetition;
use chronoscope_statistics::{ASSUMED, median};
use chronoscope_units::{OneLine, words::nearest};

/// A statistic of repetitions that a comparison can judge.
#[derive(Clone, Copy, Debug)]
pub struct ComparedStatistic {
    /// The name in `--judge`, in JSON and in a baseline.
    pub name: &'static str,
    /// The place in a distribution, for sentences.
    pub at: &'static str,
    /// The value of a repetition. `None` if the repetition has too few samples.
    pub of: fn(&Repetition) -> Option<f64>,
    /// The statistic is judged without being named, if every repetition has it.
    usual: Usual,
    /// The fewest samples of a repetition from which the statistic is judged without being named.
    pub fewest_samples: u64,
    /// The exact figure of several repetitions.
    exact: fn(&[f64]) -> Option<f64>,
    /// The scatter between runs that is assumed where nothing is known of it: 0.15 is 15 %. `None`
    /// in the tail and of extremes: two runs are then not judged.
    pub scatter: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Usual {
    Never,
    /// Only by an exact clock: by a wall clock a maximum is a single event, of the machine as much
    /// as of the kernel.
    Exact,
    Always,
}

/// The statistics in the order of rows and sentences.
pub const COMPARED_STATISTICS: &[ComparedStatistic] = &[
    ComparedStatistic::new("min", "at best", Usual::Never, |one| known(one.min)).exactly(least),
    ComparedStatistic::new("p50", "at the median", Usual::Always, |one| known(one.p50)).central(),
    ComparedStatistic::new("mean", "on average", Usual::Never, |one| known(one.mean)).central(),
    ComparedStatistic::new("p99", "at p99", Usual::Always, |one| one.p99),
    ComparedStatistic::new("p99.9", "at p99.9", Usual::Always, |one| one.p999).needing(10_000),
    ComparedStatistic::new("max", "at worst", Usual::Exact, |one| known(one.max)).exactly(greatest),
];

/// A baseline has no value for a statistic that it does not keep.
fn known(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::min)
}

fn greatest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

impl ComparedStatistic {
    const fn new(
        name: &'static str,
        at: &'static str,
        usual: Usual,
        of: fn(&Repetition) -> Option<f64>,
    ) -> Self {
        Self { name, at, of, usual, fewest_samples: 0, exact: median, scatter: None }
    }

    const fn central(self) -> Self {
        Self { scatter: Some(ASSUMED), ..self }
    }

    const fn needing(self, fewest_samples: u64) -> Self {
        Self { fewest_samples, ..self }
    }

    const fn exactly(self, exact: fn(&[f64]) -> Option<f64>) -> Self {
        Self { exact, ..self }
    }

    /// The statistic with a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        COMPARED_STATISTICS.iter().find(|statistic| statistic.name == name)
    }

    /// The value of each repetition. `None` if one lacks it, or there is none.
    pub fn values(&self, repetitions: &[Repetition]) -> Option<Vec<f64>> {
        let values: Option<Vec<f64>> = repetitions.iter().map(self.of).collect();
        values.filter(|values| !values.is_empty())
    }

    /// The exact clock's figure of several repetitions, as a list of one: their median, or the
    /// extreme of extremes.
    pub fn exact(&self, values: &[f64]) -> Vec<f64> {
        (self.exact)(values).into_iter().collect()
    }

    /// Returns whether the statistic is judged without being named.
    pub fn is_usual(&self, exact: bool) -> bool {
        match self.usual {
            Usual::Never => false,
            Usual::Exact => exact,
            Usual::Always => true,
        }
    }
}

/// The error of a name that no comparable statistic has, with a suggestion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no statistic `{name}` can be judged{suggestion}")]
pub struct UnknownStatistic {
    /// The name.
    pub name: String,
    /// The rest of the sentence: a similar name, or nothing.
    pub suggestion: String,
}

/// The statistics to judge: the named ones, or the usual ones without names.
#[derive(Clone, Debug, Default)]
pub struct StatisticChoice(Vec<&'static ComparedStatistic>);

impl StatisticChoice {
    /// Reads names of statistics.
    ///
    /// # Errors
    /// If no statistic has one of the names.
    pub fn read<T: AsRef<str>>(names: &[T]) -> Result<Self, UnknownStatistic> {
        let mut chosen = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            let all = || COMPARED_STATISTICS.iter().map(|statistic| statistic.name);
            let Some(statistic) = ComparedStatistic::find(name) else {
                let suggestion = nearest(name, all());
                return Err(UnknownStatistic { name: name.to_owned(), suggestion });
            };
            chosen.push(statistic.name);
        }
        Ok(Self(
            COMPARED_STATISTICS
                .iter()
                .filter(|statistic| chosen.contains(&statistic.name))
                .collect(),
        ))
    }

    /// The named statistics, in the order of [`COMPARED_STATISTICS`]; empty for the usual ones.
    pub fn chosen(&self) -> &[&'static ComparedStatistic] {
        &self.0
    }

    /// The names of the named statistics.
    pub fn names(&self) -> Vec<OneLine> {
        self.0.iter().map(|statistic| statistic.name.into()).collect()
    }

    /// Returns this choice, or `other` if it names no statistic.
    pub fn or(&self, other: Self) -> Self {
        if self.0.is_empty() { other } else { self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_named_in_any_order_and_judged_in_that_of_the_table() {
        let names = |words: &[&str]| -> Vec<&str> {
            StatisticChoice::read(words)
                .unwrap()
                .chosen()
                .iter()
                .map(|statistic| statistic.name)
                .collect()
        };
        assert_eq!(names(&["max", "p99", "max"]), ["p99", "max"]);
        assert!(names(&[]).is_empty());
        assert_eq!(StatisticChoice::read(&["max", "p99"]).unwrap().names(), ["p99", "max"]);
        let error = StatisticChoice::read(&["p98"]).unwrap_err().to_string();
        assert!(error.contains("no statistic `p98` can be judged"), "{error}");
    }

    #[test]
    fn extremes_of_an_exact_clock_are_those_of_all_repetitions() {
        let of = |name: &str| ComparedStatistic::find(name).unwrap().exact(&[5.0, 1.0, 7.0]);
        assert_eq!([of("min"), of("p50"), of("max")], [[1.0], [5.0], [7.0]]);
        let usual = |exact: bool| -> Vec<&str> {
            COMPARED_STATISTICS
                .iter()
                .filter(|one| one.is_usual(exact))
                .map(|one| one.name)
                .collect()
        };
        assert_eq!(usual(false), ["p50", "p99", "p99.9"]);
        assert_eq!(usual(true), ["p50", "p99", "p99.9", "max"]);
    }
}
