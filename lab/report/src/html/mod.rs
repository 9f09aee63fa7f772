//! The page: one HTML file that shows one or more runs. `docs/report.md` explains its design.
//!
//! The page is self-contained: it loads no script, style, font or picture, and its content security
//! policy forbids it to.
//!
//! Functions return [`Markup`], in which text is escaped by its type. Only the style and the script
//! of the page are put in as they are; nothing of a run is. Unprintable characters are replaced in
//! the whole document.

mod answer;
mod arrivals;
mod builds;
mod case_figures;
mod cases;
pub mod claims;
mod compared;
pub mod comparison;
mod cycles;
mod figure;
mod frame;
mod heat;
mod histogram;
mod ladder;
mod late;
mod matrix;
mod overview;
mod panel;
mod parts;
mod peers;
mod picture;
mod plot;
mod published;
mod ranges;
mod ranking;
mod ratio;
mod rounds;
mod rows;
mod rules;
mod scale;
mod section;
mod shape;
mod shift;
mod slope;
mod spread;
mod svg;
mod sweep;
pub mod team;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod timeline;
mod trend;
mod waveform;
pub mod why;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use self::{
    panel::Subject,
    text::{joined, unique},
};
use crate::table::conditions;
use chronoscope_run::{Run, Status};
use chronoscope_units::printable_document;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Renders the page of one run, or of several named runs side by side.
pub fn render(runs: &[(String, &Run)]) -> String {
    let subjects: Vec<Subject<'_>> =
        runs.iter().map(|(name, run)| Subject { name: brief(name).to_owned(), run }).collect();
    let cases = subjects.iter().flat_map(|subject| &subject.run.cases);
    let experiments = unique(cases.map(|case| case.experiment.as_str()));
    if let [(_, run)] = runs {
        return of_one(run, &subjects, &experiments);
    }
    let title = runs.iter().map(|(name, _)| brief(name)).collect::<Vec<_>>().join(", ");
    let body = html! {
        (heading(&title))
        div.overview {
            @for Subject { name, run } in &subjects { (overview::overview(name, run)) }
        }
        (contents(&experiments))
        @for experiment in &experiments { (section::section(experiment, &subjects)) }
        (proofs(&experiments, &subjects))
        @for Subject { name, run } in &subjects {
            (peers::section(name, run))
            (published::section(name, run))
            (context(name, run))
        }
    };
    page(&title, &body)
}

/// The part of a name after the last `/`: a file's name without its folders.
fn brief(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Links to the experiments' sections; empty for fewer than three experiments.
fn contents(experiments: &[&str]) -> Markup {
    html! {
        @if experiments.len() >= 3 {
            nav {
                @for (index, name) in experiments.iter().enumerate() {
                    @if index > 0 { " " }
                    a href={ "#" (section::anchor(name)) } { (name) }
                }
            }
        }
    }
}

/// The page of one run: the answer, and everything else folded.
fn of_one(run: &Run, subjects: &[Subject<'_>], experiments: &[&str]) -> String {
    let (title, answer) = answer::answer(run);
    let series = html! {
        (contents(experiments))
        @for experiment in experiments { (section::section(experiment, subjects)) }
        (peers::section("", run))
    };
    let (held, cases) = held(run);
    let evidence = match cases {
        0 => "Evidence".to_owned(),
        cases if held == cases => format!("Evidence: all {cases} hold"),
        cases => format!("Evidence: {held} of {cases} hold"),
    };
    let proofs = html! { (overview::overview("", run)) (proofs(experiments, subjects)) };
    let body = html! {
        (answer)
        (overview::remarks(run))
        (fold("Notes", &notes(run), false))
        (fold(&format!("All series: {}", answer::count(run)), &series, false))
        (fold("Published figures", &published::section("", run), false))
        (fold(&evidence, &proofs, held < cases))
        (fold("Machine and context", &machine(run), false))
        (fold("Files", &files(), false))
    };
    page(&title, &body)
}

/// The commands that write other forms of the run.
fn files() -> Markup {
    html! {
        p {
            "All figures as text: " code { "chronoscope report --full" }
            "; for programs: " code { "--format json" } ", " code { "csv" } ", " code { "csv-long" }
            "; a timeline: " code { "chronoscope trace -o run.pftrace" }
            "; another run beside it: " code { "chronoscope compare" } "."
        }
    }
}

/// The cases whose evidence holds, and all cases that their targets offer.
fn held(run: &Run) -> (usize, usize) {
    let offered = run.cases.iter().filter(|case| case.verdict.status != Status::NotOffered);
    (offered.clone().filter(|case| case.is_proven()).count(), offered.count())
}

/// The evidence of all experiments.
fn proofs(experiments: &[&str], subjects: &[Subject<'_>]) -> Markup {
    html! { @for experiment in experiments { (section::proofs(experiment, subjects)) } }
}

/// A part of a page below its title, closed unless `open`; empty without content.
fn fold(title: &str, content: &Markup, open: bool) -> Markup {
    html! {
        @if !content.0.is_empty() {
            details.fold open[open] {
                summary { (title) }
                (content)
            }
        }
    }
}

/// The heading of a page without an answer.
fn heading(title: &str) -> Markup {
    html! { h1 { (title) } }
}

/// The last section of a run: the study's notes, the machine's conditions and the command line.
fn context(name: &str, run: &Run) -> Markup {
    let notes = notes(run);
    html! {
        section.context {
            @if !notes.0.is_empty() { h2 { "Notes · " (name) } (notes) }
            h2 { "Context · " (name) }
            (machine(run))
        }
    }
}

/// The paragraphs of the study's notes.
fn notes(run: &Run) -> Markup {
    let paragraphs = run.notes.split("\n\n").map(str::trim).filter(|part| !part.is_empty());
    html! { @for paragraph in paragraphs { p { (paragraph) } } }
}

/// The conditions of the machines, and the command line.
fn machine(run: &Run) -> Markup {
    html! {
        @for (target, items) in conditions::machines(run) { p { (target) ": " (joined(&items)) } }
        p { (conditions::size(run)) }
        p { (run.context.command.join(" ")) }
    }
}

/// A complete HTML document around `body`. The button that changes the colours is at the end: the
/// system's choice holds on the first screen.
fn page(title: &str, body: &Markup) -> String {
    let title = if title.is_empty() { "Chronoscope" } else { title };
    let script = BASE64_STANDARD.encode(Sha256::digest(SCRIPT));
    let policy =
        format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'");
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(concat!("chronoscope ", env!("CARGO_PKG_VERSION")));
                meta http-equiv="Content-Security-Policy" content=(policy);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { (body) }
                footer { button id="theme" type="button" hidden { "dark" } }
                div id="tip" role="status" aria-live="polite" hidden {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    printable_document(document.into_string() + "\n")
}
