//! The answer of a comparison: the finding as a sentence with its interval, the verdict in a few
//! words, how far the finding can be trusted, and the next steps. The findings are given; the
//! module words them by the rules of `docs/compare.md`.

use super::{
    Step, TITLE, reading,
    rule::proper,
    sentence,
    span::count,
    trust::{Trust, Verdict},
};
use crate::{
    comparison::BOOTS, comparison::Comparison, comparison::Finding, comparison::Line,
    comparison::Pair, comparison::StatisticLine, comparison::in_a_word, comparison::is_exact,
    comparison::is_not_judged, comparison::open_by, comparison::slower_by, comparison::told_apart,
};
use chronoscope_run::Unit;
use chronoscope_statistics::Interval;
use chronoscope_suite::spec::{Decides, Figure};
use chronoscope_units::digits;

/// The ratio from which a change is written as a factor. Smaller changes are written in percent.
const FACTOR: f64 = 2.0;

/// The number of samples in a repetition from which p99 is not one of the few longest.
const MANY: u64 = 1000;

/// The largest number of repetitions for which a next step proposes to measure more.
const MOST: usize = 200;

/// The gain of a step that settles an undecided statistic.
const UNDECIDED: &str = "an answer to what is undecided";

/// The answer of a comparison.
pub struct Compared {
    /// The finding, in one sentence with its interval.
    pub title: String,
    /// The verdict in a few words, as `better tail, worse median`.
    pub verdict: &'static str,
    /// How far the finding can be trusted.
    pub trust: Trust,
    /// Commands that would tell more, three at most.
    pub next: Vec<Step>,
}

impl Compared {
    /// Words the findings of a comparison.
    pub fn new(comparison: &Comparison) -> Self {
        Self {
            title: title(comparison),
            verdict: verdict(comparison),
            trust: trust(comparison),
            next: next(comparison),
        }
    }
}

/// The words that tell A and B of all pairs apart: the kernels on one machine, the
/// targets, or the only parameter that differs, as `primitive=pipe`. `None` if nothing or more
/// differs, or not the same in all pairs.
pub fn subjects(pairs: &[Pair<'_>]) -> Option<[String; 2]> {
    let targets = told_apart(pairs, |case| Some(case.target.to_string()));
    if let Some([a, b]) = targets {
        let (one, other) = (a.split_once('@')?, b.split_once('@')?);
        let by_kernel = one.1 == other.1;
        return Some(if by_kernel { [one.0, other.0].map(proper) } else { [a, b] });
    }
    let names = pairs.first()?.a.parameters.keys();
    let mut told = names.filter_map(|name| {
        told_apart(pairs, |case| Some(format!("{name}={}", case.parameters.get(name)?)))
    });
    told.next().filter(|_| told.next().is_none())
}

/// The words of a comparison's sentences.
struct Words<'a> {
    /// The name of A: its kernel, its target or its setting where that tells it from B, else `A`.
    a: &'a str,
    /// The name of B, likewise.
    b: &'a str,
    /// Any change counts; otherwise changes beyond the threshold do.
    is_exact: bool,
    /// The threshold in percent.
    percent: String,
    /// The [growth](Comparison::beyond) that counts.
    beyond: String,
}

impl<'a> Words<'a> {
    fn for_comparison(comparison: &'a Comparison) -> Self {
        let [a, b] = comparison.subjects.as_ref().map_or(["A", "B"], |both| [&both[0], &both[1]]);
        let percent = digits(comparison.threshold * 100.0);
        let beyond = comparison.beyond();
        Self { a, b, is_exact: is_exact(&comparison.lines), percent, beyond }
    }
}

/// The words for more and for less of a series.
struct Degrees {
    /// The word in `20 % slower`.
    more: &'static str,
    /// The word in `20 % faster`.
    less: &'static str,
    /// The words in `takes 3.0 × as long`.
    multiple: (&'static str, &'static str),
}

impl Degrees {
    fn for_line(line: &Line) -> Self {
        Self::for_lines(std::slice::from_ref(line))
    }

    fn for_lines(lines: &[Line]) -> Self {
        if lines.iter().all(|line| line.unit == Some(Unit::Count)) {
            Self { more: "larger", less: "smaller", multiple: ("is", "as large") }
        } else {
            Self { more: "slower", less: "faster", multiple: ("takes", "as long") }
        }
    }
}

fn title(comparison: &Comparison) -> String {
    let words = Words::for_comparison(comparison);
    let whole = match comparison.lines.as_slice() {
        [one] if comparison.only_in_a.is_empty() => of_one(one, &words),
        [] => None,
        lines => Some(of_many(comparison, lines, &words)),
    };
    whole.unwrap_or_else(|| sentence::capital(&comparison.answer))
}

/// Returns whether the worst answers the question of a line's experiment.
fn asks_for_worst(line: &Line) -> bool {
    reading::find(&line.experiment).is_some_and(|reading| reading.decides == Decides::Worst)
}

