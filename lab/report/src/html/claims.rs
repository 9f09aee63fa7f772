//! The page of published claims: each report's, one by one, and all of its figures.

use maud::html;

use super::{answer::list, heading, page, text::wide};
use crate::answer::claims::{Claim, Report, summary};
use chronoscope_run::answer::Ruling;

/// The page of these reports.
pub fn render(reports: &[Report]) -> String {
    let title = summary(reports);
    let rows = |claims: &[Claim]| {
        html! {
            @for claim in claims {
                tr {
                    td { (claim.says) }
                    td { b class=(class(claim.ruling)) { (claim.verdict()) } }
                    td { (claim.reason) }
                }
            }
        }
    };
    let body = html! {
        (heading(&title))
        @for report in reports {
            section id=(report.study) {
                h2 { (report.title) }
                p.facts {
                    @match &report.run {
                        Some(run) => (run),
                        None => { "not run yet: " code { "chronoscope run " (report.study) } }
                    }
                }
                (wide("figures claims", &["claim", "found", "why"], &rows(&report.claims)))
                @if !report.figures.rows.is_empty() {
                    details { summary { "all figures" } (list(&report.figures)) }
                }
            }
        }
    };
    page(&title, &body)
}

fn class(ruling: Option<Ruling>) -> &'static str {
    match ruling {
        Some(Ruling::Confirmed) => "good",
        Some(Ruling::Refuted) => "bad",
        Some(Ruling::Explained | Ruling::NotComparable) | None => "doubt",
    }
}
