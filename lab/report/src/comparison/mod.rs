//! Compares two runs, case by case and statistic by statistic; `docs/compare.md` gives the rules.
//!
//! [`statistics::compare`](chronoscope_statistics::compare()) judges figures. This module decides
//! which figures may be compared: it settles cases without evidence and different clocks itself,
//! and makes a finding inconclusive if it depends on the speed or the conditions of the machines.

mod doubt;
mod finding;
mod history;
mod matching;
mod sentence;
mod shift;

use serde::{Serialize, Serializer};

use self::history::is_baseline;
pub(crate) use self::matching::{has_several_targets, label};
pub use self::{
    doubt::conditions,
    finding::Finding,
    history::{BetweenRuns, History},
    matching::{Pair, Pairing, match_cases, told_apart},
    sentence::{in_a_word, is_not_judged, numbers, open_by, slower_by, up_to},
    shift::{InBand, Shift},
};
use chronoscope_run::{
    CaseResult, Context, SeriesResult, Status, Unit, compared::UnknownStatistic, names::INITRAMFS,
};
pub use chronoscope_run::{
    compared::COMPARED_STATISTICS, compared::ComparedStatistic, compared::StatisticChoice,
};
use chronoscope_statistics::{self as statistics, FEWEST_REPETITIONS, Reason, Rules, Verdict};
use chronoscope_units::{OneLine, digits};

/// The version of the JSON of a comparison.
pub const SCHEMA: u32 = 3;

/// The natural logarithm of a ratio of reference loops below which they count as equal: their
/// scatter on a quiet machine.
const STEADY: f64 = 0.01;

/// A comparison of two runs; serializes as the JSON of `compare`.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The version of the JSON's form.
    pub schema: u32,
    /// The run that B is compared with.
    pub a: Side,
    /// The run whose change is judged.
    pub b: Side,
    /// The words for A and B, where some tell them apart: kernels, targets, or a setting.
    #[serde(skip)]
    pub subjects: Option<[String; 2]>,
    /// A and B took turns; otherwise all of A ran before all of B.
    pub interleaved: bool,
    /// The smallest growth that matters: 0.05 is 5 %.
    pub threshold: f64,
    /// A regression that is not excluded is inconclusive.
    pub strict: bool,
    /// The status for a CI system.
    pub verdict: Status,
    /// The worst finding.
    pub finding: Finding,
    /// The answer in one line.
    pub answer: String,
    /// The compared series, in the order of the run.
    pub lines: Vec<Line>,
    /// The cases of A that B lacks.
    pub only_in_a: Vec<String>,
    /// The cases of B that A lacks.
    pub only_in_b: Vec<String>,
    /// Remarks about the comparison as a whole, one sentence each.
    pub notes: Vec<String>,
}

