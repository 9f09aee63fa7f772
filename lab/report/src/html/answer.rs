//! The first screen of a run's page: the answer, with one picture that carries it. Text is HTML and
//! geometry is percent, so that one markup serves wide screens and phones.

use super::{
    picture,
    text::{escape, steps},
};
use crate::{
    answer::Answer, answer::Body, answer::Problem, answer::elsewhere, answer::latency::Latency,
    answer::list::Limited, answer::list::List, answer::list::ListRow, answer::list::limited,
    answer::ranking::Column, answer::ranking::Ranking, answer::ranking::Row,
    answer::ranking::amount_of, answer::ranking::cell, answer::ranking::is_best, answer::rule,
    answer::rules, answer::span, answer::span::amount, answer::span::grouped, answer::trust::Trust,
};
use chronoscope_run::{Run, Status, Unit, answer::Pick};
use chronoscope_units as units;

/// The ratio at which a bar of a ranking is full.
const FULL: f64 = 8.0;

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

/// The title of a run's page, and its first screen.
pub fn html(run: &Run) -> (String, String) {
    let answer = Answer::of(run);
    let kick = kicker(&answer.context);
    let picture = match &answer.body {
        Body::Latencies(rows) => latencies(rows),
        Body::Ranking(ranking) => beside_limits(run, self::ranking(ranking)),
        Body::List(list) => pictured(run, list),
        Body::Nothing => String::new(),
    };
    let also: String =
        answer.also.iter().map(|line| format!("<p class=\"cap\">{}</p>\n", escape(line))).collect();
    let section = format!(
        "<section class=\"answer\">\n<p class=\"kick\">{kick}</p>\n<h1>{}</h1>\n{}{picture}{also}{}{}</section>\n",
        escape(&answer.title).replace('–', "\u{2060}–\u{2060}"),
        trust(&answer.trust),
        problems(&answer.problems),
        steps(&answer.next),
    );
    (answer.title, section)
}

/// A list with the pictures that the rules ask for: the stacked bars first, then the curves; the
/// list stays only where one of them is missing. Without a picture, ratios are drawn.
fn pictured(run: &Run, list: &List) -> String {
    let (sweep, stack) = picture::pictures(run, &rules(run));
    let first = match (stack.is_empty(), sweep.is_empty()) {
        (true, true) => return picture::ratios(list).unwrap_or_else(|| self::list(list)),
        (false, false) => return two(&stack, &sweep),
        (true, false) => sweep,
        (false, true) => stack,
    };
    two(&first, &self::list(list))
}

/// Two parts side by side, or below each other on a narrow screen.
fn two(main: &str, side: &str) -> String {
    format!("<div class=\"two on\"><div>\n{main}</div><div>\n{side}</div></div>\n")
}

/// A ranking with the limits that have the least room. On a narrow screen the limits come first.
fn beside_limits(run: &Run, ranking: String) -> String {
    let subject = rules(run).subject.to_string();
    let limits = limited(run);
    if limits.is_empty() || subject.is_empty() {
        return ranking;
    }
    let missed = limits.iter().filter(|one| !one.held).count();
    let (sign, class, word) = if missed == 0 { ("✓", "good", "No") } else { ("!", "bad", "Yes") };
    let rows: String = limits
        .iter()
        .take(NEAREST)
        .map(|one| {
            let class = if one.held { "room" } else { "room far" };
            let class = if one.at_least { format!("{class} least") } else { class.to_owned() };
            format!(
                "<div class=\"near\"><span class=\"l\">{}</span><span class=\"{class}\"><i style=\"width:{:.0}%\"></i></span><span class=\"n\">{}</span></div>\n",
                escape(&name_of(run, one)),
                one.share.clamp(0.0, 1.0) * 100.0,
                of_room(one),
            )
        })
        .collect();
    format!(
        "<div class=\"two rank\"><div>\n{ranking}</div><div class=\"limits\">\n<h2>Did {} get slower?</h2>\n\
         <p><b class=\"{class}\">{sign} {word}:</b> {missed} of {} missed.</p>\n<p class=\"cap\">Nearest to their limits</p>\n{rows}{}</div></div>\n",
        escape(&subject),
        span::count(limits.len(), "limit"),
        beside(run),
    )
}

