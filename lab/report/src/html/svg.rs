//! A writer for the few SVG elements that charts consist of.
//!
//! A chart is 400 units wide, about the width of a phone's screen, so that text keeps its size
//! there. On wider screens the page places several charts in a row instead of enlarging them.

use maud::{Markup, html};

/// The width of a chart, in SVG units.
pub const WIDTH: f64 = 400.0;

/// An upper bound of an axis label's width, in SVG units. It is based on the digits of DejaVu Sans,
/// the widest of the style's fonts.
pub fn text_width(text: &str) -> f64 {
    7.05 * text.chars().count() as f64
}

/// The average width of a letter in a name, in SVG units.
const LETTER_WIDTH: f64 = 6.1;

/// The marks that distinguish series, used cyclically.
pub const SHAPES: [&str; 7] = ["●", "■", "▲", "◆", "▼", "✚", "✖"];

/// An SVG picture under construction. Coordinates are in SVG units.
pub struct Svg {
    width: f64,
    height: f64,
    elements: Vec<Markup>,
}

#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// An empty picture of a chart's width.
    pub fn new(height: f64) -> Self {
        Self::sized(WIDTH, height)
    }

    pub fn sized(width: f64, height: f64) -> Self {
        Self { width, height, elements: Vec::new() }
    }

    pub fn line(&mut self, class: &str, from: [f64; 2], to: [f64; 2]) {
        self.curve(class, &[from, to]);
    }

    /// A line through points; nothing for fewer than two.
    pub fn curve(&mut self, class: &str, points: &[[f64; 2]]) {
        if points.len() >= 2 {
            self.elements.push(html! { path class=(class) d={ "M" (path(points)) } {} });
        }
    }

    /// A filled area within an outline; nothing for fewer than three points.
    pub fn area(&mut self, class: &str, outline: &[[f64; 2]]) {
        if outline.len() >= 3 {
            self.elements.push(html! { path class=(class) d={ "M" (path(outline)) "Z" } {} });
        }
    }

    pub fn rect(&mut self, class: &str, [x, y]: [f64; 2], [width, height]: [f64; 2]) {
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(coordinate);
        self.elements
            .push(html! { rect class=(class) x=(x) y=(y) width=(width) height=(height) {} });
    }

    /// A rectangle that represents a value and shows `tip` under the pointer.
    pub fn bar(&mut self, class: &str, [x, y]: [f64; 2], [width, height]: [f64; 2], tip: &str) {
        let [x, y, width, height] = [x, y, width.max(0.6), height.max(0.6)].map(coordinate);
        self.elements.push(html! {
            rect class={ "m " (class) } x=(x) y=(y) width=(width) height=(height) data-t=(tip) {}
        });
    }

    /// A mark that represents a value and shows `tip` under the pointer. `shape` indexes
    /// [`SHAPES`], modulo their number.
    pub fn mark(&mut self, shape: usize, class: &str, place: [f64; 2], tip: &str) {
        let outline = match shape % SHAPES.len() {
            0 => "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
            1 => "m-3.5-3.5h7v7h-7z",
            2 => "m0-4.5l4.5 8h-9z",
            3 => "m0-5l5 5l-5 5l-5-5z",
            4 => "m0 4.5l-4.5-8h9z",
            5 => "m-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
            _ => {
                "m-4-2.3l1.7-1.7l2.3 2.3l2.3-2.3l1.7 1.7l-2.3 2.3l2.3 2.3l-1.7 1.7l-2.3-2.3l-2.3 2.3l-1.7-1.7l2.3-2.3z"
            }
        };
        self.elements.push(html! {
            path class={ "m " (class) } d={ "M" (path(&[place])) (outline) } data-t=(tip) {}
        });
    }

    pub fn text(&mut self, class: &str, place: [f64; 2], anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let [x, y] = place.map(coordinate);
        self.elements
            .push(html! { text class=(class) x=(x) y=(y) text-anchor=(anchor) { (text) } });
    }

    /// The finished picture; `label` is its text for screen readers.
    pub fn finish(self, label: &str) -> Markup {
        let [width, height] = [self.width, self.height].map(coordinate);
        html! {
            svg viewBox={ "0 0 " (width) " " (height) } role="img" tabindex="0" aria-label=(label) {
                @for element in self.elements { (element) }
            }
        }
    }
}

/// The coordinates of points that lines join, in the syntax of a path after its `M`.
fn path(points: &[[f64; 2]]) -> String {
    points.iter().map(|place| place.map(coordinate).join(" ")).collect::<Vec<_>>().join("L")
}

/// A coordinate with at most one decimal, finer than a pixel; 0 if it is not finite.
pub fn coordinate(place: f64) -> String {
    let place = if place.is_finite() { place } else { 0.0 };
    let text = format!("{place:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Shortens a text in its middle to fit `width` SVG units, but to no fewer than three characters.
pub fn fit(text: &str, width: f64) -> String {
    let letters: Vec<char> = text.chars().collect();
    let room = ((width / LETTER_WIDTH) as usize).max(3);
    if letters.len() <= room {
        return text.to_owned();
    }
    let (front, back) = (room.div_ceil(2), room - room.div_ceil(2) - 1);
    letters[..front].iter().chain(&['…']).chain(&letters[letters.len() - back..]).collect()
}

/// Breaks a text between words into at most two lines of `width` SVG units; longer lines are
/// shortened.
pub fn wrap(text: &str, width: f64) -> Vec<String> {
    let room = ((width / LETTER_WIDTH) as usize).max(3);
    let end = text.char_indices().nth(room).map(|(end, _)| end);
    let Some(at) = end.and_then(|end| text[..end].rfind(' ')) else {
        return vec![fit(text, width)];
    };
    vec![text[..at].trim_end().to_owned(), fit(text[at..].trim_start(), width)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_shortened_in_the_middle() {
        assert_eq!(fit("short", 100.0), "short");
        assert_eq!(fit("pair=thread-thread primitive=yield", 80.0), "pair=th…yield");
        assert_eq!(fit("µµµµµµµµ", 1.0), "µµ…");
    }

    #[test]
    fn long_names_take_two_lines() {
        assert_eq!(wrap("short", 100.0), ["short"]);
        assert_eq!(
            wrap("STM32F429, ThreadX, Zephyr, mean", 150.0),
            ["STM32F429, ThreadX,", "Zephyr, mean"]
        );
        assert_eq!(wrap("µµµµµµµµ", 1.0), ["µµ…"]);
    }

    #[test]
    fn places_are_short() {
        assert_eq!([1.0, 1.26, f64::NAN, -0.04].map(coordinate), ["1", "1.3", "0", "-0"]);
    }
}
