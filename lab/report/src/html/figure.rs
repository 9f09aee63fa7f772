//! A chart on the page: picture, legend, caption, notes, and its numbers as a table.

use maud::{Markup, html};

use super::{svg::SHAPES, text::table};

/// The parts of a chart, ready to be placed on a page.
#[derive(Default)]
pub struct Figure {
    /// The kind of chart, its `data-kind` attribute; `docs/report.md` lists them.
    pub kind: &'static str,
    pub title: String,
    /// An explanation of how to read the chart; may be empty.
    pub reading: String,
    /// Clock, control, evidence and number of samples.
    pub facts: String,
    pub svg: Markup,
    /// The names of the drawn series, in the order of colours and shapes.
    pub legend: Vec<String>,
    /// Published figures, and other footnotes.
    pub notes: Vec<String>,
    /// The header of the folded table of numbers.
    pub header: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

impl Figure {
    pub fn html(&self) -> Markup {
        html! {
            figure.chart data-kind=(self.kind) {
                h4 { (self.title) }
                (self.svg)
                @if !self.legend.is_empty() {
                    ul.legend {
                        @for (index, name) in self.legend.iter().enumerate() {
                            li class={ "c" (index % 8) } { i { (SHAPES[index % 7]) } " " (name) }
                        }
                    }
                }
                figcaption {
                    @if !self.reading.is_empty() { p { (self.reading) } }
                    // Lines break between facts only.
                    p.facts { (self.facts.replace("n = ", "n\u{a0}=\u{a0}")) }
                    @for note in &self.notes { p.note { (note) } }
                }
                @if !self.rows.is_empty() {
                    details {
                        summary { "numbers" }
                        (table("numbers", &self.header, &self.rows))
                    }
                }
            }
        }
    }
}

/// The charts of several pages. The title of each names its part, as ` (1 of 3)`, where there are
/// several.
pub fn parts<P>(
    pages: impl ExactSizeIterator<Item = P>,
    figure: impl Fn(P, &str) -> Figure,
) -> Vec<Figure> {
    let count = pages.len();
    let part = |index: usize| match count {
        1 => String::new(),
        count => format!(" ({index} of {count})"),
    };
    pages.zip(1..).map(|(page, index)| figure(page, &part(index))).collect()
}

/// Adds a note on charts that were left out to the last chart, if there are `all` and not `drawn`.
pub fn note_left_out(figures: &mut [Figure], drawn: usize, all: usize, note: &str) {
    if let Some(last) = figures.last_mut().filter(|_| all > drawn) {
        last.notes.push(note.to_owned());
    }
}

/// Adds a note on series that were left out, if there are `all` and not `drawn`.
pub fn note_longest(figures: &mut [Figure], drawn: usize, all: usize) {
    let note = format!("The {drawn} of {all} with the longest maximum are drawn.");
    note_left_out(figures, drawn, all, &note);
}
