//! The first screen of a run's page: the answer, with one picture that carries it. Text is HTML and
//! geometry is percent, so that one markup serves wide screens and phones.

use std::{collections::BTreeSet, ops::Range};

use maud::{Markup, html};

use super::{
    arrivals, builds, late, matrix, parts, picture,
    plot::{bar, dot, label},
    ranking, rounds, spread,
};
use crate::{
    answer::Answer, answer::Body, answer::Problem, answer::Step, answer::builds::under,
    answer::decision::Decision, answer::decision::worst_traced, answer::elsewhere,
    answer::latency::Latency, answer::list::Limited, answer::list::List, answer::list::ListRow,
    answer::list::Missed, answer::list::all_limits, answer::list::limited, answer::ranking::Place,
    answer::ranking::Ranking, answer::ranking::amount_of, answer::rule, answer::rule::proper,
    answer::rules, answer::span, answer::span::amount, answer::span::grouped, answer::trust::Trust,
};
use chronoscope_run::{Run, Status, Unit, answer::Pick};
use chronoscope_units as units;

/// The most problems that are shown unfolded.
const PROBLEMS: usize = 3;

/// The most groups of latencies that a phone shows unfolded.
const GROUPS: usize = 3;

/// The most limits beside a ranking: those with the least room.
const NEAREST: usize = 4;

/// The most rows of the table beside a ranking.
const BESIDE: usize = 6;

/// The bars of a distribution in a decade.
const BARS: usize = 10;

/// The title of a run's page, and the first screen with what other builds would change, folded.
pub fn answer(run: &Run) -> (String, Markup) {
    let answer = Answer::from_run(run);
    let body = html! {
        @match &answer.body {
            Body::Latencies(rows) => (latencies(rows)),
            Body::Ranking(ranking) => (beside_limits(run, &ranking::figure(ranking))),
            Body::List(list) => (pictured(run, list)),
            Body::Arrivals(strips) => (arrivals::figure(strips)),
            Body::Matrix(found) => (matrix::figure(found)),
            Body::Rounds(picture) => (rounds::figure(picture)),
            Body::Nothing => {},
        }
        @if let Some(line) = &answer.late { (late::figure(line)) }
        @if let Some((case, series)) = answer.decision.as_ref().and_then(|_| worst_traced(run)) {
            (parts::bar(case, series))
        }
        @if let Some(spread) = &answer.spread { (spread::figure(spread)) }
        @for line in &answer.also { p.cap { (line) } }
        (problems(&answer.problems))
    };
    let under_builds = match &answer.body {
        Body::Ranking(ranking) => builds::ranges(ranking),
        _ => Markup::default(),
    };
    let Answer { context, title, trust, next, decision, .. } = &answer;
    let body = html! { (word(decision.as_ref())) (body) };
    let page = html! {
        (first_screen(context, title, trust, &body, next))
        (super::fold(&under(run), &under_builds, false))
    };
    (answer.title, page)
}

/// The word of a decision, large; empty without one.
fn word(decision: Option<&Decision>) -> Markup {
    let class = match decision {
        Some(Decision::Yes) => "good",
        Some(Decision::No) => "bad",
        _ => "doubt",
    };
    html! { @if let Some(decision) = decision { p class={ "word " (class) } { (decision.word()) } } }
}

/// The first screen of a page: the question and its context, the finding as the title, the trust in
/// it, the picture, and the next steps.
pub fn first_screen(
    context: &[String],
    title: &str,
    trust: &Trust,
    body: &Markup,
    next: &[Step],
) -> Markup {
    html! {
        section.answer {
            p.kick {
                @if let [question, rest @ ..] = context {
                    (question)
                    // For wide screens only.
                    span.hw { @for part in rest { " · " (part) } }
                }
            }
            h1 { (title.replace('–', "\u{2060}–\u{2060}")) }
            (self::trust(trust))
            (body)
            @if !next.is_empty() {
                div.next {
                    @for Step { gain, action } in next.iter().take(3) {
                        p {
                            @if gain.is_empty() { "→ " } @else { b { "→ " (gain) ":" } " " }
                            (action)
                        }
                    }
                }
            }
        }
    }
}

