//! Rows of the table: a statement, the promised share, and the share in the simulation.

use std::fmt;

/// The number of simulated studies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Seconds in all: for the tests. The bounds of [`Row::holds`] allow for the scatter of few
    /// rounds.
    Quick,
    /// Minutes in all: for the figures in the documentation.
    Full,
}

impl Effort {
    /// Returns `quick` or `full`.
    pub fn choose(self, quick: usize, full: usize) -> usize {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// A statement with the evidence for it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The statement and its conditions: `p50 interval, 7 repetitions, heavy tails`.
    pub statement: String,
    /// The promise, as `≥ 93 %`.
    pub promised: String,
    /// The finding with its standard error and its counts, as `94.6 ± 0.7 % (946 of 1000)`.
    pub seen: String,
    /// For a sentence that is not always shown: the share of cases in which it is shown, and the
    /// typical width of the shown range, as `shown 62 %, width 8.1 %`. Empty otherwise.
    pub shown: String,
    /// `true` if the finding keeps the promise, or misses it by no more than the scatter of the
    /// rounds.
    pub holds: bool,
}

impl Row {
    /// Creates a row that promises a share of at least `least`. With `hits` of `rounds`, the
    /// promise counts as kept unless the share lies more than three standard errors below it.
    pub fn at_least(statement: impl Into<String>, least: f64, hits: usize, rounds: usize) -> Self {
        let holds = share(hits, rounds) >= least - scatter(least, rounds);
        Self::new(statement, format!("≥ {} %", percent(least)), hits, rounds, holds)
    }

    /// Creates a row that promises a share of at most `most`, with the same allowance.
    pub fn at_most(statement: impl Into<String>, most: f64, hits: usize, rounds: usize) -> Self {
        let holds = share(hits, rounds) <= most + scatter(most, rounds);
        Self::new(statement, format!("≤ {} %", percent(most)), hits, rounds, holds)
    }

    /// Creates a row that promises a share of `share`, give or take `within`, with the same
    /// allowance.
    pub fn about(
        statement: impl Into<String>,
        share: f64,
        within: f64,
        hits: usize,
        rounds: usize,
    ) -> Self {
        let distance = (self::share(hits, rounds) - share).abs();
        let holds = distance <= within + scatter(share, rounds);
        let promised = format!("{} ± {} %", percent(share), percent(within));
        Self::new(statement, promised, hits, rounds, holds)
    }

    /// Creates a row for a sentence: of the cases in which it is shown, at most the share `most` is
    /// wrong.
    pub fn wrong(statement: impl Into<String>, most: f64, tally: &Tally) -> Self {
        let row = Self::at_most(statement, most, tally.wrong, tally.shown());
        Self { shown: tally.words(), ..row }
    }

    /// Creates a row that promises at most `most` events in each of `rounds` rounds on average, of
    /// which `events` were seen. Holds up to three standard errors above it.
    pub fn count(statement: impl Into<String>, most: f64, events: usize, rounds: usize) -> Self {
        let expected = most * rounds as f64;
        let tenths = |number: f64| (number * 10.0).round() / 10.0;
        let mean = |events: f64| tenths(events / rounds.max(1) as f64);
        let (found, error) = (mean(events as f64), mean((events as f64).sqrt()));
        Self {
            statement: statement.into(),
            promised: format!("≤ {most}"),
            seen: format!("{found} ± {error} ({events} in {rounds})"),
            shown: String::new(),
            holds: events as f64 <= expected + 3.0 * expected.sqrt(),
        }
    }

