//! The `READING` of each experiment, and the figures that it names in a case.

use chronoscope_suite::{
    experiments,
    spec::{Decides, Figure, MEDIAN, Reading},
};

use super::span::{Span, is_average};
use chronoscope_run::{CaseResult, SeriesResult, names::IMPORT, names::OBSERVE, names::WATCH};

/// Collects the names and the readings of the rows of the suite's table of experiments.
macro_rules! readings {
    ($($module:ident: $choice:ident $needs:tt;)*) => {
        &[$((stringify!($module), &experiments::$module::READING)),*]
    };
}

/// The reading of each experiment, in the order of the suite.
pub(super) const READINGS: &[(&str, &Reading)] =
    chronoscope_suite::experiments! { use readings! {} };

/// The reading of an observation. `{series}` stands for the name of its first measured series. One of a
/// timer's phases has their number as a figure.
const OBSERVED: (&str, &Reading) = (
    OBSERVE,
    &Reading {
        question: "how long does it take?",
        compared: "it takes",
        sentences: &[
            "{series}: {p50} at the median, {max} at worst of {phases} phases",
            "{series}: {p50} at the median, {max} at worst",
            "{series}: {max} at worst",
        ],
        ..MEDIAN
    },
);

/// The reading of a program under watch.
const WATCHED: (&str, &Reading) =
    (WATCH, &Reading { question: "how long does each round take?", ..*OBSERVED.1 });

/// The reading of figures of another tool, whose series are of equal rank.
const IMPORTED: (&str, &Reading) =
    (IMPORT, &Reading { sentences: &["{p50} at the median, {max} at worst"], ..*OBSERVED.1 });

/// The reading of an experiment; `None` for an unknown one.
pub fn find(experiment: &str) -> Option<&'static Reading> {
    let mut readings = READINGS.iter().chain([&OBSERVED, &WATCHED, &IMPORTED]);
    readings.find(|(name, _)| *name == experiment).map(|(_, reading)| *reading)
}

/// The statistics of the tail, which the means of batches do not have.
const TAIL: [&str; 4] = ["p99", "p99.9", "p99.99", "max"];

/// The figure that answers an experiment's question, and the one beside it.
pub fn figures(reading: &Reading) -> (Figure, Option<Figure>) {
    match (reading.decides, reading.worst) {
        (Decides::Worst, Some(worst)) => (worst, Some(reading.typical)),
        (_, worst) => (reading.typical, worst),
    }
}

/// The statistic in the place of a median that is one of several values by chance.
const AVERAGE: &str = "mean";

/// The figure, or the mean in the place of a median of a deterministic target that has several.
pub(super) fn settled(case: &CaseResult, figure: Figure) -> Figure {
    let has_several = series_of(case, figure).is_some_and(|series| is_average(case, series));
    match figure {
        Figure::First("p50") if has_several => Figure::First(AVERAGE),
        Figure::Last("p50") if has_several => Figure::Last(AVERAGE),
        Figure::Of(series, "p50") if has_several => Figure::Of(series, AVERAGE),
        other => other,
    }
}

/// The span of a figure in a case. A median that is one of several values by chance is the mean.
pub fn span(case: &CaseResult, figure: Figure) -> Option<Span> {
    let series = series_of(case, figure);
    match settled(case, figure) {
        Figure::First(statistic) | Figure::Last(statistic)
            if TAIL.contains(&statistic) && series.is_some_and(|one| one.batch().is_some()) =>
        {
            None
        }
        Figure::First(statistic) | Figure::Last(statistic) => {
            Span::of_case(case, series, statistic)
        }
        Figure::Of(_, statistic) => Span::of_case(case, Some(series?), statistic),
        Figure::Named(name) => Span::of_case(case, None, name),
    }
}

/// The series of a figure in a case; `None` for a figure of its own.
pub fn series_of(case: &CaseResult, figure: Figure) -> Option<&SeriesResult> {
    match figure {
        Figure::First(_) => case.measured().next(),
        Figure::Last(_) => case.measured().last(),
        Figure::Of(series, _) => case.series.iter().find(|one| &*one.name == series),
        Figure::Named(_) => None,
    }
}