/// The sentence on a single series; `None` if the series is inconclusive or has no statistics. The
/// statistics stand in the order of the distribution, or from its far end where they changed in one
/// direction and the worst answers the experiment's question.
fn of_one(line: &Line, words: &Words<'_>) -> Option<String> {
    let Words { a, b, is_exact, percent, beyond } = words;
    if line.finding == Finding::Inconclusive || line.statistics.is_empty() {
        return None;
    }
    let of = |wanted: Finding| -> Vec<&StatisticLine> {
        line.statistics.iter().filter(|one| one.finding == wanted).collect()
    };
    let (slower, faster) = (of(Finding::Regression), of(Finding::Improvement));
    if !slower.is_empty() && !faster.is_empty() {
        return Some(mixed(&slower, &faster, b));
    }
    let ordered = |mut found: Vec<_>| {
        if asks_for_worst(line) {
            found.reverse();
        }
        found
    };
    let [slower, faster] = [slower, faster].map(ordered);
    let [equal, open] =
        [Finding::Pass, Finding::NoRegressionShown].map(|wanted| ordered(of(wanted)));
    let differ = |equal: &[&StatisticLine]| equal.iter().any(|one| one.figures.a != one.figures.b);
    let boots = digits(BOOTS * 100.0);
    let rest = match (equal.as_slice(), open.as_slice()) {
        ([], []) => String::new(),
        (equal, []) if *is_exact && differ(equal) => {
            format!("; within {boots} % {}", places(equal))
        }
        (equal, []) if *is_exact => format!("; equal {}", places(equal)),
        (equal, []) => format!("; within {percent} % {}", places(equal)),
        (_, open) => format!("; undecided {}", places(open)),
    };
    let degrees = Degrees::for_line(line);
    match (slower.as_slice(), faster.as_slice()) {
        ([], []) if open.is_empty() => {
            let same = equal.iter().all(|one| in_a_word(one) == "same");
            let place = match equal.as_slice() {
                [one] if one.statistic != "p50" => format!(" {}", one.at),
                _ => String::new(),
            };
            Some(match same {
                true if *is_exact && differ(&equal) => {
                    format!("{b} equals {a} within {boots} %{place}")
                }
                true if *is_exact => format!("{b} equals {a} exactly{place}"),
                true => format!("{b} equals {a} within {percent} %{place}"),
                false => format!("{b} is not {} than {a}{beyond}{place}", degrees.more),
            })
        }
        ([], []) => Some(undecided(&equal, &open, b)),
        ([], faster) => Some(changed(faster, line, b, true) + &rest),
        (slower, _) => Some(changed(slower, line, b, false) + &rest),
    }
}

fn has_median(all: &[&StatisticLine]) -> bool {
    all.iter().any(|one| one.statistic == "p50")
}

/// Returns whether a change has a size: not one from 0 or to 0.
fn has_size(one: &StatisticLine) -> bool {
    one.figures.ratio.is_some_and(|ratio| ratio != 0.0)
}

/// The sentence on statistics of which none changed by more than the threshold as far as is known.
/// An equal median is named before an open tail.
fn undecided(equal: &[&StatisticLine], open: &[&StatisticLine], b: &str) -> String {
    let (unknown, open): (Vec<&StatisticLine>, Vec<&StatisticLine>) =
        open.iter().copied().partition(|one| is_not_judged(one));
    let slower = open.iter().find_map(|one| Some((one, slower_by(one)?)));
    let tail = match (slower, open.as_slice(), unknown.as_slice()) {
        (Some((one, ends)), ..) => format!("{} {}", one.at, open_by(ends, one.threshold)),
        (None, [], unknown) => format!("not judged {}", places(unknown)),
        (None, open, _) => excluded(open).trim_start_matches([';', ',', ' ']).to_owned(),
    };
    match (equal, slower) {
        ([_, ..], _) if has_median(equal) => format!("Equal {}; {tail}", places(equal)),
        (_, Some((one, ends))) => match one.statistic {
            "p50" => format!("{b} is {}", open_by(ends, one.threshold)),
            _ => format!("{b} is {} {}", one.at, open_by(ends, one.threshold)),
        },
        _ if open.is_empty() => format!("Nothing is judged: {tail}"),
        _ => format!("No slowdown is shown{}", excluded(&open)),
    }
}

/// The greatest growth among open statistics that is not excluded, as a clause.
fn excluded(open: &[&StatisticLine]) -> String {
    let at_most = |one: &&StatisticLine| one.at_most.unwrap_or(f64::INFINITY);
    let widest = open.iter().copied().max_by(|one, other| at_most(one).total_cmp(&at_most(other)));
    match widest.and_then(|one| Some((one, one.at_most?))) {
        Some((one, share)) => {
            format!("; {} more {} is not excluded", size(1.0 + share), one.at)
        }
        None => ", and none is excluded".to_owned(),
    }
}

