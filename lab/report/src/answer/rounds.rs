//! One round of each of several traced cases on one time line: which task ran, waited, or held the
//! lock. It reads a case's own trace, and draws nothing.
//!
//! Zero is the start of the wait, by the statistic that the panel names, before the moment at which the
//! waiting task goes on in the trace.

use chronoscope_run::{
    CaseResult, Run, Statistic, Status,
    answer::{Pick, Rounds},
};

use super::{
    lanes::{Lane, Lanes},
    rule, span,
    span::{bare, is_long},
};
use crate::timeline::tick;
use chronoscope_units::OneLine;

/// The share of a wait by which a round's own wait may differ from it.
const NEAR: f64 = 0.02;

/// The rounds of which the middle one is typical, at least.
const MIDDLE: usize = 3;

/// The share of a picture that is shown before zero and after the end of a round of one task.
const MARGIN: f64 = 0.15;

/// The most tracks of tasks that are not the case's.
const STRANGERS: usize = 2;

/// The content of a track in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The waiting task runs.
    Runs,
    /// The waiting task waits.
    Waits,
    /// Another task or a handler runs.
    Other,
    /// The task that ends the wait runs.
    Holds,
    /// The same task runs at the priority of the waiting one.
    Raised,
}

/// All states, with their words.
const STATES: [(State, &str); 5] = [
    (State::Runs, "runs"),
    (State::Waits, "waits"),
    (State::Other, "another"),
    (State::Holds, "less urgent"),
    (State::Raised, "raised"),
];

/// A stretch of a track, in ns from the panel's zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The start.
    pub from: f64,
    /// The end.
    pub to: f64,
    /// The content of the track.
    pub state: State,
}

/// A row of a panel.
#[derive(Debug)]
pub struct Track {
    /// The name of the task, or of what ran beside it.
    pub name: String,
    /// In the order of time.
    pub stretches: Vec<Stretch>,
}

/// The round of a case.
#[derive(Debug)]
pub struct Panel {
    /// The heading.
    pub heading: String,
    /// The wait in words, or the reason for which there is none.
    pub wait: Result<String, String>,
    /// The waiting task first.
    pub tracks: Vec<Track>,
    /// The length in ns of the unit of `wait`.
    pub(crate) tick: f64,
    unit: &'static str,
}

/// Panels with one time line.
pub struct Picture {
    /// The panels, from the top.
    pub panels: Vec<Panel>,
    /// The start and the end of the time line, in ns from zero.
    pub span: (f64, f64),
}

impl Picture {
    /// The picture that the rules ask for; `None` if no panel has a round.
    pub fn from_run(run: &Run, rules: &Rounds) -> Option<Self> {
        let panels: Vec<Panel> =
            rules.panels.iter().flat_map(|pick| panels(run, rules, pick)).collect();
        let all =
            || panels.iter().flat_map(|panel| &panel.tracks).flat_map(|track| &track.stretches);
        let from = all().map(|stretch| stretch.from).reduce(f64::min)?;
        let to = all().map(|stretch| stretch.to).reduce(f64::max)?;
        Some(Self { panels, span: (from, to) })
    }

    /// The states that occur, with their words.
    pub fn states(&self) -> impl Iterator<Item = (State, &'static str)> {
        let tracks = || self.panels.iter().flat_map(|panel| &panel.tracks);
        let stretches = move || tracks().flat_map(|track| &track.stretches);
        let occurs = move |state| stretches().any(|stretch| stretch.state == state);
        STATES.into_iter().filter(move |(state, _)| occurs(*state))
    }

    /// The unit of all numbers; empty where each has its own.
    pub fn unit(&self) -> &'static str {
        self.panels.iter().map(|panel| panel.unit).find(|unit| is_long(unit)).unwrap_or_default()
    }

    /// Times of the axis with their words: zero, and round numbers after it.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let Some(panel) = self.panels.iter().find(|panel| panel.wait.is_ok()) else {
            return Vec::new();
        };
        let end = self.span.1 / panel.tick;
        let rough = (end / 4.0).max(f64::MIN_POSITIVE);
        let power = 10_f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough);
        let step = factor.unwrap_or(10.0) * power;
        let at = |index: i32| step * f64::from(index);
        let words = |value: f64| match value {
            0.0 => "0".to_owned(),
            value => bare(&span::amount(value, panel.unit, true), panel.unit),
        };
        (0..8)
            .map(at)
            .filter(|value| *value <= end)
            .map(|value| (value * panel.tick, words(value)))
            .collect()
    }
}

/// The panels of a choice of cases, one for each case; of a case that measured nothing its reason.
fn panels(run: &Run, rules: &Rounds, pick: &Pick) -> Vec<Panel> {
    let asked = |case: &&CaseResult| {
        case.experiment == pick.experiment
            && ["", &case.target].contains(&&*pick.target)
            && pick.when.iter().all(|(name, value)| case.parameters.get(name) == Some(value))
    };
    let several = run.cases.iter().any(|case| case.target != run.cases[0].target);
    let heading = |case: &CaseResult| match several && pick.target.is_empty() {
        true => format!("{} · {}", case.target, pick.name),
        false => pick.name.to_string(),
    };
    let panel = |case: &CaseResult| {
        panel(case, rules, pick).map(|panel| Panel { heading: heading(case), ..panel })
    };
    run.cases.iter().filter(asked).filter_map(panel).collect()
}

