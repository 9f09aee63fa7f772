//! The top of the page: targets, machine, date, verdicts, and remarks.

use super::text::{escape, joined};
use crate::{Paint, comparison::Finding, table};
use chronoscope_run::{CaseResult, Run, Status};
use chronoscope_units::digits;

/// A status' sign and CSS class. The sign makes it recognizable without colour.
pub fn sign(status: Status) -> (&'static str, &'static str) {
    match status {
        Status::Pass => ("✓", "good"),
        Status::NotOffered => ("–", "none"),
        Status::Inconclusive => ("?", "doubt"),
        Status::Mixed => ("◆", "bad"),
        Status::Regression => ("▲", "bad"),
        Status::LimitMissed => ("✗", "bad"),
        Status::Error => ("!", "bad"),
    }
}

/// A status as a coloured label.
pub fn verdict(status: Status) -> String {
    let (sign, class) = sign(status);
    format!("<span class=\"verdict {class}\">{sign} {}</span>", status.words())
}

/// The outcome of a case as a coloured label.
pub fn outcome(case: &CaseResult) -> String {
    let (sign, class) = sign(case.verdict.status);
    format!("<span class=\"verdict {class}\">{sign} {}</span>", case.outcome())
}

/// A finding of a comparison as a coloured label.
pub fn finding(finding: Finding) -> String {
    let (sign, class) = match finding {
        Finding::NoRegressionShown => ("?", "doubt"),
        finding => sign(finding.status(false)),
    };
    format!("<span class=\"verdict {class}\">{sign} {}</span>", finding.words())
}

/// The number of verdicts by their words, the worst first, as `✗ 1 limit missed  ✓ 12 pass`.
pub fn status_counts(outcomes: &[(Status, &str)]) -> String {
    let mut order = outcomes.to_vec();
    order.sort_by_key(|(status, words)| (std::cmp::Reverse(*status), *words));
    order.dedup();
    let chips = order.iter().map(|outcome| {
        let (sign, class) = sign(outcome.0);
        let count = outcomes.iter().filter(|one| *one == outcome).count();
        format!("<span class=\"verdict {class}\">{sign} {count} {}</span>", outcome.1)
    });
    format!("<p class=\"verdicts\">{}</p>\n", chips.collect::<Vec<_>>().join(" "))
}

/// The overview of a run. `name` is its display name, empty if the page shows one run.
pub fn html(name: &str, run: &Run) -> String {
    let context = &run.context;
    let mut targets: Vec<&str> = run.cases.iter().map(|case| case.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let mut text = String::new();
    if !name.is_empty() {
        text.push_str(&format!("<h2>{}</h2>\n", escape(&joined(&[name, &run.title]))));
    }
    text.push_str(&line("what", &targets.join(" · ")));
    let speed = context
        .megahertz
        .map_or(String::new(), |megahertz| format!("{} MHz", digits(megahertz.round())));
    let machine = [context.host.as_str(), &context.system, &context.processor, &speed];
    text.push_str(&line("where", &joined(&machine)));
    let size = run.cases.len() + run.peers.len();
    let length = format!("{size} cases in {}", table::conditions::length(context));
    text.push_str(&line("when", &joined(&[context.date.as_str(), &length, &context.program])));
    let cases = run.cases.iter().map(|case| (case.verdict.status, case.outcome()));
    let peers = run.peers.iter().map(|peer| peer.verdict.status);
    let statuses: Vec<(Status, &str)> =
        cases.chain(peers.map(|status| (status, status.words()))).collect();
    text.push_str(&status_counts(&statuses));
    if !name.is_empty() {
        text.push_str(&remarks(run));
    }
    let all_pass = statuses.iter().all(|(status, _)| *status == Status::Pass);
    let reasons = if all_pass { "Notes from targets" } else { "Reasons and notes from targets" };
    text.push_str(&list("reasons", reasons, &table::reasons(run, Paint::Plain)));
    text
}

/// Remarks that concern the whole run, shown before any fold.
pub fn remarks(run: &Run) -> String {
    let mut remarks = Vec::new();
    if run.cases.is_empty() && run.peers.is_empty() {
        remarks.push("This run holds no case: there is nothing to show.".to_owned());
    } else if !run.cases.is_empty() && run.cases.iter().all(|case| !case.is_proven()) {
        remarks.push("No case of this run has evidence, so there is no figure to draw.".to_owned());
    }
    if run.context.interrupted {
        remarks.push("The run was interrupted; all its repetitions are complete.".to_owned());
    }
    // Only targets on the host run code of the program's build; images are always optimized.
    if run.context.build == "debug" && run.cases.iter().any(|case| case.target.ends_with("@host")) {
        remarks.push("A debug build measured: the code around the kernel is slow.".to_owned());
    }
    remarks.extend(run.context.doctor.iter().map(|finding| format!("doctor: {finding}")));
    if remarks.is_empty() {
        return String::new();
    }
    let items: String =
        remarks.iter().map(|remark| format!("<li>{}</li>\n", escape(remark))).collect();
    format!("<ul class=\"remarks\">\n{items}</ul>\n")
}

fn line(class: &str, text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("<p class=\"{class}\">{}</p>\n", escape(text))
    }
}

/// Lines as a list with a title; more than six are folded.
pub fn list(class: &str, title: &str, lines: &str) -> String {
    if lines.trim().is_empty() {
        return String::new();
    }
    let items: String = lines.lines().map(|line| format!("<li>{}</li>\n", escape(line))).collect();
    let open = if lines.lines().count() <= 6 { " open=\"\"" } else { "" };
    format!(
        "<details class=\"{class}\"{open}><summary>{title}</summary>\n<ul>\n{items}</ul></details>\n"
    )
}