/// The places of statistics: `at the median, at p99`.
fn places(statistics: &[&StatisticLine]) -> String {
    statistics.iter().map(|one| one.at).collect::<Vec<_>>().join(", ")
}

/// The sentence on statistics of a line that all changed in the same direction.
fn changed(statistics: &[&StatisticLine], line: &Line, b: &str, faster: bool) -> String {
    let degrees = Degrees::for_line(line);
    let place = |one: &StatisticLine| match line.statistics.len() {
        1 if one.statistic == "p50" || line.unit == Some(Unit::Count) => String::new(),
        _ => format!(" {}", one.at),
    };
    let first = statistics.iter().position(|one| has_size(one));
    let part = |(index, one): (usize, &&StatisticLine)| {
        let Some(ratio) = one.figures.ratio else {
            let word = if line.unit == Some(Unit::Count) { "larger" } else { "longer" };
            return format!("{word} than 0{}", place(one));
        };
        if ratio == 0.0 {
            return format!("down to 0{}", place(one));
        }
        let ends = one.figures.interval.map_or_else(String::new, |ends| interval(ratio, ends));
        let word = match (Some(index) == first, faster, is_factor(ratio)) {
            (true, true, _) => format!(" {}", degrees.less),
            (true, false, true) => format!(" {}", degrees.multiple.1),
            (true, false, false) => format!(" {}", degrees.more),
            (false, ..) => String::new(),
        };
        format!("{}{word}{}{ends}", size(ratio), place(one))
    };
    // Two statistics have room in a title; the table has all.
    let parts: Vec<String> = statistics.iter().enumerate().take(2).map(part).collect();
    let takes = !faster && statistics[0].figures.ratio.is_some_and(is_factor);
    format!("{b} {} {}", if takes { degrees.multiple.0 } else { "is" }, parts.join(", "))
}

/// The sentence on a series with slower and with faster statistics.
fn mixed(slower: &[&StatisticLine], faster: &[&StatisticLine], b: &str) -> String {
    let parts = |statistics: &[&StatisticLine], word: &str| {
        let first = statistics.iter().position(|one| has_size(one));
        let part = |(index, one): (usize, &&StatisticLine)| {
            let word = if Some(index) == first { format!(" {word}") } else { String::new() };
            match one.figures.ratio {
                None => format!("more than 0 {}", one.at),
                Some(0.0) => format!("0 {}", one.at),
                Some(ratio) => format!("{}{word} {}", size(ratio), one.at),
            }
        };
        statistics.iter().enumerate().map(part).collect::<Vec<_>>().join(", ")
    };
    let (less, more) = (parts(faster, "less"), parts(slower, "more"));
    let tail = |statistics: &[&StatisticLine]| {
        let ratios = statistics.iter().filter_map(|one| one.figures.ratio);
        ratios.map(|ratio| ratio.max(1.0 / ratio)).fold(1.0, f64::max)
    };
    match (has_better_tail(slower, faster), tail(faster) >= FACTOR) {
        // Nothing is said of the tail as a whole where the median has no part in it.
        (true, _) if !has_median(slower) => format!("{b} takes {less}, but {more}"),
        (false, _) if !has_median(faster) => format!("{b} takes {more}, but {less}"),
        (true, true) => format!("{b} removes the tail: {less}, for {more}"),
        (true, false) => format!("{b} shortens the tail: {less}, for {more}"),
        (false, _) => format!("{b} lengthens the tail: {more}, for {less}"),
    }
}

/// Returns whether the statistic farthest out in the distribution improved.
fn has_better_tail(slower: &[&StatisticLine], faster: &[&StatisticLine]) -> bool {
    let place = |one: &&StatisticLine| {
        crate::comparison::COMPARED_STATISTICS
            .iter()
            .position(|judged| judged.name == one.statistic)
    };
    faster.last().and_then(place) > slower.last().and_then(place)
}

/// The sentence on several series: of one experiment on one case the series that answers its question;
/// else the number with each finding, and the greatest change.
fn of_many(comparison: &Comparison, lines: &[Line], words: &Words<'_>) -> String {
    if let Some(sentence) = of_headline(comparison, lines, words) {
        return sentence;
    }
    let number = |finding: Finding| lines.iter().filter(|line| line.finding == finding).count();
    let Words { b, beyond, .. } = words;
    let degrees = Degrees::for_lines(lines);
    let all = format!("{} series", lines.len());
    let (worse, mixed, better) =
        (number(Finding::Regression), number(Finding::Mixed), number(Finding::Improvement));
    let equal = number(Finding::Pass);
    let mut clauses: Vec<String> = Vec::new();
    let mut add = |number: usize, words: &str| {
        if number > 0 {
            clauses.push(format!("{words} {number}"));
        }
    };
    add(worse, &format!("{} in", degrees.more));
    add(mixed, &format!("{} and {} in", degrees.more, degrees.less));
    add(better, &format!("{} in", degrees.less));
    let mut rest: Vec<String> = Vec::new();
    let mut left = |number: usize, words: &str| {
        if number > 0 {
            rest.push(format!("{number} {words}"));
        }
    };
    left(number(Finding::NoRegressionShown), "undecided");
    left(number(Finding::Inconclusive), "inconclusive");
    left(comparison.only_in_a.len(), "not measured again");
    let rest = if rest.is_empty() { String::new() } else { format!("; {}", rest.join(", ")) };
    if clauses.is_empty() {
        return match equal {
            0 => format!("No slowdown is shown in {all}{rest}"),
            _ if equal == lines.len() && rest.is_empty() => {
                format!("{b} is {} in none of {all}{beyond}", degrees.more)
            }
            _ => format!("{b} is not {} in {equal} of {all}{beyond}{rest}", degrees.more),
        };
    }
    let title = format!("{b} is {} of {all}{rest}", clauses.join(", "));
    match greatest(lines, worse + mixed > 0) {
        Some(example) if title.chars().count() + example.chars().count() + 2 <= TITLE => {
            format!("{title}: {example}")
        }
        _ => title,
    }
}

