//! One round of each of several traced cases on one time line: which task ran, waited, or held the
//! lock. It reads a case's own trace, and draws nothing.
//!
//! Zero is the start of the wait, by the statistic that the panel names, before the moment at which the
//! waiting task goes on in the trace.

use std::{cmp::Reverse, ops::Range};

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

/// The time in ns by which the end of a sample and the start of a run may differ in a trace.
const DOUBT: f64 = 20_000.0;

/// The stretches that a track shows at most.
const GRAINS: f64 = 2_000.0;

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
    let several = run.cases.iter().any(|case| case.target != run.cases[0].target);
    let heading = |case: &CaseResult| match several && pick.target.is_empty() {
        true => format!("{} · {}", case.target, pick.name),
        false => pick.name.to_string(),
    };
    let asked = run.cases.iter().filter(|case| rule::asks_for(pick, case));
    asked.filter_map(|case| panel(case, rules, pick, heading(case))).collect()
}

/// The panel of a case; `None` where it has no series or statistic that the pick names.
fn panel(case: &CaseResult, rules: &Rounds, pick: &Pick, heading: String) -> Option<Panel> {
    let empty = |heading: String, reason: &str| {
        let wait = Err(reason.to_owned());
        Some(Panel { heading, wait, tracks: Vec::new(), tick: 1.0, unit: "" })
    };
    if !case.is_proven() {
        let reason = case.verdict.reasons.first().map(|reason| &**reason);
        return empty(heading, reason.unwrap_or(Status::words(case.verdict.status)));
    }
    let name = if pick.statistic.is_empty() { "p50" } else { &*pick.statistic };
    let (series, statistic) = (rule::series(pick, case)?, Statistic::find(name)?);
    let unit = series.unit.name();
    let wait = bare(&rule::figure(pick, case, "")?.words(), unit);
    let length = statistic.of_series(series)? * series.per * tick(case);
    if case.attachments.is_empty() {
        let unit = if is_long(unit) { format!(" {unit}") } else { String::new() };
        return empty(heading, &format!("{wait}{unit}; this kernel keeps no record"));
    }
    let Some(found) = Found::new(case, rules, pick, length) else {
        return empty(heading, "the kernel's record does not hold a whole round");
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

/// A round of the trace: its stretch, the end of the wait in it, and the wait as the trace shows it, all
/// in ns of the timeline.
#[derive(Clone)]
struct Round {
    stretch: Range<u64>,
    end: u64,
    wait: f64,
}

/// A round that was found.
struct Found {
    lanes: Lanes,
    /// The places of the tasks that the rules name.
    cast: Vec<usize>,
    /// The start of the wait, in ns of the timeline.
    zero: f64,
    round: Round,
}

impl Found {
    fn new(case: &CaseResult, rules: &Rounds, pick: &Pick, length: f64) -> Option<Self> {
        let lanes = Lanes::read(case, pick)?;
        let mut cast = lanes.cast()?;
        cast.truncate(rules.tasks.len());
        if rules.tasks.is_empty() || cast.len() < rules.tasks.len() {
            return None;
        }
        let (waiting, last) = (&lanes.tasks[cast[0]], &lanes.tasks[*cast.last()?]);
        let awake = waiting.awake();
        let round = |stretch: Range<u64>| {
            // The waiting task's stretches in it: the first begins the wait, and the last ends it.
            let first = awake.partition_point(|one| one.end <= stretch.start);
            let after = awake.partition_point(|one| one.start < stretch.end);
            let within = awake.get(first..after)?;
            let end = waiting.first_run(within.last()?)?;
            let wait = end.saturating_sub(within.first()?.start) as f64;
            Some(Round { stretch, end, wait })
        };
        let rounds: Vec<Round> = last.awake().into_iter().filter_map(round).collect();
        let round = nearest(&rounds, &lanes.ends, length)?.clone();
        Some(Self { zero: round.end as f64 - length, lanes, cast, round })
    }

    fn tracks(&self, rules: &Rounds, raised: Raised) -> Vec<Track> {
        let waiting = &self.lanes.tasks[self.cast[0]];
        let end = self.round.end;
        let asked = waiting.slices.iter().find(|slice| slice.runs && slice.to as f64 > self.zero);
        let asked = asked.map_or(end, |slice| slice.to);
        let holder = |at: u64| match raised {
            Raised::Ceiling if at < end => State::Raised,
            Raised::Inherited if (asked..end).contains(&at) => State::Raised,
            _ => State::Holds,
        };
        let track = |(index, name): (usize, &OneLine)| {
            let lane = &self.lanes.tasks[self.cast[index]];
            let stretches = match index {
                0 => with_wait(self.runs(lane, |_| State::Runs), end as f64 - self.zero),
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
    fn window(&self) -> (f64, f64) {
        let Round { stretch, end, .. } = &self.round;
        let (from, to) = (self.zero.min(stretch.start as f64), stretch.end.max(*end) as f64);
        let margin = if self.is_alone() { MARGIN * (to - from) } else { 0.0 };
        (from - margin, to + margin)
    }

    /// The runs of a task in the stretch that is shown, each in the state that belongs to its start.
    fn runs(&self, lane: &Lane, state: impl Fn(u64) -> State) -> Vec<Stretch> {
        let (from, to) = self.window();
        let grain = (to - from) / GRAINS;
        let window = from.max(0.0) as u64..to.max(0.0) as u64;
        let mut all: Vec<Stretch> = Vec::new();
        for slice in lane.within(&window).iter().filter(|slice| slice.runs) {
            let state = state(slice.from);
            let (from, to) = (from.max(slice.from as f64), to.min(slice.to as f64));
            let (from, to) = (from - self.zero, to - self.zero);
            match all.last_mut() {
                // Gaps that no picture shows are no gaps.
                Some(last) if last.state == state && from - last.to < grain => last.to = to,
                _ => all.push(Stretch { from, to, state }),
            }
        }
        all
    }

    /// The case's other tasks on one track, and the tasks of others that ran longest.
    fn others(&self, rules: &Rounds, handlers: &[Stretch]) -> Vec<Track> {
        let (from, to) = self.window();
        let window = from.max(0.0) as u64..to.max(0.0) as u64;
        let is_cast = |lane: &Lane| {
            self.cast.iter().any(|place| self.lanes.tasks[*place].number == lane.number)
        };
        let others = self.lanes.tasks.iter();
        let others = others.filter(|lane| !is_cast(lane) && lane.ran(&window) > 0);
        let (own, mut strangers): (Vec<&Lane>, Vec<&Lane>) =
            others.partition(|lane| self.lanes.is_own(lane));
        strangers.sort_by_key(|lane| Reverse(lane.ran(&window)));
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

/// The round whose wait is nearest to `length`: by the samples where the trace tells their ends,
/// otherwise by the waits in the trace; of equal ones the longest round.
fn nearest<'a>(rounds: &'a [Round], ends: &[(f64, u64)], length: f64) -> Option<&'a Round> {
    let off = |value: f64| (value - length).abs();
    if let Some((_, at)) = ends.iter().min_by(|one, other| off(one.0).total_cmp(&off(other.0))) {
        let near = rounds.iter().min_by_key(|round| round.end.abs_diff(*at))?;
        let is_near = near.end.abs_diff(*at) as f64 <= (NEAR * length).max(DOUBT);
        return is_near.then_some(near);
    }
    let extent = |round: &&Round| round.stretch.end - round.stretch.start;
    let near = rounds.iter().filter(|round| off(round.wait) <= NEAR * length);
    near.max_by_key(extent).or_else(|| {
        // The wait begins before the trace shows it: the middle one.
        let mut all: Vec<&Round> = rounds.iter().collect();
        all.sort_by(|one, other| one.wait.total_cmp(&other.wait));
        all.get(all.len() / 2).copied().filter(|_| all.len() >= MIDDLE)
    })
}

/// The parts of a stretch outside of handlers, which are in the order of time.
fn outside(mut stretch: Stretch, handlers: &[Stretch]) -> Vec<Stretch> {
    let mut parts = Vec::new();
    let first = handlers.partition_point(|handler| handler.to <= stretch.from);
    for handler in handlers[first..].iter().take_while(|handler| handler.from < stretch.to) {
        parts.push(Stretch { to: handler.from, ..stretch });
        stretch.from = handler.to;
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
    use chronoscope_run::{Unit, sample};

    #[test]
    fn a_handler_interrupts_what_runs_below_it() {
        let stretch = |from, to| Stretch { from, to, state: State::Holds };
        let parts = outside(stretch(0.0, 10.0), &[stretch(2.0, 3.0), stretch(9.0, 12.0)]);
        assert_eq!(parts, [stretch(0.0, 2.0), stretch(3.0, 9.0)]);
        assert_eq!(outside(stretch(0.0, 1.0), &[]), [stretch(0.0, 1.0)]);
    }

    #[test]
    fn a_wait_lasts_until_the_next_run_and_never_beyond_its_end() {
        let runs = |from, to| Stretch { from, to, state: State::Runs };
        let waits = |from, to| Stretch { from, to, state: State::Waits };
        let all = with_wait(vec![runs(2.0, 3.0), runs(6.0, 8.0), runs(9.0, 9.5)], 8.0);
        let expected =
            [waits(0.0, 2.0), runs(2.0, 3.0), waits(3.0, 6.0), runs(6.0, 8.0), runs(9.0, 9.5)];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_panel_names_its_target_where_there_are_several() {
        let mut run = sample::run();
        run.cases.truncate(1);
        let pick = Pick {
            experiment: run.cases[0].experiment.clone(),
            name: "a".into(),
            ..Pick::default()
        };
        let headings = |run: &Run| -> Vec<String> {
            panels(run, &Rounds::default(), &pick).into_iter().map(|panel| panel.heading).collect()
        };
        run.cases[0].verdict.status = Status::Inconclusive;
        run.cases[0].evidence.clear();
        assert_eq!(headings(&run), ["a"]);
        let other = CaseResult { target: "other@host".into(), ..run.cases[0].clone() };
        run.cases.push(other);
        assert_eq!(headings(&run)[1], "other@host · a");
        assert_eq!(headings(&run).len(), 2);
    }

    #[test]
    fn a_wait_without_a_record_has_its_unit_once() {
        let mut run = sample::run();
        run.cases.truncate(1);
        run.cases[0].attachments.clear();
        let pick = Pick { experiment: run.cases[0].experiment.clone(), ..Pick::default() };
        let wait = |run: &Run| {
            let panels = panels(run, &Rounds::default(), &pick);
            panels[0].wait.clone().unwrap_err().replace(['\u{a0}', '\u{202f}'], " ")
        };
        assert_eq!(wait(&run), "2.90 µs; this kernel keeps no record");
        run.cases[0].series[0].unit = Unit::Cycles;
        assert_eq!(wait(&run), "2 900 cycles; this kernel keeps no record");
    }
}
