//! Sweep charts: a cost as a function of one numeric parameter. A line joins cases that differ in
//! that parameter only; published curves are drawn with them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    figure::Figure,
    frame::{Axis, RIGHT, X, Y, draw},
    panel::{Entry, Panel, applies_to, comparable_value, value_of},
    scale::Scale,
    svg::{Anchor, Svg},
    text::{common_words, joined},
};
use chronoscope_run::{Published, Role, SeriesResult};
use chronoscope_units::show;

/// Fewest points of a line: growth shows from three points on.
const MIN_POINTS: usize = 3;

/// Most lines of a chart that can be distinguished.
const MAX_LINES: usize = 6;

/// Series of cases that differ in one parameter only.
pub struct Line<'p, 'a> {
    pub name: String,
    /// The words of the name.
    words: Vec<String>,
    /// The words without the target, common to the lines of all targets.
    label: Vec<String>,
    /// The entries by the value of the parameter, ascending.
    pub points: Vec<(f64, &'p Entry<'a>)>,
}

impl Line<'_, '_> {
    /// The name of an auxiliary series, which has charts of its own; empty for a measured one.
    fn measure(&self) -> &str {
        let series = self.points[0].1.series;
        if series.role == Role::Measured { "" } else { &series.name }
    }
}

/// A published curve.
#[derive(PartialEq)]
pub struct Curve {
    pub name: String,
    pub note: String,
    /// Pairs of parameter and value, by ascending parameter.
    pub points: Vec<(f64, f64)>,
}

pub fn figures(panel: &Panel<'_>) -> Vec<Figure> {
    let of = |parameter| {
        let all = lines(panel, parameter);
        let measures: BTreeSet<&str> = all.iter().map(Line::measure).collect();
        let of_measure = |measure: &str| -> Vec<&Line<'_, '_>> {
            all.iter().filter(|line| line.measure() == measure).collect()
        };
        measures
            .into_iter()
            .flat_map(|measure| measure_figures(panel, parameter, &of_measure(measure)))
            .collect::<Vec<_>>()
    };
    parameters(panel).into_iter().flat_map(of).collect()
}

/// The names of all parameters of the panel's cases.
pub fn parameters<'a>(panel: &Panel<'a>) -> BTreeSet<&'a str> {
    panel
        .entries
        .iter()
        .flat_map(|entry| entry.case.parameters.keys().map(|name| name.as_str()))
        .collect()
}

/// The series that are part of any line.
pub fn series_drawn<'a>(panel: &Panel<'a>) -> Vec<&'a SeriesResult> {
    let lines = parameters(panel).into_iter().flat_map(|parameter| lines(panel, parameter));
    lines.flat_map(|line| line.points.into_iter().map(|(_, entry)| entry.series)).collect()
}

/// The charts of lines that measure the same quantity.
fn measure_figures(panel: &Panel<'_>, parameter: &str, lines: &[&Line<'_, '_>]) -> Vec<Figure> {
    let statistic_name = published_statistic(lines, panel).unwrap_or("p50").to_owned();
    let targets: BTreeSet<&str> =
        lines.iter().map(|line| line.points[0].1.case.target.as_str()).collect();
    // If there are many lines, those with a common label share a chart, and single ones another.
    let mut groups: Vec<Vec<&Line<'_, '_>>> = Vec::new();
    for &line in lines {
        let alike = |other: &Line<'_, '_>| other.label == line.label;
        let alone = |line: &Line<'_, '_>| {
            lines.iter().filter(|other| other.label == line.label).count() == 1
        };
        let joins = |group: &&mut Vec<&Line<'_, '_>>| {
            let fits = lines.len() <= MAX_LINES
                || targets.len() < 2
                || alike(group[0])
                || (alone(group[0]) && alone(line));
            group.len() < MAX_LINES && fits
        };
        match groups.iter_mut().find(joins) {
            Some(group) => group.push(line),
            None => groups.push(vec![line]),
        }
    }
    // All charts have one scale, so that they compare.
    let value = |entry: &Entry<'_>| value_of(entry, &statistic_name).unwrap_or(f64::NAN);
    let measured = lines.iter().flat_map(|line| line.points.iter().map(|(_, entry)| value(entry)));
    let published = curves(parameter, lines, |figure| comparable_value(figure, panel))
        .into_iter()
        .flat_map(|curve| curve.points.into_iter().map(|point| point.1));
    let y = Scale::fitting(measured.chain(published).collect::<Vec<_>>().into_iter(), Y);
    groups.iter().map(|group| figure(panel, parameter, &statistic_name, group, y)).collect()
}