/// The sentence on the series that answers an experiment's question, where all series are of one case;
/// `None` if another series is worse off than this one, which the count has to say.
fn of_headline(comparison: &Comparison, lines: &[Line], words: &Words<'_>) -> Option<String> {
    let first = lines.first()?;
    let is_one_case = lines.iter().all(|line| line.key == first.key);
    if !is_one_case || !comparison.only_in_a.is_empty() {
        return None;
    }
    let (figure, _) = reading::figures(reading::find(&first.experiment)?);
    let line = match figure {
        Figure::First(_) => first,
        Figure::Last(_) => lines.last()?,
        Figure::Of(series, _) => lines.iter().find(|line| line.series == series)?,
        Figure::Named(_) => return None,
    };
    if lines.iter().any(|other| other.finding > line.finding) {
        return None;
    }
    Some(format!("{}: {}", line.title(), of_one(line, words)?))
}

/// The greatest change of a statistic in words, as `42 × as long at p99 in switch tasks=2`.
/// `slower` selects the greatest slowdown, otherwise the greatest speedup.
fn greatest(lines: &[Line], slower: bool) -> Option<String> {
    let wanted = if slower { Finding::Regression } else { Finding::Improvement };
    let all = lines.iter().flat_map(|line| line.statistics.iter().map(move |one| (line, one)));
    let changed = all.filter(|(_, one)| one.finding == wanted);
    let with_ratio =
        changed.filter_map(|(line, one)| Some((line, one, one.figures.ratio.filter(is_usable)?)));
    let (line, one, ratio) = with_ratio
        .max_by(|one, other| one.2.max(1.0 / one.2).total_cmp(&other.2.max(1.0 / other.2)))?;
    let words = if slower && is_factor(ratio) {
        format!("{} {}", size(ratio), Degrees::for_line(line).multiple.1)
    } else {
        format!("by {}", size(ratio))
    };
    let at = if line.unit == Some(Unit::Count) { String::new() } else { format!(" {}", one.at) };
    Some(format!("{words}{at} in {}", line.title()))
}

// The parameter is a reference because `Option::filter` passes one.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_usable(ratio: &f64) -> bool {
    ratio.is_finite() && *ratio > 0.0
}

fn is_factor(ratio: f64) -> bool {
    ratio >= FACTOR || ratio <= 1.0 / FACTOR
}

/// The size of a change without its direction: `20 %`, `42 ×`.
pub fn size(ratio: f64) -> String {
    if is_factor(ratio) {
        return format!("{}\u{a0}×", factor(ratio.max(1.0 / ratio)));
    }
    let share = (ratio - 1.0).abs();
    let shown = percent(share);
    if share == 0.0 || shown != percent(0.0) {
        return format!("{shown}\u{a0}%");
    }
    // One instruction of many thousands is a change, and 0.0 % would be none.
    let decimals = -(100.0 * share).log10().floor();
    format!("{:.*}\u{a0}%", decimals as usize, 100.0 * share)
}

/// A change with its direction: `20 % less`, `42 × more`, `equal` below a tenth of a percent.
pub fn change(ratio: f64) -> String {
    match ratio {
        ratio if (ratio - 1.0).abs() < 0.0005 => "equal".to_owned(),
        ratio => difference(ratio),
    }
}

/// A difference with its direction, however small: `0.02 % more`.
pub fn difference(ratio: f64) -> String {
    match ratio {
        0.0 => "down to 0".to_owned(),
        ratio => format!("{} {}", size(ratio), if ratio > 1.0 { "more" } else { "less" }),
    }
}

/// The interval of a change, in brackets and in the unit of the change: ` (15–24 %)`. An end in the
/// opposite direction of the change has a minus sign. Empty if an end is not finite.
fn interval(ratio: f64, ends: Interval) -> String {
    ends_of(ratio, ends).map_or_else(String::new, |text| format!(" ({text})"))
}

