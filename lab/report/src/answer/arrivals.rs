//! The waits of an interrupt over the moment of its arrival: a strip for each kernel, for runs of the
//! experiment `worst` that keep their samples.

use std::collections::BTreeSet;

use chronoscope_run::{CaseResult, Run, names::LONGEST_WAIT};
use chronoscope_suite::experiments::worst::SPEC;

use super::{
    rule::{kernel, proper},
    span::{amount, count, grouped},
};

/// Most strips of a picture.
const MOST: usize = 3;

/// A kernel's waits.
pub struct Strip {
    /// The kernel, as its makers write its name.
    pub kernel: String,
    /// The wait for an arrival at each instruction of the round.
    pub waits: Vec<f64>,
    /// The longest time that a model permits; `None` for instructions.
    pub bound: Option<f64>,
    /// The function, the file and the line at which an arrival waits longest; may be empty.
    pub place: String,
    /// The unit of the waits.
    unit: &'static str,
}

impl Strip {
    fn from_case(case: &CaseResult) -> Option<Self> {
        let series = case.measured().next()?;
        let waits: Vec<f64> = series.samples.iter().map(|(_, wait)| *wait).collect();
        let bound = case.at_most(series).and_then(|most| most.summary.max);
        let unit = series.unit.name();
        let note = case.log.iter().find_map(|line| line.strip_prefix(LONGEST_WAIT));
        let place = note.and_then(|note| note.split_once(", in ")).map_or("", |(_, place)| place);
        let place = place.to_owned();
        (!waits.is_empty()).then(|| Self {
            kernel: proper(kernel(case)),
            waits,
            bound,
            place,
            unit,
        })
    }

    /// The mean wait of all arrivals.
    pub fn mean(&self) -> f64 {
        self.waits.iter().sum::<f64>() / self.waits.len().max(1) as f64
    }

    /// A wait in words.
    pub fn amount(&self, wait: f64) -> String {
        amount(wait, self.unit, true)
    }

    /// A wait without the unit of instructions, which stands elsewhere.
    pub fn short(&self, wait: f64) -> String {
        match self.unit {
            "instructions" => grouped(wait),
            _ => self.amount(wait),
        }
    }

    /// The longest wait that is possible: of a model its upper bound.
    pub fn possible(&self) -> f64 {
        self.bound.unwrap_or_else(|| self.longest())
    }

    /// The longest wait.
    pub fn longest(&self) -> f64 {
        self.waits.iter().copied().fold(0.0, f64::max)
    }

    /// The instruction of the round at which an arrival waits longest, the first of equal ones.
    pub fn at(&self) -> usize {
        let longest = self.longest();
        self.waits.iter().position(|wait| *wait >= longest).unwrap_or_default()
    }

    /// The longest waits of equal stretches of the round, at most `columns` of them.
    pub fn columns(&self, columns: usize) -> Vec<f64> {
        let columns = columns.clamp(1, self.waits.len());
        let edge = |column: usize| column * self.waits.len() / columns;
        (0..columns)
            .map(|column| self.waits[edge(column)..edge(column + 1)].iter().copied())
            .map(|waits| waits.fold(0.0, f64::max))
            .collect()
    }
}

/// Returns whether a case tries arrivals: the experiment's, or an observed image's.
pub fn is_exhaustive(case: &CaseResult) -> bool {
    case.experiment == SPEC.name || case.parameters.contains_key("arrivals")
}

/// The strips of a run; `None` if it measures something else too, keeps no samples, has a kernel twice, or
/// more kernels than a picture has room for.
pub fn strips(run: &Run) -> Option<Vec<Strip>> {
    let proven = || run.cases.iter().filter(|case| case.is_proven());
    let has_room = (1..=MOST).contains(&proven().count());
    if !run.cases.iter().all(is_exhaustive) || !has_room {
        return None;
    }
    let strips: Vec<Strip> = proven().map(Strip::from_case).collect::<Option<_>>()?;
    let names: BTreeSet<&str> = strips.iter().map(|strip| &*strip.kernel).collect();
    (names.len() == strips.len()).then_some(strips)
}

/// The title: the number of arrivals, and the longest wait that is possible in each kernel, the longest
/// first.
pub fn title(strips: &[Strip]) -> String {
    let all = strips.iter().map(|strip| strip.waits.len()).sum();
    let mut sorted: Vec<&Strip> = strips.iter().collect();
    sorted.sort_by(|one, other| other.possible().total_cmp(&one.possible()));
    let waits = sorted.iter().enumerate().map(|(index, strip)| {
        let longest = strip.possible();
        let wait = if index == 0 { strip.amount(longest) } else { strip.short(longest) };
        format!("{wait} in {}", strip.kernel)
    });
    let waits: Vec<String> = waits.collect();
    format!("All {} tried: an interrupt waits at most {}", count(all, "arrival"), waits.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_keeps_its_longest_wait_at_every_width() {
        let mut waits = vec![0.0; 566];
        waits[16] = 102.0;
        let strip = |kernel: &str, waits| Strip {
            kernel: kernel.to_owned(),
            waits,
            bound: None,
            place: String::new(),
            unit: "instructions",
        };
        let (other, strip) = (strip("tandem", vec![46.0; 99]), strip("FreeRTOS", waits));
        assert_eq!((strip.longest(), strip.at()), (102.0, 16));
        for columns in [1, 7, 60, 566, 1000] {
            let found = strip.columns(columns);
            assert_eq!(found.len(), columns.min(566));
            assert_eq!(found.iter().copied().fold(0.0, f64::max), 102.0);
        }
        let title = title(&[other, strip]);
        let expected = "All 665 arrivals tried: an interrupt waits at most 102 instructions in \
                        FreeRTOS, 46 in tandem";
        assert_eq!(title.replace('\u{a0}', " "), expected);
    }
}
