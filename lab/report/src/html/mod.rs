//! The page: one HTML file that shows one or more runs. `docs/report.md` explains its design.
//!
//! The page is self-contained: it loads no script, style, font or picture, and its content security
//! policy forbids it to.

mod answer;
mod case_figures;
mod cases;
mod compared;
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
#[cfg(test)]
mod pages_test;
mod panel;
mod parts;
mod peers;
mod picture;
mod plot;
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
pub mod team;
#[cfg(test)]
mod test;
mod text;
mod timeline;
mod trend;
mod waveform;

use self::{panel::Subject, text::escape};
use crate::{extrapolation::Extrapolated, table::conditions};
use chronoscope_run::{Run, Status};

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
    if let [(_, run)] = runs {
        return of_one(run, &subjects, &experiments, first);
    }
    let title = runs.iter().map(|(name, _)| brief(name)).collect::<Vec<_>>().join(", ");
    let overview: String =
        subjects.iter().map(|subject| overview::html(&subject.name, subject.run)).collect();
    let sections: String =
        experiments.iter().map(|experiment| section::html(experiment, &subjects)).collect();
    let proofs = proofs(&experiments, &subjects);
    let rest: String = subjects
        .iter()
        .map(|subject| {
            let Subject { name, run } = subject;
            peers::html(name, run) + &published::html(name, run) + &context(name, run)
        })
        .collect();
    page(
        &title,
        &heading(&title),
        &format!(
            "<div class=\"overview\">\n{overview}</div>\n{}{first}{sections}{proofs}{rest}",
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

/// The page of one run: the answer, and everything else folded.
fn of_one(run: &Run, subjects: &[Subject<'_>], experiments: &[&str], first: &str) -> String {
    let (title, answer) = answer::html(run);
    let sections: String =
        experiments.iter().map(|experiment| section::html(experiment, subjects)).collect();
    let series = format!("{}{first}{sections}{}", contents(experiments), peers::html("", run));
    let count = answer::count(run);
    let (held, cases) = held(run);
    let evidence = match cases {
        0 => "Evidence".to_owned(),
        cases if held == cases => format!("Evidence: all {cases} hold"),
        cases => format!("Evidence: {held} of {cases} hold"),
    };
    let body = [
        answer,
        overview::remarks(run),
        fold("Notes", &notes(run), false),
        fold(&format!("All series: {count}"), &series, false),
        fold("Published figures", &published::html("", run), false),
        fold(&evidence, &(overview::html("", run) + &proofs(experiments, subjects)), held < cases),
        fold("Machine and context", &machine(run), false),
        fold("Files", FILES, false),
    ];
    page(&title, "", &body.concat())
}

/// Other forms of the run.
const FILES: &str = "<p>All figures as text: <code>chronoscope report --full</code>; for programs: \
    <code>--format json</code>, <code>csv</code>, <code>csv-long</code>; a timeline: \
    <code>chronoscope trace -o run.pftrace</code>; another run beside it: <code>chronoscope compare</code>.</p>\n";

/// The cases whose evidence holds, and all cases that their targets offer.
fn held(run: &Run) -> (usize, usize) {
    let offered = run.cases.iter().filter(|case| case.verdict.status != Status::NotOffered);
    (offered.clone().filter(|case| case.is_proven()).count(), offered.count())
}

/// The evidence of all experiments.
fn proofs(experiments: &[&str], subjects: &[Subject<'_>]) -> String {
    experiments.iter().map(|experiment| section::proofs(experiment, subjects)).collect()
}

/// A part of a page below its title, closed unless `open`; empty without content.
fn fold(title: &str, content: &str, open: bool) -> String {
    if content.trim().is_empty() {
        return String::new();
    }
    let open = if open { " open=\"\"" } else { "" };
    format!(
        "<details class=\"fold\"{open}><summary>{}</summary>\n{content}</details>\n",
        escape(title)
    )
}

/// The heading of a page without an answer.
fn heading(title: &str) -> String {
    format!("<h1>{}</h1>", escape(title))
}

/// The last section: the study's notes, the machine's conditions and the command line.
fn context(name: &str, run: &Run) -> String {
    let of = escape(name);
    let notes = notes(run);
    let notes = if notes.is_empty() { notes } else { format!("<h2>Notes · {of}</h2>\n{notes}") };
    let machine = machine(run);
    format!("<section class=\"context\">\n{notes}<h2>Context · {of}</h2>\n{machine}</section>\n")
}

fn notes(run: &Run) -> String {
    run.notes.split("\n\n").filter(|part| !part.trim().is_empty()).map(paragraph).collect()
}

/// The conditions of the machines, and the command line.
fn machine(run: &Run) -> String {
    let conditions: String = conditions::section(run).lines().map(paragraph).collect();
    conditions + &paragraph(&run.context.command.join(" "))
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text.trim()))
}

/// A complete HTML document around `body`, with a heading above it. The button that changes the
/// colours is at the end: the system's choice holds on the first screen.
fn page(title: &str, heading: &str, body: &str) -> String {
    let title = escape(if title.is_empty() { "Chronoscope" } else { title });
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"generator\" content=\"{}\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <main>\n{heading}\n{body}</main>\n\
         <footer><button id=\"theme\" type=\"button\" hidden=\"\">dark</button></footer>\n<div id=\"tip\" role=\"status\" aria-live=\"polite\" hidden=\"\"></div>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        concat!("chronoscope ", env!("CARGO_PKG_VERSION")),
    )
}