/// The interval of a change without brackets: `15–24 %`, `−3 to 20 %`; `None` if an end is not
/// positive and finite.
pub fn ends_of(ratio: f64, ends: Interval) -> Option<String> {
    let (near, far) = if ratio < 1.0 { (ends.high, ends.low) } else { (ends.low, ends.high) };
    if !is_usable(&near) || !is_usable(&far) {
        return None;
    }
    let (low, high, unit) = if is_factor(ratio) {
        let of = |end: f64| factor(if ratio < 1.0 { 1.0 / end } else { end });
        (of(near), of(far), "×")
    } else {
        let of = |end: f64| {
            let share = if ratio < 1.0 { 1.0 - end } else { end - 1.0 };
            let sign = if share < -0.0005 { "−" } else { "" };
            format!("{sign}{}", percent(share.abs()))
        };
        (of(near), of(far), "%")
    };
    let dash = if low.starts_with('−') { " to " } else { "–" };
    Some(format!("{low}{dash}{high}\u{a0}{unit}"))
}

fn factor(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.1}") } else { format!("{factor:.0}") }
}

/// A share in percent: whole from 2 %, one decimal below.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 1.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

/// The verdict in a few words.
fn verdict(comparison: &Comparison) -> &'static str {
    match comparison.finding {
        Finding::Mixed => match comparison.lines.as_slice() {
            [line] => {
                let of = |finding: Finding| -> Vec<&StatisticLine> {
                    line.statistics.iter().filter(|one| one.finding == finding).collect()
                };
                let (slower, faster) = (of(Finding::Regression), of(Finding::Improvement));
                match has_better_tail(&slower, &faster) {
                    true if has_median(&slower) => "better tail, worse median",
                    false if has_median(&faster) => "better median, worse tail",
                    _ => "better and worse",
                }
            }
            _ => "better and worse",
        },
        Finding::Improvement => "better",
        Finding::Regression => "worse",
        Finding::Pass => match comparison.lines.iter().any(|one| one.finding < Finding::Pass) {
            true => "better in some, worse in none",
            false => "equal",
        },
        Finding::NotOffered => "not offered",
        Finding::NoRegressionShown | Finding::Inconclusive => {
            let statistics = comparison.lines.iter().flat_map(|line| &line.statistics);
            let mut found = statistics.map(|one| one.finding);
            match found.any(|one| one == Finding::Improvement) {
                true => "better where decided",
                false if has_equal_median(comparison) => "equal at the median, open tail",
                false => "unclear",
            }
        }
    }
}

/// Returns whether the only line is open in the tail alone.
fn has_equal_median(comparison: &Comparison) -> bool {
    let [line] = comparison.lines.as_slice() else { return false };
    let is_equal = |one: &StatisticLine| one.statistic == "p50" && one.finding == Finding::Pass;
    line.finding == Finding::NoRegressionShown && line.statistics.iter().any(is_equal)
}

fn trust(comparison: &Comparison) -> Trust {
    let judged: Vec<&Line> =
        comparison.lines.iter().filter(|line| !line.statistics.is_empty()).collect();
    // Cycles of a board vary from start to start, and are judged as times are.
    let is_exact = |line: &&&Line| is_exact(std::slice::from_ref(**line));
    let exact =
        |unit: Unit| judged.iter().filter(is_exact).filter(|line| line.unit == Some(unit)).count();
    let counted = exact(Unit::Count) + exact(Unit::Instructions) + exact(Unit::Cycles);
    let mut verdicts = Vec::new();
    if judged.is_empty() {
        verdicts.push(Verdict::bad("Trust nothing yet", &[]));
    } else {
        let clocks = match (exact(Unit::Instructions), exact(Unit::Cycles)) {
            (0, 0) => None,
            (_, 0) => Some("instructions"),
            (0, _) => Some("cycles"),
            (_, _) => Some("instructions and cycles"),
        };
        let booted = match judged.iter().any(|line| line.boots_apart) {
            true => {
                format!("; guests that boot apart are equal within {} %", digits(BOOTS * 100.0))
            }
            false => String::new(),
        };
        if let Some(words) = clocks {
            let words = format!("{words}{booted}");
            verdicts.push(Verdict::good("Exact for these builds and starts", &words));
        }
        if exact(Unit::Count) == judged.len() {
            verdicts.push(Verdict::good("Exact for these builds", "counted"));
        }
        if counted < judged.len() {
            verdicts.push(of_times(comparison, &judged));
        }
        verdicts.extend(few_samples(&judged));
    }
    let mut rest = Vec::new();
    let unjudged = comparison.lines.len() - judged.len();
    if unjudged > 0 {
        rest.push(format!("{unjudged} of {} series have no figures.", comparison.lines.len()));
    }
    match comparison.only_in_a.len() {
        0 => {}
        missing => rest.push(format!("{} of A only.", count(missing, "case"))),
    }
    let imported = [("A", &comparison.a), ("B", &comparison.b)]
        .into_iter()
        .filter_map(|(name, side)| Some((name, &side.context.imported.as_ref()?.tool)));
    rest.extend(imported.map(|(name, tool)| format!("{name} is as {tool} says.")));
    Trust { verdicts, rest }
}