/// The lines over a numeric parameter with at least three points.
pub fn lines<'p, 'a>(panel: &'p Panel<'a>, parameter: &str) -> Vec<Line<'p, 'a>> {
    let mut found: BTreeMap<(usize, String), Vec<(f64, &Entry<'_>)>> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    for entry in &panel.entries {
        let Some(x) =
            entry.case.parameters.get(parameter).and_then(|value| value.parse::<f64>().ok())
        else {
            continue;
        };
        let others: Vec<String> = entry
            .case
            .parameters
            .iter()
            .filter(|(name, _)| *name != parameter)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let key =
            joined(&[entry.subject, &entry.case.target, &entry.series.name, &others.join(" ")]);
        let place = order.iter().position(|known| *known == key).unwrap_or_else(|| {
            order.push(key.clone());
            order.len() - 1
        });
        let points = found.entry((place, key)).or_default();
        if points.iter().all(|(other, _)| *other != x) {
            points.push((x, entry));
        }
    }
    let prefix = format!("{parameter}=");
    let kept = found.into_values().filter(|points| points.len() >= MIN_POINTS);
    kept.map(|mut points| {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let entry = points[0].1;
        let mut words = entry.words.clone();
        words.retain(|word| !word.starts_with(&prefix));
        let label = words.iter().filter(|word| **word != *entry.case.target).cloned().collect();
        if words.is_empty() {
            words.push(panel.experiment.to_owned());
        }
        Line { name: joined(&words), words, label, points }
    })
    .collect()
}

/// The most frequent statistic among the published figures, which the chart then shows.
fn published_statistic<'a>(lines: &[&Line<'_, 'a>], panel: &Panel<'_>) -> Option<&'a str> {
    let entries = lines.iter().flat_map(|line| line.points.iter().map(|(_, entry)| entry));
    let figures = entries.flat_map(|entry| {
        entry.case.published.iter().filter(move |figure| applies_to(figure, entry))
    });
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for figure in figures.filter(|figure| comparable_value(figure, panel).is_some()) {
        *counts.entry(figure.statistic.as_str()).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(name, _)| name)
}

/// The published curves of these lines. `value` returns a figure's value on the chart's axis, or
/// `None` to leave it out.
pub fn curves(
    parameter: &str,
    lines: &[&Line<'_, '_>],
    value: impl Fn(&Published) -> Option<f64>,
) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for (x, entry) in lines.iter().flat_map(|line| &line.points) {
        for figure in entry.case.published.iter().filter(|figure| applies_to(figure, entry)) {
            let Some(value) = value(figure) else { continue };
            let when = figure.when.iter().filter(|(name, _)| *name != parameter);
            let when: Vec<String> = when.map(|(name, value)| format!("{name}={value}")).collect();
            let name = joined(&[figure.on.as_str(), &when.join(" ")]);
            let note = joined(&[
                format!("{} of {}", figure.statistic, figure.source).as_str(),
                &figure.note,
            ]);
            let point = (*x, value);
            match curves.iter_mut().find(|curve| curve.name == name && curve.note == note) {
                Some(curve) if curve.points.contains(&point) => {}
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve { name, note, points: vec![point] }),
            }
        }
    }
    curves
        .iter_mut()
        .for_each(|curve| curve.points.sort_by(|one, other| one.0.total_cmp(&other.0)));
    curves
}

