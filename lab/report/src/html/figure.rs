//! A chart on the page: picture, legend, caption, notes, and its numbers as a table.

use super::{
    svg::SHAPES,
    text::{escape, table},
};

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
    pub svg: String,
    /// The names of the drawn series, in the order of colours and shapes.
    pub legend: Vec<String>,
    /// Published figures, and other footnotes.
    pub notes: Vec<String>,
    /// The header of the folded table of numbers.
    pub header: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

impl Figure {
    pub fn html(&self) -> String {
        let legend: String = self
            .legend
            .iter()
            .enumerate()
            .map(|(index, name)| {
                format!(
                    "<li class=\"c{}\"><i>{}</i> {}</li>",
                    index % 8,
                    SHAPES[index % 7],
                    escape(name)
                )
            })
            .collect();
        let legend = if legend.is_empty() {
            legend
        } else {
            format!("<ul class=\"legend\">{legend}</ul>\n")
        };
        let notes: String = self
            .notes
            .iter()
            .map(|note| format!("<p class=\"note\">{}</p>\n", escape(note)))
            .collect();
        let numbers = if self.rows.is_empty() {
            String::new()
        } else {
            format!(
                "<details><summary>numbers</summary>\n{}</details>\n",
                table("numbers", &self.header, &self.rows)
            )
        };
        let reading = if self.reading.is_empty() {
            String::new()
        } else {
            format!("<p>{}</p>\n", escape(&self.reading))
        };
        format!(
            "<figure class=\"chart\" data-kind=\"{}\">\n<h4>{}</h4>\n{}{legend}<figcaption>{reading}<p class=\"facts\">{}</p>\n\
             {notes}</figcaption>\n{numbers}</figure>\n",
            self.kind,
            escape(&self.title),
            self.svg,
            // Lines break between facts only.
            escape(&self.facts.replace("n = ", "n\u{a0}=\u{a0}")),
        )
    }
}
