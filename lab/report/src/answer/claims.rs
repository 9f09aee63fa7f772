//! The claims of published reports, one by one, each with the finding of the report's newest run.

use chronoscope_run::{Answering, Run, answer::Ruling};

use super::{list, list::List, rule::Ruled, span, terminal::wrap};

/// A published report with the run that repeated it.
pub struct Report {
    /// The name of the study, which the command line takes.
    pub study: String,
    /// The report and its chip or kernel, in a line.
    pub title: String,
    /// The run, in words; `None` where none is stored.
    pub run: Option<String>,
    /// The claims in the report's order.
    pub claims: Vec<Claim>,
    /// Every published figure beside the run's.
    pub figures: List,
}

/// A claim with its verdict.
pub struct Claim {
    /// The claim.
    pub says: String,
    /// The verdict; `None` without a run, or where none of the claim's findings applies to it.
    pub ruling: Option<Ruling>,
    /// The reason.
    pub reason: String,
}

impl Claim {
    /// The verdict in words.
    pub fn verdict(&self) -> &'static str {
        self.ruling.map_or("open", Ruling::words)
    }
}

impl Report {
    /// The report of a study that repeats it, by its newest run: the run's name in words, and the run.
    pub fn new(study: &str, rules: &Answering, run: Option<(&str, &Run)>) -> Self {
        let claim = |claim: &chronoscope_run::answer::Claim| {
            let found = run.and_then(|(_, run)| {
                let ruled = Ruled { run, rules };
                claim
                    .findings
                    .iter()
                    .find_map(|finding| Some((finding.is, ruled.first(&[finding.sentence()])?)))
            });
            let reason = match run {
                None => "not run yet".to_owned(),
                Some(_) => "the run's figures are missing, or decide nothing".to_owned(),
            };
            let (ruling, reason) =
                found.map_or((None, reason), |(ruling, text)| (Some(ruling), text));
            Claim { says: claim.says.to_string(), ruling, reason }
        };
        let figures = run.map_or(List { head: Vec::new(), rows: Vec::new() }, |(_, run)| {
            list::published(run, rules)
        });
        Self {
            study: study.to_owned(),
            title: rules.question.to_string(),
            run: run.map(|(words, _)| words.to_owned()),
            claims: rules.claims.iter().map(claim).collect(),
            figures,
        }
    }
}

/// The number of claims with each verdict, in one sentence.
pub fn summary(reports: &[Report]) -> String {
    let claims = || reports.iter().flat_map(|report| &report.claims);
    let all = span::count(claims().count(), "claim");
    let count = |ruling| claims().filter(|claim| claim.ruling == ruling).count();
    let of = |ruling: Ruling| (count(Some(ruling)), ruling.words());
    let rulings =
        [Ruling::Confirmed, Ruling::Explained, Ruling::Refuted, Ruling::NotComparable].map(of);
    let mut parts: Vec<String> = rulings
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    if count(None) > 0 {
        parts.push(format!("{} open", count(None)));
    }
    format!("{all} of {}: {}", span::count(reports.len(), "report"), parts.join(", "))
}

/// The claims as text, each at most `columns` characters wide.
pub fn text(reports: &[Report], columns: usize) -> String {
    let mut text = summary(reports) + "\n";
    for report in reports {
        text.push_str(&format!("\n{}\n", report.title));
        match &report.run {
            Some(run) => text.push_str(&format!("  {run}\n")),
            None => text.push_str(&format!("  not run yet: chronoscope run {}\n", report.study)),
        }
        for claim in &report.claims {
            let below = |text: &str| wrap(text, columns - INDENT, 0, usize::MAX);
            // Without a run, every reason would be the same.
            let reason = if report.run.is_some() { below(&claim.reason) } else { Vec::new() };
            for (index, line) in below(&claim.says).iter().chain(&reason).enumerate() {
                let head = if index == 0 { claim.verdict() } else { "" };
                text.push_str(&format!("  {head:<15}{line}\n"));
            }
        }
    }
    text
}

/// The characters before a claim: two spaces, and its verdict.
const INDENT: usize = 17;

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::{
        answer::{Claim as Rule, Finding, Pick},
        sample,
    };

    fn rules() -> Answering {
        let finding = |is, condition: &str, text: &str| Finding {
            is,
            conditions: vec![condition.into()],
            text: text.into(),
        };
        let claim = |says: &str, findings| Rule { says: says.into(), findings };
        Answering {
            question: "P9: a report".into(),
            values: vec![Pick {
                name: "switch".into(),
                experiment: "switch".into(),
                ..Pick::default()
            }],
            claims: vec![
                claim(
                    "A switch takes less than 5 us",
                    vec![
                        finding(Ruling::Confirmed, "switch < 5 us", "{switch} here"),
                        finding(Ruling::Refuted, "switch > 5 us", "{switch} here"),
                    ],
                ),
                claim("It takes a day", vec![finding(Ruling::Confirmed, "switch > 9 s", "")]),
            ],
            ..Answering::default()
        }
    }

    #[test]
    fn each_claim_has_its_verdict_and_its_reason() {
        let mut run = sample::run();
        run.cases = vec![sample::case("switch", "")];
        let reports = [Report::new("p9-report", &rules(), Some(("run 3 of 2026-11-28", &run)))];
        let shown = text(&reports, 80).replace('\u{a0}', " ");
        assert!(shown.starts_with("2 claims of 1 report: 1 confirmed, 1 open\n"));
        assert!(shown.contains("  confirmed      A switch takes less than 5 us\n"), "{shown}");
        assert!(shown.contains("                 2.90 µs here\n"), "{shown}");
        assert!(shown.contains("  open           It takes a day\n"), "{shown}");
        let reports = [Report::new("p9-report", &rules(), None)];
        let shown = text(&reports, 80);
        assert!(shown.contains("not run yet: chronoscope run p9-report"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }
}
