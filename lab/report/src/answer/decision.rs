//! The answer to "may it?": yes, no, or not decided, with three figures and what is allowed of each.
//!
//! One miss is enough for *No*, whatever else the machine did. *Yes* needs every case, every limit, and
//! a machine whose figures can be trusted.

use chronoscope_run::{Answering, CaseResult, Run, SeriesResult, Statistic, Status};

use super::{
    Step, TITLE,
    list::{Limited, List, ListRow, limited},
    rule,
    span::{self, Span, amount, bare, grouped, is_long},
    trust::{self, Trust},
};
use crate::{cause, cause::schedule, cause::schedule::Culprit};
use chronoscope_units::words::quoted;

/// The answer to a question that asks for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// All limits hold, on a machine that can be trusted.
    Yes,
    /// A limit is missed.
    No,
    /// Neither, for this reason.
    Open(String),
}

impl Decision {
    /// The decision on a run; `None` if its rules ask for none.
    pub fn on(run: &Run, rules: &Answering) -> Option<Self> {
        rules.decides.then(|| Self::of_limits(run))
    }

    fn of_limits(run: &Run) -> Self {
        let limits = limited(run);
        if limits.iter().any(|one| !one.held) {
            return Self::No;
        }
        if let Some(case) = run.cases.iter().find(|case| case.verdict.status != Status::Pass) {
            let reason = case.verdict.reasons.first().map(|reason| &**reason);
            let reason = reason.unwrap_or(case.verdict.status.words());
            return Self::Open(format!("{}: {reason}", case.experiment));
        }
        if limits.is_empty() {
            return Self::Open("there is no limit that a case with evidence could miss".to_owned());
        }
        let trust = Trust::from_run(run);
        match trust.verdicts.iter().find(|verdict| !verdict.good) {
            Some(doubt) => Self::Open(format!("all limits hold, but {}", doubt.reasons)),
            None => Self::Yes,
        }
    }

    /// The word that stands above all.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Yes => "Yes",
            Self::No => "No",
            Self::Open(_) => "Not decided",
        }
    }

    /// The status that a run with this decision ends with.
    pub fn status(&self) -> Status {
        match self {
            Self::Yes => Status::Pass,
            Self::No => Status::LimitMissed,
            Self::Open(_) => Status::Inconclusive,
        }
    }

    /// The next step after a miss: the setting that holds its culprit back, if the trace shows one, or
    /// without a trace the command that records one.
    pub fn next(&self, run: &Run) -> Option<Step> {
        if *self != Self::No {
            return None;
        }
        if run.cases.iter().any(cause::is_traced) {
            return remedy(run);
        }
        let command = format!("chronoscope run {} --set trace=yes", study(run));
        Some(Step::new("the cause of the worst, as root", command))
    }

    /// The decision in a sentence, with the figures that it rests on.
    pub fn title(&self, run: &Run) -> String {
        let starts = Starts::from_run(run);
        match (self, starts) {
            (Self::Open(reason), _) => {
                let room = TITLE - "Not decided: ".len();
                let first = reason.split(';').next().filter(|_| reason.chars().count() > room);
                format!("Not decided: {}", first.unwrap_or(reason))
            }
            (Self::Yes, Some(starts)) => {
                format!("Yes, in this run: {}; {}", starts.late(), starts.worst_words())
            }
            (Self::No, Some(starts)) if starts.missed > 0 && is_missed(run, "misses") => {
                format!("No: {}, {}", starts.late(), starts.worst_words())
            }
            _ => match limited(run).first() {
                Some(one) => format!(
                    "{}: {} is {}, limit {}",
                    self.word(),
                    one.name(run),
                    one.value_words(),
                    one.bound_words()
                ),
                None => self.word().to_owned(),
            },
        }
    }
}

/// Returns whether a limit on this statistic is missed.
fn is_missed(run: &Run, statistic: &str) -> bool {
    limited(run).iter().any(|one| !one.held && &*one.limit.statistic == statistic)
}

/// The name of a run's study, or its file, if the run's command line names one.
fn study(run: &Run) -> String {
    let file = run.context.command.iter().find(|word| word.ends_with(".toml"));
    quoted(file.unwrap_or(&run.study))
}