/// The trust in series of times: whether conditions differ, and whether the sides took turns.
fn of_times(comparison: &Comparison, judged: &[&Line]) -> Verdict {
    let in_doubt = judged.iter().filter(|line| line.is_in_doubt).count();
    if in_doubt > 0 {
        let words = format!("{in_doubt} of {} series, whose conditions differ", judged.len());
        return Verdict::bad("In doubt", &[words]);
    }
    if comparison.interleaved {
        return Verdict::good("Trust it", "A and B took turns");
    }
    let statistics = judged.iter().flat_map(|line| &line.statistics);
    let known =
        statistics.filter(|one| one.figures.interval.is_some()).filter_map(|one| one.between_runs);
    let scatters: Vec<_> = known.filter(|one| one.scatter.is_finite()).collect();
    let widest = scatters.iter().map(|one| one.scatter).fold(0.0, f64::max);
    let wild = wild_scatter(judged);
    let source = match scatters.iter().any(|one| one.runs.is_none()) {
        true => "assumed",
        false => "learned from earlier runs",
    };
    let scatter = match scatters.is_empty() {
        true if wild > 0.0 => format!(
            "earlier runs differ by up to {}\u{a0}%, and are few",
            digits((wild * 100.0).round())
        ),
        true => "the scatter between runs is unknown".to_owned(),
        false => format!(
            "intervals hold a scatter between runs of up to {}\u{a0}%, {source}",
            digits((widest * 100.0).round())
        ),
    };
    Verdict::bad("Trust large changes", &["A ran before B".to_owned(), scatter])
}

/// The greatest scatter between runs that was learned from too few to judge by it; 0 without any.
fn wild_scatter(judged: &[&Line]) -> f64 {
    let statistics = judged.iter().flat_map(|line| &line.statistics);
    let open = statistics.filter(|one| is_not_judged(one)).filter_map(|one| one.between_runs);
    let learned = open.filter(|one| one.runs.is_some() && one.scatter.is_finite());
    learned.map(|one| one.scatter).fold(0.0, f64::max)
}

/// A warning that p99 is one of the few longest samples. `None` for several series, without p99, and
/// from [`MANY`] samples on.
fn few_samples(judged: &[&Line]) -> Option<Verdict> {
    let [line] = judged else { return None };
    let samples = line.samples.filter(|samples| *samples < MANY)?;
    let has_tail = line.statistics.iter().any(|one| one.statistic == "p99");
    let rank = samples - (samples as f64 * 0.99).ceil() as u64 + 1;
    let words = match rank {
        1 => "p99 is the worst of them".to_owned(),
        2 => "p99 is the 2nd worst".to_owned(),
        3 => "p99 is the 3rd worst".to_owned(),
        rank => format!("p99 is the {rank}th worst"),
    };
    has_tail.then(|| Verdict::bad(format!("{samples} samples a repetition"), &[words]))
}

