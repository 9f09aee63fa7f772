//! Charts of a case's figures that are no statistics of samples, such as a ratio of two times or
//! the longest time with interrupts masked. A figure is drawn if the study has a published value or
//! a limit for it.

use super::{
    figure::Figure,
    frame::{self, Axis, RIGHT},
    panel::{Panel, Subject},
    scale::Scale,
    svg::{Anchor, Svg, text_width, wrap},
    text::joined,
};
use chronoscope_run::{CaseResult, Domain, FigureResult, Published, label::Part};
use chronoscope_units::{OneLine, show};

/// Most rows of a chart; further rows continue in the next one.
const MAX_ROWS: usize = 16;

const ROW_HEIGHT: f64 = 32.0;
const LINE_HEIGHT: f64 = 13.0;
const LEFT: f64 = 8.0;
const TOP: f64 = 6.0;

/// A row of the chart: a measured figure with its limits, or a published one.
enum Row<'a> {
    Measured { name: String, figure: &'a FigureResult, limits: Vec<(&'static str, f64)> },
    Published(&'a Published),
}

impl Row<'_> {
    /// The name and the value of the row.
    fn label(&self) -> (String, f64) {
        match self {
            Row::Measured { name, figure, .. } => (name.clone(), figure.value),
            Row::Published(figure) => (figure.on.to_string(), figure.value),
        }
    }

    /// All finite values that the row draws, for the scale.
    fn values(&self) -> Vec<f64> {
        let values = match self {
            Row::Measured { figure, limits, .. } => [figure.min, figure.value, figure.max]
                .into_iter()
                .chain(limits.iter().map(|limit| limit.1))
                .collect(),
            Row::Published(figure) => vec![figure.value],
        };
        values.into_iter().filter(|value: &f64| value.is_finite()).collect()
    }
}

