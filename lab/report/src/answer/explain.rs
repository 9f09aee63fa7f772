//! `--explain`: how an answer was made: its trust with all reasons, its problems with their cases,
//! and the words that it uses.

use super::{Answer, elsewhere};
use crate::{Screen, table};
use chronoscope_run::{Run, Status};

/// The words of an answer that are explained.
const WORDS: [&str; 8] = [
    "median",
    "p99",
    "worst",
    "interval",
    "steal, stolen",
    "reference loop",
    "evidence",
    "control",
];

/// The text of the glossary, which `chronoscope explain` shows too.
const GLOSSARY: &str = include_str!("../../glossary.md");

/// The terms of the glossary with their texts, in the order of the page.
pub fn glossary() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = GLOSSARY.split("\n## ").skip(1);
    sections.filter_map(|section| section.split_once('\n')).map(|(term, text)| (term, text.trim()))
}

/// The text of a term, by its name in any case, by a word of it, by its plural, or by the name of a
/// column.
pub fn term(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    let word = match &*word {
        "p50" => "median",
        "max" | "maximum" => "worst",
        other => other,
    };
    let (name, text) = section(word)
        .or_else(|| ["es", "s"].iter().find_map(|ending| section(word.strip_suffix(ending)?)))?;
    Some(format!("{name}\n\n{}\n", without_links(text)))
}

/// The section of the glossary with this name among its names, or with a name that has this word, in
/// small letters.
fn section(word: &str) -> Option<(&'static str, &'static str)> {
    if word.is_empty() {
        return None;
    }
    let is_named = |name: &str| name.to_lowercase().split(", ").any(|one| one == word);
    let has = |name: &str| name.split([' ', ',']).any(|one| one == word);
    glossary().find(|(name, _)| is_named(name)).or_else(|| glossary().find(|(name, _)| has(name)))
}

/// A text of the glossary without the targets of its links.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        plain.push_str(&before.replace('[', ""));
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    plain + rest
}

/// The reference values beside the cases of a run, with their sources, each once.
fn elsewhere(run: &Run) -> String {
    let mut lines: Vec<String> = Vec::new();
    for case in run.cases.iter().filter(|case| case.is_proven()) {
        let Some(value) = elsewhere::for_case(case) else { continue };
        let line = format!("  {}: {} ({})\n", case.experiment, value.words(), value.source);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.concat()
}

/// The explanation of a run's answer.
pub fn render(run: &Run, screen: &Screen) -> String {
    let answer = Answer::from_run(run);
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
    let beside = elsewhere(run);
    if !beside.is_empty() {
        text.push_str(&format!("\nElsewhere, each by its own definition\n{beside}"));
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
        "\nAll terms: chronoscope explain\nThe evidence: {}\n",
        screen.again("--evidence")
    ));
    text.replace(['\u{a0}', '\u{202f}'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_by_their_names() {
        for (word, start) in [
            ("p99", "p99\n\nOf 100 samples"),
            ("P50", "median\n"),
            ("max", "worst\n"),
            ("inversion", "priority inversion\n"),
            ("control", "control\n"),
            ("evidence", "evidence\n"),
        ] {
            assert!(term(word).unwrap().starts_with(start), "{word}");
        }
        assert_eq!([term("nothing of it"), term("")], [None, None]);
        assert!(WORDS.iter().all(|word| glossary().any(|(name, _)| name == *word)));
        let answer = term("answer").unwrap();
        assert!(answer.contains("chosen (report.md)") && !answer.contains(']'), "{answer}");
    }

    #[test]
    fn the_glossary_fits_a_screen() {
        for (name, text) in glossary() {
            assert!(!text.is_empty() && name.chars().count() <= 32, "{name}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{name}");
        }
    }
}