impl Comparison {
    /// A comparison whose verdict and answer are still to be [concluded](Self::concluded).
    pub fn new([a, b]: [Side; 2], options: &CompareOptions<'_>, lines: Vec<Line>) -> Self {
        Self {
            schema: SCHEMA,
            a,
            b,
            subjects: None,
            interleaved: options.interleaved,
            threshold: options.threshold,
            strict: false,
            verdict: Status::Inconclusive,
            finding: Finding::Inconclusive,
            answer: String::new(),
            lines,
            only_in_a: Vec::new(),
            only_in_b: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The comparison with its verdict and its answer.
    pub fn concluded(mut self, strict: bool) -> Self {
        self.strict = strict;
        self.finding = whole(&self.lines, &self.only_in_a);
        self.verdict = self.finding.status(strict);
        self.answer = sentence::answer(&self);
        self
    }

    /// The growth that counts, as ` by more than 5 %`; empty for exact figures, of which any does.
    pub fn beyond(&self) -> String {
        if is_exact(&self.lines) {
            return String::new();
        }
        format!(" by more than {} %", digits(self.threshold * 100.0))
    }

    /// The words of the verdict. A regression that is not excluded is no pass.
    pub fn words(&self) -> &'static str {
        match self.finding {
            Finding::NoRegressionShown if !self.strict => Finding::NoRegressionShown.words(),
            _ => self.verdict.words(),
        }
    }
}

/// A side of a comparison: a run.
#[derive(Debug, Serialize)]
pub struct Side {
    /// The run's or variant's name on the command line: `last-1`, `linux@host,pad=300`.
    pub name: OneLine,
    /// The circumstances of the run.
    pub context: Context,
    /// The command that shows the run's longest samples on a timeline; `None` if the run is not kept,
    /// or has nothing to show.
    #[serde(skip)]
    pub trace: Option<String>,
}

/// A series of a case, on both sides; or a case none of whose series is compared.
#[derive(Debug, Serialize)]
pub struct Line {
    /// The case's key in a store.
    #[serde(skip)]
    pub key: String,
    /// The experiment's name.
    pub experiment: String,
    /// The case's label.
    pub case: String,
    /// The series' name; empty if no series is compared.
    pub series: String,
    /// The unit of the figures; `None`, an empty word in JSON, if no series is compared.
    #[serde(serialize_with = "unit_name")]
    pub unit: Option<Unit>,
    /// The nominal part of the duration, which the values exclude.
    pub nominal: f64,
    /// The finding of all judged statistics together.
    pub finding: Finding,
    /// The finding with all judged statistics; empty without any.
    pub sentence: String,
    /// The reasons for the finding, one sentence each.
    pub reasons: Vec<String>,
    /// The conditions of the sides differ, and so the finding is in doubt; a reason has them.
    #[serde(skip)]
    pub is_in_doubt: bool,
    /// The command for a comparison in turn, which would remove the doubt; a reason has it too.
    #[serde(skip)]
    pub in_turn: Option<String>,
    /// The figures without a verdict, one sentence each.
    pub information: Vec<String>,
    /// The figures of the first judged statistic: the median, unless others were named.
    pub figures: Option<Figures>,
    /// The judged statistics.
    pub statistics: Vec<StatisticLine>,
    /// The reference loop's duration during B divided by its duration during A.
    pub reference: Option<f64>,
    /// The samples of the shortest repetition of both sides; `None` without figures.
    #[serde(skip)]
    pub samples: Option<u64>,
    /// The ratio of both distributions; `None` if the series have none.
    #[serde(skip)]
    pub shift: Option<Shift>,
    /// The sides are guests, each booted by itself.
    #[serde(skip)]
    pub boots_apart: bool,
}

impl Line {
    /// The unit's name; empty where no series is compared.
    pub fn unit_name(&self) -> &'static str {
        self.unit.map_or("", Unit::name)
    }

    /// Experiment, case and series.
    pub fn name(&self) -> String {
        let words = [&self.experiment, &self.case, &self.series].map(String::as_str);
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Experiment and case, and the series where its name is not the experiment's.
    pub fn title(&self) -> String {
        let series = if self.series == self.experiment { "" } else { &self.series };
        let words = [self.experiment.as_str(), &self.case, series];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn conclude(&mut self, pairs: bool) {
        if let Some(first) = self.statistics.first() {
            self.figures = Some(first.figures);
        }
        self.sentence = sentence::of_line(&self.statistics, self.finding, pairs);
    }
}

// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn unit_name<S: Serializer>(unit: &Option<Unit>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(unit.map_or("", Unit::name))
}

/// A judged statistic of a series.
#[derive(Clone, Debug, Serialize)]
pub struct StatisticLine {
    /// Its name, as `p99`.
    pub statistic: &'static str,
    /// Its place in a distribution, for sentences.
    #[serde(skip)]
    pub at: &'static str,
    /// The finding of the statistic.
    pub finding: Finding,
    /// The values on both sides, their ratio and its test.
    #[serde(flatten)]
    pub figures: Figures,
    /// The growth of B over A that cannot be excluded: 0.12 is 12 %.
    pub at_most: Option<f64>,
    /// The numbers of repetitions of each side that would settle an open statistic.
    pub settled_by: Option<statistics::Settled>,
    /// The factor by which the interval is wider because neighbouring pairs are alike.
    pub widened: Option<f64>,
    /// The scatter between runs in the interval; `None` if the sides took turns.
    pub between_runs: Option<BetweenRuns>,
    /// The smallest growth that matters: 0.05 is 5 %.
    #[serde(skip)]
    pub threshold: f64,
}

/// The figures of a [`statistics::Comparison`]. `a` and `b` are the values of a typical repetition.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figures {
    /// The value of A, in the unit of the series.
    pub a: Option<f64>,
    /// The value of B, in the unit of the series.
    pub b: Option<f64>,
    /// The value of B divided by the value of A.
    pub ratio: Option<f64>,
    /// The interval of the ratio, for this statistic alone.
    pub interval: Option<statistics::Interval>,
    /// The interval after the correction for all statistics, which decides on a change.
    pub corrected: Option<statistics::Interval>,
    /// The test that gave `p`.
    pub test: statistics::Test,
    /// The probability of a difference as large without a change.
    pub p: Option<f64>,
    /// `p` after the correction for all statistics of the comparison (Holm).
    pub p_holm: Option<f64>,
    /// The smallest ratio that the clock can resolve: one step of the clock relative to the values.
    pub noise_floor: Option<f64>,
}

