//! How long the rounds of a program under watch take: a ladder of counts. The module draws nothing.

use chronoscope_run::{Run, names::WATCH};
use chronoscope_units::ladder::{Ladder, Rung};

use super::{
    span::amount,
    watched::{bound, judged},
};

/// The lengths of all rounds of one series.
pub struct Spread {
    /// The name of the series.
    pub name: String,
    /// The rungs from the shortest to the longest round.
    pub rungs: Vec<Rung>,
    /// The longest round that is allowed, with its unit.
    pub bound: Option<String>,
    unit: &'static str,
}

impl Spread {
    /// The spread of a watch: of its first series with a limit on the longest round, else of its first.
    /// `None` for another run.
    pub fn from_run(run: &Run) -> Option<Self> {
        let case = run.cases.iter().find(|case| case.experiment == WATCH && case.is_proven())?;
        let series = judged(case)?;
        let bound = bound(case, series);
        let mut ladder = Ladder::new(bound);
        // Of very many rounds, only the first ones are kept one by one; the histogram has all.
        if series.samples.len() as u64 == series.summary.count {
            series.samples.iter().for_each(|(_, length)| ladder.add(*length, 1));
        } else {
            series.histogram.iter().for_each(|(length, count)| ladder.add(*length, *count));
        }
        let unit = series.unit.name();
        let spread = Self {
            name: series.name.to_string(),
            rungs: ladder.rungs(),
            bound: bound.map(|bound| amount(bound, unit, true)),
            unit,
        };
        (!spread.rungs.is_empty()).then_some(spread)
    }

    /// The start of a rung with its unit.
    pub fn from(&self, rung: &Rung) -> String {
        amount(rung.from, self.unit, true)
    }

    /// The number of values of the fullest rung.
    pub fn most(&self) -> u64 {
        self.rungs.iter().map(|rung| rung.count).max().unwrap_or(1)
    }
}
