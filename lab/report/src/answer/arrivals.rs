//! The waits of an interrupt over the moment of its arrival: a strip for each kernel, for runs of the
//! experiment `worst` that keep their samples.

use std::collections::{BTreeMap, BTreeSet};

use chronoscope_run::{
    CaseResult, Run, Unit,
    names::{LONGEST_WAIT, PAIRS, WAIT},
};
use chronoscope_suite::experiments::worst::SPEC;

use super::{
    rule::{kernel, proper},
    span::{amount, count, grouped},
};

/// Most strips of a picture.
const MOST: usize = 3;

/// The parameter whose values are states of one kind of round.
const STATE: &str = "tasks";

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
    /// The arrivals of all states that were tried.
    pub tried: usize,
    /// The number of states that were tried; the strip shows the one with the longest wait.
    pub states: usize,
    /// The state that the strip shows, as `tasks=10`; empty if it has no parameter.
    state: String,
    /// The place at which a wait ends; empty for the handler.
    end: String,
    /// The pairs with another interrupt; 0 if none came.
    pairs: usize,
    /// The unit of the waits.
    unit: Unit,
}

impl Strip {
    fn from_case(case: &CaseResult) -> Option<Self> {
        let series = case.measured().next()?;
        let all: Vec<f64> = series.samples.iter().map(|(_, wait)| *wait).collect();
        let waits = of_one_round(&all, case.repetitions);
        let bound = case.at_most(series).and_then(|most| most.summary.max);
        let unit = series.unit;
        let note = case.log.iter().find_map(|line| line.strip_prefix(LONGEST_WAIT));
        let place = note.and_then(|note| note.split_once(", in ")).map_or("", |(_, place)| place);
        let place = place.to_owned();
        let end = series.name.strip_prefix(WAIT).filter(|end| *end != "handler");
        let end = end.unwrap_or_default().to_owned();
        let state = case.parameters.get(STATE).map_or(String::new(), |of| format!("{STATE}={of}"));
        let strip = (!waits.is_empty()).then(|| Self {
            kernel: proper(kernel(case)),
            tried: waits.len(),
            states: 1,
            state,
            waits,
            bound,
            place,
            end,
            pairs: case.figure(PAIRS).map_or(0, |figure| figure.value as usize),
            unit,
        })?;
        // The noted place is of the wait with most instructions, which may not take the longest time.
        let is_noted = case.figure("at").is_none_or(|at| at.value == strip.at() as f64);
        Some(Self { place: if is_noted { strip.place } else { String::new() }, ..strip })
    }

    /// Returns whether pairs of interrupts were tried.
    pub fn has_pairs(&self) -> bool {
        self.pairs > 0
    }

    /// Takes the arrivals of another state in. The strip shows the state with the longest wait, the first of
    /// equal ones.
    fn include(&mut self, other: Self) {
        let (tried, states) = (self.tried + other.tried, self.states + other.states);
        let pairs = self.pairs.saturating_add(other.pairs);
        if other.possible() > self.possible() {
            *self = other;
        }
        (self.tried, self.states, self.pairs) = (tried, states, pairs);
    }

    /// The kernel, and the state with its longest wait if several were tried.
    pub fn name(&self) -> String {
        match self.states {
            1 => self.kernel.clone(),
            _ => format!("{} ({})", self.kernel, self.state),
        }
    }

    /// The end of a wait in words: the handler, or a place of the image.
    pub fn end_words(&self) -> &str {
        if self.end.is_empty() { "the handler" } else { &self.end }
    }

    /// The mean wait of all arrivals.
    pub fn mean(&self) -> f64 {
        self.waits.iter().sum::<f64>() / self.waits.len().max(1) as f64
    }

    /// A wait in words.
    pub fn amount(&self, wait: f64) -> String {
        amount(wait, self.unit.name(), true)
    }

    /// A wait without its unit if that is one of [`Self::plain_unit`], which stands elsewhere.
    pub fn short(&self, wait: f64) -> String {
        match self.plain_unit() {
            Some(_) => grouped(wait),
            None => self.amount(wait),
        }
    }

