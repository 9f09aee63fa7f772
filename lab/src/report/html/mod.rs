//! The page: one HTML file that shows one or more runs. `docs/report.md` explains its design.
//!
//! The page is self-contained: it loads no script, style, font or picture, and its content security
//! policy forbids it to.

mod case_figures;
mod cases;
pub mod comparison;
mod cycles;
mod figure;
mod frame;
#[cfg(test)]
mod growth;
mod heat;
mod histogram;
mod ladder;
mod levels;
mod overview;
mod panel;
mod peers;
mod published;
mod ranges;
mod ratio;
mod rows;
mod rules;
mod scale;
mod section;
mod shape;
mod shift;
mod slope;
mod svg;
mod sweep;
#[cfg(test)]
mod test;
mod text;
mod timeline;
mod trend;
mod waveform;

use self::{panel::Subject, text::escape};
use crate::{
    report::{extrapolation::Extrapolated, table::conditions},
    run::Run,
};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Renders the page of one run, or of several named runs side by side.
pub fn render(runs: &[(String, &Run)]) -> String {
    render_with(runs, "")
}

/// Renders the page of one run with its extrapolated maxima. `words` name the horizon.
pub fn render_extrapolated(run: &Run, found: &[Extrapolated<'_>], words: &str) -> String {
    render_with(&[(String::new(), run)], &levels::section(found, words))
}

/// Renders a page with a further section, which follows the contents.
fn render_with(runs: &[(String, &Run)], first: &str) -> String {
    let subjects: Vec<Subject<'_>> =
        runs.iter().map(|(name, run)| Subject { name: brief(name).to_owned(), run }).collect();
    let mut experiments: Vec<&str> = Vec::new();
    for case in subjects.iter().flat_map(|subject| &subject.run.cases) {
        if !experiments.contains(&case.experiment.as_str()) {
            experiments.push(&case.experiment);
        }
    }
    let title = match runs {
        [(_, run)] => run.title.to_string(),
        runs => runs.iter().map(|(name, _)| brief(name)).collect::<Vec<_>>().join(", "),
    };
    let overview: String = subjects
        .iter()
        .map(|subject| {
            overview::html(if subjects.len() > 1 { &subject.name } else { "" }, subject.run)
        })
        .collect();
    let sections: String =
        experiments.iter().map(|experiment| section::html(experiment, &subjects)).collect();
    let rest: String = subjects
        .iter()
        .map(|subject| {
            let name = if subjects.len() > 1 { subject.name.as_str() } else { "" };
            peers::html(name, subject.run)
                + &published::html(name, subject.run)
                + &context(name, subject.run)
        })
        .collect();
    page(
        &title,
        &format!(
            "<div class=\"overview\">\n{overview}</div>\n{}{first}{sections}{rest}",
            contents(&experiments)
        ),
    )
}

/// The part of a name after the last `/`: a file's name without its folders.
fn brief(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Links to the experiments' sections; empty for fewer than three experiments.
fn contents(experiments: &[&str]) -> String {
    if experiments.len() < 3 {
        return String::new();
    }
    let link = |name: &&str| format!("<a href=\"#{}\">{}</a>", section::anchor(name), escape(name));
    format!("<nav>{}</nav>\n", experiments.iter().map(link).collect::<Vec<_>>().join(" "))
}

/// The last section: the study's notes, the machine's conditions and the command line.
fn context(name: &str, run: &Run) -> String {
    let of = if name.is_empty() { String::new() } else { format!(" · {}", escape(name)) };
    let notes: String =
        run.notes.split("\n\n").filter(|part| !part.trim().is_empty()).map(paragraph).collect();
    let notes = if notes.is_empty() { notes } else { format!("<h2>Notes{of}</h2>\n{notes}") };
    let conditions: String = conditions::section(run).lines().map(paragraph).collect();
    let command = paragraph(&run.context.command.join(" "));
    format!(
        "<section class=\"context\">\n{notes}<h2>Context{of}</h2>\n{conditions}{command}</section>\n"
    )
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text.trim()))
}

/// A complete HTML document around `body`.
fn page(title: &str, body: &str) -> String {
    let title = escape(if title.is_empty() { "Chronoscope" } else { title });
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"generator\" content=\"{}\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>{title}</h1><button id=\"theme\" type=\"button\" hidden=\"\">dark</button></header>\n\
         <main>\n{body}</main>\n<div id=\"tip\" role=\"status\" aria-live=\"polite\" hidden=\"\"></div>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        concat!("chronoscope ", env!("CARGO_PKG_VERSION")),
    )
}
