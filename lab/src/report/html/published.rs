//! All published figures beside ours, in a table: also those that were taken with another clock, which no chart can show.

use super::text::{escape, table};
use crate::{
    report::table::published::{Sources, sources},
    run::Run,
};

pub fn html(name: &str, run: &Run) -> String {
    let Sources { sources, notes } = sources(run);
    if sources.is_empty() {
        return String::new();
    }
    let of = if name.is_empty() { String::new() } else { format!(" · {}", escape(name)) };
    let tables: String = sources
        .iter()
        .map(|(source, rows)| {
            let rows: Vec<Vec<String>> =
                rows.iter().map(|row| row.iter().map(|cell| cell.trim().to_owned()).collect()).collect();
            let numbers = table("numbers", &["case", "statistic", "measured here", "published"], &rows);
            format!("<h3>{}</h3>\n{numbers}", escape(source))
        })
        .collect();
    let notes: String = notes
        .iter()
        .enumerate()
        .map(|(index, note)| format!("<p class=\"note\">[{}] {}</p>\n", index + 1, escape(note)))
        .collect();
    format!(
        "<section class=\"published\">\n<h2>Published figures{of}</h2>\n<p>They were measured on other machines: compare shapes, not \
         sizes.</p>\n{tables}{notes}</section>\n"
    )
}
