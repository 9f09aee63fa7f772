//! Findings as sentences.

use super::{BetweenRuns, Comparison, Finding, Line, StatisticLine};
use chronoscope_statistics::{Interval, Settled};
use chronoscope_units::{digits, show_ratio};

/// The finding on a series, with all its statistics: `slower at the median (× 1.15), 42 × shorter
/// at p99: mixed`. Empty without statistics. `pairs` says that repetitions are pairs.
pub fn of_line(statistics: &[StatisticLine], finding: Finding, pairs: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut before = None;
    for statistic in statistics {
        let statement = Statement::new(statistic);
        parts.push(statement.text(statistic.at, before == Some(statement.words())));
        before = Some(statement.words());
    }
    if parts.is_empty() {
        return String::new();
    }
    let sentence = format!("{}: {}", parts.join(", "), finding.words());
    match finding {
        Finding::NoRegressionShown => format!("{sentence}{}", settled_by(statistics, pairs)),
        _ => sentence,
    }
}

/// The numbers of repetitions that would settle all open statistics of a series, as a clause: the
/// widest range of them.
fn settled_by(statistics: &[StatisticLine], pairs: bool) -> String {
    let open = statistics.iter().filter(|one| one.finding == Finding::NoRegressionShown);
    let ranges: Option<Vec<Settled>> = open.map(|one| one.settled_by).collect();
    let what = if pairs { "pairs" } else { "repetitions of each side" };
    match ranges.as_deref() {
        None | Some([]) => format!("; no number of {what} would settle it"),
        Some(ranges) => {
            let from = ranges.iter().map(|one| one.from).max().unwrap_or_default();
            let to = ranges.iter().map(|one| one.to).collect::<Option<Vec<usize>>>();
            let to = to.and_then(|ends| ends.into_iter().max());
            format!("; {} {what} would settle it", numbers(Settled { from, to }))
        }
    }
}

/// Numbers of repetitions, as `20 to 90`, or `20 or more` without an upper end.
pub fn numbers(range: Settled) -> String {
    match range.to {
        Some(to) if to > range.from => format!("{} to {to}", range.from),
        Some(to) => to.to_string(),
        None => format!("{} or more", range.from),
    }
}

/// A statement on a statistic.
#[derive(Clone, Copy)]
enum Statement {
    /// B is slower or faster by less than the factor 2; the ratio.
    Slower(f64),
    Faster(f64),
    /// B is longer or shorter by this factor.
    Longer(f64),
    Shorter(f64),
    /// More than nothing.
    FromZero,
    /// Nothing any more.
    ToZero,
    Same,
    NotSlower,
    /// Slower within this interval, which holds the threshold.
    SlowerBy(Interval, f64),
    /// The growth that cannot be excluded.
    Open(Option<f64>),
    /// The scatter between runs is unknown, or too large for the number of runs that taught it.
    NotJudged(Option<BetweenRuns>),
    Inconclusive,
}