/// A list with the pictures that the rules ask for: the stacked bars first, then the curves; the
/// list stays only where one of them is missing. Without a picture, ratios are drawn.
fn pictured(run: &Run, list: &List) -> Markup {
    match picture::pictures(run, &rules(run)) {
        (None, None) => picture::ratios(list).unwrap_or_else(|| self::list(list)),
        (Some(sweep), Some(stack)) => two(&stack, &sweep),
        (Some(one), None) | (None, Some(one)) => two(&one, &self::list(list)),
    }
}

/// Two parts side by side, or below each other on a narrow screen.
fn two(main: &Markup, side: &Markup) -> Markup {
    html! {
        div class="two on" { div { (main) } div { (side) } }
    }
}

/// A ranking with the limits that have the least room. On a narrow screen the limits come first.
fn beside_limits(run: &Run, ranking: &Markup) -> Markup {
    let rules = rules(run);
    let limits = limited(run);
    if limits.is_empty() || rules.subject.is_empty() {
        return html! { (ranking) };
    }
    let Missed { told: missed, are_of_speed, others } = Missed::of_limits(&limits);
    let missed = missed.len();
    let unchecked = all_limits(run).saturating_sub(limits.len());
    let (sign, class, word) = match (missed, unchecked) {
        (0, 0) => ("✓", "good", "No"),
        (0, _) => ("!", "bad", "Not decided"),
        _ if are_of_speed => ("!", "bad", "Yes"),
        _ => ("!", "bad", "No"),
    };
    let question = match missed == 0 || are_of_speed {
        true => format!("Did {} get slower?", rules.subject),
        false => format!("Does {} keep its limits?", rules.subject),
    };
    html! {
        div class="two rank" {
            div { (ranking) }
            div.limits {
                h2 { (question) }
                p {
                    b class=(class) { (sign) " " (word) ":" }
                    " " (missed) " of " (span::count(limits.len(), "limit")) " missed."
                    @if others > 0 { " " (others) " more missed, not of time." }
                    @if unchecked > 0 { " " (unchecked) " more not checked." }
                }
                p.cap { "Nearest to their limits" }
                @for one in limits.iter().take(NEAREST) {
                    div.near {
                        span.l { (name_of(run, one)) }
                        (room(one.share, !one.held, one.at_least))
                        span.n { (of_room(one)) }
                    }
                }
                (beside(run))
            }
        }
    }
}

/// The share of its room that a value takes, as a bar. A bound from below has its room at the right.
fn room(share: f64, missed: bool, at_least: bool) -> Markup {
    let width = share.clamp(0.0, 1.0) * 100.0;
    html! {
        span.room.far[missed].least[at_least] { i style=(format!("width:{width:.0}%")) {} }
    }
}