pub fn charts(experiment: &str, subjects: &[Subject<'_>]) -> Vec<Figure> {
    let cases: Vec<(&str, &CaseResult)> = subjects
        .iter()
        .flat_map(|subject| subject.run.cases.iter().map(|case| (subject.name.as_str(), case)))
        .filter(|(_, case)| case.experiment == experiment && case.is_proven())
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for (_, case) in &cases {
        let requested = case
            .published
            .iter()
            .map(|figure| &figure.statistic)
            .chain(case.limits.iter().map(|limit| &limit.statistic));
        for name in requested.filter(|name| case.figure(name).is_some()) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names.into_iter().flat_map(|name| charts_of(experiment, &cases, name)).collect()
}

fn charts_of(experiment: &str, cases: &[(&str, &CaseResult)], number: &str) -> Vec<Figure> {
    let measured: Vec<(&str, &CaseResult, &FigureResult)> = cases
        .iter()
        .filter_map(|(subject, case)| Some((*subject, *case, case.figure(number)?)))
        .filter(|(_, case, figure)| figure.value.is_finite() && has_reference(case, figure))
        .collect();
    let words = |(subject, case, _): &(&str, &CaseResult, &FigureResult)| -> Vec<String> {
        let words = [*subject, case.target.as_str()];
        let words = words.into_iter().chain(case.label.parts().map(Part::text));
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let common: Vec<String> = match measured.split_first() {
        Some((first, rest)) if !rest.is_empty() => words(first)
            .into_iter()
            .filter(|word| rest.iter().all(|other| words(other).contains(word)))
            .collect(),
        _ => Vec::new(),
    };
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (index, one) in measured.iter().enumerate() {
        let (_, case, figure) = one;
        let own: Vec<String> =
            words(one).into_iter().filter(|word| !common.contains(word)).collect();
        let name = if own.is_empty() { number.to_owned() } else { joined(&own) };
        rows.push(Row::Measured { name, figure, limits: limits(case, number) });
        // A published figure follows the last of the consecutive cases that it applies to.
        let published = |case: &CaseResult| -> Vec<(OneLine, u64)> {
            comparable(case, figure)
                .map(|figure| (figure.on.clone(), figure.value.to_bits()))
                .collect()
        };
        if measured.get(index + 1).is_none_or(|(_, next, _)| published(next) != published(case)) {
            rows.extend(comparable(case, figure).map(Row::Published));
        }
    }
    if rows.len() < 2 {
        return Vec::new();
    }
    let all: Vec<f64> = rows.iter().flat_map(Row::values).collect();
    let scale = Scale::fitting(all.into_iter(), LEFT, RIGHT - 4.0);
    let pages = rows.len().div_ceil(MAX_ROWS);
    let part = |index: usize| {
        if pages > 1 { format!(" ({} of {pages})", index + 1) } else { String::new() }
    };
    let title = |index: usize| format!("{experiment}: {number}{}", part(index));
    rows.chunks(MAX_ROWS)
        .enumerate()
        .map(|(index, rows)| figure(title(index), number, rows, &scale, &measured))
        .collect()
}

/// The published figures that may share an axis with a measured one: same name, same unit, and no
/// rate by an emulator's clock, which is not time. Ratios have no clock.
fn comparable<'a>(
    case: &'a CaseResult,
    measured: &FigureResult,
) -> impl Iterator<Item = &'a Published> {
    let is_timed = case.clock.as_ref().is_none_or(|clock| clock.domain == Domain::Wall);
    let shares = is_timed || !measured.unit.is_empty() || !measured.name.contains(" in a second");
    let (name, unit) = (measured.name.clone(), measured.unit.clone());
    case.published
        .iter()
        .filter(move |figure| shares && figure.statistic == name && figure.unit == unit)
}

fn has_reference(case: &CaseResult, figure: &FigureResult) -> bool {
    comparable(case, figure).next().is_some() || !limits(case, &figure.name).is_empty()
}

/// The limits on a figure, each as `at least` or `at most` with its value.
fn limits(case: &CaseResult, number: &str) -> Vec<(&'static str, f64)> {
    let limits = case.limits.iter().filter(|limit| limit.statistic == number);
    let ends = limits.flat_map(|limit| [("at least", limit.at_least), ("at most", limit.at_most)]);
    ends.filter_map(|(which, limit)| Some((which, limit?.0))).collect()
}

fn figure(
    title: String,
    number: &str,
    rows: &[Row<'_>],
    scale: &Scale,
    measured: &[(&str, &CaseResult, &FigureResult)],
) -> Figure {
    let unit = measured.first().map_or("", |(_, _, figure)| figure.unit.as_str());
    let lines = |row: &Row<'_>| {
        let (name, value) = row.label();
        wrap(&name, RIGHT - LEFT - text_width(&show(value, unit)) - 10.0)
    };
    let height = |row: &Row<'_>| ROW_HEIGHT + LINE_HEIGHT * (lines(row).len() - 1) as f64;
    let base = TOP + rows.iter().map(height).sum::<f64>();
    let mut svg = Svg::new(base + 38.0);
    frame::x_axis(&mut svg, &Axis::of(*scale, number, unit), LEFT, base, TOP);
    svg.line("axis", [LEFT, base], [RIGHT, base]);
    let (mut table, mut notes) = (Vec::new(), Vec::<String>::new());
    let mut bottom = TOP;
    for row in rows {
        let top = bottom;
        bottom += height(row);
        let middle = bottom - 11.0;
        let (name, value) = row.label();
        let class = match row {
            Row::Measured { name, figure, limits } => {
                if figure.min < figure.max {
                    svg.line(
                        "range",
                        [scale.at(figure.min), middle],
                        [scale.at(figure.max), middle],
                    );
                }
                for (which, limit) in limits {
                    let tip = format!("limit: {which} {}", show(*limit, unit));
                    svg.bar("limit-bar", [scale.at(*limit) - 1.0, middle - 6.0], [2.0, 12.0], &tip);
                }
                svg.mark(
                    0,
                    "c0",
                    [scale.at(figure.value), middle],
                    &format!("{name}: {}", show(figure.value, unit)),
                );
                "row"
            }
            Row::Published(figure) => {
                let tip = format!("published: {}: {}", figure.on, show(figure.value, unit));
                svg.mark(3, "hollow", [scale.at(figure.value), middle], &tip);
                let note =
                    format!("◇ published: {}", joined(&[figure.source.as_str(), &figure.note]));
                if !notes.contains(&note) {
                    notes.push(note);
                }
                "row other"
            }
        };
        let value_text = show(value, unit);
        for (index, line) in lines(row).iter().enumerate() {
            svg.text(class, [LEFT, top + 12.0 + LINE_HEIGHT * index as f64], Anchor::Start, line);
        }
        svg.text(class, [RIGHT, top + 12.0], Anchor::End, &value_text);
        table.push(vec![name, value_text]);
    }
    if rows.iter().any(|row| matches!(row, Row::Measured { limits, .. } if !limits.is_empty())) {
        notes.insert(0, "┃ the limit that the study sets".to_owned());
    }
    let repetitions = match measured.iter().map(|(_, case, _)| case.repetitions).max() {
        Some(count) if count > 1 => {
            format!("the median of up to {count} repetitions, and their range")
        }
        _ => "one repetition".to_owned(),
    };
    Figure {
        kind: "found",
        title,
        facts: joined(&[Panel::clocks(measured.iter().map(|(_, case, _)| *case)), repetitions]),
        svg: svg.finish(number),
        notes,
        header: vec!["case", "value"],
        rows: table,
        ..Figure::default()
    }
}
