//! Charts of a case's figures that are no statistics of samples, such as a ratio of two times or
//! the longest time with interrupts masked. A figure is drawn if the study has a published value or
//! a limit for it, and the chart has two rows or more.

use super::{
    figure::{Figure, parts},
    frame::{Axis, Label, RIGHT, ROWS_LEFT, ROWS_X, draw_rows},
    panel::{Panel, Subject},
    scale::Scale,
    text::{common_words, joined, unique},
};
use chronoscope_run::{CaseResult, Domain, FigureResult, Published, label::Part};
use chronoscope_units::{OneLine, show};

/// Most rows of a chart; further rows continue in the next one.
const MAX_ROWS: usize = 16;

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
    let requested = cases.iter().flat_map(|(_, case)| {
        let published = case.published.iter().map(|figure| &figure.statistic);
        let limits = case.limits.iter().map(|limit| &limit.statistic);
        published.chain(limits).filter(|name| case.figure(name).is_some())
    });
    unique(requested).into_iter().flat_map(|name| charts_of(experiment, &cases, name)).collect()
}

fn charts_of(experiment: &str, cases: &[(&str, &CaseResult)], name: &str) -> Vec<Figure> {
    let measured: Vec<(&str, &CaseResult, &FigureResult)> = cases
        .iter()
        .filter_map(|(subject, case)| Some((*subject, *case, case.figure(name)?)))
        .filter(|(_, case, figure)| figure.value.is_finite() && has_reference(case, figure))
        .collect();
    let words = |(subject, case, _): &(&str, &CaseResult, &FigureResult)| -> Vec<String> {
        let words = [*subject, case.target.as_str()];
        let words = words.into_iter().chain(case.label.parts().map(Part::text));
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let words: Vec<Vec<String>> = measured.iter().map(words).collect();
    let common = common_words(&words);
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (index, ((_, case, figure), mut own)) in measured.iter().zip(words).enumerate() {
        own.retain(|word| !common.contains(word));
        let row = if own.is_empty() { name.to_owned() } else { joined(&own) };
        rows.push(Row::Measured { name: row, figure, limits: limits(case, name) });
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
    let scale = Scale::fitting(all.into_iter(), ROWS_X);
    parts(rows.chunks(MAX_ROWS), |rows, part| {
        figure(format!("{experiment}: {name}{part}"), name, rows, &scale, &measured)
    })
}

/// The published figures that may share an axis with a measured one: same name and same unit. A rate by
/// an emulator's clock has none, since that clock is not time.
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
fn limits(case: &CaseResult, name: &str) -> Vec<(&'static str, f64)> {
    let limits = case.limits.iter().filter(|limit| limit.statistic == name);
    let ends = limits.flat_map(|limit| [("at least", limit.at_least), ("at most", limit.at_most)]);
    ends.filter_map(|(which, limit)| Some((which, limit?.0))).collect()
}

fn figure(
    title: String,
    name: &str,
    rows: &[Row<'_>],
    scale: &Scale,
    measured: &[(&str, &CaseResult, &FigureResult)],
) -> Figure {
    let unit = measured.first().map_or("", |(_, _, figure)| figure.unit.as_str());
    let labels: Vec<Label> = rows
        .iter()
        .map(|row| {
            let (name, value) = row.label();
            Label::new(&name, show(value, unit))
        })
        .collect();
    let base = TOP + labels.iter().map(Label::height).sum::<f64>();
    let mut svg = draw_rows(&Axis::new(*scale, name, unit), TOP, base);
    svg.line("axis", [ROWS_LEFT, base], [RIGHT, base]);
    let (mut table, mut notes) = (Vec::new(), Vec::<String>::new());
    let mut top = TOP;
    for (row, label) in rows.iter().zip(&labels) {
        let (name, value) = row.label();
        match row {
            Row::Measured { name, figure, limits } => {
                let middle = label.draw(&mut svg, "row", top);
                let range = [figure.min, figure.max].map(|end| [scale.at(end), middle]);
                if figure.min < figure.max {
                    svg.line("range", range[0], range[1]);
                }
                for (which, limit) in limits {
                    let tip = format!("limit: {which} {}", show(*limit, unit));
                    svg.bar("limit-bar", [scale.at(*limit) - 1.0, middle - 6.0], [2.0, 12.0], &tip);
                }
                let tip = format!("{name}: {}", show(figure.value, unit));
                svg.mark(0, "c0", [scale.at(figure.value), middle], &tip);
            }
            Row::Published(figure) => {
                let middle = label.draw(&mut svg, "row other", top);
                let tip = format!("published: {}: {}", figure.on, show(figure.value, unit));
                svg.mark(3, "hollow", [scale.at(figure.value), middle], &tip);
                let note =
                    format!("◇ published: {}", joined(&[figure.source.as_str(), &figure.note]));
                notes.push(note);
            }
        }
        top += label.height();
        table.push(vec![name, show(value, unit)]);
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
        svg: svg.finish(name),
        notes: unique(notes),
        header: vec!["case", "value"],
        rows: table,
        ..Figure::default()
    }
}