/// The figures of the machine that the rules name beside the ranked one, as a small table; empty
/// without one.
fn beside(run: &Run) -> Markup {
    let rules = rules(run);
    let Some(ranking) = Ranking::beside(run, &rules) else { return Markup::default() };
    let timed = || ranking.rows.iter().filter(|row| row.timed);
    let Some(first) = timed().next() else { return Markup::default() };
    html! {
        div.hw {
            h2 { "In " (first.unit) }
            p.cap { (*rules.beside) "; never ranked against the others" }
            table.side {
                tr { th {} @for column in &ranking.columns { th { (proper(&column.kernel)) } } }
                @for row in timed().take(BESIDE) {
                    tr {
                        th { (row.name) }
                        @for index in 0..ranking.columns.len() {
                            td {
                                @match (row.value(index), row.place(&ranking.columns, index)) {
                                    (None, _) => "–",
                                    (Some(value), Place::Best) => {
                                        b { (amount_of(value, &row.unit)) }
                                    }
                                    (Some(value), _) => (amount_of(value, &row.unit)),
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The name of a limit: the name of its case's row, or else experiment, label and statistic.
fn name_of(run: &Run, one: &Limited<'_>) -> String {
    let rules = rules(run);
    let is_it = |pick: &&Pick| {
        let same = |name: &str, its: &str| name.is_empty() || name == its;
        same(&pick.statistic, &one.limit.statistic)
            && rule::cases(pick, run).any(|case| std::ptr::eq(case, one.case))
    };
    rules.rows.iter().find(is_it).map_or_else(|| one.name(run), |pick| pick.name.to_string())
}

/// A value and its limit, or the share where both are long or look alike.
fn of_room(one: &Limited<'_>) -> Markup {
    html! {
        @if one.value.max(one.bound) >= 1e5 || look_alike(one.value, one.bound) {
            b { (format!("{:.2}", one.share * 100.0)) } "\u{a0}%"
        } @else {
            b { (grouped(one.value)) } " of " (grouped(one.bound))
        }
    }
}

fn look_alike(value: f64, bound: f64) -> bool {
    value.total_cmp(&bound).is_ne() && grouped(value) == grouped(bound)
}

/// The size of a run in words: its cases and experiments.
pub fn count(run: &Run) -> String {
    let cases = span::count(run.cases.len() + run.peers.len(), "case");
    let mut experiments: Vec<&str> = run.cases.iter().map(|case| &*case.experiment).collect();
    experiments.sort_unstable();
    experiments.dedup();
    format!("{cases}, {}", span::count(experiments.len(), "experiment"))
}

fn trust(trust: &Trust) -> Markup {
    let unbroken = |text: &str| text.replace(" %", "\u{a0}%");
    let rest = unbroken(&trust.rest.join(" "));
    html! {
        @if !trust.verdicts.is_empty() || !rest.is_empty() {
            p.trust {
                @for (index, verdict) in trust.verdicts.iter().enumerate() {
                    @let (sign, class) = if verdict.good { ("✓", "good") } else { ("!", "doubt") };
                    @if index > 0 { " " }
                    b class=(class) {
                        (sign) " " (unbroken(&verdict.head))
                        @if verdict.reasons.is_empty() { "." } @else { ":" }
                    }
                    @if !verdict.reasons.is_empty() { " " (unbroken(&verdict.reasons)) "." }
                }
                @if !trust.verdicts.is_empty() && !rest.is_empty() { " " }
                (rest)
            }
        }
    }
}

fn problems(problems: &[Problem]) -> Markup {
    let bad = |problem: &&Problem| problem.status.is_some_and(|status| status != Status::Pass);
    let all: Vec<&Problem> = problems.iter().filter(bad).collect();
    html! {
        @if !all.is_empty() {
            ul.missed {
                @for problem in all.iter().take(PROBLEMS) { li { (problem.words()) } }
                @if all.len() > PROBLEMS { li { (all.len() - PROBLEMS) " more below" } }
            }
        }
    }
}

/// The axis of latencies: whole decades of the unit that most rows have.
struct Axis {
    unit: Unit,
    low: f64,
    high: f64,
}

impl Axis {
    fn new(rows: &[Latency<'_>]) -> Option<Self> {
        let count = |unit| rows.iter().filter(|row| row.unit() == unit).count();
        let unit = rows.iter().map(Latency::unit).max_by_key(|unit| count(*unit))?;
        let values = || {
            let rows = rows.iter().filter(|row| row.unit() == unit);
            let values = rows.flat_map(|row| row.values().into_iter().flatten());
            values.filter(|value| value.is_finite() && *value > 0.0)
        };
        let (least, most) =
            (values().reduce(f64::min)?.log10(), values().reduce(f64::max)?.log10());
        let (low, high) = (least.floor(), most.ceil());
        if high - low > 2.0 {
            return Some(Self { unit, low, high });
        }
        // An axis of two decades or fewer ends at the next 1, 2 or 5.
        let round = |value: f64, up: bool| {
            let steps = [0.0, 2_f64.log10(), 5_f64.log10(), 1.0];
            let (whole, part) = (value.floor(), value - value.floor());
            let beside =
                |step: &&f64| if up { **step >= part - 1e-9 } else { **step <= part + 1e-9 };
            let step = if up { steps.iter().find(beside) } else { steps.iter().rfind(beside) };
            whole + step.copied().unwrap_or(0.0)
        };
        let (low, high) = (round(least, false), round(most, true));
        Some(Self { unit, low, high: if high - low < 0.1 { low + 1.0 } else { high } })
    }

    /// The ticks as powers of ten: decades, or 1, 2 and 5 on an axis of two decades at most.
    fn ticks(&self) -> Vec<f64> {
        let few = self.high - self.low <= 2.0;
        let steps = if few { vec![0.0, 2_f64.log10(), 5_f64.log10()] } else { vec![0.0] };
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let all = decades.flat_map(|decade| steps.iter().map(move |step| f64::from(decade) + step));
        let inside = |tick: &f64| (self.low - 1e-9..=self.high + 1e-9).contains(tick);
        all.filter(inside).collect()
    }

    /// The place of a value in percent; `None` if it has none.
    fn at(&self, value: f64) -> Option<f64> {
        let is_drawn = value.is_finite() && value > 0.0;
        is_drawn.then(|| (value.log10() - self.low) / (self.high - self.low) * 100.0)
    }

    /// The labels of the ticks: every other one on a narrow screen.
    fn labels(&self) -> Markup {
        let text = |tick: f64| {
            let value = 10_f64.powf(tick);
            let (name, size) = units::scale(value * 1.000_001, self.unit.name());
            let number = value / size;
            let number =
                if number < 0.95 { units::digits(number) } else { grouped(number.round()) };
            if self.unit == Unit::Nanoseconds { format!("{number} {name}") } else { number }
        };
        html! {
            @for (index, tick) in self.ticks().into_iter().enumerate() {
                @let x = (tick - self.low) / (self.high - self.low) * 100.0;
                @let shift = if x < 0.1 { "0" } else if x > 99.9 { "-100%" } else { "-50%" };
                (label(if index % 2 == 1 { "lab hw" } else { "lab" }, x, shift, &text(tick)))
            }
        }
    }

    /// The grid below the marks: a line at each tick.
    fn grid(&self) -> Markup {
        let at = |tick: f64| (tick - self.low) / (self.high - self.low) * 1000.0;
        let line = |tick: f64| format!("M{0:.0} 0V10", at(tick));
        let path: String = self.ticks().into_iter().map(line).collect();
        html! {
            svg.gr viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
                path d=(path) vector-effect="non-scaling-stroke" {}
            }
        }
    }
}

fn latencies(rows: &[Latency<'_>]) -> Markup {
    let (rows, left) = rows.split_at(rows.len().min(picture::ROWS));
    let axis = Axis::new(rows);
    let references: Vec<Option<&elsewhere::Elsewhere>> =
        rows.iter().map(|row| elsewhere::for_case(row.case)).collect();
    let has = |mark: fn(&Latency<'_>) -> bool| rows.iter().any(mark);
    let fold = fold(rows);
    let part = |range: Range<usize>| {
        html! {
            @for index in range {
                @if begins_group(rows, index) { p.g { (rows[index].group) } }
                (latency(&rows[index], axis.as_ref(), references[index]))
            }
        }
    };
    html! {
        div.rows {
            p.key {
                i.p50 {} " median, " i.iv {} " of repetitions " i.p99 {} " p99 " i.max {} " worst"
                @if has(|row| !row.series.histogram.is_empty()) {
                    " " i.den {} " samples, logarithmic"
                }
                @if has(|row| period(row).is_some()) { " " i.per {} " one period" }
                @if has(|row| row.stolen) { " " b.doubt { "*" } " perhaps the hypervisor’s" }
            }
            div class="r axis" {
                span {}
                div.k { @if let Some(axis) = &axis { (axis.labels()) } }
                span.n { "median" }
                span.n { "p99" }
                span.n { "worst" }
                span.e { "elsewhere" }
            }
            (part(0..fold))
            @if fold < rows.len() {
                (picture::switch(rows.len() - fold, &groups(&rows[fold..])))
                div.later { (part(fold..rows.len())) }
            }
            (picture::left_out(left.len()))
        }
        (sources(&references))
    }
}

/// Returns whether a group begins with the row at `index`.
fn begins_group(rows: &[Latency<'_>], index: usize) -> bool {
    let before = if index > 0 { &*rows[index - 1].group } else { "" };
    rows[index].group != before && !rows[index].group.is_empty()
}

/// The index of the first row that a phone shows only with a switch; their number if it shows all.
fn fold(rows: &[Latency<'_>]) -> usize {
    let mut groups = 0;
    let is_later = |index: &usize| {
        let begins = begins_group(rows, *index);
        groups += usize::from(begins);
        let is_last = index + 1 == rows.len();
        !is_last && (begins && groups > GROUPS || *index >= picture::NARROW_ROWS)
    };
    (0..rows.len()).find(is_later).unwrap_or(rows.len())
}

/// The groups of rows, as `: delay, period`; empty without groups.
fn groups(rows: &[Latency<'_>]) -> String {
    let mut groups: Vec<&str> = rows.iter().map(|row| &*row.group).collect();
    groups.dedup();
    groups.retain(|group| !group.is_empty());
    if groups.is_empty() { String::new() } else { format!(": {}", groups.join(", ")) }
}

/// The period of a periodic task in ns.
fn period(row: &Latency<'_>) -> Option<f64> {
    let is_periodic = row.case.experiment == "period" && row.unit() == Unit::Nanoseconds;
    let interval = row.case.parameters.get("interval_us").filter(|_| is_periodic);
    interval.and_then(|interval| interval.parse::<f64>().ok()).map(|interval| interval * 1e3)
}

/// The distribution of a row's samples: bars of a tenth of a decade, with logarithmic heights.
fn density(row: &Latency<'_>, axis: &Axis) -> Markup {
    let count = ((axis.high - axis.low) * BARS as f64).ceil() as usize;
    let mut bins = vec![0_u64; count.clamp(1, 200)];
    for (value, samples) in &row.series.histogram {
        if let Some(at) = axis.at(*value).filter(|at| (0.0..=100.0).contains(at)) {
            let index = (at / 100.0 * bins.len() as f64) as usize;
            let last = bins.len() - 1;
            let bin = &mut bins[index.min(last)];
            *bin = bin.saturating_add(*samples);
        }
    }
    let height = |samples: u64| (samples as f64).ln_1p();
    let most = bins.iter().copied().map(height).fold(0.0, f64::max);
    if most <= 0.0 {
        return Markup::default();
    }
    let bar = |(index, samples): (usize, &u64)| {
        let high = height(*samples) / most * 10.0;
        format!("M{index} 10v-{high:.1}h.9v{high:.1}z")
    };
    let path: String =
        bins.iter().enumerate().filter(|(_, samples)| **samples > 0).map(bar).collect();
    html! {
        svg.den viewBox={ "0 0 " (bins.len()) " 10" } preserveAspectRatio="none" aria-hidden="true" {
            path d=(path) {}
        }
    }
}

fn latency(
    row: &Latency<'_>,
    axis: Option<&Axis>,
    elsewhere: Option<&elsewhere::Elsewhere>,
) -> Markup {
    let [p50, p99, worst] = row.figures().map(|figure| number(figure, row.unit()));
    html! {
        div.r.contrast[row.contrast] {
            span.l { (row.name) }
            div.k {
                @if let Some(axis) = axis.filter(|axis| axis.unit == row.unit()) {
                    (marks(row, axis, elsewhere))
                }
            }
            b.n { (p50) }
            span.n { (p99) }
            span.n { (worst) @if row.stolen { b.doubt { "*" } } }
            span.e { @if let Some(elsewhere) = elsewhere { (elsewhere.words()) } }
        }
    }
}

fn marks(row: &Latency<'_>, axis: &Axis, elsewhere: Option<&elsewhere::Elsewhere>) -> Markup {
    let [p50, p99, worst] = row.values().map(|value| value.and_then(|value| axis.at(value)));
    let is_inside = |at: &f64| (0.0..=100.0).contains(at);
    let period = period(row).and_then(|period| axis.at(period)).filter(is_inside);
    let reference = elsewhere
        .and_then(|one| Some((axis.at(one.low())?, axis.at(one.high())?)))
        .filter(|(from, to)| *from >= 0.0 && *to <= 100.0);
    let medians = row.series.by_repetition.iter().filter_map(|one| axis.at(one.p50));
    let ends = medians.fold(None, |ends: Option<(f64, f64)>, one| {
        Some(ends.map_or((one, one), |(low, high)| (low.min(one), high.max(one))))
    });
    html! {
        (axis.grid())
        (density(row, axis))
        @if let Some(at) = period { (dot("per", at)) }
        @if let Some((from, to)) = reference { (bar("ref", from, to)) }
        @if let Some((from, to)) = p50.zip(worst) { (bar("line", from, to)) }
        @if let Some((low, high)) = ends { (bar("iv", low, high)) }
        @if let Some(at) = worst { (dot(if row.stolen { "max st" } else { "max" }, at)) }
        @if let Some(at) = p99 { (dot("p99", at)) }
        @if let Some(at) = p50 { (dot("p50", at)) }
    }
}

/// A number of a row with its unit.
fn number(figure: Option<(f64, bool)>, unit: Unit) -> String {
    match (figure, unit) {
        (None, _) => "–".to_owned(),
        (Some((value, exact)), Unit::Nanoseconds | Unit::Count) => {
            amount(value, unit.name(), exact)
        }
        (Some((value, _)), Unit::Instructions) => format!("{}\u{a0}in", grouped(value.round())),
        (Some((value, _)), Unit::Cycles) => format!("{}\u{a0}cy", grouped(value.round())),
    }
}

/// The line with the sources of reference values; empty without any.
fn sources(references: &[Option<&elsewhere::Elsewhere>]) -> Markup {
    let each = references.iter().flatten().flat_map(|one| one.source.split("; "));
    let known: Vec<&str> = each.collect::<BTreeSet<_>>().into_iter().collect();
    html! {
        @if !known.is_empty() {
            p class="cap hw" {
                "Elsewhere (bars at the foot): " (known.join("; ")) ". Each by its own definition."
            }
        }
    }
}

/// A list without the columns that say nothing, and with a unit that all rows of a column share in
/// its head.
pub fn list(list: &List) -> Markup {
    let bars = list.rows.iter().any(|row| row.share.is_some());
    let verdicts = list.rows.iter().any(|row| !row.verdict.is_empty());
    let says = |row: &ListRow, index: usize| row.cells.get(index).is_some_and(|cell| cell != "–");
    let columns: Vec<usize> = (0..list.head.len())
        .filter(|index| list.rows.iter().any(|row| says(row, *index)))
        .collect();
    let (shown, left) = list.rows.split_at(list.rows.len().min(picture::ROWS));
    let (first, later) = shown.split_at(shown.len().min(picture::NARROW_ROWS));
    let rows = |rows: &[ListRow]| {
        html! {
            @for row in rows {
                tr {
                    @for index in &columns { td { (list.cell(row, *index)) } }
                    @if bars { td.hw { (room_of(row)) } }
                    @if verdicts { td { (verdict(row)) } }
                }
            }
        }
    };
    let table = html! {
        table.list {
            thead {
                tr {
                    @for index in &columns {
                        th {
                            (list.head[*index])
                            @if let Some(unit) = list.unit(*index) { ", " (unit) }
                        }
                    }
                    @if bars { th.hw { "of its room" } }
                    @if verdicts { th {} }
                }
            }
            tbody { (rows(first)) }
            @if !later.is_empty() { tbody.later { (rows(later)) } }
        }
    };
    html! {
        @if later.is_empty() { (table) } @else {
            div { (picture::switch(later.len(), "")) (table) (picture::left_out(left.len())) }
        }
    }
}

fn room_of(row: &ListRow) -> Markup {
    room(row.share.unwrap_or(0.0), row.status != Status::Pass, row.at_least)
}

fn verdict(row: &ListRow) -> Markup {
    let (sign, class) = if row.status == Status::Pass { ("✓", "good") } else { ("✗", "bad") };
    html! {
        @if !row.verdict.is_empty() { b class=(class) { (sign) " " (row.verdict) } }
    }
}
