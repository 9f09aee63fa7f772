//! The top of the page: targets, machine, date, verdicts, and remarks.

use maud::{Markup, Render, html};

use super::text::joined;
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

/// Words as a coloured label with a status' sign.
fn chip((sign, class): (&str, &str), words: &str) -> Markup {
    html! { span class={ "verdict " (class) } { (sign) " " (words) } }
}

/// A status as a coloured label.
pub fn verdict(status: Status) -> Markup {
    chip(sign(status), status.words())
}

/// The outcome of a case as a coloured label.
pub fn outcome(case: &CaseResult) -> Markup {
    chip(sign(case.verdict.status), case.outcome())
}

/// A finding of a comparison as a coloured label.
pub fn finding(finding: Finding) -> Markup {
    let sign = match finding {
        Finding::NoRegressionShown => ("?", "doubt"),
        finding => sign(finding.status(false)),
    };
    chip(sign, finding.words())
}

/// The number of verdicts by their words, the worst first, as `✗ 1 limit missed  ✓ 12 pass`.
pub fn status_counts(outcomes: &[(Status, &str)]) -> Markup {
    let mut order = outcomes.to_vec();
    order.sort_by_key(|(status, words)| (std::cmp::Reverse(*status), *words));
    order.dedup();
    let count = |outcome| outcomes.iter().filter(|one| *one == outcome).count();
    html! {
        p.verdicts {
            @for (index, outcome) in order.iter().enumerate() {
                @if index > 0 { " " }
                (chip(sign(outcome.0), &format!("{} {}", count(outcome), outcome.1)))
            }
        }
    }
}

/// The overview of a run. `name` is its display name, empty if the page shows one run.
pub fn overview(name: &str, run: &Run) -> Markup {
    let context = &run.context;
    let mut targets: Vec<&str> = run.cases.iter().map(|case| case.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let targets = targets.join(" · ");
    let speed = context
        .megahertz
        .map_or(String::new(), |megahertz| format!("{} MHz", digits(megahertz.round())));
    let machine = joined(&[context.host.as_str(), &context.system, &context.processor, &speed]);
    let extent = table::conditions::extent(run);
    let time = joined(&[context.date.as_str(), &extent, &context.program]);
    let cases = run.cases.iter().map(|case| (case.verdict.status, case.outcome()));
    let peers = run.peers.iter().map(|peer| peer.verdict.status);
    let statuses: Vec<(Status, &str)> =
        cases.chain(peers.map(|status| (status, status.words()))).collect();
    let all_pass = statuses.iter().all(|(status, _)| *status == Status::Pass);
    let reasons = if all_pass { "Notes from targets" } else { "Reasons and notes from targets" };
    html! {
        @if !name.is_empty() { h2 { (joined(&[name, &run.title])) } }
        @for (class, text) in [("what", &targets), ("where", &machine), ("when", &time)] {
            @if !text.is_empty() { p class=(class) { (text) } }
        }
        (status_counts(&statuses))
        @if !name.is_empty() { (remarks(run)) }
        (list("reasons", reasons, table::reasons(run, Paint::Plain)))
    }
}

/// Remarks that concern the whole run, shown before any fold.
pub fn remarks(run: &Run) -> Markup {
    let mut remarks = Vec::new();
    if run.cases.is_empty() && run.peers.is_empty() {
        remarks.push("This run holds no case: there is nothing to show.".to_owned());
    } else if !run.cases.is_empty() && run.cases.iter().all(|case| !case.is_proven()) {
        remarks.push("No case of this run has evidence, so there is no figure to draw.".to_owned());
    }
    if run.context.interrupted {
        remarks.push("The run was interrupted; all its repetitions are complete.".to_owned());
    }
    // Only targets on the host run the port beside the program; images are always optimized.
    if run.context.build == "debug" && run.cases.iter().any(|case| case.target.ends_with("@host")) {
        remarks.push("A debug build measured: the code around the kernel is slow.".to_owned());
    }
    remarks.extend(run.context.doctor.iter().map(|finding| format!("doctor: {finding}")));
    html! {
        @if !remarks.is_empty() {
            ul.remarks { @for remark in remarks { li { (remark) } } }
        }
    }
}

/// Lines as a list with a title, folded if there are more than six; nothing without a line.
pub fn list<S: Render>(class: &str, title: &str, lines: impl IntoIterator<Item = S>) -> Markup {
    let lines: Vec<S> = lines.into_iter().collect();
    html! {
        @if !lines.is_empty() {
            details class=(class) open[lines.len() <= 6] {
                summary { (title) }
                ul { @for line in lines { li { (line) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    #[test]
    fn an_overview_has_the_size_of_its_run() {
        let mut run = sample::run();
        run.cases.truncate(1);
        let shown = |run: &Run| overview("", run).into_string();
        assert!(shown(&run).contains("1 case in 1.50 s · "), "{}", shown(&run));
        // The duration of an imported run is unknown.
        run.context.imported = sample::full().context.imported;
        assert!(shown(&run).contains(" · 1 case · "), "{}", shown(&run));
    }
}