/// The options of a comparison.
#[derive(Clone, Copy)]
pub struct CompareOptions<'a> {
    /// A and B took turns. Otherwise the variance between runs widens the intervals of times.
    pub interleaved: bool,
    /// The smallest growth that matters: 0.05 is 5 %.
    pub threshold: f64,
    /// The statistics to judge; if none is named, those that the case's study names.
    pub judge: &'a StatisticChoice,
    /// Earlier runs on the machine.
    pub history: &'a History,
    /// The conditions of stored runs that differ, one sentence each.
    pub conditions: &'a [String],
    /// The number of this look at a comparison that goes on, from 1.
    pub look: Option<usize>,
    /// The command that would settle a doubt about two cases.
    pub in_turn: InTurn<'a>,
}

/// Returns the command that measures two cases in turn, or `None` if one is not of this version.
pub type InTurn<'a> = &'a dyn Fn(&CaseResult, &CaseResult) -> Option<String>;

/// Compares all cases, as one family.
pub fn compare(pairs: &[Pair<'_>], options: &CompareOptions<'_>) -> Vec<Line> {
    compare_each(pairs, options).into_iter().flatten().collect()
}

/// The inconclusive line of a series that is not compared, with the reason.
pub(crate) fn without_figures(pair: &Pair<'_>, series: &str, why: &str) -> Line {
    Prepared::settled(pair, series, Finding::Inconclusive, vec![why.to_owned()]).line
}

/// Compares all cases, as one family. Returns the lines of each pair.
pub fn compare_each(pairs: &[Pair<'_>], options: &CompareOptions<'_>) -> Vec<Vec<Line>> {
    let prepared: Vec<Vec<Prepared>> = pairs.iter().map(|pair| prepare(pair, options)).collect();
    let counts: Vec<usize> = prepared.iter().map(Vec::len).collect();
    let mut lines: Vec<Prepared> = prepared.into_iter().flatten().collect();
    let measured = judge(&lines, options, |_| 1.0);
    // Scales A to the speed of B's machine. Interleaved runs shared their machine's speed, and
    // counts do not depend on it.
    let drifted = |line: &Line| {
        line.reference.filter(|ratio| {
            !options.interleaved && line.unit == Some(Unit::Nanoseconds) && !steady(*ratio)
        })
    };
    let adjusted = judge(&lines, options, |line| drifted(line).unwrap_or(1.0));
    for (line, (measured, adjusted)) in lines.iter_mut().zip(measured.iter().zip(&adjusted)) {
        line.conclude(measured, adjusted, options);
    }
    let mut lines = lines.into_iter().map(|prepared| prepared.line);
    counts.into_iter().map(|count| lines.by_ref().take(count).collect()).collect()
}

/// Returns whether all figures are exact: any growth is a regression then, whatever the threshold.
pub fn is_exact(lines: &[Line]) -> bool {
    let mut statistics = lines.iter().flat_map(|line| &line.statistics).peekable();
    statistics.peek().is_some() && statistics.all(|one| one.figures.test == statistics::Test::Exact)
}

/// The finding on a whole: the worst of its lines. A case that only A has was not measured again.
pub fn whole(lines: &[Line], only_in_a: &[String]) -> Finding {
    let worst = lines.iter().map(|line| line.finding).max();
    match worst {
        Some(shown @ (Finding::Mixed | Finding::Regression)) => shown,
        Some(worst) if only_in_a.is_empty() => worst,
        _ => Finding::Inconclusive,
    }
}

/// Returns whether the ratio of two reference loops means that the machines ran at one speed.
pub fn steady(ratio: f64) -> bool {
    ratio.ln().abs() < STEADY
}

/// A line whose verdict is still open, or was settled without figures.
struct Prepared {
    line: Line,
    statistics: Vec<Values>,
    exact: bool,
    step: f64,
    /// Conditions of this case alone that differ between stored runs.
    conditions: Vec<String>,
    /// The command that measures both cases in turn.
    in_turn: Option<String>,
}

/// The repetitions of a statistic on both sides.
struct Values {
    statistic: &'static ComparedStatistic,
    a: Vec<f64>,
    b: Vec<f64>,
    between: Option<statistics::Between>,
}

/// The series of a case that are to be compared; or one line that says why there is none.
fn prepare(pair: &Pair<'_>, options: &CompareOptions<'_>) -> Vec<Prepared> {
    let (a, b) = (pair.a, pair.b);
    if let Some((finding, reasons)) = settled(a, b) {
        return vec![Prepared::settled(pair, "", finding, reasons)];
    }
    let mut lines: Vec<Prepared> = a
        .measured()
        .map(|series| match b.measured().find(|other| other.name == series.name) {
            Some(other) => with_figures(pair, series, other, options),
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

/// The statistics that the user names for a pair; by default, the statistics that B's study names,
/// or else A's study. A baseline has its own, whatever B's study names.
///
/// # Errors
/// A run of another version names a statistic that is unknown here.
fn named(
    pair: &Pair<'_>,
    options: &CompareOptions<'_>,
) -> Result<StatisticChoice, UnknownStatistic> {
    if is_baseline(pair.a) {
        return Ok(options.judge.clone());
    }
    let of_studies =
        StatisticChoice::read(&pair.b.judge)?.or(StatisticChoice::read(&pair.a.judge)?);
    Ok(options.judge.or(of_studies))
}

fn with_figures(
    pair: &Pair<'_>,
    a: &SeriesResult,
    b: &SeriesResult,
    options: &CompareOptions<'_>,
) -> Prepared {
    let unsettled =
        |reason: String| Prepared::settled(pair, &a.name, Finding::Inconclusive, vec![reason]);
    if a.unit != b.unit {
        return unsettled(format!("A is in {} and B in {}", a.unit, b.unit));
    }
    // Figures without a clock, as the bytes of an image, are counts. A baseline has no target: the run that
    // is compared with it has.
    let exact = match &pair.a.clock {
        Some(_) => pair.a.is_deterministic() && pair.b.is_deterministic(),
        None => a.unit == Unit::Count,
    };
    let is_time = a.unit == Unit::Nanoseconds;
    let (mut statistics, mut information) = (Vec::new(), Vec::new());
    let each = [a, b].into_iter().flat_map(|side| &side.by_repetition);
    // A baseline keeps no number of samples, and has one a repetition.
    let samples = each.map(|one| one.count).filter(|count| *count > 1).min();
    let judge = match named(pair, options) {
        Ok(judge) => judge,
        Err(error) => return unsettled(error.to_string()),
    };
    let named = judge.chosen();
    // Means of batches have no tail: the longest of a batch is in its mean. A baseline, which has no
    // target, does not say whether its figures are means: the run does.
    let is_of_batches =
        |(case, one): &(&CaseResult, &SeriesResult)| !is_baseline(case) && one.batch().is_some();
    let has_tail = ![(pair.a, a), (pair.b, b)].iter().any(is_of_batches);
    let of_baseline = named.is_empty() && is_baseline(pair.a);
    for statistic in COMPARED_STATISTICS {
        let wanted = match named {
            // All that a baseline holds is checked; of batches' extremes and tails, those that the run's
            // study names.
            [] if of_baseline => {
                let of_body = ["p50", "mean"].contains(&statistic.name);
                let is_named = || pair.b.judge.iter().any(|name| **name == *statistic.name);
                values(statistic, pair.a, a).is_some() && (has_tail || of_body || is_named())
            }
            [] => statistic.is_usual(exact) && (has_tail || statistic.name == "p50"),
            _ => named.iter().any(|one| one.name == statistic.name),
        };
        if !wanted {
            continue;
        }
        let [of_a, of_b] =
            [(pair.a, a), (pair.b, b)].map(|(case, one)| values(statistic, case, one));
        if let (true, Some(of_a), Some(of_b), Some(fewest)) = (
            named.is_empty() && !exact,
            &of_a,
            &of_b,
            samples.filter(|one| *one < statistic.fewest_samples),
        ) {
            information.extend(shown_only(statistic, of_a, of_b, fewest));
            continue;
        }
        match (of_a, of_b) {
            (Some(a_values), Some(b_values)) => statistics.push(Values {
                statistic,
                a: if exact { statistic.exact(&a_values) } else { a_values },
                b: if exact { statistic.exact(&b_values) } else { b_values },
                between: (is_time && !exact && !options.interleaved)
                    .then(|| options.history.between(pair.a, pair.b, b, statistic)),
            }),
            (of_a, _) => {
                let side = if of_a.is_none() { "A" } else { "B" };
                let lack = format!("a repetition of {side} has no {}", statistic.name);
                if !named.is_empty() {
                    return unsettled(format!("{lack}: it needs more samples (--set loops=…)"));
                }
                // Without a name, a statistic is judged where every repetition supports it.
                information.extend(of_baseline.then_some(lack));
            }
        }
    }
    if statistics.is_empty() {
        let (a, b) = (a.by_repetition.len(), b.by_repetition.len());
        let batches = "the baseline holds extremes and tails of batches alone: name one (--judge)";
        return unsettled(match information.pop() {
            Some(lack) if of_baseline => lack,
            None if of_baseline && !has_tail => batches.to_owned(),
            _ => Reason::TooFewRepetitions { a, b }.to_string(),
        });
    }
    let mut conditions = Vec::new();
    if is_time && !exact && !options.interleaved {
        conditions.extend_from_slice(options.conditions);
        conditions.extend(doubt::steal(pair.a, pair.b));
    }
    Prepared {
        exact,
        step: step(pair.a, a).max(step(pair.b, b)),
        statistics,
        conditions,
        in_turn: (options.in_turn)(pair.a, pair.b),
        line: Line {
            series: a.name.to_string(),
            unit: Some(a.unit),
            nominal: a.nominal,
            reference: reference(pair.a).zip(reference(pair.b)).map(|(a, b)| b / a),
            samples,
            information,
            shift: Shift::between(a, b, exact),
            boots_apart: boot_apart(pair.a, pair.b),
            ..Prepared::settled(pair, "", Finding::Pass, Vec::new()).line
        },
    }
}

/// The share by which guests of one kernel that were booted apart differ: timers and lists of a booted
/// kernel are not in the same places twice. On a busy host 0.4 % was seen (`docs/machines/vm.md`).
pub(crate) const BOOTS: f64 = 0.01;

/// Returns whether two cases ran in guests, each booted by itself.
fn boot_apart(a: &CaseResult, b: &CaseResult) -> bool {
    let is_guest = |case: &CaseResult| case.identity.contains_key(INITRAMFS);
    is_guest(a) && is_guest(b) && a.identity != b.identity
}

/// The value of each repetition. A count without a clock, as the bytes of an image, has its number
/// alone, as a maximum. `None` if a repetition lacks it, or there is none.
pub(crate) fn values(
    statistic: &ComparedStatistic,
    case: &CaseResult,
    series: &SeriesResult,
) -> Option<Vec<f64>> {
    let is_counted = case.clock.is_none() && series.unit == Unit::Count;
    let counted = || series.summary.max.filter(|_| is_counted && statistic.name == "max");
    statistic.values(&series.by_repetition).or_else(|| Some(vec![counted()?]))
}

/// The sentence on a statistic that is shown and not judged: `p99.9 × 1.4, not judged: …`.
fn shown_only(statistic: &ComparedStatistic, a: &[f64], b: &[f64], samples: u64) -> Option<String> {
    let ratio = statistics::typical(b, false)? / statistics::typical(a, false)?;
    Some(format!(
        "{} × {}, not judged: a repetition has {} samples, and {} are needed (--judge {} judges it)",
        statistic.name,
        sentence::times(ratio),
        digits(samples as f64),
        digits(statistic.fewest_samples as f64),
        statistic.name
    ))
}

impl Prepared {
    fn settled(pair: &Pair<'_>, series: &str, finding: Finding, reasons: Vec<String>) -> Self {
        let line = Line {
            key: pair.b.key(),
            experiment: pair.b.experiment.to_string(),
            case: pair.label.clone(),
            series: series.to_owned(),
            unit: None,
            nominal: 0.0,
            finding,
            sentence: String::new(),
            reasons,
            is_in_doubt: false,
            in_turn: None,
            information: Vec::new(),
            figures: None,
            statistics: Vec::new(),
            reference: None,
            samples: None,
            shift: None,
            boots_apart: false,
        };
        Self {
            line,
            statistics: Vec::new(),
            exact: false,
            step: 0.0,
            conditions: Vec::new(),
            in_turn: None,
        }
    }

    /// Concludes a line with statistics: as measured, as if A's machine had run at B's speed, and
    /// under the conditions that differ.
    fn conclude(
        &mut self,
        measured: &[statistics::Comparison],
        adjusted: &[statistics::Comparison],
        options: &CompareOptions<'_>,
    ) {
        if self.statistics.is_empty() {
            return;
        }
        let apart = self.line.reference.filter(|ratio| !steady(*ratio));
        let mut conditions = self.conditions.clone();
        let mut verdicts = Vec::new();
        for (values, (measured, adjusted)) in
            self.statistics.iter().zip(measured.iter().zip(adjusted))
        {
            let verdict = agreed(measured.verdict, adjusted.verdict);
            if let (true, Some(ratio)) = (differ(measured.verdict, adjusted.verdict), apart) {
                let told = at_another_speed(ratio, values.statistic, adjusted.verdict);
                conditions.extend((!conditions.contains(&told)).then_some(told));
            }
            let verdict = if self.conditions.is_empty() { verdict } else { verdict.doubted() };
            verdicts.push(verdict);
            self.line.statistics.push(statistic_line(values, measured, verdict, options.threshold));
        }
        let Some(verdict) = Verdict::together(verdicts.iter().copied()) else { return };
        self.line.finding = verdict.into();
        for verdict in verdicts {
            if let Verdict::Inconclusive(reason) = verdict
                && reason != Reason::InDoubt
                && !self.line.reasons.contains(&reason.to_string())
            {
                self.line.reasons.push(reason.to_string());
            }
        }
        if self.line.finding <= Finding::Pass {
            self.line.reasons.extend(conditions);
        } else if !conditions.is_empty() {
            self.line.is_in_doubt = true;
            self.line.in_turn = self.in_turn.take();
            self.line.reasons.push(format!("in doubt: {}", conditions.join("; ")));
            let command = self.line.in_turn.iter();
            self.line.reasons.extend(command.map(|command| format!("in turn decides: {command}")));
        }
        self.line.conclude(options.interleaved);
    }
}

/// Merges the verdict on the measured values with the verdict at equal speed of the machines. A
/// regression that only one of them has is in doubt.
fn agreed(measured: Verdict, adjusted: Verdict) -> Verdict {
    let is_slower = |verdict: Verdict| verdict == Verdict::Regression;
    let harmless = |verdict: Verdict| matches!(verdict, Verdict::Pass | Verdict::Improvement);
    match (measured, adjusted) {
        (measured, adjusted) if measured == adjusted => measured,
        (Verdict::Inconclusive(_), _) => measured,
        _ if is_slower(measured) || is_slower(adjusted) => Verdict::Regression.doubted(),
        _ if harmless(measured) && harmless(adjusted) => Verdict::Pass,
        _ => Verdict::Open,
    }
}

/// Returns whether a change is found at one of two speeds only.
fn differ(measured: Verdict, adjusted: Verdict) -> bool {
    let is_change =
        |verdict: Verdict| matches!(verdict, Verdict::Regression | Verdict::Improvement);
    measured != adjusted && (is_change(measured) || is_change(adjusted))
}

fn at_another_speed(ratio: f64, statistic: &ComparedStatistic, adjusted: Verdict) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let [took, machine] = if percent > 0.0 { ["longer", "slower"] } else { ["shorter", "faster"] };
    format!(
        "the reference loop took {:.1} % {took} with B, so the machine was {machine}; at equal speed, {} would be: {}",
        percent.abs(),
        statistic.name,
        Finding::from(adjusted).words()
    )
}

fn statistic_line(
    values: &Values,
    measured: &statistics::Comparison,
    verdict: Verdict,
    threshold: f64,
) -> StatisticLine {
    let statistics::Comparison {
        a,
        b,
        ratio,
        interval,
        corrected,
        test,
        p,
        p_holm,
        noise_floor,
        ..
    } = *measured;
    StatisticLine {
        statistic: values.statistic.name,
        at: values.statistic.at,
        finding: verdict.into(),
        figures: Figures { a, b, ratio, interval, corrected, test, p, p_holm, noise_floor },
        at_most: measured.at_most,
        settled_by: measured.settled_by,
        widened: measured.widened,
        between_runs: values.between.map(BetweenRuns::from),
        threshold,
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

/// Judges all statistics of all lines as one family. Returns the results of each line.
fn judge(
    lines: &[Prepared],
    options: &CompareOptions<'_>,
    speed: impl Fn(&Line) -> f64,
) -> Vec<Vec<statistics::Comparison>> {
    let all = || lines.iter().flat_map(|line| line.statistics.iter().map(move |one| (line, one)));
    // All the same: nothing to test. A few repetitions, or the repetitions of two runs, can agree by
    // accident; a scatter between runs leaves only zeros as they are.
    let alike = |a: &[f64], one: &Values| {
        let shortest = a.len().min(one.b.len());
        let all_same = a.iter().chain(&one.b).all(|value| a.first() == Some(value));
        let can_scatter = one.between.is_some() && one.b.iter().any(|value| *value != 0.0);
        shortest >= FEWEST_REPETITIONS && !can_scatter && all_same
    };
    let scaled: Vec<Vec<f64>> = all()
        .map(|(line, one)| one.a.iter().map(|value| value * speed(&line.line)).collect())
        .collect();
    let cases = all().zip(&scaled).map(|((line, one), a)| statistics::Case {
        a,
        b: &one.b,
        interleaved: options.interleaved,
        exact: line.exact || alike(a, one),
        apart: if line.line.boots_apart { BOOTS } else { 0.0 },
        step: line.step,
        between: one.between,
    });
    let rules = Rules { threshold: options.threshold, look: options.look };
    let mut results = statistics::compare(&cases.collect::<Vec<_>>(), &rules).into_iter();
    lines.iter().map(|line| results.by_ref().take(line.statistics.len()).collect()).collect()
}

#[cfg(test)]
mod tests;