/// The figures of the machine that the rules name beside the ranked one, as a small table; empty
/// without one.
fn beside(run: &Run) -> String {
    let rules = rules(run);
    let Some(ranking) = Ranking::beside(run, &rules) else { return String::new() };
    let kernels = ranking.kernels();
    let timed = || ranking.rows.iter().filter(|row| row.timed);
    let Some(unit) = timed().map(|row| &*row.unit).next() else { return String::new() };
    let heads: String =
        kernels.iter().map(|kernel| format!("<th>{}</th>", escape(kernel))).collect();
    let cell = |row: &Row, kernel: &str| match ranking.least(row, kernel) {
        None => "<td>–</td>".to_owned(),
        Some(value) if kernel != &*rules.floor && row.best(&ranking.columns) == Some(value) => {
            format!("<td><b>{}</b></td>", amount_of(value))
        }
        Some(value) => format!("<td>{}</td>", amount_of(value)),
    };
    let row = |row: &Row| {
        let cells: String = kernels.iter().map(|kernel| cell(row, kernel)).collect();
        format!("<tr><th>{}</th>{cells}</tr>\n", escape(&row.name))
    };
    format!(
        "<div class=\"hw\"><h2>In {unit}</h2>\n<p class=\"cap\">{}; never ranked against the others</p>\n\
         <table class=\"side\">\n<tr><th></th>{heads}</tr>\n{}</table></div>\n",
        escape(&rules.beside),
        timed().take(BESIDE).map(row).collect::<String>(),
    )
}

/// The name of a limit: that of the row of its case, or else experiment, label and statistic.
fn name_of(run: &Run, one: &Limited<'_>) -> String {
    let rules = rules(run);
    let is_it = |pick: &&Pick| {
        let same = |name: &str, its: &str| name.is_empty() || name == its;
        same(&pick.statistic, &one.limit.statistic)
            && rule::cases(pick, run).any(|case| std::ptr::eq(case, one.case))
    };
    rules.rows.iter().find(is_it).map_or_else(|| one.name(run), |pick| pick.name.to_string())
}

/// A value and its limit, or the share where both are long.
fn of_room(one: &Limited<'_>) -> String {
    if one.value.max(one.bound) >= 1e5 {
        return format!("<b>{:.2}</b>\u{a0}%", one.share * 100.0);
    }
    format!("<b>{}</b> of {}", escape(&grouped(one.value)), escape(&grouped(one.bound)))
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
    let text = (text + &rest).replace(" %", "\u{a0}%");
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
        let (least, most) =
            (values().reduce(f64::min)?.log10(), values().reduce(f64::max)?.log10());
        let (low, high) = (least.floor(), most.ceil());
        if high - low > 2.0 {
            return Some(Self { unit, low, high });
        }
        // An axis of so few decades ends at the next 1, 2 or 5.
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
    fn labels(&self) -> String {
        let ticks = self.ticks();
        let label = |(index, tick): (usize, &f64)| {
            let value = 10_f64.powf(*tick);
            let (name, size) = units::scale(value * 1.000_001, self.unit.name());
            let name =
                if self.unit == Unit::Nanoseconds { format!(" {name}") } else { String::new() };
            let class = if index % 2 == 1 { "lab hw" } else { "lab" };
            let at = (tick - self.low) / (self.high - self.low) * 100.0;
            let shift = match at {
                at if at < 0.1 => "0",
                at if at > 99.9 => "-100%",
                _ => "-50%",
            };
            let number = value / size;
            let number =
                if number < 0.95 { units::digits(number) } else { grouped(number.round()) };
            format!(
                "<span class=\"{class}\" style=\"left:{at:.2}%;transform:translateX({shift})\">{number}{name}</span>",
            )
        };
        ticks.iter().enumerate().map(label).collect()
    }

    /// The grid below the marks: a line at each tick.
    fn grid(&self) -> String {
        let at = |tick: f64| (tick - self.low) / (self.high - self.low) * 1000.0;
        let line = |tick: f64| format!("M{0:.0} 0V10", at(tick));
        let path: String = self.ticks().into_iter().map(line).collect();
        format!(
            "<svg class=\"gr\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><path d=\"{path}\" vector-effect=\"non-scaling-stroke\"/></svg>"
        )
    }
}

