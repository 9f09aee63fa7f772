//! The tables that an answer has below its figures: limits, published figures and peers, as cells of text.

use super::{
    reading, rule,
    span::{self, LONG, Span, amount, ratio},
};
use chronoscope_run::{
    Answering, CaseResult, Limit, PeerResult, Published, Run, Status, statistics,
};
use chronoscope_suite::spec::Figure;
use chronoscope_units::show;

/// A table of text: the first column is of words, the others of numbers.
pub struct List {
    /// The words above the columns; none above the verdicts.
    pub head: Vec<&'static str>,
    /// The rows, in the order of the run.
    pub rows: Vec<ListRow>,
}

impl List {
    /// The unit that all numbers of a column share, if it is a long word.
    pub fn unit(&self, index: usize) -> Option<&'static str> {
        LONG.into_iter().find(|unit| {
            let has = |row: &ListRow| row.cells.get(index).is_some_and(|cell| cell.ends_with(unit));
            index > 0 && !self.rows.is_empty() && self.rows.iter().all(has)
        })
    }

    /// A cell without the unit that its column shares.
    pub fn cell<'a>(&self, row: &'a ListRow, index: usize) -> &'a str {
        let text = row.cells.get(index).map_or("", String::as_str);
        self.unit(index).and_then(|unit| text.strip_suffix(unit)).unwrap_or(text).trim_end()
    }
}

/// A row of a list.
pub struct ListRow {
    /// One cell for each column.
    pub cells: Vec<String>,
    /// The last words: a verdict, or a reason.
    pub verdict: String,
    /// The status of the verdict.
    pub status: Status,
    /// The share of its room that the value takes: 1 at the limit; `None` without a limit.
    pub share: Option<f64>,
    /// `true` if the limit is a lower bound.
    pub at_least: bool,
    /// The measured value as a multiple of the one that it is compared with.
    pub ratio: Option<f64>,
}

/// A limit of a case with the value that is nearest to it, or farthest beyond it.
pub struct Limited<'a> {
    /// The judged case.
    pub case: &'a CaseResult,
    /// The limit, as the study gives it.
    pub limit: &'a Limit,
    /// The value of the statistic.
    pub value: f64,
    /// The unit of the value and the bound; may be empty.
    pub unit: String,
    /// The bound in the unit of the value.
    pub bound: f64,
    /// `true` if the bound is a lower one.
    pub at_least: bool,
    /// The value is within the bound.
    pub held: bool,
    /// The value as a share of an upper bound, or a lower bound as a share of the value.
    pub share: f64,
}

/// The limits that apply to cases with evidence, those with the least room first.
pub fn limited(run: &Run) -> Vec<Limited<'_>> {
    let proven = run.cases.iter().filter(|case| case.is_proven());
    let each = proven.flat_map(|case| case.limits.iter().map(move |limit| (case, limit)));
    let mut all: Vec<Limited<'_>> =
        each.filter_map(|(case, limit)| Limited::new(case, limit)).collect();
    all.sort_by(|one, other| one.held.cmp(&other.held).then(other.share.total_cmp(&one.share)));
    all
}

impl<'a> Limited<'a> {
    fn new(case: &'a CaseResult, limit: &'a Limit) -> Option<Self> {
        let found = statistics(case, &limit.statistic, limit.series.as_deref());
        // A figure must keep its limit in every repetition.
        let figure = case.figure(&limit.statistic);
        let values = || found.iter().map(|(_, value, _)| *value);
        let most = figure.map_or_else(|| values().reduce(f64::max), |figure| Some(figure.max))?;
        let least = figure.map_or_else(|| values().reduce(f64::min), |figure| Some(figure.min))?;
        let upper = limit.at_most.map(|bound| (most, bound.0, false, share(most, bound.0)));
        let lower = limit.at_least.map(|bound| (least, bound.0, true, share(bound.0, least)));
        let nearest = |one: &(_, _, _, f64), other: &(_, _, _, f64)| one.3.total_cmp(&other.3);
        let (value, bound, at_least, share) = upper.into_iter().chain(lower).max_by(nearest)?;
        let held = limit.missed(case).is_empty();
        let unit = found.first()?.2.to_string();
        Some(Self { case, limit, value, unit, bound, at_least, held, share })
    }

    /// Returns whether a miss means slower: an upper bound on a time, or on instructions or cycles.
    pub fn is_of_speed(&self) -> bool {
        let unit = matches!(&*self.unit, "ns" | "us" | "ms" | "s" | "instructions" | "cycles");
        unit && !self.at_least
    }

