//! The first screen of a run's page: the answer, with one picture that carries it. Text is HTML and
//! geometry is percent, so that one markup serves wide screens and phones.

use super::text::escape;
use crate::{
    report::answer::{
        Answer, Body, Problem, elsewhere,
        latency::Latency,
        list::{List, ListRow},
        ranking::{Column, Ranking, Row, cell, is_best},
        span::{self, amount, grouped},
        trust::Trust,
    },
    run::{Run, Status, Unit},
    units,
};

/// The ratio at which a bar of a ranking is full.
const FULL: f64 = 8.0;

/// The most problems that are shown unfolded.
const PROBLEMS: usize = 3;

/// The title of a run's page, and its first screen.
pub fn html(run: &Run) -> (String, String) {
    let answer = Answer::of(run);
    let kick = kicker(&answer.context);
    let picture = match &answer.body {
        Body::Latencies(rows) => latencies(rows),
        Body::Ranking(ranking) => self::ranking(ranking),
        Body::List(list) => self::list(list),
        Body::Nothing => String::new(),
    };
    let also: String =
        answer.also.iter().map(|line| format!("<p class=\"cap\">{}</p>\n", escape(line))).collect();
    let section = format!(
        "<section class=\"answer\">\n<p class=\"kick\">{kick}</p>\n<h1>{}</h1>\n{}{picture}{also}{}{}</section>\n",
        escape(&answer.title).replace('–', "\u{2060}–\u{2060}"),
        trust(&answer.trust),
        problems(&answer.problems),
        next(&answer),
    );
    (answer.title, section)
}

/// The size of a run in words: its cases and experiments.
pub fn count(run: &Run) -> String {
    let cases = span::count(run.cases.len() + run.peers.len(), "case");
    let mut experiments: Vec<&str> = run.cases.iter().map(|case| &*case.experiment).collect();
    experiments.sort_unstable();
    experiments.dedup();
    format!("{cases}, {}", span::count(experiments.len(), "experiment"))
}

/// The question; the rest is for wide screens.
pub fn kicker(parts: &[String]) -> String {
    let Some((question, rest)) = parts.split_first() else { return String::new() };
    let rest: String = rest.iter().map(|part| format!(" · {}", escape(part))).collect();
    format!("{}<span class=\"hw\">{rest}</span>", escape(question))
}

pub fn trust(trust: &Trust) -> String {
    let mut text = String::new();
    for verdict in &trust.verdicts {
        let (sign, class) = if verdict.good { ("✓", "good") } else { ("!", "doubt") };
        let (end, reasons) = match verdict.reasons.as_str() {
            "" => (".", String::new()),
            reasons => (":", format!(" {}.", escape(reasons))),
        };
        text.push_str(&format!(
            "<b class=\"{class}\">{sign} {}{end}</b>{reasons} ",
            escape(&verdict.head)
        ));
    }
    let rest = escape(&trust.rest.join(" "));
    let text = text + &rest;
    if text.is_empty() { text } else { format!("<p class=\"trust\">{}</p>\n", text.trim()) }
}

fn problems(problems: &[Problem]) -> String {
    let bad = |problem: &&Problem| problem.status.is_some_and(|status| status != Status::Pass);
    let all: Vec<&Problem> = problems.iter().filter(bad).collect();
    if all.is_empty() {
        return String::new();
    }
    let line = |problem: &&Problem| format!("<li>{}</li>\n", escape(&problem.words()));
    let lines: String = all.iter().take(PROBLEMS).map(line).collect();
    let more = match all.len().saturating_sub(PROBLEMS) {
        0 => String::new(),
        more => format!("<li>{more} more below</li>\n"),
    };
    format!("<ul class=\"missed\">\n{lines}{more}</ul>\n")
}

fn next(answer: &Answer<'_>) -> String {
    let steps: String =
        answer.next.iter().take(3).map(|step| format!("<p>→ {}</p>\n", escape(step))).collect();
    if steps.is_empty() { steps } else { format!("<div class=\"next\">\n{steps}</div>\n") }
}

/// The axis of latencies: whole decades of the unit that most rows have.
struct Axis {
    unit: Unit,
    low: f64,
    high: f64,
}