fn latencies(rows: &[Latency<'_>]) -> String {
    let (rows, left) = rows.split_at(rows.len().min(picture::ROWS));
    let axis = Axis::of(rows);
    let references: Vec<Option<&elsewhere::Elsewhere>> =
        rows.iter().map(|row| elsewhere::of(row.case)).collect();
    let has = |mark: fn(&Latency<'_>) -> bool| rows.iter().any(mark);
    let also = [
        ("<i class=\"den\"></i> samples, logarithmic", has(|row| !row.series.histogram.is_empty())),
        ("<i class=\"per\"></i> one period", has(|row| period(row).is_some())),
        ("<b class=\"doubt\">*</b> perhaps the hypervisor’s", has(|row| row.stolen)),
    ];
    let also: String =
        also.iter().filter(|(_, has)| *has).map(|(key, _)| format!(" {key}")).collect();
    let key = format!(
        "<p class=\"key\"><i class=\"p50\"></i> median, <i class=\"iv\"></i> of repetitions \
         <i class=\"p99\"></i> p99 <i class=\"max\"></i> worst{also}</p>\n"
    );
    let head = format!(
        "<div class=\"r axis\"><span></span><div class=\"k\">{}</div><span class=\"n\">median</span>\
         <span class=\"n\">p99</span><span class=\"n\">worst</span><span class=\"e\">elsewhere</span></div>\n",
        axis.as_ref().map_or_else(String::new, Axis::labels)
    );
    let mut text = format!("<div class=\"rows\">\n{key}{head}");
    let mut before = "";
    let mut groups = 0;
    let mut folded = false;
    for (index, (row, elsewhere)) in rows.iter().zip(&references).enumerate() {
        let is_new = row.group != before && !row.group.is_empty();
        groups += usize::from(is_new);
        if !folded
            && rows.len() > index + 1
            && (is_new && groups > GROUPS || index >= picture::NARROW_ROWS)
        {
            folded = true;
            text.push_str(&more(&rows[index..]));
        }
        if is_new {
            text.push_str(&format!("<p class=\"g\">{}</p>\n", escape(&row.group)));
        }
        before = &row.group;
        text.push_str(&latency(row, axis.as_ref(), *elsewhere));
    }
    text.push_str(if folded { "</div>\n" } else { "" });
    text.push_str(&picture::left_out(left.len()));
    text.push_str("</div>\n");
    text + &sources(&references)
}

/// The switch with which a phone shows the remaining rows, and the beginning of their part.
fn more(rows: &[Latency<'_>]) -> String {
    let mut groups: Vec<&str> = rows.iter().map(|row| &*row.group).collect();
    groups.dedup();
    groups.retain(|group| !group.is_empty());
    let of = if groups.is_empty() { String::new() } else { format!(": {}", groups.join(", ")) };
    picture::switch(rows.len(), &of) + "<div class=\"later\">\n"
}

/// The period of a periodic task in ns.
fn period(row: &Latency<'_>) -> Option<f64> {
    let is_periodic = row.case.experiment == "period" && row.unit() == Unit::Nanoseconds;
    let interval = row.case.parameters.get("interval_us").filter(|_| is_periodic);
    interval.and_then(|interval| interval.parse::<f64>().ok()).map(|interval| interval * 1e3)
}

/// The distribution of a row's samples: bars of a tenth of a decade, with logarithmic heights.
fn density(row: &Latency<'_>, axis: &Axis) -> String {
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
        return String::new();
    }
    let bar = |(index, samples): (usize, &u64)| {
        let high = height(*samples) / most * 10.0;
        format!("M{index} 10v-{high:.1}h.9v{high:.1}z")
    };
    let path: String =
        bins.iter().enumerate().filter(|(_, samples)| **samples > 0).map(bar).collect();
    format!(
        "<svg class=\"den\" viewBox=\"0 0 {} 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><path d=\"{path}\"/></svg>",
        bins.len()
    )
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
    let mut text = axis.grid() + &density(row, axis);
    let period = period(row).and_then(|period| axis.at(period));
    text.extend(period.filter(|at| (0.0..=100.0).contains(at)).map(|at| mark("per", at)));
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
    let each = references.iter().flatten().flat_map(|one| one.source.split("; "));
    let mut known: Vec<String> = each.map(str::to_owned).collect();
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
    let mut before = "";
    let rows: String = ranking
        .rows
        .iter()
        .map(|row| {
            let group = (row.group != before).then_some(&*row.group);
            before = &row.group;
            operation(row, &ranking.columns, group)
        })
        .collect();
    let has_groups = ranking.rows.iter().any(|row| !row.group.is_empty());
    let groups = if has_groups { " gs" } else { "" };
    format!(
        "<h2>Cost against the best of each row</h2>\n<p class=\"cap\">Bar: the ratio, logarithmic, full at 8\u{a0}×; small: amounts{unit}. Columns from best to worst.</p>\n\
         <div class=\"ranking fl{groups}\" style=\"--n:{};--m:{}\">\n<div class=\"m\"><span></span>{heads}</div>\n{rows}</div>\n",
        ranking.columns.len(),
        ranking.columns.iter().filter(|column| !column.floor).count(),
    )
}

fn column(column: &Column) -> String {
    let kind = match (column.floor, column.several) {
        (true, _) => "floor",
        (false, _) if column.kind.is_empty() => "",
        (false, _) if column.kind == "process" => "processes",
        (false, _) => &format!("{}s", column.kind),
    };
    let class = if column.floor { "h floor" } else { "h" };
    format!("<b class=\"{class}\">{}<small>{}</small></b>", escape(&column.kernel), escape(kind))
}

/// A row of a ranking. `group` is the word of the group that begins with it; `None` in the middle of
/// a group.
fn operation(row: &Row, columns: &[Column], group: Option<&str>) -> String {
    let best = row.best(columns);
    let cells = row.values.iter().zip(columns).map(|(value, column)| {
        let text = cell(*value, best, column.floor);
        let ratio = value.zip(best).filter(|(_, best)| *best > 0.0 && !column.floor);
        let ratio = ratio.map(|(value, best)| value / best).filter(|ratio| ratio.is_finite());
        let class = match (column.floor, ratio) {
            (true, _) => "c none floor",
            (_, None) if *value == Some(0.0) => "c best",
            (_, None) => "c none",
            (_, Some(ratio)) if is_best(ratio, 1.0) => "c best",
            (_, Some(ratio)) if ratio > FULL => "c far",
            (_, Some(_)) => "c",
        };
        let width =
            ratio.map_or(0.0, |ratio| (ratio.log2() / FULL.log2() * 100.0).clamp(0.0, 100.0));
        let (text, small) = match ratio {
            Some(ratio) if is_best(ratio, 1.0) => ("best".to_owned(), value.map(amount_of)),
            Some(_) => (text, value.map(amount_of)),
            None => (text, None),
        };
        let small = small.map_or_else(String::new, |small| format!("<small>{small}</small>"));
        format!(
            "<span class=\"{class}\"><b>{}</b>{small}<i style=\"width:{width:.0}%\"></i></span>",
            escape(&text)
        )
    });
    format!(
        "<div class=\"m{}\"><span class=\"l\"><b class=\"hw\">{}</b>{}</span>{}</div>\n",
        if group.is_none() { " in" } else { "" },
        escape(group.unwrap_or_default()),
        escape(&row.name),
        cells.collect::<String>()
    )
}

/// A list without the columns that say nothing, and with a unit that all rows of a column share in
/// its head.
fn list(list: &List) -> String {
    let bars = list.rows.iter().any(|row| row.share.is_some());
    let verdicts = list.rows.iter().any(|row| !row.verdict.is_empty());
    let columns: Vec<usize> = (0..list.head.len())
        .filter(|index| {
            let says = |row: &ListRow| row.cells.get(*index).is_some_and(|cell| cell != "–");
            list.rows.iter().any(says)
        })
        .collect();
    let mut head: String = columns
        .iter()
        .map(|index| match list.unit(*index) {
            Some(unit) => format!("<th>{}, {unit}</th>", escape(list.head[*index])),
            None => format!("<th>{}</th>", escape(list.head[*index])),
        })
        .collect();
    if bars {
        head.push_str("<th class=\"hw\">of its room</th>");
    }
    if verdicts {
        head.push_str("<th></th>");
    }
    let cells = |row: &ListRow| -> String {
        let cell = |index: &usize| format!("<td>{}</td>", escape(list.cell(row, *index)));
        columns.iter().map(cell).collect()
    };
    let (shown, left) = list.rows.split_at(list.rows.len().min(picture::ROWS));
    let (first, later) = shown.split_at(shown.len().min(picture::NARROW_ROWS));
    let rows = |rows: &[ListRow]| -> String {
        rows.iter().map(|row| list_row(row, cells(row), bars, verdicts)).collect()
    };
    let body = rows(first);
    let table = |body: &str| {
        format!(
            "<table class=\"list\"><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>\n"
        )
    };
    if later.is_empty() {
        return table(&body);
    }
    let switch = picture::switch(later.len(), "");
    let later = format!("{body}</tbody><tbody class=\"later\">\n{}", rows(later));
    format!("<div>\n{switch}{}{}</div>\n", table(&later), picture::left_out(left.len()))
}

fn list_row(row: &ListRow, mut cells: String, bars: bool, verdicts: bool) -> String {
    let bad = row.status != Status::Pass;
    if bars {
        let width = row.share.map_or(0.0, |share| share.clamp(0.0, 1.0) * 100.0);
        // A bound from below has its room at the right.
        let least = row.cells.last().is_some_and(|bound| bound.starts_with('≥'));
        let class = match (bad, least) {
            (true, false) => "room far",
            (true, true) => "room far least",
            (false, false) => "room",
            (false, true) => "room least",
        };
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