    /// Experiment, label and statistic.
    pub fn name(&self, run: &Run) -> String {
        let series = self.limit.series.as_deref().unwrap_or_default();
        let label = rule::label(run, self.case);
        let words = [&*self.case.experiment, &*label, series, &*self.limit.statistic];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The value with its unit, in digits that tell it from the bound.
    pub fn value_words(&self) -> String {
        span::beside(self.value, self.bound, &self.unit)
    }

    /// The bound with its sign and unit, as `≤ 5 µs`.
    pub fn bound_words(&self) -> String {
        let sign = if self.at_least { "≥" } else { "≤" };
        let [_, bound] = span::both(self.value, self.bound, &self.unit);
        format!("{sign} {bound}")
    }
}

/// The missed limits of a run, as a title tells them.
pub struct Missed<'a> {
    /// The ones that mean slower, or all where none does, with the least room first.
    pub told: Vec<&'a Limited<'a>>,
    /// `told` means slower. An image that grew got no slower.
    pub are_of_speed: bool,
    /// The number of the others.
    pub others: usize,
}

impl<'a> Missed<'a> {
    /// Picks the missed limits out of all that apply, in their order.
    pub fn of_limits(limits: &'a [Limited<'a>]) -> Self {
        let all: Vec<&Limited<'_>> = limits.iter().filter(|one| !one.held).collect();
        let (of_speed, others): (Vec<_>, Vec<_>) =
            all.iter().copied().partition(|one| one.is_of_speed());
        match of_speed.is_empty() {
            true => Self { told: all, are_of_speed: false, others: 0 },
            false => Self { told: of_speed, are_of_speed: true, others: others.len() },
        }
    }
}

fn share(value: f64, bound: f64) -> f64 {
    match (value, bound) {
        (value, bound) if bound > 0.0 && !value.is_nan() => value / bound,
        (value, bound) if value <= bound => 0.0,
        _ => f64::INFINITY,
    }
}

/// The number of limits of all cases that ran, or that have evidence all the same: as many as
/// [`limited`] gives, or more.
pub fn all_limits(run: &Run) -> usize {
    let ran = |case: &&CaseResult| case.is_proven() || case.verdict.status != Status::NotOffered;
    run.cases.iter().filter(ran).map(|case| case.limits.len()).sum()
}

/// The limits as a list.
pub fn limits(run: &Run) -> List {
    let several = run.cases.windows(2).any(|pair| pair[0].target != pair[1].target);
    let row = |one: &Limited<'_>| {
        let target = if several { format!("{} ", one.case.target) } else { String::new() };
        let status = if one.held { Status::Pass } else { Status::LimitMissed };
        ListRow {
            cells: vec![format!("{target}{}", one.name(run)), one.value_words(), one.bound_words()],
            verdict: status.words().to_owned(),
            status,
            share: Some(one.share),
            at_least: one.at_least,
            ratio: None,
        }
    };
    List { head: vec!["figure", "measured", "limit"], rows: limited(run).iter().map(row).collect() }
}

/// Published figures beside measured ones. Where the answer has rows of its own, each has the first
/// published figure that matches it.
pub fn published(run: &Run, rules: &Answering) -> List {
    let head = vec!["figure", "here", "published", "here / published"];
    if rules.rows.is_empty() {
        let proven = run.cases.iter().filter(|case| case.is_proven());
        let rows = proven.flat_map(|case| {
            case.published.iter().filter_map(move |figure| {
                let name =
                    format!("{} {} {}", case.target, case.experiment, rule::label(run, case));
                beside(&format!("{} {}", name.trim_end(), figure.statistic), case, figure)
            })
        });
        return List { head, rows: rows.collect() };
    }
    let mut rows = Vec::new();
    for pick in &rules.rows {
        for case in rule::cases(pick, run) {
            let is_picked = |figure: &&Published| {
                *figure.statistic == *pick.statistic
                    && (pick.series.is_empty() || figure.series.as_ref() == Some(&pick.series))
            };
            let figure = case.published.iter().find(is_picked);
            rows.extend(figure.and_then(|figure| beside(&pick.name, case, figure)));
        }
    }
    List { head, rows }
}