/// The next steps, three at most.
fn next(comparison: &Comparison) -> Vec<Step> {
    let mut next = Vec::new();
    let command = comparison.lines.iter().find_map(|line| line.in_turn.as_deref());
    next.extend(command.map(|command| Step::new("measure in turn", command)));
    let Words { a, b, .. } = Words::for_comparison(comparison);
    let choice = match verdict(comparison) {
        "better tail, worse median" => Some((b, a)),
        "better median, worse tail" => Some((a, b)),
        _ => None,
    };
    if let Some((tail, median)) = choice {
        next.push(Step::new("a deadline to meet", tail));
        next.push(Step::new("a short median", median));
    }
    let open = comparison.lines.iter().flat_map(|line| &line.statistics);
    let settled = open.filter_map(|one| one.settled_by).map(|range| range.from).max();
    let settled = settled.filter(|number| *number <= MOST);
    if let (Some(_), true, None) = (settled, comparison.interleaved, command) {
        next.push(Step::new(UNDECIDED, "--until-sure"));
    } else if command.is_none() && !comparison.interleaved && settled.is_some() {
        next.push(Step::new(UNDECIDED, "compare two variants, in turn"));
    }
    let is_worse = matches!(comparison.finding, Finding::Regression | Finding::Mixed);
    if let (true, Some(command)) = (is_worse, &comparison.b.trace) {
        next.push(Step::new("B's longest and their causes", command));
    }
    next.truncate(3);
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace('\u{a0}', " ")
    }

    #[test]
    fn a_change_is_a_percentage_up_to_its_double_and_then_a_factor() {
        let words = [0.8, 1.2, 1.9, 2.0, 0.5, 0.024, 1.015, 1.0].map(|ratio| plain(&change(ratio)));
        let expected =
            ["20 % less", "20 % more", "90 % more", "2.0 × more", "2.0 × less", "42 × less"];
        assert_eq!(words[..6], expected);
        assert_eq!(words[6..], ["1.5 % more", "equal"]);
        // One instruction more of many is a difference, and shown as one.
        assert_eq!(plain(&difference(46_010.0 / 46_000.0)), "0.02 % more");
        assert_eq!(plain(&size(1.0)), "0.0 %");
    }

    #[test]
    fn an_interval_has_the_unit_of_its_change() {
        let ends = |ratio: f64, low: f64, high: f64| {
            plain(&ends_of(ratio, Interval { low, high }).unwrap())
        };
        assert_eq!(ends(0.8, 0.76, 0.85), "15–24 %");
        assert_eq!(ends(1.2, 0.97, 1.4), "−3 to 40 %");
        assert_eq!(ends(3.0, 2.5, 3.6), "2.5–3.6 ×");
        assert_eq!(ends(0.1, 0.05, 0.2), "5.0–20 ×");
        assert_eq!(ends_of(1.5, Interval { low: 1.0, high: f64::INFINITY }), None);
    }

    /// A statistic: its name, finding, ratio, and the ratio's interval.
    type Of = (&'static str, Finding, f64, f64, f64);

    /// The answer of a comparison of series of times with statistics.
    fn answer(series: &[&[Of]]) -> Compared {
        answer_in(Unit::Nanoseconds, series)
    }

    fn answer_in(unit: Unit, series: &[&[Of]]) -> Compared {
        Compared::new(&comparison(unit, series, true))
    }

    fn comparison(unit: Unit, series: &[&[Of]], interleaved: bool) -> Comparison {
        let run = chronoscope_run::sample::run();
        let line = |(place, statistics): (usize, &&[Of])| {
            let statistic = |(name, finding, ratio, low, high): &Of| {
                let judged = crate::comparison::ComparedStatistic::find(name).unwrap();
                StatisticLine {
                    statistic: judged.name,
                    at: judged.at,
                    finding: *finding,
                    figures: crate::comparison::Figures {
                        a: Some(100.0),
                        b: Some(100.0 * ratio),
                        ratio: Some(*ratio),
                        interval: Some(Interval { low: *low, high: *high }),
                        test: chronoscope_statistics::Test::Paired,
                        p: None,
                        corrected: Some(Interval { low: *low, high: *high }),
                        p_holm: None,
                        noise_floor: None,
                    },
                    at_most: Some(high - 1.0),
                    settled_by: None,
                    widened: None,
                    between_runs: None,
                    threshold: 0.05,
                }
            };
            let statistics: Vec<StatisticLine> = statistics.iter().map(statistic).collect();
            let found = statistics.iter().map(|one| one.finding);
            let has = |finding| found.clone().any(|one| one == finding);
            let both = has(Finding::Regression) && has(Finding::Improvement);
            Line {
                key: place.to_string(),
                experiment: "switch".to_owned(),
                case: "tasks=2".to_owned(),
                series: "switch".to_owned(),
                unit: Some(unit),
                nominal: 0.0,
                finding: if both { Finding::Mixed } else { found.clone().max().unwrap() },
                sentence: String::new(),
                reasons: Vec::new(),
                is_in_doubt: false,
                in_turn: None,
                information: Vec::new(),
                figures: None,
                statistics,
                reference: None,
                samples: Some(400),
                shift: None,
                boots_apart: false,
            }
        };
        let options = crate::comparison::CompareOptions {
            interleaved,
            threshold: 0.05,
            judge: &crate::comparison::StatisticChoice::default(),
            history: &crate::comparison::History::default(),
            conditions: &[],
            look: None,
            in_turn: &|_, _| None,
        };
        let side = |name: &str| crate::comparison::Side {
            name: name.into(),
            context: run.context.clone(),
            trace: None,
        };
        let lines = series.iter().enumerate().map(line).collect();
        Comparison::new([side("a"), side("b")], &options, lines).concluded(false)
    }

    #[test]
    fn the_title_is_the_finding() {
        use Finding::{Improvement, NoRegressionShown, Pass, Regression};
        let faster = ("p50", Improvement, 0.8, 0.76, 0.85);
        let slower = ("p50", Regression, 1.15, 1.03, 1.2);
        let tail = ("p99", Improvement, 0.024, 0.02, 0.03);
        let equal = ("p50", Pass, 1.0, 0.98, 1.02);
        let open = ("p99", NoRegressionShown, 1.1, 0.9, 1.3);
        for (series, title, verdict) in [
            (&[&[faster][..]][..], "B is 20 % faster (15–24 %)", "better"),
            (&[&[slower][..]], "B is 15 % slower (3–20 %)", "worse"),
            (
                &[&[faster, open][..]],
                "B is 20 % faster at the median (15–24 %); undecided at p99",
                "better where decided",
            ),
            (
                &[&[slower, tail][..]],
                "B removes the tail: 42 × less at p99, for 15 % more at the median",
                "better tail, worse median",
            ),
            (
                &[&[faster, ("p99", Regression, 3.0, 2.5, 3.5)][..]],
                "B lengthens the tail: 3.0 × more at p99, for 20 % less at the median",
                "better median, worse tail",
            ),
            (&[&[tail][..]], "B is 42 × faster at p99 (33–50 ×)", "better"),
            (&[&[("p50", Improvement, 0.0, 0.0, 0.0)][..]], "B is down to 0", "better"),
            (
                &[&[("p50", Improvement, 0.0, 0.0, 0.0), ("p99", Regression, 3.0, 2.5, 3.5)][..]],
                "B lengthens the tail: 3.0 × more at p99, for 0 at the median",
                "better median, worse tail",
            ),
            // The median has no part in it.
            (
                &[&[
                    equal,
                    ("p99", Regression, 3.0, 2.5, 3.5),
                    ("max", Improvement, 0.8, 0.76, 0.85),
                ][..]],
                "B takes 20 % less at worst, but 3.0 × more at p99",
                "better and worse",
            ),
            (&[&[equal][..]], "B equals A within 5 %", "equal"),
            (&[&[("p99", Pass, 1.0, 0.98, 1.02)][..]], "B equals A within 5 % at p99", "equal"),
            (
                &[&[("p50", Pass, 0.9, 0.8, 1.01)][..]],
                "B is not slower than A by more than 5 %",
                "equal",
            ),
            (
                &[&[equal, open][..]],
                "Equal at the median; 30 % more at p99 is not excluded",
                "equal at the median, open tail",
            ),
            (
                &[&[("p50", NoRegressionShown, 1.04, 1.005, 1.08)][..]],
                "B is slower by 0.5–8.0 %: whether more than 5 % is open",
                "unclear",
            ),
            (
                &[&[equal, ("p99", NoRegressionShown, 1.09, 1.02, 1.2)][..]],
                "Equal at the median; at p99 slower by 2.0–20 %: whether more than 5 % is open",
                "equal at the median, open tail",
            ),
            (
                &[&[equal][..], &[equal]],
                "B is slower in none of 2 series by more than 5 %",
                "equal",
            ),
            (
                &[&[equal][..], &[slower], &[faster]],
                "B is slower in 1, faster in 1 of 3 series: by 15 % at the median in switch tasks=2",
                "worse",
            ),
            (
                &[&[open][..], &[equal]],
                "B is not slower in 1 of 2 series by more than 5 %; 1 undecided",
                "unclear",
            ),
        ] {
            let found = answer(series);
            assert_eq!((plain(&found.title).as_str(), found.verdict), (title, verdict));
            assert!(found.title.chars().count() <= TITLE, "{}", found.title);
        }
    }

    #[test]
    fn few_samples_make_a_tail_of_few() {
        let same = |statistic| [(statistic, Finding::Pass, 1.0, 0.99, 1.01)];
        let in_turn = "Trust it: A and B took turns";
        assert_eq!(
            trusted(&answer(&[&same("p99")])),
            [in_turn, "400 samples a repetition: p99 is the 5th worst"]
        );
        assert_eq!(trusted(&answer(&[&same("max")])), [in_turn], "p99 is not judged");
        // Counts that scatter are judged as times are.
        assert_eq!(trusted(&answer_in(Unit::Count, &[&same("max")])), [in_turn]);
    }

    #[test]
    fn a_scatter_that_is_too_wild_is_said() {
        let open = ("p99", Finding::NoRegressionShown, 1.0, 0.9, 1.1);
        let said = |runs: Option<usize>, scatter: f64| {
            let mut found = comparison(Unit::Nanoseconds, &[&[open]], false);
            let statistic = &mut found.lines[0].statistics[0];
            statistic.figures.interval = None;
            statistic.between_runs = Some(crate::comparison::BetweenRuns { runs, scatter });
            plain(&trusted(&Compared::new(&found))[0])
        };
        let head = "Trust large changes: A ran before B; ";
        assert_eq!(
            said(Some(3), 2.0),
            format!("{head}earlier runs differ by up to 200 %, and are few")
        );
        assert_eq!(said(None, 0.1), format!("{head}the scatter between runs is unknown"));
    }

    fn trusted(found: &Compared) -> Vec<String> {
        let verdicts = found.trust.verdicts.iter();
        verdicts.map(|one| format!("{}: {}", one.head, one.reasons)).collect()
    }

    #[test]
    fn a_choice_of_tail_or_median_needs_the_median() {
        use Finding::{Improvement, Pass, Regression};
        let steps = |median: Finding| {
            let longer = ("p99", Regression, 3.0, 2.5, 3.5);
            let shorter = ("max", Improvement, 0.8, 0.76, 0.85);
            answer(&[&[("p50", median, 0.9, 0.8, 1.01), longer, shorter]]).next.len()
        };
        assert_eq!([Regression, Pass, Improvement].map(steps), [2, 0, 0]);
    }
}
