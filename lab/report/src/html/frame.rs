//! The frame of a chart with two axes: ticks, labels and grid. All positions are in SVG units.

use super::{
    scale::Scale,
    svg::{Anchor, Svg, WIDTH, text_width, wrap},
};
use chronoscope_units as units;

pub const HEIGHT: f64 = 256.0;
pub const LEFT: f64 = 52.0;
pub const RIGHT: f64 = WIDTH - 12.0;
pub const TOP: f64 = 36.0;
pub const BOTTOM: f64 = HEIGHT - 40.0;

/// The ends of the x axis and of the y axis.
pub const X: [f64; 2] = [LEFT, RIGHT];
pub const Y: [f64; 2] = [BOTTOM, TOP];

/// The left end of a chart of rows, and the ends of its x axis.
pub const ROWS_LEFT: f64 = 8.0;
pub const ROWS_X: [f64; 2] = [ROWS_LEFT, RIGHT - 4.0];

/// The height of a row with a label of one line, and of each further line.
pub const ROW: f64 = 32.0;
const LINE: f64 = 13.0;

/// A scale with its title and ticks (value and label).
pub struct Axis {
    pub scale: Scale,
    title: String,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis for values in `unit`. A logarithmic axis of times has a unit at each tick; others
    /// have it in the title.
    pub fn new(scale: Scale, title: &str, unit: &str) -> Self {
        let (name, size) = units::scale(scale.low.abs().max(scale.high.abs()), unit);
        if scale.log && unit == "ns" {
            let ticks = scale.ticks().into_iter().map(|tick| (tick, time(tick))).collect();
            return Self { scale, title: title.to_owned(), ticks };
        }
        let ticks = scale.ticks().into_iter().map(|tick| (tick, number(tick / size))).collect();
        let title = if name.is_empty() { title.to_owned() } else { format!("{title}, {name}") };
        Self { scale, title, ticks }
    }

    /// An axis with custom ticks.
    pub fn with(scale: Scale, title: &str, ticks: Vec<(f64, String)>) -> Self {
        Self { scale, title: title.to_owned(), ticks }
    }
}

/// Draws a chart's axes and grid.
pub fn draw(x: &Axis, y: &Axis) -> Svg {
    let mut svg = Svg::new(HEIGHT);
    for (value, label) in &y.ticks {
        let place = y.scale.at(*value);
        svg.line("grid", [LEFT, place], [RIGHT, place]);
        svg.text("", [LEFT - 5.0, place + 3.8], Anchor::End, label);
    }
    x_axis(&mut svg, x, LEFT, BOTTOM, TOP);
    svg.text("title", [2.0, 12.0], Anchor::Start, &y.title);
    svg.line("axis", [LEFT, BOTTOM], [RIGHT, BOTTOM]);
    svg
}

/// Draws an x axis at height `base`: labels and title below, a grid up to `top`. Labels that would
/// overlap are left out.
pub fn x_axis(svg: &mut Svg, x: &Axis, left: f64, base: f64, top: f64) {
    let mut free = 0.0;
    for (value, label) in &x.ticks {
        let place = x.scale.at(*value);
        svg.line("grid", [place, base], [place, top]);
        let half = 0.5 * text_width(label);
        // A label stays within the picture and clear of its neighbour.
        let middle = place.min(WIDTH - half - 4.0).max(half);
        if middle - half >= free {
            svg.text("", [middle, base + 15.5], Anchor::Middle, label);
            free = middle + half + 6.0;
        }
    }
    svg.text("title", [(left + RIGHT) / 2.0, base + 31.0], Anchor::Middle, &x.title);
}

/// The frame of a chart of rows between the heights `top` and `base`: an x axis below them.
pub fn draw_rows(x: &Axis, top: f64, base: f64) -> Svg {
    let mut svg = Svg::new(base + 38.0);
    x_axis(&mut svg, x, ROWS_LEFT, base, top);
    svg
}

/// The label of a row: a name in one or two lines at the left, and a value at the right.
pub struct Label {
    lines: Vec<String>,
    value: String,
}

impl Label {
    pub fn new(name: &str, value: String) -> Self {
        Self { lines: wrap(name, RIGHT - ROWS_LEFT - text_width(&value) - 10.0), value }
    }

    /// The height of the row.
    pub fn height(&self) -> f64 {
        ROW + LINE * (self.lines.len() - 1) as f64
    }

    /// Draws the label of the row below `top`. Returns the height of the row's marks.
    pub fn draw(&self, svg: &mut Svg, class: &str, top: f64) -> f64 {
        svg.text(class, [RIGHT, top + 12.0], Anchor::End, &self.value);
        for (index, line) in self.lines.iter().enumerate() {
            svg.text(class, [ROWS_LEFT, top + 12.0 + LINE * index as f64], Anchor::Start, line);
        }
        top + self.height() - 11.0
    }
}

/// A number in few digits, with the suffix k, M or G.
pub fn number(value: f64) -> String {
    let (value, suffix) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let places = if value == 0.0 {
        0
    } else {
        (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize
    };
    let text = format!("{value:.places$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{suffix}")
}

/// A tick's time in ns, with a suitable unit.
fn time(ns: f64) -> String {
    let (name, size) = units::scale(ns, "ns");
    format!("{} {name}", number(ns / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short() {
        assert_eq!(
            [0.0, 0.1, 2.5, 40.0, 1000.0, 25_000.0, 3e6, 0.0005].map(number),
            ["0", "0.1", "2.5", "40", "1000", "25k", "3M", "0.0005"]
        );
        assert_eq!([0.5, 100.0, 2e3, 5e7].map(time), ["0.5 ns", "100 ns", "2 µs", "50 ms"]);
    }
}