/// Cycles of a core whose clock the case sets, as a time in ns; `None` for others.
fn in_time(case: &CaseResult, value: f64, unit: &str) -> Option<(f64, &'static str)> {
    let clock = case.clock.as_ref().filter(|_| unit == "cycles")?;
    case.parameters.contains_key("clock").then(|| (value * 1e9 / clock.hertz as f64, "ns"))
}

/// A published figure beside the measured one; `None` if the case has no measured one.
fn beside(name: &str, case: &CaseResult, figure: &Published) -> Option<ListRow> {
    let (_, value, unit) = figure.sister(case)?;
    let (value, unit) = in_time(case, value, &unit).unwrap_or((value, &unit));
    // A published count or ratio has the unit of the measured one; a time is in ns.
    let is_time = matches!(unit, "ns" | "instructions" | "cycles");
    let theirs = match &*figure.unit {
        "" if is_time => "ns",
        "" => unit,
        own => own,
    };
    let quotient = (theirs == unit && figure.value > 0.0).then(|| value / figure.value);
    let here = amount(value, unit, true);
    let cells = vec![
        name.to_owned(),
        here,
        amount(figure.value, theirs, true),
        quotient.map_or_else(|| "–".to_owned(), ratio),
    ];
    let verdict = String::new();
    Some(ListRow {
        cells,
        verdict,
        status: Status::Pass,
        share: None,
        at_least: false,
        ratio: quotient,
    })
}

/// The statistics of peers.
pub fn peers(run: &Run) -> List {
    let several = run.peers.windows(2).any(|pair| pair[0].target != pair[1].target);
    let each = run.peers.iter().flat_map(|peer| of_peer(peer, several));
    List { head: vec!["tool", "here", "tool's", "here / tool's"], rows: each.collect() }
}

/// The statistics of a peer; `names_target` if each row has the target's name.
fn of_peer(peer: &PeerResult, names_target: bool) -> Vec<ListRow> {
    let middle = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let rows = peer.statistics.iter().map(|paired| {
        let cell = |values: &[f64]| {
            middle(values).map_or_else(|| "–".to_owned(), |value| show(value, &paired.unit))
        };
        let ratio = paired.ratio.as_ref();
        let target = if names_target { format!("{}, ", peer.target) } else { String::new() };
        let statistic = if paired.ours_is.is_empty() { &paired.theirs_is } else { &paired.ours_is };
        let (verdict, status) = match paired.within.zip(ratio) {
            Some((within, ratio)) if (ratio.median - 1.0).abs() <= within => {
                ("agrees", Status::Pass)
            }
            Some(_) => (Status::LimitMissed.words(), Status::LimitMissed),
            None => ("", Status::Pass),
        };
        ListRow {
            cells: vec![
                format!("{target}{} {statistic}", peer.name),
                cell(&paired.ours),
                cell(&paired.theirs),
                ratio.map_or_else(|| "–".to_owned(), |one| format!("{:.2}\u{a0}×", one.median)),
            ],
            verdict: verdict.to_owned(),
            status,
            share: None,
            at_least: false,
            ratio: ratio.map(|one| one.median),
        }
    });
    rows.collect()
}

/// The span of a figure over an experiment's cases with evidence. Where a case has several
/// [usual](rule::usual) series, a statistic of the first one is taken over all of them.
pub fn of_experiment(cases: &[CaseResult], experiment: &str, figure: Figure) -> Option<Span> {
    let mut spans = Vec::new();
    for case in cases.iter().filter(|case| case.experiment == experiment && case.is_proven()) {
        match figure {
            Figure::First(name) if rule::usual(case).nth(1).is_some() => {
                let each = rule::usual(case);
                spans.extend(each.filter_map(|one| Span::of_case(case, Some(one), name)));
            }
            _ => spans.extend(reading::span(case, figure)),
        }
    }
    let mut spans = spans.into_iter();
    let first = spans.next()?;
    spans.try_fold(first, |all, one| all.and(&one))
}

/// The number of statistics of peers that agree, and of those that were judged.
pub fn agreeing(run: &Run) -> (usize, usize) {
    let rows = peers(run).rows;
    let judged: Vec<_> = rows.iter().filter(|row| !row.verdict.is_empty()).collect();
    (judged.iter().filter(|row| row.status == Status::Pass).count(), judged.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_has_no_room() {
        assert_eq!([share(3.0, 4.0), share(0.0, 0.0), share(1.0, 0.0)], [0.75, 0.0, f64::INFINITY]);
        assert_eq!([share(f64::NAN, 4.0), share(4.0, f64::NAN)], [f64::INFINITY; 2]);
    }
}
