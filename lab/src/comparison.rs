//! Compares two runs, case by case; `docs/compare.md` gives the rules.
//!
//! [`statistics::compare`](crate::statistics::compare()) judges figures. This module decides which
//! figures may be compared: it settles cases without evidence and different clocks itself, and
//! makes a finding inconclusive if it depends on the speed at which the machines ran.

use serde::{Serialize, Serializer};

use crate::{
    run::{CaseResult, Context, Domain, Run, SeriesResult, Status, Unit},
    statistics::{self, Rules},
    units::OneLine,
};

/// The natural logarithm of a ratio of reference loops below which they count as equal: their
/// scatter on a quiet machine.
const STEADY: f64 = 0.01;

/// A comparison of two runs; serializes as the JSON of `compare`.
#[derive(Debug, Serialize)]
pub struct Comparison {
    pub schema: u32,
    pub a: Side,
    pub b: Side,
    /// A and B took turns; otherwise all of A ran before all of B.
    pub interleaved: bool,
    /// The smallest growth that matters: 0.05 is 5 %.
    pub threshold: f64,
    pub verdict: Status,
    pub lines: Vec<Line>,
    pub only_in_a: Vec<String>,
    pub only_in_b: Vec<String>,
    /// Warnings about the comparison as a whole, one sentence each.
    pub notes: Vec<String>,
}

/// A side of a comparison: a run.
#[derive(Debug, Serialize)]
pub struct Side {
    /// The run's or variant's name on the command line: `last-1`, `linux@host,pad=300`.
    pub name: OneLine,
    pub context: Context,
}

/// A series of a case, on both sides; or a case none of whose series is compared.
#[derive(Debug, Serialize)]
pub struct Line {
    /// The case's key in a store.
    #[serde(skip)]
    pub key: String,
    pub experiment: String,
    pub case: String,
    pub series: String,
    /// The unit of the figures; `None`, an empty word in JSON, if no series is compared.
    #[serde(serialize_with = "unit_name")]
    pub unit: Option<Unit>,
    /// The nominal part of the duration, which the values exclude.
    pub nominal: f64,
    pub finding: Finding,
    /// The reasons for the finding, one sentence each.
    pub reasons: Vec<String>,
    pub figures: Option<Figures>,
    /// The reference loop's duration during B divided by its duration during A.
    pub reference: Option<f64>,
}

impl Line {
    /// The unit's name; empty where no series is compared.
    pub fn unit_name(&self) -> &'static str {
        self.unit.map_or("", Unit::name)
    }
}

// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn unit_name<S: Serializer>(unit: &Option<Unit>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(unit.map_or("", Unit::name))
}

/// The figures of a [`statistics::Comparison`]. `a` and `b` are medians of the repetitions' p50.
#[derive(Debug, Serialize)]
pub struct Figures {
    pub a: Option<f64>,
    pub b: Option<f64>,
    pub ratio: Option<f64>,
    pub interval: Option<statistics::Interval>,
    pub test: statistics::Test,
    pub p: Option<f64>,
    pub p_holm: Option<f64>,
    pub noise_floor: Option<f64>,
}

/// Ordered from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    Improvement,
    Pass,
    NotOffered,
    Inconclusive,
    Regression,
}

impl Finding {
    pub fn words(self) -> &'static str {
        match self {
            Finding::Improvement => "improvement",
            finding => finding.status().words(),
        }
    }

    pub fn status(self) -> Status {
        match self {
            Finding::Improvement | Finding::Pass => Status::Pass,
            Finding::NotOffered => Status::NotOffered,
            Finding::Inconclusive => Status::Inconclusive,
            Finding::Regression => Status::Regression,
        }
    }
}

impl From<statistics::Verdict> for Finding {
    fn from(verdict: statistics::Verdict) -> Self {
        match verdict {
            statistics::Verdict::Pass => Finding::Pass,
            statistics::Verdict::Improvement => Finding::Improvement,
            statistics::Verdict::Regression => Finding::Regression,
            statistics::Verdict::Inconclusive(_) => Finding::Inconclusive,
        }
    }
}

/// A case that both sides have.
pub struct Pair<'a> {
    pub label: String,
    pub a: &'a CaseResult,
    pub b: &'a CaseResult,
}

/// Returns the cases that two runs share, then the keys of cases that only `a` or only `b` has.
/// Where a run has a case twice, the first occurrences are paired.
pub fn match_cases<'a>(
    a: &'a Run,
    b: &'a Run,
    wanted: impl Fn(&CaseResult) -> bool,
) -> (Vec<Pair<'a>>, Vec<String>, Vec<String>) {
    let (mut pairs, mut only_in_a) = (Vec::new(), Vec::new());
    let targets = has_several_targets(a);
    let mut left: Vec<&CaseResult> = b.cases.iter().filter(|case| wanted(case)).collect();
    for a in a.cases.iter().filter(|case| wanted(case)) {
        let key = a.key();
        match left.iter().position(|b| b.key() == key) {
            Some(place) => {
                let b = left.remove(place);
                let label = if a.label.is_empty() { label(b, targets) } else { label(a, targets) };
                pairs.push(Pair { label, a, b });
            }
            None => only_in_a.push(key),
        }
    }
    (pairs, only_in_a, left.into_iter().map(CaseResult::key).collect())
}

