//! The table of all published figures next to the measured ones, including those of other clocks,
//! which no chart shows.

use super::text::{escape, grouped};
use crate::{table::published::Sources, table::published::sources};
use chronoscope_run::Run;

pub fn html(name: &str, run: &Run) -> String {
    let Sources { sources, notes } = sources(run);
    if sources.is_empty() {
        return String::new();
    }
    let of = if name.is_empty() { String::new() } else { format!(" · {}", escape(name)) };
    let head = ["source and case", "statistic", "measured here", "published"]
        .map(|name| format!("<th>{name}</th>"))
        .concat();
    let mut body = String::new();
    for (source, rows) in &sources {
        body.push_str(&format!(
            "<tr class=\"case\"><td colspan=\"4\"><span>{}</span></td></tr>\n",
            escape(source)
        ));
        for row in rows {
            let cells: String = row
                .iter()
                .map(|cell| format!("<td>{}</td>", escape(&grouped(cell.trim()))))
                .collect();
            body.push_str(&format!("<tr class=\"series\">{cells}</tr>\n"));
        }
    }
    let notes: String = notes
        .iter()
        .enumerate()
        .map(|(index, note)| format!("<p class=\"note\">[{}] {}</p>\n", index + 1, escape(note)))
        .collect();
    format!(
        "<section class=\"published\">\n<h2>Published figures{of}</h2>\n<p>They were measured on other machines: compare shapes, not \
         sizes.</p>\n<div class=\"wide\" tabindex=\"0\"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n{notes}</section>\n"
    )
}