/// The panel of a case, without its heading.
fn panel(case: &CaseResult, rules: &Rounds, pick: &Pick) -> Option<Panel> {
    let heading = String::new();
    let empty = |reason: &str| {
        let wait = Err(reason.to_owned());
        Some(Panel { heading: String::new(), wait, tracks: Vec::new(), tick: 1.0, unit: "" })
    };
    if !case.is_proven() {
        let reason = case.verdict.reasons.first().map(|reason| &**reason);
        return empty(reason.unwrap_or(Status::words(case.verdict.status)));
    }
    let name = if pick.statistic.is_empty() { "p50" } else { &*pick.statistic };
    let (series, statistic) = (rule::series(pick, case)?, Statistic::find(name)?);
    let unit = series.unit.name();
    let wait = bare(&rule::figure(pick, case, "")?.words(), unit);
    let length = statistic.of_series(series)? * series.per * tick(case);
    if case.attachments.is_empty() {
        return empty(&format!("{wait} {unit}; this kernel keeps no record"));
    }
    let Some(found) = Found::new(case, rules, pick, length) else {
        return empty("the kernel's record does not hold a whole round");
    };
    let tracks = found.tracks(rules, Raised::by(case));
    Some(Panel { heading, wait: Ok(wait), tracks, tick: tick(case), unit })
}

/// When the task that ends a wait runs at the priority of the one that waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Raised {
    Never,
    /// While the other one waits.
    Inherited,
    /// From the lock on.
    Ceiling,
}

impl Raised {
    fn by(case: &CaseResult) -> Self {
        match case.parameters.get("protocol").map(|word| &**word) {
            Some("inheritance") => Self::Inherited,
            Some("ceiling") => Self::Ceiling,
            _ => Self::Never,
        }
    }
}

/// A round that was found.
struct Found {
    lanes: Lanes,
    /// The places of the tasks that the rules name.
    cast: Vec<usize>,
    /// The start of the wait, the end of it, and the end of the round, in ns of the timeline.
    zero: f64,
    end: u64,
    round: (u64, u64),
}

impl Found {
    fn new(case: &CaseResult, rules: &Rounds, pick: &Pick, length: f64) -> Option<Self> {
        let lanes = Lanes::read(case, pick)?;
        let mut cast = lanes.cast()?;
        cast.truncate(rules.tasks.len());
        if cast.len() < rules.tasks.len() {
            return None;
        }
        let (waiting, last) = (&lanes.tasks[cast[0]], &lanes.tasks[*cast.last()?]);
        let mut rounds: Vec<((u64, u64), u64, f64)> = Vec::new();
        for round in last.awake() {
            let overlaps = |awake: &(u64, u64)| awake.0 < round.1 && awake.1 > round.0;
            let awake: Vec<(u64, u64)> = waiting.awake().into_iter().filter(overlaps).collect();
            let (Some(first), Some(final_)) = (awake.first(), awake.last()) else { continue };
            let Some(end) = waiting.runs(*final_).next() else { continue };
            rounds.push((round, end, end.saturating_sub(first.0) as f64));
        }
        let (round, end) = nearest(&rounds, &lanes.ends, length)?;
        Some(Self { zero: end as f64 - length, lanes, cast, end, round })
    }

    fn tracks(&self, rules: &Rounds, raised: Raised) -> Vec<Track> {
        let waiting = &self.lanes.tasks[self.cast[0]];
        let asked = waiting.slices.iter().find(|slice| slice.2 && slice.1 as f64 > self.zero);
        let asked = asked.map_or(self.end, |slice| slice.1);
        let holder = |at: u64| match raised {
            Raised::Ceiling if at < self.end => State::Raised,
            Raised::Inherited if (asked..self.end).contains(&at) => State::Raised,
            _ => State::Holds,
        };
        let track = |(index, name): (usize, &OneLine)| {
            let lane = &self.lanes.tasks[self.cast[index]];
            let stretches = match index {
                0 => with_wait(self.runs(lane, |_| State::Runs), self.end as f64 - self.zero),
                _ if index + 1 == self.cast.len() => self.runs(lane, holder),
                _ => self.runs(lane, |_| State::Other),
            };
            Track { name: name.to_string(), stretches }
        };
        let tracks = rules.tasks.iter().enumerate().map(track);
        if !self.is_alone() {
            return tracks.collect();
        }
        let handlers =
            self.lanes.handlers.iter().flat_map(|lane| self.runs(lane, |_| State::Other));
        let handlers: Vec<Stretch> = handlers.collect();
        let others = self.others(rules, &handlers);
        let handlers = (!handlers.is_empty())
            .then(|| Track { name: "handler".to_owned(), stretches: handlers });
        tracks.chain(handlers).chain(others).collect()
    }

    /// Only the waiting task is named; what ran beside it is shown as the trace has it.
    fn is_alone(&self) -> bool {
        self.cast.len() == 1
    }