    fn new(
        statement: impl Into<String>,
        promised: String,
        hits: usize,
        rounds: usize,
        holds: bool,
    ) -> Self {
        let found = share(hits, rounds);
        let error = percent((found * (1.0 - found) / rounds.max(1) as f64).sqrt());
        let seen = format!("{} ± {error} % ({hits} of {rounds})", percent(found));
        Self { statement: statement.into(), promised, seen, shown: String::new(), holds }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = if self.holds { "holds" } else { "FAILS" };
        let Self { statement, promised, seen, shown, .. } = self;
        write!(f, "{statement:<68} {promised:>10}  {seen:<30} {kept}")?;
        if shown.is_empty() { Ok(()) } else { write!(f, "  {shown}") }
    }
}

/// Counts of a sentence over simulated cases.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    cases: usize,
    wrong: usize,
    /// The width of each shown range; NaN for a sentence without one.
    widths: Vec<f64>,
}

impl Tally {
    /// Adds a case in which the sentence is not shown.
    pub fn silent(&mut self) {
        self.cases += 1;
    }

    /// Adds a case in which the sentence is shown; `width` is the width of its range as a share,
    /// NaN for a sentence without a range.
    pub fn shown_as(&mut self, is_wrong: bool, width: f64) {
        self.cases += 1;
        self.wrong += usize::from(is_wrong);
        self.widths.push(width);
    }

    /// Adds a sentence that is shown if it is given: whether it is wrong, and its width.
    pub fn add(&mut self, sentence: Option<(bool, f64)>) {
        match sentence {
            Some((is_wrong, width)) => self.shown_as(is_wrong, width),
            None => self.silent(),
        }
    }

    fn shown(&self) -> usize {
        self.widths.len()
    }

    fn words(&self) -> String {
        let shown = format!("shown {} %", percent(share(self.shown(), self.cases)));
        match chronoscope_statistics::median(&self.widths).filter(|width| !width.is_nan()) {
            Some(width) => format!("{shown}, width {} %", percent(width)),
            None => shown,
        }
    }
}

/// A named list of rows.
#[derive(Clone, Copy)]
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// Computes the rows.
    pub rows: fn(Effort) -> Vec<Row>,
}

fn share(hits: usize, rounds: usize) -> f64 {
    hits as f64 / rounds.max(1) as f64
}

/// Returns three standard errors of a share in `rounds` independent rounds.
fn scatter(share: f64, rounds: usize) -> f64 {
    3.0 * (share * (1.0 - share) / rounds.max(1) as f64).sqrt()
}

fn percent(share: f64) -> f64 {
    (share * 1000.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_allows_for_scatter_and_no_more() {
        assert!(Row::at_least("", 0.93, 910, 1_000).holds);
        assert!(!Row::at_least("", 0.93, 900, 1_000).holds);
        assert!(Row::at_most("", 0.02, 33, 1_000).holds);
        assert!(!Row::at_most("", 0.02, 34, 1_000).holds);
        assert!(!Row::at_least("", 0.93, 0, 0).holds);
        assert!(Row::about("", 0.5, 0.1, 440, 1_000).holds);
        assert!(Row::about("", 0.5, 0.1, 353, 1_000).holds);
        assert!(!Row::about("", 0.5, 0.1, 352, 1_000).holds);
        assert!(!Row::about("", 0.5, 0.1, 648, 1_000).holds);
        assert!(Row::count("", 1.0, 19, 10).holds && !Row::count("", 1.0, 20, 10).holds);
        assert_eq!(Row::count("", 1.0, 19, 10).seen, "1.9 ± 0.4 (19 in 10)");
        assert_eq!(Row::at_most("", 0.02, 15, 1_000).seen, "1.5 ± 0.4 % (15 of 1000)");
    }

    #[test]
    fn a_sentence_is_judged_where_it_is_shown() {
        let mut tally = Tally::default();
        (0..60).for_each(|_| tally.add(None));
        (0..40).for_each(|case| tally.add(Some((case < 2, 0.08))));
        let row = Row::wrong("", 0.05, &tally);
        assert_eq!((row.seen.as_str(), row.holds), ("5 ± 3.4 % (2 of 40)", true));
        assert_eq!(row.shown, "shown 40 %, width 8 %");
        tally.shown_as(true, f64::NAN);
        assert!(!Row::wrong("", 0.0, &tally).holds);
    }
}
