//! A heat map of the maximum for each load and target, because load lengthens the maximum.

use super::{
    figure::Figure,
    panel::{AxisUnit, Entry, Panel},
    svg::{Anchor, Svg, WIDTH, fit},
    text::unique,
};
use crate::answer::matrix::{darkness, range};
use chronoscope_run::Unit;
use chronoscope_units::{digits, show};

/// The parameter that names the load on the machine.
const PARAMETER: &str = "load";

const LEFT: f64 = 74.0;
const TOP: f64 = 34.0;
const ROW: f64 = 34.0;

pub fn figures(panel: &Panel<'_>) -> Vec<Figure> {
    let entries: Vec<&Entry<'_>> = panel.measured().collect();
    let loads = entries.iter().map(|entry| entry.case.parameters.get(PARAMETER));
    let Some(loads) = loads.map(|load| Some(load?.as_str())).collect::<Option<Vec<&str>>>() else {
        return Vec::new();
    };
    let (loads, targets) =
        (unique(loads), unique(entries.iter().map(|entry| entry.case.target.as_str())));
    if loads.len() < 2 || targets.len() < 2 {
        return Vec::new();
    }
    // Five targets for each chart: more columns would be unreadable.
    targets.chunks(5).map(|targets| figure(panel, &entries, &loads, targets)).collect()
}

/// The chart's quantity, with the unit unless cells show it: times have one in each cell.
fn axis_title(panel: &Panel<'_>) -> String {
    let what = panel.beyond("maximum");
    if panel.unit == AxisUnit::Of(Unit::Nanoseconds) {
        what
    } else {
        format!("{what}, {}", panel.unit.name())
    }
}

fn figure(panel: &Panel<'_>, entries: &[&Entry<'_>], loads: &[&str], targets: &[&str]) -> Figure {
    let at = |load: &str, target: &str| {
        let is_here = |entry: &&&Entry<'_>| {
            entry.case.target == target
                && entry.case.parameters.get(PARAMETER).is_some_and(|own| own == load)
        };
        // The largest of cases that differ in other parameters.
        entries.iter().filter(is_here).filter_map(|entry| entry.series.summary.max).reduce(f64::max)
    };
    let range = range(entries.iter().filter_map(|entry| entry.series.summary.max));
    let width = (WIDTH - LEFT) / targets.len() as f64;
    let mut svg = Svg::new(TOP + ROW * loads.len() as f64 + 4.0);
    svg.text("title", [0.0, 13.0], Anchor::Start, &axis_title(panel));
    let mut rows = Vec::new();
    for (column, target) in targets.iter().enumerate() {
        let middle = LEFT + width * (column as f64 + 0.5);
        svg.text(
            "",
            [middle, TOP - 6.0],
            Anchor::Middle,
            &fit(target.split('@').next().unwrap_or(target), width - 2.0),
        );
    }
    for (row, load) in loads.iter().enumerate() {
        let top = TOP + ROW * row as f64;
        svg.text("", [LEFT - 6.0, top + ROW / 2.0 + 4.0], Anchor::End, &fit(load, LEFT - 8.0));
        let mut cells = vec![(*load).to_owned()];
        for (column, target) in targets.iter().enumerate() {
            let left = LEFT + width * column as f64;
            let Some(max) = at(load, target) else {
                svg.text("", [left + width / 2.0, top + ROW / 2.0 + 4.0], Anchor::Middle, "–");
                cells.push("–".to_owned());
                continue;
            };
            let step = darkness(max, range);
            let text = if panel.unit == AxisUnit::Of(Unit::Nanoseconds) {
                show(max, "ns")
            } else {
                digits(max)
            };
            svg.bar(
                &format!("heat{step}"),
                [left + 1.0, top + 1.0],
                [width - 2.0, ROW - 2.0],
                &format!("{target}, {load}: {text}"),
            );
            svg.text(
                &format!("heat-text{step}"),
                [left + width / 2.0, top + ROW / 2.0 + 4.0],
                Anchor::Middle,
                &text,
            );
            cells.push(text);
        }
        rows.push(cells);
    }
    let header = ["load", "1", "2", "3", "4", "5"];
    let mut names = vec![
        ["target".to_owned()]
            .into_iter()
            .chain(targets.iter().map(|&name| name.to_owned()))
            .collect(),
    ];
    names.append(&mut rows);
    Figure {
        kind: "heat",
        title: format!("{}: maximum by load and target", panel.experiment),
        reading: "Darker is longer, in equal steps of the logarithm.".to_owned(),
        facts: panel.facts(entries),
        svg: svg.finish(&format!("Maxima of {} by load and target", panel.experiment)),
        header: header[..=targets.len()].to_vec(),
        rows: names,
        ..Figure::default()
    }
}
