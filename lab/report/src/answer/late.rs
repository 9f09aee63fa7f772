//! The late starts of a decision on a time line: a row for each case with a deadline. The module draws
//! nothing.

use std::iter;

use chronoscope_run::{CaseResult, Run};

use super::{
    decision::Starts,
    rule,
    span::{amount, count},
};

/// The most cases that have a row.
const PLACES: usize = 4;

/// The starts of a case.
pub struct Place {
    /// The experiment with its parameters.
    pub name: String,
    /// The number of starts after their deadline.
    pub late: u64,
    /// The longest lateness with its unit.
    pub worst: String,
    /// Each repetition in the order in which they ran; empty in a run that kept no times.
    pub repetitions: Vec<Repetition>,
    longest: f64,
}

/// The late starts of a repetition.
pub struct Repetition {
    /// When each came, as a share of the repetition, with its lateness over the deadline.
    pub late: Vec<(f64, f64)>,
}

/// The late starts of the cases of a run.
pub struct TimeLine {
    /// The case with most late starts first.
    pub places: Vec<Place>,
    /// The further cases, which have fewer.
    pub left_out: usize,
    /// The words for a late start: `later than 500 µs`, or where cases have different deadlines `after its
    /// deadline`.
    pub late: String,
}

impl TimeLine {
    /// The time line of a run; `None` without a deadline, and where one case alone has a deadline and
    /// keeps it.
    pub fn from_run(run: &Run) -> Option<Self> {
        let proven = run.cases.iter().filter(|case| case.is_proven());
        let mut places: Vec<Place> = proven.filter_map(|case| Place::new(run, case)).collect();
        places.sort_by(|one, other| {
            other.late.cmp(&one.late).then(other.longest.total_cmp(&one.longest))
        });
        let left_out = places.len().saturating_sub(PLACES);
        places.truncate(PLACES);
        let tells = places.len() > 1 || places.first().is_some_and(Place::is_timed);
        let late = match Starts::from_run(run)?.deadline() {
            Some(deadline) => format!("later than {deadline}"),
            None => "after its deadline".to_owned(),
        };
        tells.then_some(Self { places, left_out, late })
    }

    /// Returns whether the times of late starts are known.
    pub fn is_timed(&self) -> bool {
        self.places.iter().any(Place::is_timed)
    }

    /// The rows as sentences.
    pub fn sentences(&self) -> Vec<String> {
        let words =
            |place: &Place| format!("{}: {} late, worst {}", place.name, place.late, place.worst);
        self.places.iter().map(words).chain(self.rest()).collect()
    }

    /// The cases without a row, in words.
    pub fn rest(&self) -> Option<String> {
        let more = || format!("and {}, with fewer", count(self.left_out, "case"));
        (self.left_out > 0).then(more)
    }
}

impl Place {
    /// `None` for a case without a deadline.
    fn new(run: &Run, case: &CaseResult) -> Option<Self> {
        let starts = Starts::from_cases(iter::once(case))?;
        let label = rule::label(run, case);
        let repetitions = starts.series.iter().flat_map(|series| {
            let deadline = series.deadline.unwrap_or(f64::INFINITY);
            series.late.iter().map(move |late| Repetition {
                late: (late.misses.iter())
                    .map(|(at, value)| (at / late.until.max(1.0), value / deadline))
                    .collect(),
            })
        });
        Some(Self {
            name: [&*case.experiment, &*label].join(" ").trim_end().to_owned(),
            late: starts.missed,
            worst: amount(starts.longest(), starts.unit(), true),
            repetitions: repetitions.collect(),
            longest: starts.longest(),
        })
    }

    fn is_timed(&self) -> bool {
        self.repetitions.iter().any(|repetition| !repetition.late.is_empty())
    }
}
