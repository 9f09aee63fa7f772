//! A chart as it stands in the page: picture, legend, caption, notes, and the numbers behind it.

use super::{
    svg::SHAPES,
    text::{escape, table},
};

#[derive(Default)]
pub struct Figure {
    /// What kind of chart it is, for whoever looks for one.
    pub kind: &'static str,
    pub title: String,
    /// How to read it.
    pub reading: String,
    /// Clock, control, evidence, number of samples.
    pub facts: String,
    pub svg: String,
    /// Names of what is drawn in the colours and shapes from the first on.
    pub legend: Vec<String>,
    /// Published figures, and other footnotes.
    pub notes: Vec<String>,
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
            // A fact breaks between its items alone.
            escape(&self.facts.replace("n = ", "n\u{a0}=\u{a0}")),
        )
    }
}