pub(crate) fn has_several_targets(run: &Run) -> bool {
    run.cases.iter().any(|case| case.target != run.cases[0].target)
}

/// The case's label, which tells it from other cases of its experiment, after its target if that is
/// wanted.
pub(crate) fn label(case: &CaseResult, with_target: bool) -> String {
    let target = if with_target { case.target.as_str() } else { "" };
    format!("{target} {}", case.label).trim().to_owned()
}

/// Compares all cases, as one family.
pub fn compare(pairs: &[Pair<'_>], interleaved: bool, threshold: f64) -> Vec<Line> {
    let mut lines: Vec<Prepared> = pairs.iter().flat_map(prepare).collect();
    let rules = Rules { threshold, ..Rules::default() };
    let measured = judge(&lines, interleaved, &rules, |_| 1.0);
    // Scales A to the speed of B's machine. Interleaved runs shared their machine's speed, and
    // counts do not depend on it.
    let drifted = |line: &Line| {
        line.reference
            .filter(|ratio| !interleaved && line.unit == Some(Unit::Nanoseconds) && !steady(*ratio))
    };
    let adjusted = judge(&lines, interleaved, &rules, |line| drifted(line).unwrap_or(1.0));
    let comparable = lines.iter_mut().filter(|line| line.is_comparable());
    for (Prepared { line, .. }, (measured, adjusted)) in
        comparable.zip(measured.into_iter().zip(adjusted))
    {
        conclude(line, &measured, Finding::from(adjusted.verdict));
    }
    lines.into_iter().map(|prepared| prepared.line).collect()
}

/// The verdict on a whole: the worst of its lines. A case that only A has was not measured again.
pub fn verdict(lines: &[Line], only_in_a: &[String]) -> Status {
    let worst = lines.iter().map(|line| line.finding).max();
    match worst {
        Some(Finding::Regression) => Status::Regression,
        _ if !only_in_a.is_empty() => Status::Inconclusive,
        Some(worst) => worst.status(),
        None => Status::Inconclusive,
    }
}

/// Returns whether the ratio of two reference loops means that the machines ran at one speed.
pub fn steady(ratio: f64) -> bool {
    ratio.ln().abs() < STEADY
}

/// A line whose verdict is still open, or was settled without figures.
struct Prepared {
    line: Line,
    a: Vec<f64>,
    b: Vec<f64>,
    exact: bool,
    step: f64,
}

impl Prepared {
    fn is_comparable(&self) -> bool {
        self.line.reasons.is_empty()
    }
}

/// The series of a case that are to be compared; or one line that says why there is none.
fn prepare(pair: &Pair<'_>) -> Vec<Prepared> {
    let (a, b) = (pair.a, pair.b);
    if let Some((finding, reasons)) = settled(a, b) {
        return vec![Prepared::settled(pair, "", finding, reasons)];
    }
    let mut lines: Vec<Prepared> = a
        .measured()
        .map(|series| match b.measured().find(|other| other.name == series.name) {
            Some(other) => with_figures(pair, series, other),
            None => Prepared::settled(
                pair,
                &series.name,
                Finding::Inconclusive,
                vec!["only A has it".to_owned()],
            ),
        })
        .collect();
    let new = b.measured().filter(|series| a.measured().all(|other| other.name != series.name));
    let only_b = |series: &SeriesResult| vec![format!("only B has `{}`", series.name)];
    lines.extend(new.map(|series| {
        Prepared::settled(pair, &series.name, Finding::Inconclusive, only_b(series))
    }));
    lines
}

/// Returns the finding and its reasons where figures cannot be compared: a side was not set up, is
/// inconclusive or not offered, or the clocks differ.
fn settled(a: &CaseResult, b: &CaseResult) -> Option<(Finding, Vec<String>)> {
    let sides = [("A", a), ("B", b)];
    for (status, finding) in [
        (Status::Error, Finding::Inconclusive),
        (Status::Inconclusive, Finding::Inconclusive),
        (Status::NotOffered, Finding::NotOffered),
    ] {
        let concerned = sides.iter().filter(|(_, case)| case.verdict.status == status);
        let told = concerned.flat_map(|(side, case)| {
            let reasons =
                case.verdict.reasons.iter().map(move |reason| format!("{side}: {reason}"));
            reasons.chain(
                case.verdict.reasons.is_empty().then(|| format!("{side}: {}", status.words())),
            )
        });
        let reasons: Vec<String> = told.collect();
        if !reasons.is_empty() {
            return Some((finding, reasons));
        }
    }
    let domain =
        |case: &CaseResult| case.clock.as_ref().map_or("no clock", |clock| clock.domain.name());
    let (a_domain, b_domain) = (domain(a), domain(b));
    (a_domain != b_domain).then(|| {
        let reason =
            format!("A is told in {a_domain} and B in {b_domain}: such clocks are not ranked against each other");
        (Finding::Inconclusive, vec![reason])
    })
}

fn with_figures(pair: &Pair<'_>, a: &SeriesResult, b: &SeriesResult) -> Prepared {
    if a.unit != b.unit {
        let reason = format!("A is in {} and B in {}", a.unit, b.unit);
        return Prepared::settled(pair, &a.name, Finding::Inconclusive, vec![reason]);
    }
    let p50s = |series: &SeriesResult| {
        series.by_repetition.iter().map(|one| one.p50).collect::<Vec<f64>>()
    };
    let (a_p50s, b_p50s) = (p50s(a), p50s(b));
    Prepared {
        exact: pair.a.clock.as_ref().is_some_and(|clock| clock.domain != Domain::Wall),
        step: step(pair.a, a).max(step(pair.b, b)),
        a: a_p50s,
        b: b_p50s,
        line: Line {
            series: a.name.to_string(),
            unit: Some(a.unit),
            nominal: a.nominal,
            reference: reference(pair.a).zip(reference(pair.b)).map(|(a, b)| b / a),
            ..Prepared::settled(pair, "", Finding::Pass, Vec::new()).line
        },
    }
}

impl Prepared {
    fn settled(pair: &Pair<'_>, series: &str, finding: Finding, reasons: Vec<String>) -> Self {
        let line = Line {
            key: pair.a.key(),
            experiment: pair.a.experiment.to_string(),
            case: pair.label.clone(),
            series: series.to_owned(),
            unit: None,
            nominal: 0.0,
            finding,
            reasons,
            figures: None,
            reference: None,
        };
        Self { line, a: Vec::new(), b: Vec::new(), exact: false, step: 0.0 }
    }
}

/// The clock's step in the unit of the values. Counts have none.
pub(crate) fn step(case: &CaseResult, series: &SeriesResult) -> f64 {
    match &case.clock {
        Some(clock) if series.unit == Unit::Nanoseconds => {
            clock.resolution as f64 * 1e9 / clock.hertz as f64 / series.per
        }
        _ => 0.0,
    }
}

/// The geometric mean of the reference loop's durations before and after the case.
pub(crate) fn reference(case: &CaseResult) -> Option<f64> {
    let [before, after] =
        ["before", "after"].map(|when| case.figure(&format!("reference loop {when}")));
    Some((before?.value * after?.value).sqrt()).filter(|mean| mean.is_finite() && *mean > 0.0)
}

fn judge(
    lines: &[Prepared],
    interleaved: bool,
    rules: &Rules,
    speed: impl Fn(&Line) -> f64,
) -> Vec<statistics::Comparison> {
    let comparable: Vec<&Prepared> = lines.iter().filter(|line| line.is_comparable()).collect();
    let scaled = |line: &Prepared| line.a.iter().map(|value| value * speed(&line.line)).collect();
    let alike = |a: &[f64], b: &[f64]| a.iter().chain(b).all(|value| a.first() == Some(value));
    let a: Vec<Vec<f64>> = comparable.iter().map(|line| scaled(line)).collect();
    let cases = comparable.iter().zip(&a).map(|(line, a)| statistics::Case {
        a,
        b: &line.b,
        a_again: None,
        interleaved,
        // All the same, zero too: nothing to test.
        exact: line.exact || alike(a, &line.b),
        step: line.step,
    });
    statistics::compare(&cases.collect::<Vec<_>>(), rules)
}

fn conclude(line: &mut Line, measured: &statistics::Comparison, adjusted: Finding) {
    line.finding = measured.verdict.into();
    if let statistics::Verdict::Inconclusive(reason) = measured.verdict {
        line.reasons.push(reason.to_string());
    } else if line.finding != adjusted {
        let harmless = line.finding.max(adjusted) <= Finding::Pass;
        let percent = line.reference.map_or(0.0, |ratio| (ratio - 1.0) * 100.0);
        let direction = if percent > 0.0 { "longer" } else { "shorter" };
        line.reasons.push(format!(
            "the reference loop took {:.1} % {direction} beside B, so the machine ran at another speed; without that it \
             would be: {}",
            percent.abs(),
            adjusted.words()
        ));
        line.finding = if harmless { Finding::Pass } else { Finding::Inconclusive };
    }
    let statistics::Comparison { a, b, ratio, interval, test, p, p_holm, noise_floor, .. } =
        *measured;
    line.figures = Some(Figures { a, b, ratio, interval, test, p, p_holm, noise_floor });
}

#[cfg(test)]
mod test;
