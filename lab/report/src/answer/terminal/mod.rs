//! The answer on a terminal: at most 24 lines of at most 80 characters, or of the terminal's width.
//! Columns and rows that do not fit are dropped in a fixed order, and named.

use std::collections::BTreeSet;

mod late;
mod matrix;
mod rounds;
mod spread;

use super::{
    Answer, Body, Problem,
    arrivals::Strip,
    latency::Latency,
    list::List,
    ranking::{Cell, Column, Place, Ranking, Row, amount_of},
    rule::proper,
    span::{amount, count, grouped, micros, short},
};
use crate::{Paint, screen::SIZE, screen::Screen};
use chronoscope_run::{Run, Status, Unit};
use chronoscope_suite::spec::Decides;
use chronoscope_units as units;

/// The widths of the names and the least of the numbers of latencies, and of the narrowest and widest
/// track.
const GROUP: usize = 7;
const NAME: usize = 28;
const NUMBER: usize = 9;
const TRACK: (usize, usize) = (18, 60);

/// The part of a line that has a colour.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Bold,
    Dim,
    Good,
    Doubt,
    Bad,
    Subject,
    Contrast,
}

/// The short word for coroutines, where columns need the room.
const COROUTINE: &str = "cor.";

/// A line: texts with their styles.
#[derive(Clone, Default)]
struct Line(Vec<(Style, String)>);

impl Line {
    fn plain(text: impl Into<String>) -> Self {
        Self::styled(Style::Plain, text)
    }

    fn styled(style: Style, text: impl Into<String>) -> Self {
        Self(vec![(style, text.into())])
    }

    fn with(mut self, style: Style, text: impl Into<String>) -> Self {
        self.0.push((style, text.into()));
        self
    }

    /// The line for a screen, without spaces at its end.
    fn render(&self, screen: &Screen) -> String {
        let mut parts: Vec<(Style, String)> =
            self.0.iter().map(|(style, text)| (*style, plain(text, screen.dumb))).collect();
        while let Some((_, text)) = parts.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            parts.pop();
        }
        let parts = parts.iter().map(|(style, text)| paint(*style, text, screen.paint));
        parts.collect::<String>() + "\n"
    }
}

fn paint(style: Style, text: &str, paint: Paint) -> String {
    let code = match style {
        Style::Plain => return text.to_owned(),
        Style::Bold => "1",
        Style::Dim => "2",
        Style::Good => "32",
        Style::Doubt => "33",
        Style::Bad => "31",
        Style::Subject => "38;5;74",
        Style::Contrast => "38;5;208",
    };
    paint.in_colour(code, text)
}

/// Replaces spaces that do not break by plain ones, and for a dumb terminal the signs that draw.
pub fn plain(text: &str, dumb: bool) -> String {
    let sign = |character| match character {
        '\u{a0}' | '\u{202f}' => ' ',
        '●' if dumb => 'o',
        '┃' | '│' if dumb => '|',
        '○' if dumb => 'x',
        '─' if dumb => '-',
        '█' if dumb => '#',
        '▓' if dumb => '%',
        '▒' if dumb => '=',
        '░' if dumb => '-',
        '✓' if dumb => '+',
        '·' if dumb => '.',
        '→' if dumb => '>',
        '…' if dumb => '~',
        other => other,
    };
    text.chars().map(sign).collect()
}

/// Renders the answer of a run.
pub fn render(run: &Run, screen: &Screen) -> String {
    let answer = Answer::from_run(run);
    let width = screen.columns.unwrap_or(SIZE.0);
    let screen = &screen.of_width(width);
    let lines = lines(&answer, width, screen);
    lines.iter().map(|line| line.render(screen)).collect()
}