/// The setting that holds back the task which took the processor while the worst of all was measured, if
/// it is as urgent as the case. A less urgent one ran on only because an interrupt came late.
fn remedy(run: &Run) -> Option<Step> {
    let (case, series) = worst_traced(run)?;
    let Culprit { id, urgency } = schedule::culprit(case, series)?;
    let own: u32 = case.parameters.get("priority")?.parse().ok()?;
    let is_before = own > 1 && urgency.is_some_and(|urgency| urgency >= own);
    is_before.then(|| Step::new("hold it back", format!("chrt -f -p {} {id}", own - 1)))
}

/// The traced case with the longest of all worst samples, and its series.
pub fn worst_traced(run: &Run) -> Option<(&CaseResult, &SeriesResult)> {
    let traced = run.cases.iter().filter(|case| case.is_proven() && cause::is_traced(case));
    let with_worst = traced.filter_map(|case| {
        let series = rule::usual(case).next()?;
        Some((series.summary.max?, case, series))
    });
    let (_, case, series) = with_worst.max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some((case, series))
}

/// The status that a run ends with: of its decision, or without one of its cases.
pub fn status(run: &Run) -> Status {
    let decision = run.answering.as_ref().and_then(|rules| Decision::on(run, rules));
    decision.map_or_else(|| run.status(), |decision| decision.status())
}

/// The starts of all cases with a deadline.
pub(super) struct Starts<'a> {
    /// The series that have each start once.
    pub(super) series: Vec<&'a SeriesResult>,
    /// All series, as limits judge them: of each processor, and of all together.
    judged: Vec<&'a SeriesResult>,
    pub(super) missed: u64,
    all: u64,
}

impl<'a> Starts<'a> {
    pub(super) fn from_run(run: &'a Run) -> Option<Self> {
        Self::from_cases(run.cases.iter().filter(|case| case.is_proven()))
    }

    /// The starts of these cases; `None` if none of them had a deadline.
    pub(super) fn from_cases(cases: impl Iterator<Item = &'a CaseResult>) -> Option<Self> {
        let mut series: Vec<&SeriesResult> = Vec::new();
        let mut judged: Vec<&SeriesResult> = Vec::new();
        for case in cases {
            series.extend(case.counted().filter(|series| series.misses.is_some()));
            judged.extend(case.measured().filter(|series| series.misses.is_some()));
        }
        let (missed, all) = trust::misses_in(series.iter().copied())?;
        Some(Self { series, judged, missed, all })
    }

    pub(super) fn unit(&self) -> &'static str {
        self.series[0].unit.name()
    }

    pub(super) fn longest(&self) -> f64 {
        let all = self.series.iter().filter_map(|series| series.summary.max);
        all.reduce(f64::max).unwrap_or_default()
    }

    /// The deadline of all starts; `None` where cases have different ones.
    fn only_deadline(&self) -> Option<f64> {
        let mut all = self.series.iter().filter_map(|series| series.deadline);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }

    /// The deadline with its unit; `None` where cases have different ones.
    pub(super) fn deadline(&self) -> Option<String> {
        Some(amount(self.only_deadline()?, self.unit(), true))
    }

    /// The number of late starts among all, in words.
    fn late(&self) -> String {
        let (missed, all) = (grouped(self.missed as f64), grouped(self.all as f64));
        match self.deadline() {
            Some(deadline) => format!("{missed} of {all} starts came more than {deadline} late"),
            None => format!("{missed} of {all} starts came after their deadlines"),
        }
    }

    fn worst(&self) -> String {
        let bound = self.only_deadline().unwrap_or(f64::INFINITY);
        span::beside(self.longest(), bound, self.unit())
    }

    /// The words on the latest start, behind [`late`](Self::late).
    fn worst_words(&self) -> String {
        match self.deadline() {
            Some(_) => format!("the worst by {}", self.worst()),
            None => format!("the worst was {} late", self.worst()),
        }
    }

    /// The greatest lateness as a share of its deadline.
    fn worst_share(&self) -> f64 {
        let share = |series: &&SeriesResult| Some(series.summary.max? / series.deadline?);
        self.series.iter().filter_map(share).fold(0.0, f64::max)
    }

    /// The p99 of all judged series, from the least to the greatest of their repetitions.
    fn p99(&self) -> Option<String> {
        let p99 = Statistic::find("p99")?;
        let spans = self.judged.iter().filter_map(|series| Span::of_series(series, p99));
        let (low, high) = spans
            .map(|span| (span.low, span.high))
            .reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))?;
        let is_one = high <= low * 1.01;
        Some(if is_one {
            amount(high, self.unit(), true)
        } else {
            span::between(low, high, self.unit())
        })
    }
}

