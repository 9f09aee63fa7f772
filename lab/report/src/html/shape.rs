//! Shape charts: a cost as a function of one parameter, next to published curves of another clock.
//! Each curve is divided by its first value, which cancels the clock and leaves the growth.

use super::{
    figure::Figure,
    frame::{Axis, X, Y, draw},
    panel::{AxisUnit, Panel, comparable_value, statistic},
    scale::{Scale, times},
    sweep::{self, Curve, Line},
};
use chronoscope_run::{Published, Statistic};

/// Fewest published points of a curve.
const MIN_POINTS: usize = 3;

pub fn figures(panel: &Panel<'_>) -> Vec<Figure> {
    // Only durations in ticks: a count has no clock to cancel.
    if !matches!(panel.unit, AxisUnit::Of(unit) if unit.is_ticks()) || panel.nominal > 0.0 {
        return Vec::new();
    }
    let of = |parameter| {
        let lines = sweep::lines(panel, parameter);
        lines.iter().filter_map(|line| line_figure(panel, parameter, line)).collect::<Vec<_>>()
    };
    sweep::parameters(panel).into_iter().flat_map(of).collect()
}

fn line_figure(panel: &Panel<'_>, parameter: &str, line: &Line<'_, '_>) -> Option<Figure> {
    let entry = line.points[0].1;
    let name = entry
        .case
        .published
        .iter()
        .find(|figure| is_foreign_time(figure, panel))?
        .statistic
        .clone();
    let value = |figure: &Published| {
        (figure.statistic == name && is_foreign_time(figure, panel)).then_some(figure.value)
    };
    let mut curves = sweep::curves(parameter, &[line], value);
    curves.retain(|curve| curve.points.len() >= MIN_POINTS);
    let first = line.points[0].0;
    // Shapes compare only if the curves start at the same parameter.
    curves.retain(|curve| curve.points[0].0 == first && curve.points[0].1 > 0.0);
    let measured =
        line.points.iter().filter_map(|(at, entry)| Some((*at, statistic(entry.series, &name)?)));
    let measured = normalized(&measured.collect::<Vec<_>>())?;
    let curves: Vec<Curve> = curves
        .into_iter()
        .filter_map(|curve| Some(Curve { points: normalized(&curve.points)?, ..curve }))
        .collect();
    if curves.is_empty() {
        return None;
    }
    let all = || measured.iter().chain(curves.iter().flat_map(|curve| &curve.points));
    let x = Scale::fitting(all().map(|point| point.0), [X[0], X[1] - 12.0]);
    let y = Scale::fitting(all().map(|point| point.1), Y);
    let title = format!("{name}, times that at {parameter} = {first}");
    let mut svg = draw(&sweep::axis(x, parameter), &Axis::new(y, &title, ""));
    let mut published = sweep::draw_curves(&mut svg, &curves, &x, &y, times);
    let points: Vec<[f64; 2]> =
        measured.iter().map(|(at, value)| [x.at(*at), y.at(*value)]).collect();
    svg.curve("line c0", &points);
    let mut rows = Vec::new();
    for ((at, value), point) in measured.iter().zip(&points) {
        svg.mark(0, "c0", *point, &format!("{}, {parameter}={at}: {}", line.name, times(*value)));
        rows.push(vec![line.name.clone(), at.to_string(), times(*value)]);
    }
    rows.append(&mut published);
    Some(Figure {
        kind: "shape",
        title: format!("{}: how it grows with {parameter} · {}", panel.experiment, line.name),
        reading:
            "Each curve is divided by its own first value: shapes compare across clocks, sizes do not."
                .to_owned(),
        facts: panel.facts(&line.points.iter().map(|point| point.1).collect::<Vec<_>>()),
        svg: svg.finish(&format!("{} against {parameter}, as a shape", panel.experiment)),
        legend: vec![line.name.clone()],
        notes: sweep::notes(&curves),
        header: vec!["case", "at", "times"],
        rows,
    })
}

/// Returns whether a figure is a published time that cannot share the panel's axis.
fn is_foreign_time(figure: &Published, panel: &Panel<'_>) -> bool {
    let is_duration = Statistic::find(&figure.statistic).is_some_and(Statistic::is_duration);
    is_duration && figure.unit.is_empty() && comparable_value(figure, panel).is_none()
}

/// Divides all points by the value of the first; `None` unless that is positive.
fn normalized(points: &[(f64, f64)]) -> Option<Vec<(f64, f64)>> {
    let first = points.first()?.1;
    (first > 0.0).then(|| points.iter().map(|(at, value)| (*at, value / first)).collect())
}