fn lines(answer: &Answer<'_>, width: usize, screen: &Screen) -> Vec<Line> {
    let mut top = vec![context(&answer.context, width), Line::default()];
    top.extend(
        wrap(&answer.title, width, 0, title_lines(width))
            .into_iter()
            .map(|text| Line::styled(Style::Bold, text)),
    );
    top.extend(trust(answer, width));
    let also = answer.also.iter().flat_map(|text| wrap(text, width, 0, 2));
    let also: Vec<Line> = also.map(Line::plain).collect();
    let over_time = answer.late.as_ref().map_or_else(Vec::new, |line| late::lines(line, width));
    let bottom = next(answer, width, screen);
    let left = (SIZE.1 - 1).saturating_sub(top.len() + over_time.len() + also.len() + bottom.len());
    let measured = !matches!(answer.body, Body::Nothing);
    let problems =
        problems(&answer.problems, width, if measured { 4.min(left / 2) } else { left }, screen);
    let rows = match &answer.body {
        Body::Latencies(rows) => latencies(rows, width, left - problems.len(), screen),
        Body::Ranking(ranking) => self::ranking(ranking, width, left - problems.len(), screen),
        Body::List(list) => self::list(list, width, left - problems.len(), screen),
        Body::Arrivals(strips) => self::strips(strips, width, left - problems.len()),
        Body::Matrix(matrix) => matrix::lines(matrix, width, left - problems.len()),
        Body::Rounds(picture) => rounds::lines(picture, width, left - problems.len()),
        Body::Nothing => Vec::new(),
    };
    let left = left.saturating_sub(problems.len() + rows.len());
    let spread = answer.spread.as_ref().filter(|_| left >= spread::SHORTEST);
    let spread = spread.map_or_else(Vec::new, |spread| spread::lines(spread, width, left));
    [top, rows, over_time, spread, also, problems, vec![Line::default()], bottom].concat()
}

/// The lines that a title may take: its figures are never cut.
fn title_lines(width: usize) -> usize {
    if width < SIZE.0 { 3 } else { 2 }
}

/// The question, then as much of the context as the line has room for.
fn context(parts: &[String], width: usize) -> Line {
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        let join = ["", "   ", " · "][index.min(2)];
        if index > 0 && length(&text) + length(join) + length(part) > width {
            break;
        }
        text = format!("{text}{join}{part}");
    }
    Line::styled(Style::Dim, cut(&text, width))
}

/// The verdicts of the trust, each on a line of its own, and what follows them: four lines at most.
fn trust(answer: &Answer<'_>, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let count = answer.trust.verdicts.len();
    for (index, verdict) in answer.trust.verdicts.iter().enumerate() {
        let (sign, style) = if verdict.good { ("✓", Style::Good) } else { ("!", Style::Doubt) };
        let head = if verdict.reasons.is_empty() {
            format!("{sign} {}.", verdict.head)
        } else {
            format!("{sign} {}:", verdict.head)
        };
        let mut text = head.clone();
        if !verdict.reasons.is_empty() {
            text = format!("{text} {}.", verdict.reasons);
        }
        if index + 1 == count {
            text = format!("{text} {}", answer.trust.rest.join(" "));
        }
        for (place, line) in wrap(text.trim_end(), width, 2, 3).into_iter().enumerate() {
            lines.push(match line.strip_prefix(&head).filter(|_| place == 0) {
                Some(rest) => Line::styled(style, head.clone()).with(Style::Plain, rest),
                None => Line::plain(line),
            });
        }
    }
    if count == 0 && !answer.trust.rest.is_empty() {
        lines.extend(wrap(&answer.trust.rest.join(" "), width, 2, 2).into_iter().map(Line::plain));
    }
    lines.truncate(4);
    lines
}

/// The steps that follow, and the commands for the rest, in two lines at most.
fn next(answer: &Answer<'_>, width: usize, screen: &Screen) -> Vec<Line> {
    let steps = answer.next.iter().take(3).map(|step| format!("→ {step}"));
    // A cut command is none: a step without room is left out.
    let steps = steps.filter(|step| length(step) <= width);
    let last = format!("→ all figures: {}, why: --explain", screen.again("--full"));
    let mut lines: Vec<String> = Vec::new();
    for step in steps.chain([last]) {
        match lines.last_mut() {
            Some(line) if length(line) + length(&step) + 2 <= width => {
                *line = format!("{line}  {step}");
            }
            _ => lines.push(cut(&step, width)),
        }
    }
    // The last line has the commands.
    while lines.len() > 2 {
        lines.remove(lines.len() - 2);
    }
    lines.into_iter().map(Line::plain).collect()
}

