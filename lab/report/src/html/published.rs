//! The table of all published figures next to the measured ones. It has figures of other clocks too,
//! which no chart shows.

use maud::{Markup, html};

use super::text::{grouped, joined, wide};
use crate::{table::published::Sources, table::published::sources};
use chronoscope_run::Run;

/// The section of published figures, empty without any. `name` is the run's display name, empty if
/// the page shows one run.
pub fn section(name: &str, run: &Run) -> Markup {
    let Sources { sources, notes } = sources(run);
    let rows = html! {
        @for (source, rows) in &sources {
            tr.case { td colspan="4" { span { (source) } } }
            @for row in rows {
                tr.series { @for cell in row { td { (grouped(cell.trim())) } } }
            }
        }
    };
    html! {
        @if !sources.is_empty() {
            section.published {
                h2 { (joined(&["Published figures", name])) }
                p { "They were measured on other machines: compare shapes, not sizes." }
                (wide("", &["source and case", "statistic", "measured here", "published"], &rows))
                @for (index, note) in notes.iter().enumerate() {
                    p.note { "[" (index + 1) "] " (note) }
                }
            }
        }
    }
}