    /// The unit of the waits, if it is one of a processor: instructions, or cycles of a core's logic.
    pub fn plain_unit(&self) -> Option<&'static str> {
        self.unit.is_ticks().then(|| self.unit.name())
    }

    /// The unit of a place in the round.
    pub fn place_unit(&self) -> &'static str {
        if self.unit == Unit::Cycles { "cycle" } else { "instruction" }
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

/// The longest wait of each arrival, from the waits of all repetitions: each tries the same ones. All waits
/// as they are if the repetitions have rounds of several lengths.
fn of_one_round(all: &[f64], repetitions: usize) -> Vec<f64> {
    let length = all.len() / repetitions.max(1);
    if length == 0 || length * repetitions != all.len() {
        return all.to_vec();
    }
    let longest = |place| all[place..].iter().step_by(length).copied().fold(0.0, f64::max);
    (0..length).map(longest).collect()
}

/// Returns whether a case tries arrivals: the experiment's, or an observed image's.
pub fn is_exhaustive(case: &CaseResult) -> bool {
    case.experiment == SPEC.name || case.parameters.contains_key("arrivals")
}

/// A kernel's round, whose cases differ in their states alone.
fn round(case: &CaseResult) -> (&str, Vec<(&str, &str)>) {
    let others = case.parameters.iter().filter(|(name, _)| **name != *STATE);
    (&case.target, others.map(|(name, value)| (&**name, &**value)).collect())
}

/// The least and the most states in which a round was tried.
pub fn states(cases: &[&CaseResult]) -> (usize, usize) {
    let mut states = BTreeMap::new();
    for case in cases {
        *states.entry(round(case)).or_insert(0) += 1;
    }
    least_and_most(states.into_values())
}

/// The least and the most states of a strip.
pub fn states_of_strips(strips: &[Strip]) -> (usize, usize) {
    least_and_most(strips.iter().map(|strip| strip.states))
}

fn least_and_most(counts: impl Iterator<Item = usize>) -> (usize, usize) {
    let ends = counts.map(|count| (count, count));
    ends.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1))).unwrap_or((1, 1))
}

/// The numbers of states that rounds were tried from, in words.
pub fn from_states((least, most): (usize, usize)) -> String {
    match most {
        1 => "one state".to_owned(),
        _ if least == most => format!("{most} states each"),
        _ => format!("{least} to {most} states"),
    }
}

/// The strips of a run, of each kernel the state with its longest wait; `None` if the run measures something
/// else too, keeps no samples, has two rounds of a kernel, or more kernels than a picture has room for.
pub fn strips(run: &Run) -> Option<Vec<Strip>> {
    if !run.cases.iter().all(is_exhaustive) {
        return None;
    }
    let mut strips: Vec<(_, Strip)> = Vec::new();
    for case in run.cases.iter().filter(|case| case.is_proven()) {
        let (round, strip) = (round(case), Strip::from_case(case)?);
        match strips.iter_mut().find(|(known, _)| *known == round) {
            Some((_, known)) => known.include(strip),
            None => strips.push((round, strip)),
        }
    }
    let names: BTreeSet<&str> = strips.iter().map(|(_, strip)| &*strip.kernel).collect();
    let has_room = (1..=MOST).contains(&strips.len()) && names.len() == strips.len();
    has_room.then(|| strips.into_iter().map(|(_, strip)| strip).collect())
}