/// The reasons of verdicts in at most `most` lines; the last one counts those left out.
fn problems(problems: &[Problem], width: usize, most: usize, screen: &Screen) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, problem) in problems.iter().enumerate() {
        let style = match problem.status {
            None => Style::Dim,
            Some(Status::NotOffered | Status::Pass) => Style::Plain,
            Some(Status::Inconclusive) => Style::Doubt,
            Some(_) => Style::Bad,
        };
        let wrapped = wrap(&problem.words(), width, 2, 4);
        let last = index + 1 == problems.len();
        if lines.len() + wrapped.len() + usize::from(!last) > most {
            if most > 0 {
                lines.truncate(most - 1);
                let left = problems.len() - index;
                let text =
                    format!("{}: {}", count(left, "more reason"), screen.again("--evidence"));
                lines.push(Line::plain(cut(&text, width)));
            }
            break;
        }
        lines.extend(wrapped.into_iter().map(|text| Line::styled(style, text)));
    }
    lines
}

/// The rows that fit into `most` lines, and a line that counts those left out.
fn fitted<T>(rows: &[T], most: usize, screen: &Screen) -> (usize, Option<Line>) {
    if rows.len() <= most {
        return (rows.len(), None);
    }
    let shown = most.saturating_sub(1);
    let text = format!("{} more rows: {}", rows.len() - shown, screen.again("--full"));
    (shown, Some(Line::styled(Style::Dim, text)))
}

