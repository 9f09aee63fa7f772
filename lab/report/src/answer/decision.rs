//! The answer to "may it?": yes, no, or not decided, with three figures and what is allowed of each.
//!
//! One miss is enough for *No*, whatever else the machine did. *Yes* needs every case, every limit, and
//! a machine whose figures can be trusted.

use std::iter;

use chronoscope_run::{Answering, CaseResult, Run, SeriesResult, Statistic, Status};

use super::{
    Step, TITLE,
    list::{Limited, List, ListRow, limited},
    rule,
    span::{self, Span, amount, bare, grouped, is_long},
    trust::{self, Trust},
};

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

    /// The command that tells the cause of a miss; `None` where the run has recorded it already.
    pub fn next(&self, run: &Run) -> Option<Step> {
        let is_traced =
            |case: &CaseResult| case.parameters.get("trace").is_some_and(|word| *word == "yes");
        let asks = *self == Self::No && !run.cases.iter().any(is_traced);
        asks.then(|| {
            let command = format!("chronoscope run {} --set trace=yes", run.study);
            Step::new("the cause of the worst, as root", command)
        })
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
            (Self::Yes, Some(starts)) => format!(
                "Yes, in this run: {} of {} starts came more than {} late; the worst by {}",
                grouped(starts.missed as f64),
                grouped(starts.all as f64),
                starts.deadline(),
                starts.worst()
            ),
            (Self::No, Some(starts)) if starts.missed > 0 => format!(
                "No: {} of {} starts came more than {} late, the worst by {}",
                grouped(starts.missed as f64),
                grouped(starts.all as f64),
                starts.deadline(),
                starts.worst()
            ),
            _ => match limited(run).first() {
                Some(one) => format!(
                    "{}: {} is {}, limit {}",
                    self.word(),
                    one.name(run),
                    amount(one.value, &one.unit, true),
                    one.bound_words()
                ),
                None => self.word().to_owned(),
            },
        }
    }
}

/// The status that a run ends with: of its decision, or without one of its cases.
pub fn status(run: &Run) -> Status {
    let decision = run.answering.as_ref().and_then(|rules| Decision::on(run, rules));
    decision.map_or_else(|| run.status(), |decision| decision.status())
}

/// The starts of all cases with a deadline.
struct Starts<'a> {
    series: Vec<&'a SeriesResult>,
    missed: u64,
    all: u64,
}

impl<'a> Starts<'a> {
    fn from_run(run: &'a Run) -> Option<Self> {
        Self::from_cases(run.cases.iter().filter(|case| case.is_proven()))
    }

    /// The starts of these cases; `None` if none of them had a deadline.
    fn from_cases(cases: impl Iterator<Item = &'a CaseResult>) -> Option<Self> {
        let all = cases.flat_map(CaseResult::measured);
        let series: Vec<&SeriesResult> = all.filter(|series| series.misses.is_some()).collect();
        let (missed, all) = trust::misses_in(series.iter().copied())?;
        Some(Self { series, missed, all })
    }

    fn unit(&self) -> &'static str {
        self.series[0].unit.name()
    }

    fn shortest_deadline(&self) -> f64 {
        let deadlines = self.series.iter().filter_map(|series| series.deadline);
        deadlines.reduce(f64::min).unwrap_or(f64::INFINITY)
    }

    fn longest(&self) -> f64 {
        let all = self.series.iter().filter_map(|series| series.summary.max);
        all.reduce(f64::max).unwrap_or_default()
    }

    fn deadline(&self) -> String {
        amount(self.shortest_deadline(), self.unit(), true)
    }

    fn worst(&self) -> String {
        amount(self.longest(), self.unit(), true)
    }

    /// The p99 of all series, from the least to the greatest of their repetitions.
    fn p99(&self) -> Option<String> {
        let p99 = Statistic::find("p99")?;
        let spans = self.series.iter().filter_map(|series| Span::of_series(series, p99));
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
/// with what is allowed; then every other limit that is missed.
pub fn figures(run: &Run) -> Option<List> {
    let starts = Starts::from_run(run)?;
    let limits = limited(run);
    let on = |statistic: &str| -> Vec<&Limited<'_>> {
        limits.iter().filter(|one| *one.limit.statistic == *statistic).collect()
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
        let least = judged.iter().min_by(|one, other| one.bound.total_cmp(&other.bound));
        least.map_or("–".to_owned(), |one| amount(one.bound, &one.unit, true))
    };
    let (misses, p99, max) = (on("misses"), on("p99"), on("max"));
    let late = format!("{} of {}", grouped(starts.missed as f64), grouped(starts.all as f64));
    let deadline = starts.deadline();
    let mut rows = vec![
        row(format!("starts later than {deadline}"), late, allowed(&misses), &misses),
        row(
            "worst".to_owned(),
            starts.worst(),
            if max.is_empty() { deadline } else { allowed(&max) },
            &max,
        ),
    ];
    // Without a limit on it, the worst stands against the deadline, and is not judged twice.
    rows[1].share = rows[1].share.or(Some(starts.longest() / starts.shortest_deadline()));
    if let Some(range) = starts.p99() {
        rows.push(row("99 of 100 start within".to_owned(), range, allowed(&p99), &p99));
    }
    let others = limits
        .iter()
        .filter(|one| !one.held && !["misses", "p99", "max"].contains(&&*one.limit.statistic));
    rows.extend(others.map(|one| {
        let value = amount(one.value, &one.unit, true);
        row(one.name(run), value, one.bound_words(), &[one])
    }));
    Some(List { head: vec![if is_long(unit) { unit } else { "" }, "measured", "allowed"], rows })
}

/// The most cases whose late starts stand one by one.
const PLACES: usize = 4;

/// The late starts and the worst of each case, a sentence each, the case with most of them first; empty
/// where only one case has a deadline.
pub fn places(run: &Run) -> Vec<String> {
    let of_case = |case: &CaseResult| {
        let starts = Starts::from_cases(iter::once(case))?;
        let label = rule::label(run, case);
        let name = [&*case.experiment, &*label].join(" ");
        let words =
            format!("{}: {} late, worst {}", name.trim_end(), starts.missed, starts.worst());
        Some((starts.missed, starts.longest(), words))
    };
    let proven = run.cases.iter().filter(|case| case.is_proven());
    let mut places: Vec<(u64, f64, String)> = proven.filter_map(of_case).collect();
    places.sort_by(|one, other| other.0.cmp(&one.0).then(other.1.total_cmp(&one.1)));
    let more = places.len().saturating_sub(PLACES);
    let all = places.into_iter().map(|(_, _, words)| words);
    let mut told: Vec<String> = all.take(PLACES).collect();
    if more > 0 {
        told.push(format!("and {}, with fewer", span::count(more, "case")));
    }
    if told.len() > 1 { told } else { Vec::new() }
}