/// The title: the number of arrivals, and the longest wait that is possible in each kernel, the longest
/// first; of several states, the worst one by name.
pub fn title(strips: &[Strip]) -> String {
    let pairs = strips.iter().map(|strip| strip.pairs).fold(0, usize::saturating_add);
    let arrivals = strips.iter().map(|strip| strip.tried).sum();
    let states = match states_of_strips(strips) {
        (least, most) if least == most && most > 1 => format!(" in {most} states"),
        _ => String::new(),
    };
    let mut sorted: Vec<&Strip> = strips.iter().collect();
    sorted.sort_by(|one, other| other.possible().total_cmp(&one.possible()));
    let waits = sorted.iter().enumerate().map(|(index, strip)| {
        let longest = strip.possible();
        let wait = if index == 0 { strip.amount(longest) } else { strip.short(longest) };
        format!("{wait} in {}", strip.name())
    });
    let waits: Vec<String> = waits.collect();
    let all = match pairs {
        0 => count(arrivals, "arrival"),
        _ => format!("{} of arrivals", count(pairs, "pair")),
    };
    let what = match sorted.first().map_or("", |strip| &*strip.end) {
        "" => "an interrupt waits at most".to_owned(),
        end => format!("from an interrupt to {end} at most"),
    };
    format!("All {all}{states} tried: {what} {}", waits.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(kernel: &str, waits: Vec<f64>) -> Strip {
        Strip {
            kernel: kernel.to_owned(),
            tried: waits.len(),
            states: 1,
            state: "tasks=2".to_owned(),
            waits,
            bound: None,
            place: String::new(),
            end: String::new(),
            pairs: 0,
            unit: Unit::Instructions,
        }
    }

    #[test]
    fn repetitions_try_the_same_arrivals() {
        assert_eq!(of_one_round(&[1.0, 9.0, 3.0, 1.0, 8.0, 4.0], 2), [1.0, 9.0, 4.0]);
        assert_eq!(of_one_round(&[1.0, 9.0, 3.0], 2), [1.0, 9.0, 3.0]);
        assert_eq!(of_one_round(&[], 2), [0.0; 0]);
    }

    #[test]
    fn a_strip_keeps_its_longest_wait_at_every_width() {
        let mut waits = vec![0.0; 566];
        waits[16] = 102.0;
        let mut strips = [strip("tandem", vec![46.0; 99]), strip("FreeRTOS", waits)];
        let [_, strip] = &strips;
        assert_eq!((strip.longest(), strip.at()), (102.0, 16));
        for columns in [1, 7, 60, 566, 1000] {
            let found = strip.columns(columns);
            assert_eq!(found.len(), columns.min(566));
            assert_eq!(found.iter().copied().fold(0.0, f64::max), 102.0);
        }
        let title = |strips: &[Strip]| super::title(strips).replace('\u{a0}', " ");
        let expected = "All 665 arrivals tried: an interrupt waits at most 102 instructions in \
                        FreeRTOS, 46 in tandem";
        assert_eq!(title(&strips), expected);
        let pairs =
            [self::strip("app", vec![46.0; 99])].map(|strip| Strip { pairs: 9900, ..strip });
        let expected =
            "All 9900 pairs of arrivals tried: an interrupt waits at most 46 instructions in app";
        assert_eq!(title(&pairs), expected);
        let to_a_place = [self::strip("app", vec![46.0; 99])]
            .map(|strip| Strip { end: "actuate".to_owned(), ..strip });
        let expected =
            "All 99 arrivals tried: from an interrupt to actuate at most 46 instructions in app";
        assert_eq!(title(&to_a_place), expected);
        assert_eq!((to_a_place[0].end_words(), strips[0].end_words()), ("actuate", "the handler"));
        let include = |strip: &mut Strip| {
            let more = self::strip(&strip.kernel, vec![50.0; 10]);
            strip.include(Strip { state: "tasks=10".to_owned(), pairs: strip.pairs, ..more });
        };
        include(&mut strips[0]);
        assert_eq!(from_states(states_of_strips(&strips)), "1 to 2 states");
        let expected = "All 675 arrivals tried: an interrupt waits at most 102 instructions in \
                        FreeRTOS, 50 in tandem (tasks=10)";
        assert_eq!(title(&strips), expected);
        include(&mut strips[1]);
        assert_eq!(from_states(states_of_strips(&strips)), "2 states each");
        let expected = "All 685 arrivals in 2 states tried: an interrupt waits at most 102 \
                        instructions in FreeRTOS (tasks=2), 50 in tandem (tasks=10)";
        assert_eq!(title(&strips), expected);
        // A file may hold any number.
        strips.iter_mut().for_each(|strip| strip.pairs = usize::MAX);
        include(&mut strips[0]);
        let expected = format!("All {} pairs of arrivals tried: ", usize::MAX);
        assert!(title(&strips).starts_with(&expected), "{}", title(&strips));
    }
}