impl Statement {
    fn new(statistic: &StatisticLine) -> Self {
        let ratio = statistic.figures.ratio;
        let is_equal = || {
            let interval = statistic.figures.interval;
            interval.is_none_or(|ends| ends.low >= 1.0 / (1.0 + statistic.threshold))
        };
        match (statistic.finding, ratio) {
            (Finding::Regression, Some(ratio)) if ratio >= 2.0 => Self::Longer(ratio),
            (Finding::Regression, Some(ratio)) => Self::Slower(ratio),
            (Finding::Regression, None) => Self::FromZero,
            (Finding::Improvement, Some(0.0)) => Self::ToZero,
            (Finding::Improvement, Some(ratio)) if ratio <= 0.5 => Self::Shorter(1.0 / ratio),
            (Finding::Improvement, ratio) => Self::Faster(ratio.unwrap_or_default()),
            (Finding::Pass, _) if is_equal() => Self::Same,
            (Finding::Pass, _) => Self::NotSlower,
            (Finding::NoRegressionShown, _) => match slower_by(statistic) {
                Some(ends) => Self::SlowerBy(ends, statistic.threshold),
                None if is_not_judged(statistic) => Self::NotJudged(statistic.between_runs),
                None => Self::Open(statistic.at_most),
            },
            _ => Self::Inconclusive,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Slower(_) => "slower",
            Self::Faster(_) => "faster",
            Self::Longer(_) => "longer",
            Self::Shorter(_) => "shorter",
            Self::FromZero => "more than 0",
            Self::ToZero => "down to 0",
            Self::Same => "same",
            Self::NotSlower => "not slower",
            Self::SlowerBy(..) => "slower by",
            Self::Open(_) => "open",
            Self::NotJudged(_) => "not judged",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// The statement at a place of the distribution. `again` leaves out words that the statement
    /// before it has.
    fn text(self, at: &str, again: bool) -> String {
        let words = if again { String::new() } else { format!("{} ", self.words()) };
        match self {
            Self::Slower(ratio) | Self::Faster(ratio) => {
                format!("{words}{at} (× {})", show_ratio(ratio, 2))
            }
            Self::Longer(factor) | Self::Shorter(factor) => {
                format!("{} × {words}{at}", times(factor))
            }
            Self::SlowerBy(ends, threshold) => format!("{at} {}", open_by(ends, threshold)),
            Self::NotJudged(Some(BetweenRuns { runs: Some(runs), scatter })) => format!(
                "{at} nothing can be said, as {runs} earlier runs differ by {} %",
                digits((scatter * 100.0).round())
            ),
            Self::NotJudged(_) => {
                format!("{at} nothing can be said, as three earlier runs at least are needed")
            }
            Self::Open(Some(share)) => format!("{at} {} cannot be excluded", up_to(share)),
            Self::Open(None) => format!("{at} nothing can be excluded"),
            Self::FromZero | Self::ToZero | Self::Same | Self::NotSlower | Self::Inconclusive => {
                format!("{words}{at}")
            }
        }
    }
}

/// The interval of an open statistic that is shown to be slower, by the threshold or less as far as
/// is known. `None` where B may be as fast as A.
pub fn slower_by(statistic: &StatisticLine) -> Option<Interval> {
    let open = statistic.finding == Finding::NoRegressionShown;
    statistic.figures.corrected.filter(|ends| open && ends.low > 1.0)
}

/// Returns whether a statistic of two runs is open because the scatter between them is unknown, or too
/// large for the number of runs that taught it.
pub fn is_not_judged(statistic: &StatisticLine) -> bool {
    let unknown = statistic.between_runs.is_some() && statistic.figures.interval.is_none();
    unknown && statistic.finding == Finding::NoRegressionShown
}

/// A slowdown whose interval holds the threshold: `slower by 0.5–8 %: whether more than 5 % is
/// open`.
pub fn open_by(ends: Interval, threshold: f64) -> String {
    let percent = |share: f64| match share * 100.0 {
        percent if percent < 9.95 => format!("{percent:.1}"),
        percent => format!("{percent:.0}"),
    };
    let [low, high] = [ends.low - 1.0, ends.high - 1.0].map(percent);
    format!("slower by {low}–{high} %: whether more than {} % is open", digits(threshold * 100.0))
}

/// The finding on a statistic in a word or two.
pub fn in_a_word(statistic: &StatisticLine) -> &'static str {
    match Statement::new(statistic) {
        Statement::Same => "same",
        Statement::NotSlower => "not slower",
        Statement::SlowerBy(..) => "slower, open",
        Statement::NotJudged(_) => "not judged",
        _ => statistic.finding.words(),
    }
}

pub fn times(factor: f64) -> String {
    if factor < 10.0 { show_ratio(factor, 1) } else { format!("{factor:.0}") }
}

/// A growth that is not excluded, as `up to + 12 %`.
pub fn up_to(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 10.0 => format!("up to + {percent:.1} %"),
        percent if percent < 1000.0 => format!("up to + {percent:.0} %"),
        _ => format!("up to × {}", digits((share + 1.0).round())),
    }
}

/// The answer of a comparison in one line, for a title: the sentence of the only series, or the
/// worst finding with its cases.
pub fn answer(comparison: &Comparison) -> String {
    let lines = &comparison.lines;
    let missing = comparison.only_in_a.len();
    if let ([only], 0) = (&lines[..], missing) {
        let reason = only.reasons.first().map_or(String::new(), |reason| format!(": {reason}"));
        return match only.sentence.is_empty() {
            true => format!("{}{reason}", only.finding.words()),
            false => only.sentence.clone(),
        };
    }
    let of = |finding: Finding| lines.iter().filter(move |line| line.finding == finding);
    let worst = comparison.finding;
    let many = format!("{} of {} series", of(worst).count(), lines.len());
    let first = || of(worst).next().map_or(String::new(), example);
    match worst {
        Finding::Pass | Finding::Improvement => {
            let improved = of(Finding::Improvement).count();
            let faster = if improved > 0 { format!("; {improved} faster") } else { String::new() };
            format!("pass: none of {} series is slower{}{faster}", lines.len(), comparison.beyond())
        }
        Finding::NotOffered => format!("not offered: {many}"),
        Finding::NoRegressionShown => {
            format!("no regression shown, and none excluded in {many}{}", first())
        }
        Finding::Inconclusive if of(worst).next().is_none() => match missing {
            0 => "inconclusive: nothing was compared".to_owned(),
            _ => format!("inconclusive: {missing} not measured in B"),
        },
        Finding::Inconclusive => format!("inconclusive: {many}{}", first()),
        Finding::Mixed => format!("mixed: {many} are slower and faster{}", first()),
        Finding::Regression => format!("regression: {many} are slower{}", first()),
    }
}

/// A series with its sentence or reason, as an example after a count.
fn example(line: &Line) -> String {
    let name = line.name();
    match (line.sentence.as_str(), line.reasons.first()) {
        ("", None) => format!(": {name}"),
        ("", Some(reason)) => format!(": {name}: {reason}"),
        (sentence, _) => format!(": {name}: {sentence}"),
    }
}