/// Latencies: names, numbers, and a track on one logarithmic axis. A narrow screen, or one with long
/// names, loses the track, then p99.
fn latencies(rows: &[Latency<'_>], width: usize, most: usize, screen: &Screen) -> Vec<Line> {
    let grouped = rows.iter().any(|row| !row.group.is_empty());
    let group =
        if grouped { rows.iter().map(|row| length(&row.group)).max().unwrap_or(0) + 1 } else { 0 };
    let group = group.max(if grouped { GROUP } else { 0 });
    let names = rows.iter().map(|row| length(&row.name)).max().unwrap_or(0) + 1;
    // Counts of one unit have it once, in the head.
    let unit = rows
        .first()
        .map(Latency::unit)
        .filter(|unit| *unit != Unit::Nanoseconds && rows.iter().all(|row| row.unit() == *unit));
    let texts =
        rows.iter().map(|row| row.figures().map(|figure| number(figure, row, unit.is_some())));
    let texts: Vec<[String; 3]> = texts.collect();
    let longest = texts.iter().flatten().map(|text| length(text)).max().unwrap_or(0);
    let wide = NUMBER.max(longest + 2);
    let numbers = 3 * wide + 1;
    let widest = width.saturating_sub(numbers + TRACK.0 + 1);
    // The track gives way to names that tell rows apart.
    let needed = if rows.len() > 1 { names.max(16) } else { 16 };
    let with_track = group + needed <= widest;
    let with_p99 = with_track || group + 12 + numbers <= width;
    let numbers = if with_p99 { numbers } else { numbers - wide };
    let room = if with_track { widest } else { width.saturating_sub(numbers) };
    let name = (group + names).min(room).max(NAME.min(room)).saturating_sub(group);
    let track = if with_track { (width - group - name - numbers - 1).min(TRACK.1) } else { 0 };
    let (shown, more) = fitted(rows, most.saturating_sub(1 + usize::from(!with_track)), screen);
    let rows = &rows[..shown];
    let axis = axis(rows);
    let mut head =
        pad(&unit.map_or_else(|| together(rows), |unit| unit.name().to_owned()), group + name);
    for word in ["median", "p99", "worst"] {
        if word != "p99" || with_p99 {
            head.push_str(&format!("{word:>wide$}"));
        }
    }
    head.push(' ');
    if let Some(axis) = axis.as_ref().filter(|_| with_track) {
        head = format!("{head} {}", axis.head(track));
    }
    let mut lines = vec![Line::styled(Style::Dim, head)];
    let mut before = "";
    for (row, [p50, p99, worst]) in rows.iter().zip(&texts) {
        let of_group = if row.group == before { "" } else { &row.group };
        before = &row.group;
        let (style, strong) = if row.contrast {
            (Style::Contrast, Style::Contrast)
        } else {
            (Style::Plain, Style::Bold)
        };
        let mut line = Line::styled(style, format!("{of_group:group$}{}", pad(&row.name, name)));
        line = line.with(strong, format!("{p50:>wide$}"));
        if with_p99 {
            line = line.with(style, format!("{p99:>wide$}"));
        }
        line = line.with(style, format!("{worst:>wide$}"));
        line = line.with(Style::Doubt, if row.stolen { "*" } else { " " });
        if let Some(axis) = axis.as_ref().filter(|axis| with_track && axis.unit == row.unit()) {
            let style = if row.contrast { Style::Contrast } else { Style::Subject };
            line = line.with(style, format!(" {}", axis.track(row, track)));
        }
        lines.push(line);
    }
    lines.extend(more);
    let names = match (with_track, with_p99) {
        (true, _) => "",
        (false, true) => "track",
        (false, false) => "track, p99",
    };
    lines.extend(left_out(names, width));
    lines
}

/// The words above the rows of times: the figures are over all repetitions, where a title may have
/// their range.
fn together(rows: &[Latency<'_>]) -> String {
    let most = rows.iter().map(|row| row.case.repetitions).max().unwrap_or(0);
    let all_alike = rows.iter().all(|row| row.case.repetitions == most);
    match most {
        0 | 1 => String::new(),
        _ if all_alike => format!("{most} repetitions together"),
        _ => "repetitions together".to_owned(),
    }
}

/// A number of a row. Ticks have the letters of their unit, unless `is_bare` because the head has it.
fn number(figure: Option<(f64, bool)>, row: &Latency<'_>, is_bare: bool) -> String {
    let Some((value, exact)) = figure else { return "–".to_owned() };
    let text = match row.unit() {
        Unit::Nanoseconds => amount(value, Unit::Nanoseconds.name(), exact),
        Unit::Instructions | Unit::Cycles if is_bare => short(value),
        Unit::Instructions => format!("{} in", short(value)),
        Unit::Cycles => format!("{} cy", short(value)),
        Unit::Count => grouped(value),
    };
    plain(&text, false)
}

/// A logarithmic axis of whole decades.
struct Axis {
    unit: Unit,
    low: f64,
    high: f64,
}

/// The axis of the unit that most rows have; `None` if no row has a value above zero.
fn axis(rows: &[Latency<'_>]) -> Option<Axis> {
    let count = |unit| rows.iter().filter(|row| row.unit() == unit).count();
    let unit = rows.iter().map(Latency::unit).max_by_key(|unit| count(*unit))?;
    let values = || {
        let rows = rows.iter().filter(|row| row.unit() == unit);
        rows.flat_map(|row| row.values().into_iter().flatten()).filter(|value| *value > 0.0)
    };
    let low = values().reduce(f64::min)?.log10().floor();
    let high = values().reduce(f64::max)?.log10().ceil();
    Some(Axis { unit, low, high: high.max(low + 1.0) })
}

impl Axis {
    /// The cell of a value on a track of `width` cells.
    fn cell(&self, value: f64, width: usize) -> usize {
        let share = (value.max(f64::MIN_POSITIVE).log10() - self.low) / (self.high - self.low);
        (share.clamp(0.0, 1.0) * (width - 1) as f64).round() as usize
    }

    /// The labels of the decades that have room.
    fn head(&self, width: usize) -> String {
        let mut text = String::new();
        let mut decade = self.low;
        while decade <= self.high {
            let value = 10_f64.powf(decade);
            let (name, size) = units::scale(value, self.unit.name());
            let name = if self.unit == Unit::Nanoseconds { name } else { "" };
            let label = format!("{:.0}{name}", value / size);
            let at = self.cell(value, width);
            let is_free = at == 0 || at > length(&text);
            if is_free && at + length(&label) <= width {
                text = format!("{text:at$}{label}");
            }
            decade += 1.0;
        }
        text
    }

    /// The marks of a row: median, p99 and worst.
    fn track(&self, row: &Latency<'_>, width: usize) -> String {
        let mut cells = vec![' '; width];
        let [p50, p99, worst] = row
            .values()
            .map(|value| value.filter(|value| *value > 0.0).map(|value| self.cell(value, width)));
        if let Some((from, to)) = p50.zip(worst) {
            cells[from.min(to)..=to.max(from)].fill('─');
        }
        for (place, mark) in [(worst, '○'), (p99, '┃'), (p50, '●')] {
            if let Some(place) = place {
                cells[place] = mark;
            }
        }
        cells.into_iter().collect()
    }
}

/// A ranking: names, and a column for each kernel and kind of task with its usual figure and its
/// worst one. A narrow screen loses the figures that do not rank, then the floor, then the last
/// kernels.
fn ranking(ranking: &Ranking, width: usize, most: usize, screen: &Screen) -> Vec<Line> {
    let mut heads = column_heads(&ranking.columns, false);
    let longest = ranking.rows.iter().map(|row| length(&row.name)).max().unwrap_or(0);
    let mut names = longest.min(26);
    let has_pairs = ranking.rows.iter().any(|row| row.cells.iter().flatten().any(has_beside));
    let mut dropped: Vec<String> = Vec::new();
    let mut cells = ranking_cells(ranking, has_pairs);
    let widest = |heads: &[[String; 2]], cells: &[Vec<String>], index: usize| {
        let of_cells = cells.iter().map(|row| length(&row[index])).max().unwrap_or(0);
        of_cells.max(length(&heads[index][0])).max(length(&heads[index][1])) + 2
    };
    let columns = 0..ranking.columns.len();
    let needed = columns.map(|index| widest(&heads, &cells, index)).sum::<usize>() + names;
    if needed > width {
        heads = column_heads(&ranking.columns, true);
    }
    let wide = |cells: &[Vec<String>], index: usize| widest(&heads, cells, index);
    let mut shown: Vec<usize> = (0..ranking.columns.len()).collect();
    let total = |cells: &[Vec<String>], shown: &[usize], names: usize| {
        names + shown.iter().map(|index| wide(cells, *index)).sum::<usize>()
    };
    let kinds: BTreeSet<&str> = heads.iter().map(|head| &*head[1]).collect();
    let paired = has_pairs && total(&cells, &shown, names) <= width;
    if has_pairs && !paired {
        cells = ranking_cells(ranking, false);
        dropped.push("the figures that do not rank".to_owned());
    }
    while total(&cells, &shown, names) > width && shown.len() > 1 {
        let floor = shown.iter().position(|index| ranking.columns[*index].floor);
        let index = shown.remove(floor.unwrap_or(shown.len() - 1));
        let words = if kinds.len() > 1 { heads[index].join(" ") } else { heads[index][0].clone() };
        dropped.push(words.trim().to_owned());
    }
    let room = width.saturating_sub(total(&cells, &shown, 0));
    names = longest.min(names.max(room));
    let mut legend = ranking_legend(ranking, paired);
    if shown.iter().any(|index| heads[*index][1] == COROUTINE) {
        legend.push_str(&format!("; {COROUTINE}: coroutine"));
    }
    let mut lines = vec![Line::styled(Style::Dim, cut(&legend, width))];
    let parts = if kinds.len() > 1 { 0..=1 } else { 0..=0 };
    for part in parts {
        let texts =
            shown.iter().map(|index| format!("{:>1$}", heads[*index][part], wide(&cells, *index)));
        let text = texts.collect::<String>();
        if !text.trim().is_empty() {
            lines.push(Line::styled(Style::Dim, format!("{:names$}{text}", "")));
        }
    }
    let tail = usize::from(!dropped.is_empty());
    let (count, more) = fitted(&ranking.rows, most.saturating_sub(lines.len() + tail), screen);
    for (row, cells_of_row) in ranking.rows.iter().zip(&cells).take(count) {
        let mut line = Line::plain(pad(&row.name, names));
        for index in &shown {
            let text = format!("{:>1$}", cells_of_row[*index], wide(&cells, *index));
            line = line.with(cell_style(row, &ranking.columns, *index), text);
        }
        lines.push(line);
    }
    lines.extend(more);
    lines.extend(left_out(&dropped.join(", "), width));
    lines
}

fn has_beside(cell: &Cell) -> bool {
    cell.beside.is_some()
}

/// The texts of all cells. `paired`: each has its usual figure, then its worst one; else the figure
/// that ranks.
fn ranking_cells(ranking: &Ranking, paired: bool) -> Vec<Vec<String>> {
    let mut texts: Vec<Vec<[String; 2]>> = Vec::new();
    for row in &ranking.rows {
        let cells = row.cells.iter().enumerate().map(|(index, cell)| {
            let Some(cell) = cell else { return ["–".to_owned(), String::new()] };
            let sign = match row.place(&ranking.columns, index) {
                Place::Best => "● ",
                Place::Equal => "= ",
                Place::Behind | Place::Alone | Place::Open => "",
            };
            let amount = |value| match row.is_in_micros() {
                true => micros(value),
                false => amount_of(value, &row.unit),
            };
            let value = format!("{sign}{}", amount(cell.value));
            let beside = cell.beside.filter(|_| paired).map(amount);
            match (row.decides, beside) {
                (_, None) => [value, String::new()],
                (Decides::Worst, Some(typical)) if !row.is_in_micros() => [typical, value],
                (_, Some(worst)) => [value, worst],
            }
        });
        texts.push(cells.collect());
    }
    // The second figures of a column stand below each other, and so do the first ones.
    let columns = 0..ranking.columns.len();
    let seconds: Vec<usize> = columns
        .map(|index| texts.iter().map(|row| length(&row[index][1])).max().unwrap_or(0))
        .collect();
    let joined = |row: Vec<[String; 2]>| {
        let cells = row.into_iter().zip(&seconds).map(|([first, second], wide)| match wide {
            0 => first,
            // Thousands have one space between them.
            wide => format!("{first}  {second:>wide$}"),
        });
        cells.collect()
    };
    texts.into_iter().map(joined).collect()
}

/// The waits over the arrivals, with one scale: a head and a few rows for each kernel.
fn strips(strips: &[Strip], width: usize, most: usize) -> Vec<Line> {
    const LABEL: usize = 7;
    const HEIGHT: (usize, usize) = (2, 8);
    let height = (most / strips.len()).saturating_sub(1).clamp(HEIGHT.0, HEIGHT.1);
    let longest = strips.iter().map(Strip::longest).fold(1.0, f64::max);
    // Each strip has its part of the width, so that a short round looks short.
    let rounds = strips.iter().map(|strip| strip.waits.len()).max().unwrap_or(1);
    let room = width.saturating_sub(LABEL + 1).max(1);
    let mut lines = Vec::new();
    for strip in strips {
        let arrivals = strip.waits.len();
        lines.push(Line::styled(
            Style::Dim,
            cut(
                &format!(
                    "{}, at most {}{}: arrival at {} {} ○ of {}",
                    strip.name(),
                    strip.amount(strip.longest()),
                    strip.bound.map_or("", |_| " by the estimate"),
                    strip.place_unit(),
                    strip.at(),
                    arrivals
                ),
                width,
            ),
        ));
        let columns = strip.columns((room * arrivals / rounds).max(room / 4));
        let peak = columns.iter().position(|wait| *wait >= strip.longest());
        let level = |wait: f64| (wait / longest * height as f64).ceil() as usize;
        for row in (1..=height).rev() {
            let label = if row == height { strip.short(longest) } else { String::new() };
            let mut line = Line::styled(Style::Dim, format!("{label:>LABEL$}│"));
            for (index, wait) in columns.iter().enumerate() {
                let own = level(*wait);
                let is_peak = Some(index) == peak && row == own.max(1);
                let sign = if is_peak {
                    '○'
                } else if own >= row {
                    '█'
                } else {
                    ' '
                };
                let style = if is_peak { Style::Contrast } else { Style::Subject };
                line = line.with(style, sign);
            }
            lines.push(line);
        }
    }
    lines.truncate(most);
    lines
}

/// The line above a ranking: its signs, its figures and its unit.
fn ranking_legend(ranking: &Ranking, paired: bool) -> String {
    let is_modelled = ranking.is_modelled();
    let timed = ranking.rows.iter().find(|row| row.timed).map_or("", |row| &*row.unit);
    let others = ranking.rows.iter().filter(|row| !row.timed).count();
    let apart = match others {
        0 => String::new(),
        others if others == ranking.rows.len() => String::new(),
        1 => ", last row counts".to_owned(),
        others => format!(", last {others} rows counts"),
    };
    let unit = match timed {
        "ns" if is_modelled => "; µs".to_owned(),
        "" | "ns" => String::new(),
        unit => format!("; {unit}"),
    };
    let pair = match (paired, is_modelled) {
        (false, _) => "",
        (true, false) => "; usual, worst",
        (true, true) => "; estimate, longest",
    };
    let kinds: BTreeSet<&str> = ranking
        .columns
        .iter()
        .filter(|column| !column.floor)
        .map(|column| column.kind.as_str())
        .collect();
    let of_kind = if kinds.len() > 1 { " of its kind" } else { "" };
    match is_modelled {
        true => format!("● first{of_kind} whatever the bounds{pair}{unit}{apart}"),
        false => format!("● best{of_kind}, = equal{pair}{unit}{apart}"),
    }
}

/// The line that names the columns without room; `None` if all fit.
fn left_out(names: &str, width: usize) -> Option<Line> {
    let text = format!("left out for want of width: {names}");
    (!names.is_empty()).then(|| Line::styled(Style::Dim, cut(&text, width)))
}

/// The kernel, and the kind of its tasks, or its part. Where they are to be short, kernels whose names
/// all begin with the same system, as `linux-rt` and `linux-none`, have the rest of their names, and
/// coroutines a short one.
fn column_heads(columns: &[Column], are_short: bool) -> Vec<[String; 2]> {
    let system =
        columns.first().and_then(|column| column.kernel.split_once('-')).map(|both| both.0);
    let short = |column: &Column| {
        let rest = column.kernel.strip_prefix(system?)?.strip_prefix('-')?;
        Some(rest.to_owned())
    };
    let all_short: Option<Vec<String>> = columns.iter().map(short).collect();
    let names = all_short.filter(|_| are_short);
    let name = |place: usize, column: &Column| match &names {
        Some(names) => names[place].clone(),
        None => proper(&column.kernel),
    };
    let part = |column: &Column| match &*column.kind {
        _ if column.floor => "floor".to_owned(),
        "coroutine" if are_short => COROUTINE.to_owned(),
        kind => kind.to_owned(),
    };
    let heads = columns.iter().enumerate();
    heads.map(|(place, column)| [name(place, column), part(column)]).collect()
}

fn cell_style(row: &Row, columns: &[Column], index: usize) -> Style {
    match row.place(columns, index) {
        _ if columns[index].floor => Style::Dim,
        Place::Best => Style::Subject,
        Place::Behind => match row.value(index).zip(row.best(columns, index)) {
            Some((value, best)) if value > 2.0 * best => Style::Contrast,
            _ => Style::Plain,
        },
        Place::Equal | Place::Alone | Place::Open => Style::Plain,
    }
}

/// A list: names, numbers, a bar up to the limit, and the verdict. A narrow screen loses the bar,
/// then numbers from the right.
fn list(list: &List, width: usize, most: usize, screen: &Screen) -> Vec<Line> {
    const BAR: usize = 10;
    let columns = list.head.len();
    let wide = |column: usize| {
        let cells = list.rows.iter().map(|row| length(&row.cells[column])).max().unwrap_or(0);
        cells.max(length(list.head[column]))
    };
    let verdict = list.rows.iter().map(|row| length(&row.verdict)).max().unwrap_or(0);
    let verdict = if verdict > 0 { verdict + 2 } else { 0 };
    let bars = list.rows.iter().any(|row| row.share.is_some());
    let mut shown: Vec<usize> = (1..columns).collect();
    let mut bar = if bars { BAR + 3 } else { 0 };
    let mut dropped: Vec<&str> = Vec::new();
    let taken = |shown: &[usize], bar: usize| {
        shown.iter().map(|column| wide(*column) + 2).sum::<usize>() + bar + verdict
    };
    while taken(&shown, bar) + 24.min(wide(0)) > width && (bar > 0 || shown.len() > 1) {
        if bar > 0 {
            bar = 0;
            dropped.push("bar");
        } else if let Some(column) = shown.pop() {
            dropped.push(list.head[column]);
        }
    }
    let names = wide(0).min(width.saturating_sub(taken(&shown, bar)));
    let mut head = pad(list.head[0], names);
    for column in &shown {
        head.push_str(&format!("{:>1$}", list.head[*column], wide(*column) + 2));
    }
    let mut lines = vec![Line::styled(Style::Dim, cut(&head, width))];
    let tail = usize::from(!dropped.is_empty());
    let (count, more) = fitted(&list.rows, most.saturating_sub(1 + tail), screen);
    for row in list.rows.iter().take(count) {
        let mut line = Line::plain(pad(&row.cells[0], names));
        for column in &shown {
            let strong = if *column == 1 { Style::Bold } else { Style::Plain };
            line = line.with(strong, format!("{:>1$}", row.cells[*column], wide(*column) + 2));
        }
        let bad = row.status != Status::Pass;
        if let Some(share) = row.share.filter(|_| bar > 0) {
            let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
            let beyond = if share > 1.0 { "▶" } else { "│" };
            let text = format!("  {}{}{beyond}", "█".repeat(full), "·".repeat(BAR - full));
            line = line.with(if bad { Style::Contrast } else { Style::Subject }, text);
        }
        if !row.verdict.is_empty() {
            let style = if bad { Style::Bad } else { Style::Good };
            line = line.with(style, format!("  {}", row.verdict));
        }
        lines.push(line);
    }
    lines.extend(more);
    lines.extend(left_out(&dropped.join(", "), width));
    lines
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// The text in `width` characters: filled with spaces, or cut with `…` at its end.
fn pad(text: &str, width: usize) -> String {
    format!("{:width$}", cut(text, width))
}

/// Shortens a text to `width` characters, with `…` at its end.
fn cut(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).collect::<String>() + "…"
}

/// Breaks a text between words into at most `most` lines of `width` characters; all but the first
/// are indented. The last one is cut if there are more.
pub fn wrap(text: &str, width: usize, indent: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(word) <= width => {
                *line = format!("{line} {word}")
            }
            Some(_) => lines.push(format!("{:indent$}{word}", "")),
            None => lines.push(word.to_owned()),
        }
    }
    if lines.len() > most {
        let rest = lines.split_off(most - 1);
        let rest: Vec<&str> = rest.iter().map(|line| line.trim_start()).collect();
        let indent = if most > 1 { indent } else { 0 };
        lines.push(format!("{:indent$}{}", "", rest.join(" ")));
    }
    lines.iter().map(|line| cut(line, width)).collect()
}