    /// The stretch of time that is shown, in ns of the timeline.
    fn shown(&self) -> (f64, f64) {
        let (from, to) = (self.zero.min(self.round.0 as f64), self.round.1.max(self.end) as f64);
        let margin = if self.is_alone() { MARGIN * (to - from) } else { 0.0 };
        (from - margin, to + margin)
    }

    /// The runs of a task in the stretch that is shown, each in the state that belongs to its start.
    fn runs(&self, lane: &Lane, state: impl Fn(u64) -> State) -> Vec<Stretch> {
        let (from, to) = self.shown();
        let within =
            |slice: &&(u64, u64, bool)| slice.2 && slice.1 as f64 > from && (slice.0 as f64) < to;
        let stretch = |slice: &(u64, u64, bool)| Stretch {
            from: from.max(slice.0 as f64) - self.zero,
            to: to.min(slice.1 as f64) - self.zero,
            state: state(slice.0),
        };
        lane.slices.iter().filter(within).map(stretch).collect()
    }

    /// The case's other tasks on one track, and the tasks of others that ran longest.
    fn others(&self, rules: &Rounds, handlers: &[Stretch]) -> Vec<Track> {
        let (from, to) = self.shown();
        let window = (from.max(0.0) as u64, to as u64);
        let is_cast = |lane: &Lane| {
            self.cast.iter().any(|place| self.lanes.tasks[*place].number == lane.number)
        };
        let others = self.lanes.tasks.iter();
        let others = others.filter(|lane| !is_cast(lane) && lane.ran(window) > 0);
        let (own, mut strangers): (Vec<&Lane>, Vec<&Lane>) =
            others.partition(|lane| self.lanes.is_own(lane));
        strangers.sort_by_key(|lane| std::cmp::Reverse(lane.ran(window)));
        strangers.truncate(STRANGERS);
        let all = own.iter().flat_map(|lane| self.runs(lane, |_| State::Holds));
        let mut all: Vec<Stretch> = all.flat_map(|stretch| outside(stretch, handlers)).collect();
        all.sort_by(|one, other| one.from.total_cmp(&other.from));
        let own =
            (!all.is_empty()).then(|| Track { name: rules.others.to_string(), stretches: all });
        let strangers = strangers.into_iter().map(|lane| Track {
            name: lane.name.clone(),
            stretches: self.runs(lane, |_| State::Other),
        });
        own.into_iter().chain(strangers).collect()
    }
}

/// The round whose wait is nearest to `length`, and the end of the wait: by the samples where the trace
/// tells their ends, otherwise by the waits in the trace; of equal ones the longest round.
fn nearest(
    rounds: &[((u64, u64), u64, f64)],
    ends: &[(f64, u64)],
    length: f64,
) -> Option<((u64, u64), u64)> {
    let off = |value: f64| (value - length).abs();
    if let Some((_, at)) = ends.iter().min_by(|one, other| off(one.0).total_cmp(&off(other.0))) {
        let near = rounds.iter().min_by_key(|(_, end, _)| end.abs_diff(*at))?;
        let is_near = near.1.abs_diff(*at) as f64 <= (NEAR * length).max(20_000.0);
        return is_near.then_some((near.0, near.1));
    }
    let mut near: Vec<_> = rounds.iter().filter(|one| off(one.2) <= NEAR * length).collect();
    if near.is_empty() && rounds.len() >= MIDDLE {
        // The wait begins before the trace shows it: the middle one.
        near = rounds.iter().collect();
        near.sort_by(|one, other| one.2.total_cmp(&other.2));
        near = vec![near[near.len() / 2]];
    }
    near.into_iter().max_by_key(|one| one.0.1 - one.0.0).map(|one| (one.0, one.1))
}

/// The parts of a stretch outside of handlers, which are in the order of time.
fn outside(mut stretch: Stretch, handlers: &[Stretch]) -> Vec<Stretch> {
    let mut parts = Vec::new();
    for handler in handlers {
        if handler.to > stretch.from && handler.from < stretch.to {
            parts.push(Stretch { to: handler.from, ..stretch });
            stretch.from = handler.to;
        }
    }
    parts.push(stretch);
    parts.retain(|part| part.to > part.from);
    parts
}

/// The runs of the waiting task with its wait from zero to `end` between them.
fn with_wait(runs: Vec<Stretch>, end: f64) -> Vec<Stretch> {
    let mut all = Vec::new();
    let mut at = 0.0;
    for run in runs {
        if run.from > at && at < end {
            all.push(Stretch { from: at, to: run.from.min(end), state: State::Waits });
        }
        at = f64::max(at, run.to);
        all.push(run);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_interrupts_what_runs_below_it() {
        let stretch = |from, to| Stretch { from, to, state: State::Holds };
        let parts = outside(stretch(0.0, 10.0), &[stretch(2.0, 3.0), stretch(9.0, 12.0)]);
        assert_eq!(parts, [stretch(0.0, 2.0), stretch(3.0, 9.0)]);
        assert_eq!(outside(stretch(0.0, 1.0), &[]), [stretch(0.0, 1.0)]);
    }
}