impl Axis {
    fn of(rows: &[Latency<'_>]) -> Option<Self> {
        let count = |unit| rows.iter().filter(|row| row.unit() == unit).count();
        let unit = rows.iter().map(Latency::unit).max_by_key(|unit| count(*unit))?;
        let values = || {
            let rows = rows.iter().filter(|row| row.unit() == unit);
            let values = rows.flat_map(|row| row.values().into_iter().flatten());
            values.filter(|value| value.is_finite() && *value > 0.0)
        };
        let low = values().reduce(f64::min)?.log10().floor();
        let high = values().reduce(f64::max)?.log10().ceil();
        Some(Self { unit, low, high: high.max(low + 1.0) })
    }

    /// The place of a value in percent; `None` if it has none.
    fn at(&self, value: f64) -> Option<f64> {
        let is_drawn = value.is_finite() && value > 0.0;
        is_drawn.then(|| (value.log10() - self.low) / (self.high - self.low) * 100.0)
    }

    /// The labels of the decades: every other one on a narrow screen.
    fn labels(&self) -> String {
        let decades = (self.high - self.low) as usize;
        let label = |index: usize| {
            let value = 10_f64.powf(self.low + index as f64);
            let (name, size) = units::scale(value, self.unit.name());
            let name =
                if self.unit == Unit::Nanoseconds { format!(" {name}") } else { String::new() };
            let class = if index % 2 == 1 { "lab hw" } else { "lab" };
            let shift = match index {
                0 => "0",
                last if last == decades => "-100%",
                _ => "-50%",
            };
            format!(
                "<span class=\"{class}\" style=\"left:{:.2}%;transform:translateX({shift})\">{}{name}</span>",
                index as f64 / decades as f64 * 100.0,
                grouped(value / size),
            )
        };
        (0..=decades).map(label).collect()
    }
}

fn latencies(rows: &[Latency<'_>]) -> String {
    let axis = Axis::of(rows);
    let decades = axis.as_ref().map_or(1.0, |axis| axis.high - axis.low);
    let references: Vec<Option<&elsewhere::Elsewhere>> =
        rows.iter().map(|row| elsewhere::of(row.case)).collect();
    let key = "<p class=\"key\"><i class=\"p50\"></i> median, <i class=\"iv\"></i> of repetitions \
               <i class=\"p99\"></i> p99 <i class=\"max\"></i> worst <b class=\"doubt\">*</b> perhaps the \
               hypervisor’s</p>\n";
    let head = format!(
        "<div class=\"r axis\"><span></span><div class=\"k\">{}</div><span class=\"n\">median</span>\
         <span class=\"n\">p99</span><span class=\"n\">worst</span><span class=\"e\">elsewhere</span></div>\n",
        axis.as_ref().map_or_else(String::new, Axis::labels)
    );
    let mut text = format!("<div class=\"rows\" style=\"--d:{decades}\">\n{key}{head}");
    let mut before = "";
    for (row, elsewhere) in rows.iter().zip(&references) {
        if row.group != before && !row.group.is_empty() {
            text.push_str(&format!("<p class=\"g\">{}</p>\n", escape(&row.group)));
        }
        before = &row.group;
        text.push_str(&latency(row, axis.as_ref(), *elsewhere));
    }
    text.push_str("</div>\n");
    text + &sources(&references)
}

fn latency(
    row: &Latency<'_>,
    axis: Option<&Axis>,
    elsewhere: Option<&elsewhere::Elsewhere>,
) -> String {
    let [p50, p99, worst] = row.values().map(|value| number(value, row.unit(), row.exact));
    let star = if row.stolen { "<b class=\"doubt\">*</b>" } else { "" };
    let marks = axis
        .filter(|axis| axis.unit == row.unit())
        .map_or_else(String::new, |axis| marks(row, axis, elsewhere));
    let class = if row.contrast { "r contrast" } else { "r" };
    let elsewhere = elsewhere.map_or_else(String::new, |one| one.words());
    format!(
        "<div class=\"{class}\"><span class=\"l\">{}</span><div class=\"k\">{marks}</div>\
         <b class=\"n\">{p50}</b><span class=\"n\">{p99}</span><span class=\"n\">{worst}{star}</span>\
         <span class=\"e\">{}</span></div>\n",
        escape(&row.name),
        escape(&elsewhere),
    )
}

fn marks(row: &Latency<'_>, axis: &Axis, elsewhere: Option<&elsewhere::Elsewhere>) -> String {
    let at = |value: Option<f64>| value.and_then(|value| axis.at(value));
    let [p50, p99, worst] = row.values().map(at);
    let bar = |class: &str, from: f64, to: f64| {
        let (from, to) = (from.clamp(0.0, 100.0), to.clamp(0.0, 100.0));
        let width = (to - from).max(0.0);
        format!("<i class=\"{class}\" style=\"left:{from:.2}%;width:{width:.2}%\"></i>")
    };
    let mark = |class: &str, at: f64| format!("<i class=\"{class}\" style=\"left:{at:.2}%\"></i>");
    let mut text = String::new();
    if let Some((from, to)) =
        elsewhere.and_then(|one| Some((axis.at(one.low())?, axis.at(one.high())?)))
        && from >= 0.0
        && to <= 100.0
    {
        text.push_str(&bar("ref", from, to));
    }
    if let Some((from, to)) = p50.zip(worst) {
        text.push_str(&bar("line", from, to));
    }
    let medians = row.series.by_repetition.iter().filter_map(|one| axis.at(one.p50));
    let ends = medians.fold(None, |ends: Option<(f64, f64)>, one| {
        Some(ends.map_or((one, one), |(low, high)| (low.min(one), high.max(one))))
    });
    text.extend(ends.map(|(low, high)| bar("iv", low, high)));
    text.extend(worst.map(|at| mark(if row.stolen { "max st" } else { "max" }, at)));
    text.extend(p99.map(|at| mark("p99", at)));
    text.extend(p50.map(|at| mark("p50", at)));
    text
}

/// A number of a row with its unit.
fn number(value: Option<f64>, unit: Unit, exact: bool) -> String {
    match (value, unit) {
        (None, _) => "–".to_owned(),
        (Some(value), Unit::Nanoseconds | Unit::Count) => amount(value, unit.name(), exact),
        (Some(value), Unit::Instructions) => format!("{}\u{a0}in", grouped(value.round())),
        (Some(value), Unit::Cycles) => format!("{}\u{a0}cy", grouped(value.round())),
    }
}

/// The line with the sources of reference values; empty without any.
fn sources(references: &[Option<&elsewhere::Elsewhere>]) -> String {
    let mut known: Vec<String> =
        references.iter().flatten().map(|one| one.source.to_string()).collect();
    known.sort();
    known.dedup();
    if known.is_empty() {
        return String::new();
    }
    format!(
        "<p class=\"cap hw\">Elsewhere (bars at the foot): {}. Each by its own definition.</p>\n",
        escape(&known.join("; "))
    )
}

fn ranking(ranking: &Ranking) -> String {
    let unit = ranking.rows.iter().find(|row| row.timed).map_or("", |row| &*row.unit);
    let unit = if unit.is_empty() || unit == "ns" { String::new() } else { format!(" in {unit}") };
    let heads: String = ranking.columns.iter().map(column).collect();
    let rows: String = ranking.rows.iter().map(|row| operation(row, &ranking.columns)).collect();
    format!(
        "<p class=\"cap\">● the best of its row{unit}; the others as its multiple. Columns from best to worst.</p>\n\
         <div class=\"ranking\" style=\"--n:{}\">\n<div class=\"m\"><span></span>{heads}</div>\n{rows}</div>\n",
        ranking.columns.len()
    )
}

fn column(column: &Column) -> String {
    let kind = match (column.floor, column.several) {
        (true, _) => "floor",
        (false, true) if column.kind == "process" => "processes",
        (false, true) => &format!("{}s", column.kind),
        (false, false) => "",
    };
    format!("<b class=\"h\">{}<small>{}</small></b>", escape(&column.kernel), escape(kind))
}

fn operation(row: &Row, columns: &[Column]) -> String {
    let best = row.best(columns);
    let cells = row.values.iter().zip(columns).map(|(value, column)| {
        let text = cell(*value, best, column.floor);
        let ratio = value.zip(best).filter(|(_, best)| *best > 0.0 && !column.floor);
        let ratio = ratio.map(|(value, best)| value / best).filter(|ratio| ratio.is_finite());
        let class = match (column.floor, ratio) {
            (true, _) | (_, None) => "c none",
            (_, Some(ratio)) if is_best(ratio, 1.0) => "c best",
            (_, Some(ratio)) if ratio > FULL => "c far",
            (_, Some(_)) => "c",
        };
        let width =
            ratio.map_or(0.0, |ratio| (ratio.log2() / FULL.log2() * 100.0).clamp(0.0, 100.0));
        format!(
            "<span class=\"{class}\">{}<i style=\"width:{width:.0}%\"></i></span>",
            escape(&text)
        )
    });
    format!(
        "<div class=\"m\"><span class=\"l\">{}</span>{}</div>\n",
        escape(&row.name),
        cells.collect::<String>()
    )
}

fn list(list: &List) -> String {
    let bars = list.rows.iter().any(|row| row.share.is_some());
    let verdicts = list.rows.iter().any(|row| !row.verdict.is_empty());
    let mut head: String =
        list.head.iter().map(|name| format!("<th>{}</th>", escape(name))).collect();
    if bars {
        head.push_str("<th class=\"hw\">of its room</th>");
    }
    if verdicts {
        head.push_str("<th></th>");
    }
    let rows: String = list.rows.iter().map(|row| list_row(row, bars, verdicts)).collect();
    format!("<table class=\"list\"><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table>\n")
}

fn list_row(row: &ListRow, bars: bool, verdicts: bool) -> String {
    let mut cells: String =
        row.cells.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
    let bad = row.status != Status::Pass;
    if bars {
        let width = row.share.map_or(0.0, |share| share.clamp(0.0, 1.0) * 100.0);
        let class = if bad { "room far" } else { "room" };
        cells.push_str(&format!("<td class=\"hw\"><span class=\"{class}\"><i style=\"width:{width:.0}%\"></i></span></td>"));
    }
    if verdicts {
        let (sign, class) = if bad { ("✗", "bad") } else { ("✓", "good") };
        let verdict = match row.verdict.as_str() {
            "" => String::new(),
            words => format!("<b class=\"{class}\">{sign} {}</b>", escape(words)),
        };
        cells.push_str(&format!("<td>{verdict}</td>"));
    }
    format!("<tr>{cells}</tr>\n")
}
