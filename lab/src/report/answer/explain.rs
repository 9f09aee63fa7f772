//! `--explain`: how an answer was made: its trust with all reasons, its problems with their cases,
//! and the words that it uses.

use super::Answer;
use crate::{
    report::{Screen, table},
    run::{Run, Status},
};

/// The words of an answer that are explained.
const WORDS: [&str; 8] =
    ["median", "p99", "worst", "interval", "steal", "reference loop", "evidence", "control"];

/// The text of the glossary, which `chronoscope explain` shows too.
const GLOSSARY: &str = include_str!("../../../../docs/glossary.md");

/// The terms of the glossary with their texts, in the order of the page.
pub fn glossary() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = GLOSSARY.split("\n## ").skip(1);
    sections.filter_map(|section| section.split_once('\n')).map(|(term, text)| (term, text.trim()))
}

/// The explanation of a run's answer.
pub fn render(run: &Run, screen: &Screen) -> String {
    let answer = Answer::of(run);
    let mut text = format!("{}\n\nHow far to trust it\n", answer.title);
    for verdict in &answer.trust.verdicts {
        let sign = if verdict.good { '✓' } else { '!' };
        let reasons = if verdict.reasons.is_empty() { "" } else { ": " };
        text.push_str(&format!("  {sign} {}{reasons}{}\n", verdict.head, verdict.reasons));
    }
    for line in &answer.trust.rest {
        text.push_str(&format!("  {line}\n"));
    }
    for finding in &run.context.doctor {
        text.push_str(&format!("  doctor: {finding}\n"));
    }
    let not_pass: Vec<_> =
        answer.problems.iter().filter(|one| one.status != Some(Status::Pass)).collect();
    if !not_pass.is_empty() {
        text.push_str("\nWhat was missed, or measured nothing\n");
        for problem in not_pass {
            let status = problem.status.map_or("note", Status::words);
            text.push_str(&format!("  {status}: {}\n", problem.reason));
            for case in &problem.cases {
                text.push_str(&format!("    {case}\n"));
            }
        }
    }
    text.push_str("\nThe machine\n");
    for line in table::conditions::section(run).lines() {
        text.push_str(&format!("  {line}\n"));
    }
    if !run.notes.trim().is_empty() {
        text.push_str(&format!("\nHow to read the study\n{}\n", run.notes.trim()));
    }
    text.push_str("\nWords\n");
    for (term, meaning) in glossary().filter(|(term, _)| WORDS.contains(term)) {
        let first = meaning.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        text.push_str(&format!("  {term}: {first}\n"));
    }
    text.push_str(&format!(
        "\nAll terms: chronoscope explain; the evidence: {}\n",
        screen.again("--evidence")
    ));
    text.replace(['\u{a0}', '\u{202f}'], " ")
}
