//! Ratio charts: one row for each ratio with its range, around 1. A ratio is B / A of two runs, or
//! Chronoscope / peer.

use super::{
    figure::{Figure, parts},
    frame::{Axis, RIGHT, x_axis},
    scale::{Scale, times},
    svg::{Anchor, Svg, fit, text_width},
};

/// Most rows of a chart; further rows continue in the next one.
const MAX_ROWS: usize = 14;

const ROW_HEIGHT: f64 = 30.0;
const LEFT: f64 = 10.0;
const TOP: f64 = 6.0;

/// A row of the chart.
pub struct Ratio {
    pub name: String,
    pub value: f64,
    /// The lower and upper end of the ratio's interval or range.
    pub range: Option<(f64, f64)>,
    /// The tolerated distance from 1, drawn as a band.
    pub within: Option<f64>,
    /// The words of the verdict; may be empty.
    pub verdict: &'static str,
    pub tone: Tone,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Plain,
    Doubtful,
    Bad,
}

impl Tone {
    /// The mark's shape and CSS class.
    fn class(self) -> (usize, &'static str) {
        match self {
            Tone::Good => (4, "good"),
            Tone::Plain => (0, "c0"),
            Tone::Doubtful => (3, "doubt"),
            Tone::Bad => (2, "bad"),
        }
    }
}

/// The texts common to all charts of a list of ratios.
pub struct Heading {
    pub title: String,
    pub reading: String,
    pub axis: &'static str,
    pub facts: String,
}

pub fn figures(heading: &Heading, ratios: &[Ratio]) -> Vec<Figure> {
    let drawable: Vec<&Ratio> =
        ratios.iter().filter(|ratio| ratio.value.is_finite() && ratio.value > 0.0).collect();
    let ends = drawable.iter().flat_map(|ratio| {
        let (low, high) = ratio.range.unwrap_or((ratio.value, ratio.value));
        let within = ratio.within.unwrap_or(0.0).min(0.9);
        [ratio.value, low, high, 1.0 - within, 1.0 + within]
    });
    let ends: Vec<f64> = ends.filter(|end| end.is_finite() && *end > 0.0).collect();
    let low = ends.iter().copied().fold(0.95, f64::min);
    let high = ends.iter().copied().fold(1.05, f64::max);
    let scale = Scale::log(low, high, [LEFT, RIGHT - 4.0]);
    parts(drawable.chunks(MAX_ROWS), |rows, part| figure(heading, part, rows, &scale))
}

fn figure(heading: &Heading, part: &str, ratios: &[&Ratio], scale: &Scale) -> Figure {
    let base = TOP + ROW_HEIGHT * ratios.len() as f64;
    let mut svg = Svg::new(base + 38.0);
    x_axis(&mut svg, &Axis::new(*scale, heading.axis, ""), LEFT, base, TOP);
    svg.line("axis", [LEFT, base], [RIGHT, base]);
    svg.line("marker", [scale.at(1.0), TOP], [scale.at(1.0), base]);
    let mut rows = Vec::new();
    for (index, ratio) in ratios.iter().enumerate() {
        let top = TOP + ROW_HEIGHT * index as f64;
        let middle = top + 21.0;
        if let Some(within) = ratio.within {
            let left = scale.at((1.0 - within).max(scale.low));
            svg.rect("band", [left, top + 1.0], [scale.at(1.0 + within) - left, ROW_HEIGHT - 2.0]);
        }
        let (shape, class) = ratio.tone.class();
        let value = format!("{} {}", times(ratio.value), ratio.verdict);
        let range = ratio.range.map(|(low, high)| format!("{} to {}", times(low), times(high)));
        let range = range.unwrap_or_default();
        let mut tip = format!("{}: {value}", ratio.name);
        if let Some((low, high)) = ratio.range {
            svg.line("range", [scale.at(low), middle], [scale.at(high), middle]);
            tip.push_str(&format!(", from {range}"));
        }
        svg.mark(shape, class, [scale.at(ratio.value), middle], &tip);
        let room = RIGHT - LEFT - text_width(&value) - 10.0;
        svg.text("row", [LEFT, top + 12.0], Anchor::Start, &fit(&ratio.name, room));
        svg.text("row", [RIGHT, top + 12.0], Anchor::End, &value);
        rows.push(vec![ratio.name.clone(), times(ratio.value), range, ratio.verdict.to_owned()]);
    }
    Figure {
        kind: "ratio",
        title: format!("{}{part}", heading.title),
        reading: heading.reading.clone(),
        facts: heading.facts.clone(),
        svg: svg.finish(&heading.title),
        header: vec!["case", "ratio", "range", "verdict"],
        rows,
        ..Figure::default()
    }
}