/// The figures of a decision: how many starts came too late, the worst, and within what 99 of 100 lie, each
/// with what is allowed; then every other limit that is missed, and each limit on the worst of a case
/// without starts.
pub fn figures(run: &Run) -> Option<List> {
    let starts = Starts::from_run(run)?;
    let limits = limited(run);
    let is_of_starts =
        |one: &&Limited<'_>| one.case.measured().any(|series| series.deadline.is_some());
    let on = |statistic: &str| -> Vec<&Limited<'_>> {
        let all = limits.iter().filter(|one| *one.limit.statistic == *statistic);
        all.filter(is_of_starts).collect()
    };
    let unit = starts.unit();
    let row = |name: String, value: String, allowed: String, judged: &[&Limited<'_>]| {
        let worst = judged.iter().max_by(|one, other| one.share.total_cmp(&other.share));
        let status = match judged.iter().all(|one| one.held) {
            true => Status::Pass,
            false => Status::LimitMissed,
        };
        ListRow {
            cells: vec![name, bare(&value, unit), bare(&allowed, unit)],
            verdict: if judged.is_empty() { String::new() } else { status.words().to_owned() },
            status,
            share: worst.map(|one| one.share),
            at_least: false,
            ratio: None,
        }
    };
    let allowed = |judged: &[&Limited<'_>]| {
        let Some(first) = judged.first() else { return "–".to_owned() };
        let bounds = || judged.iter().map(|one| one.bound);
        let least = bounds().fold(f64::INFINITY, f64::min);
        let most = bounds().fold(f64::NEG_INFINITY, f64::max);
        let words = |bound| amount(bound, &first.unit, true);
        match least < most {
            true => format!("{} to {}", bare(&words(least), unit), words(most)),
            false => words(least),
        }
    };
    let (misses, p99, max) = (on("misses"), on("p99"), on("max"));
    let late = format!("{} of {}", grouped(starts.missed as f64), grouped(starts.all as f64));
    // The starts of all cases stand together, and each case is allowed its own misses.
    let each = misses.len() > 1 && misses.iter().any(|one| one.bound > 0.0);
    let late_allowed = allowed(&misses) + if each { " each" } else { "" };
    let deadline = starts.deadline();
    let name = match &deadline {
        Some(deadline) => format!("starts later than {deadline}"),
        None => "starts after their deadlines".to_owned(),
    };
    let most = match max.is_empty() {
        true => deadline.unwrap_or_else(|| "–".to_owned()),
        false => allowed(&max),
    };
    let mut rows = vec![
        row(name, late, late_allowed, &misses),
        row("worst".to_owned(), starts.worst(), most, &max),
    ];
    // Without a limit on it, the worst stands against its deadline; the limit on misses judges it.
    if max.is_empty() {
        rows[1].share = Some(starts.worst_share());
        rows[1].status = rows[0].status;
    }
    if let Some(range) = starts.p99() {
        rows.push(row("99 of 100 start within".to_owned(), range, allowed(&p99), &p99));
    }
    let others = limits.iter().filter(|one| match &*one.limit.statistic {
        "max" if !is_of_starts(one) => true,
        "misses" | "p99" | "max" => false,
        _ => !one.held,
    });
    rows.extend(others.map(|one| row(one.name(run), one.value_words(), one.bound_words(), &[one])));
    Some(List { head: vec![if is_long(unit) { unit } else { "" }, "measured", "allowed"], rows })
}
