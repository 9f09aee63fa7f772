//! The verdicts of a run, a comparison or a baseline check in one common form, from which the
//! formats for CI systems (JUnit, GitHub) are rendered.

use std::slice;

use crate::{answer::sentence, comparison::Comparison, comparison::Line};
use chronoscope_run::{CaseResult, Context, Run, SeriesResult, Statistic, Status, Unit, Verdict};
use chronoscope_units::{OneLine, show, show_ratio};

/// All verdicts of one run or comparison.
pub struct Outcomes {
    /// The study's name, or the names of the two sides of a comparison.
    pub name: String,
    /// The circumstances of the run; of B, for a comparison.
    pub context: Context,
    /// All verdicts, in the order of the run.
    pub all: Vec<Outcome>,
}

/// A verdict with its name, reasons and figures.
#[derive(Clone)]
pub struct Outcome {
    /// The experiment's name.
    pub experiment: String,
    /// Unique within the experiment: target and label, or case and series.
    pub name: String,
    /// The status of the verdict.
    pub status: Status,
    /// The reasons of the status; empty for a pass.
    pub reasons: Vec<OneLine>,
    /// The figures as text, one line each; of a case, the sentence that answers its experiment first.
    pub figures: Vec<String>,
    /// The total of the measured samples in seconds, by the target's clock; `None` without
    /// evidence, and for comparisons.
    pub seconds: Option<f64>,
}

impl Outcomes {
    /// The verdicts of a run's cases, followed by its peers' verdicts.
    pub fn of_run(run: &Run) -> Self {
        let cases = run.cases.iter().map(case_outcome);
        let peers = run.peers.iter().map(|peer| Outcome {
            experiment: peer.experiment.to_string(),
            name: words(&[&peer.target, &peer.label, "beside", &peer.name]),
            figures: Vec::new(),
            ..from_verdict(&peer.verdict)
        });
        let name =
            if run.study.is_empty() { "experiments".to_owned() } else { run.study.to_string() };
        Self { name, context: run.context.clone(), all: cases.chain(peers).collect() }
    }

    /// The verdicts of a comparison's lines, followed by the cases that only one side has.
    pub fn of_comparison(comparison: &Comparison) -> Self {
        let (a, b) = (&comparison.a.name, &comparison.b.name);
        let unmatched = |keys: &[String], status: Status, reason: String| -> Vec<Outcome> {
            let each = keys.iter().map(|key| {
                let (experiment, rest) = key.split_once(' ').unwrap_or((key, ""));
                let verdict = Verdict::new(status, reason.clone());
                Outcome {
                    experiment: experiment.to_owned(),
                    name: rest.to_owned(),
                    ..from_verdict(&verdict)
                }
            });
            each.collect()
        };
        let lines =
            comparison.lines.iter().map(|line| line_outcome(line, comparison.strict)).collect();
        let missing = unmatched(
            &comparison.only_in_a,
            Status::Inconclusive,
            format!("only in {a}: it was not measured again"),
        );
        // A new case cannot be judged and is no failure, like a case that a kernel does not offer.
        let new = unmatched(
            &comparison.only_in_b,
            Status::NotOffered,
            format!("only in {b}: there is nothing to compare it with"),
        );
        Self {
            name: format!("{a} and {b}"),
            context: comparison.b.context.clone(),
            all: [lines, missing, new].concat(),
        }
    }

    /// Counts the verdicts with this status.
    pub fn count(&self, status: Status) -> usize {
        self.all.iter().filter(|outcome| outcome.status == status).count()
    }

    /// The number of outcomes by status, the worst status first, as `1 limit missed · 3 pass`.
    pub fn summary(&self) -> String {
        let worst_first = [
            Status::Error,
            Status::LimitMissed,
            Status::Regression,
            Status::Mixed,
            Status::Inconclusive,
            Status::NotOffered,
            Status::Pass,
        ];
        let counts = worst_first.map(|status| (self.count(status), status.words()));
        let parts = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, words)| format!("{count} {words}"));
        parts.collect::<Vec<_>>().join(" · ")
    }
}

fn case_outcome(case: &CaseResult) -> Outcome {
    let proven = case.is_proven();
    let answer = sentence::sentence(slice::from_ref(case), &case.experiment);
    let answer = answer.filter(|_| proven).map(|text| sentence::capital(&text));
    let series = case.series.iter().filter(|_| proven).map(figures);
    Outcome {
        experiment: case.experiment.to_string(),
        name: words(&[&case.target, &case.label]),
        // A case without evidence has no figures.
        figures: answer.into_iter().chain(series).collect(),
        seconds: if proven { seconds(case) } else { None },
        ..from_verdict(&case.verdict)
    }
}

/// The total of a case's measured samples in seconds.
fn seconds(case: &CaseResult) -> Option<f64> {
    let clock = case.clock.as_ref()?;
    let totals = case.counted().map(|series| {
        let one = match series.unit {
            Unit::Nanoseconds => 1e-9,
            Unit::Instructions | Unit::Cycles => 1.0 / clock.hertz as f64,
            Unit::Count => return None,
        };
        let mean = series.summary.mean? + series.nominal;
        Some(series.summary.count as f64 * series.per * mean * one)
    });
    let total: f64 = totals.collect::<Option<Vec<f64>>>()?.into_iter().sum();
    Some(total).filter(|total| total.is_finite())
}

/// A series in one line, as `switch: n 5000, p50 2.90 µs, p99 4.35 µs, max 69.6 µs`.
fn figures(series: &SeriesResult) -> String {
    let summary = &series.summary;
    let value =
        |value: Option<f64>| value.map(|value| show(value + series.nominal, series.unit.name()));
    let parts = Statistic::headlines().filter_map(|statistic| {
        Some(format!(", {} {}", statistic.name, value(statistic.of_series(series))?))
    });
    format!("{}: n {}{}", series.name, summary.count, parts.collect::<String>())
}

fn line_outcome(line: &Line, strict: bool) -> Outcome {
    let figures: Vec<String> = line
        .statistics
        .iter()
        .filter_map(|statistic| {
            let figures = &statistic.figures;
            let (a, b) = (
                show(figures.a? + line.nominal, line.unit_name()),
                show(figures.b? + line.nominal, line.unit_name()),
            );
            let ratio = figures
                .ratio
                .map_or(String::new(), |ratio| format!(", × {}", show_ratio(ratio, 3)));
            Some(format!("{} {a} → {b}{ratio}", statistic.statistic))
        })
        .collect();
    let status = line.finding.status(strict);
    // A finding decided by the figures alone has no other reason.
    let needs_reason = line.reasons.is_empty() && status != Status::Pass;
    let sentence = Some(&line.sentence).filter(|sentence| needs_reason && !sentence.is_empty());
    Outcome {
        experiment: line.experiment.clone(),
        name: words(&[&line.case, &line.series]),
        status,
        reasons: line
            .reasons
            .iter()
            .chain(figures.iter().filter(|_| needs_reason))
            .chain(sentence)
            .map(OneLine::from)
            .collect(),
        figures,
        seconds: None,
    }
}

/// An outcome with this verdict's status and reasons; the other fields are empty.
fn from_verdict(verdict: &Verdict) -> Outcome {
    Outcome {
        experiment: String::new(),
        name: String::new(),
        status: verdict.status,
        reasons: verdict.reasons.clone(),
        figures: Vec::new(),
        seconds: None,
    }
}

fn words(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ")
}