fn figure(
    panel: &Panel<'_>,
    parameter: &str,
    statistic_name: &str,
    lines: &[&Line<'_, '_>],
    y: Scale,
) -> Figure {
    let entries: Vec<&Entry<'_>> =
        lines.iter().flat_map(|line| line.points.iter().map(|(_, entry)| *entry)).collect();
    let curves = curves(parameter, lines, |figure| comparable_value(figure, panel));
    // An auxiliary series is named; the measured one is obvious.
    let what = match entries.first().filter(|entry| entry.series.role != Role::Measured) {
        Some(entry) => format!("{statistic_name} of {}", entry.series.name),
        None => statistic_name.to_owned(),
    };
    let value = |entry: &Entry<'_>| value_of(entry, statistic_name).unwrap_or(f64::NAN);
    let xs: Vec<f64> =
        lines.iter().flat_map(|line| line.points.iter().map(|point| point.0)).collect();
    // Leave room at the right for the letters of published curves.
    let room = if curves.is_empty() { 0.0 } else { 12.0 };
    let x = Scale::fitting(xs.iter().copied(), [X[0], X[1] - room]);
    let mut svg = draw(&axis(x, parameter), &Axis::new(y, &panel.beyond(&what), panel.unit.name()));
    let common = common_words(&lines.iter().map(|line| line.words.clone()).collect::<Vec<_>>());
    let own = |line: &Line<'_, '_>| {
        joined(&line.words.iter().filter(|word| !common.contains(word)).collect::<Vec<_>>())
    };
    let mut rows = draw_curves(&mut svg, &curves, &x, &y, |value| show(value, panel.unit.name()));
    let mut measured = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let points: Vec<[f64; 2]> =
            line.points.iter().map(|(at, entry)| [x.at(*at), y.at(value(entry))]).collect();
        svg.curve(&format!("line c{index}"), &points);
        for ((at, entry), point) in line.points.iter().zip(&points) {
            let text = show(value(entry), panel.unit.name());
            svg.mark(
                index,
                &format!("c{index}"),
                *point,
                &format!("{}, {parameter}={at}: {text}", line.name),
            );
            measured.push(vec![line.name.clone(), at.to_string(), text]);
        }
    }
    measured.append(&mut rows);
    let of = if common.is_empty() { String::new() } else { format!(" · {}", joined(&common)) };
    Figure {
        kind: if parameter == "size" { "payload" } else { "sweep" },
        title: format!("{}: {what} against {parameter}{of}", panel.experiment),
        facts: panel.facts(&entries),
        svg: svg.finish(&format!("{} against {parameter}", panel.experiment)),
        legend: lines.iter().map(|line| own(line)).collect(),
        notes: notes(&curves),
        header: vec!["case", "at", "value"],
        rows: measured,
        ..Figure::default()
    }
}

/// The x axis of a parameter; a logarithmic `size` has ticks at powers of two bytes.
pub fn axis(x: Scale, parameter: &str) -> Axis {
    if parameter != "size" || !x.log {
        return Axis::new(x, parameter, "");
    }
    let label = |power: u32| match power {
        0..10 => (1 << power).to_string(),
        10..20 => format!("{}Ki", 1_u64 << (power - 10)),
        _ => format!("{}Mi", 1_u64 << (power - 20)),
    };
    let ticks = (0..40).step_by(2).map(|power| (f64::from(power).exp2(), label(power)));
    Axis::with(
        x,
        "size, bytes",
        ticks.filter(|(value, _)| (x.low..=x.high).contains(value)).collect(),
    )
}

fn letter(index: usize) -> char {
    char::from(b'a' + (index % 26) as u8)
}

/// The legend of published curves, by letter.
pub fn notes(curves: &[Curve]) -> Vec<String> {
    let note = |(index, curve): (usize, &Curve)| {
        format!("{} published: {} ({})", letter(index), curve.name, curve.note)
    };
    curves.iter().enumerate().map(note).collect()
}

/// Draws published curves dashed with hollow marks, each with a letter at its end; letters are
/// moved down where they would overlap. Returns the rows for the table of numbers.
pub fn draw_curves(
    svg: &mut Svg,
    curves: &[Curve],
    x: &Scale,
    y: &Scale,
    format_value: impl Fn(f64) -> String,
) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut ends: Vec<(f64, f64, char)> = Vec::new();
    for (index, curve) in curves.iter().enumerate() {
        let letter = letter(index);
        let points: Vec<[f64; 2]> =
            curve.points.iter().map(|(at, value)| [x.at(*at), y.at(*value)]).collect();
        svg.curve("line published", &points);
        for ((at, value), point) in curve.points.iter().zip(&points) {
            let text = format_value(*value);
            svg.mark(
                3,
                "hollow",
                *point,
                &format!("published, {letter}: {}, at {at}: {text}", curve.name),
            );
            rows.push(vec![format!("published, {letter}: {}", curve.name), at.to_string(), text]);
        }
        ends.extend(points.last().map(|point| (point[0], point[1], letter)));
    }
    ends.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut free = f64::NEG_INFINITY;
    for (right, height, letter) in ends {
        let place = height.max(free);
        svg.text(
            "small",
            [(right + 8.0).min(RIGHT), place + 3.5],
            Anchor::Start,
            &letter.to_string(),
        );
        free = place + 10.0;
    }
    rows
}
