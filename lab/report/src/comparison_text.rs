//! The output of `compare`: the finding as a sentence and how far to trust it, one row for each
//! statistic of each series, then the sentences and reasons of verdicts that are not a pass, the
//! unmatched cases, and the overall verdict.

use super::{
    answer::{compared::Compared, terminal::wrap},
    screen::Screen,
    text_table::{
        Side::{Left, Right},
        TextTable,
    },
};
use crate::{
    comparison::Comparison, comparison::Finding, comparison::Line, comparison::Side,
    comparison::StatisticLine, comparison::in_a_word, comparison::is_exact, comparison::numbers,
    comparison::steady, comparison::up_to, error::Result,
};
use chronoscope_run::{Context, Unit};
use chronoscope_units::{digits, show, show_ratio};

/// The comparison as JSON.
///
/// # Errors
/// When serialization fails; a comparison holds no value for which it does.
pub fn json(comparison: &Comparison) -> Result<String> {
    Ok(serde_json::to_string_pretty(comparison)? + "\n")
}

/// The columns of the table that a narrow screen loses, in this order.
const DROPPED: [&str; 4] = ["settled by", "not excluded", TRACK, "95 % of B / A"];

/// The head of the column with the pictures of ratios, which has their width.
const TRACK: &str = "less   │   more";

/// The comparison as text for a terminal.
pub fn table(comparison: &Comparison, screen: &Screen) -> String {
    let mut text = answer(comparison, screen);
    let mut line = |words: &str| text.push_str(&fold(words, screen));
    line(&side("A", &comparison.a));
    line(&side("B", &comparison.b));
    if !comparison.lines.is_empty() {
        text.push_str(&figures(&comparison.lines, screen));
    }
    let mut line = |words: &str| text.push_str(&fold(words, screen));
    for one in &comparison.lines {
        let is_only = comparison.lines.len() == 1;
        if (is_only || one.finding > Finding::NotOffered) && !one.sentence.is_empty() {
            line(&format!("{}: {}", one.name(), one.sentence));
        }
    }
    for one in &comparison.lines {
        for reason in &one.reasons {
            line(&format!("{}: {}: {reason}", one.name(), one.finding.words()));
        }
        for words in &one.information {
            line(&format!("{}: {words}", one.name()));
        }
    }
    for (side, keys) in [("A", &comparison.only_in_a), ("B", &comparison.only_in_b)] {
        keys.iter().for_each(|key| line(&format!("only in {side}: {key}")));
    }
    comparison.notes.iter().for_each(|note| line(note));
    text.push('\n');
    text + &fold(&summary(comparison), screen)
}

/// The finding in a sentence, and how far to trust it.
fn answer(comparison: &Comparison, screen: &Screen) -> String {
    let compared = Compared::new(comparison);
    let lines = fold(&compared.title, screen);
    let mut text: String =
        lines.lines().map(|line| screen.paint.in_colour("1", line) + "\n").collect();
    for verdict in &compared.trust.verdicts {
        let (sign, colour) = if verdict.good { ("✓", "32") } else { ("!", "33") };
        let reasons = match verdict.reasons.as_str() {
            "" => ".".to_owned(),
            reasons => format!(": {reasons}."),
        };
        let words = fold(&format!("{sign} {}{reasons}", verdict.head), screen);
        let painted = screen.paint.in_colour(colour, sign);
        text.push_str(&words.replacen(sign, &painted, 1));
    }
    text.extend(compared.trust.rest.iter().map(|words| fold(words, screen)));
    text.extend(compared.next.iter().map(|words| fold(&format!("→ {words}"), screen)));
    text + "\n"
}

/// A line that is broken between words at the screen's width, if it has one.
fn fold(text: &str, screen: &Screen) -> String {
    let text = text.replace(['\u{a0}', '\u{202f}'], " ");
    match screen.columns {
        Some(columns) => wrap(&text, columns, 2, usize::MAX).join("\n") + "\n",
        None => text + "\n",
    }
}

fn side(letter: &str, side: &Side) -> String {
    let Context { date, host, system, .. } = &side.context;
    let system = system.split(' ').take(2).collect::<Vec<_>>().join(" ");
    // A baseline has no date, host or system.
    let known =
        [side.name.as_str(), date, host, &system].into_iter().filter(|text| !text.is_empty());
    format!("{letter}: {}", known.collect::<Vec<_>>().join(" · "))
}

/// The table: the name of each series on a line of its own, then a row for each statistic.
fn figures(lines: &[Line], screen: &Screen) -> String {
    let mut table = TextTable::new(&[
        ("", Left),
        ("A", Right),
        ("B", Right),
        ("B / A", Right),
        ("95 % of B / A", Right),
        ("not excluded", Right),
        ("settled by", Right),
        ("verdict", Left),
        (TRACK, Left),
    ]);
    let track = Track::for_lines(lines);
    for line in lines {
        let name = [line.experiment.as_str(), &line.case, &series(line)]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        if line.statistics.is_empty() {
            table.line(fold(&format!("{name}: {}", line.finding.words()), screen).trim_end());
            continue;
        }
        table.line(fold(&name, screen).trim_end());
        for statistic in &line.statistics {
            table.row(row(line, statistic, &track, screen.dumb));
        }
    }
    table.render_within(screen.columns, &DROPPED)
}

/// The scale of the pictures of ratios: logarithmic, with 1 in the middle.
struct Track {
    /// The logarithm of the ratio at an end.
    end: f64,
}

impl Track {
    fn for_lines(lines: &[Line]) -> Self {
        let statistics = lines.iter().flat_map(|line| &line.statistics);
        let ratios = statistics.flat_map(|one| {
            let ends = one.figures.interval.map(|ends| [ends.low, ends.high]);
            one.figures.ratio.into_iter().chain(ends.into_iter().flatten())
        });
        let logs = ratios.map(|ratio| ratio.ln().abs()).filter(|log| log.is_finite());
        // A change of less than a percent does not fill the picture.
        Self { end: logs.fold(0.01, f64::max) }
    }

    /// A ratio with its interval: `━◆━   │       `.
    fn row(&self, statistic: &StatisticLine, dumb: bool) -> String {
        let width = TRACK.chars().count();
        let last = (width - 1) as f64;
        let at = |ratio: f64| {
            let share = (ratio.ln() / self.end).clamp(-1.0, 1.0);
            ((share + 1.0) / 2.0 * last).round() as usize
        };
        let Some(ratio) = statistic.figures.ratio else { return String::new() };
        let [bar, equal, mark] = if dumb { ['-', '|', 'o'] } else { ['━', '│', '◆'] };
        let mut cells = vec![' '; width];
        if let Some(ends) = statistic.figures.interval.filter(|ends| ends.low <= ends.high) {
            cells[at(ends.low)..=at(ends.high)].fill(bar);
        }
        cells[width / 2] = equal;
        cells[at(ratio)] = mark;
        cells.into_iter().collect::<String>().trim_end().to_owned()
    }
}

/// The cells of a statistic.
fn row(line: &Line, statistic: &StatisticLine, track: &Track, dumb: bool) -> Vec<String> {
    let figures = &statistic.figures;
    let none = || "–".to_owned();
    let shown = |value: Option<f64>| value.map_or_else(none, |value| show(value, line.unit_name()));
    let is_open = statistic.finding == Finding::NoRegressionShown;
    vec![
        format!("  {}", statistic.statistic),
        shown(figures.a),
        shown(figures.b),
        figures.ratio.map_or_else(none, ratio),
        figures
            .interval
            .map_or_else(none, |ends| format!("{} … {}", ratio(ends.low), ratio(ends.high))),
        statistic.at_most.filter(|_| is_open).map_or_else(none, up_to),
        statistic.settled_by.map_or_else(none, numbers),
        in_a_word(statistic).to_owned(),
        track.row(statistic, dumb),
    ]
}

/// The name of the series, with the nominal value that its figures exclude.
fn series(line: &Line) -> String {
    match line.nominal {
        0.0 => line.series.clone(),
        nominal => format!("{} above {}", line.series, show(nominal, line.unit_name())),
    }
}

/// A ratio with three decimals, which resolve a tenth of a percent, and with more where it would look like
/// 0 or like 1.
fn ratio(ratio: f64) -> String {
    if ratio < 10.0 {
        format!("× {}", show_ratio(ratio, 3))
    } else {
        format!("× {}", digits(ratio))
    }
}

/// The last line: the overall verdict, the number of lines by finding, and the comparison's
/// settings, as `regression: 1 regression · 3 pass · threshold 5 %`.
fn summary(comparison: &Comparison) -> String {
    let counted = [
        Finding::Regression,
        Finding::Mixed,
        Finding::Inconclusive,
        Finding::NoRegressionShown,
        Finding::NotOffered,
        Finding::Improvement,
        Finding::Pass,
    ];
    let mut parts: Vec<String> = counted
        .iter()
        .map(|finding| {
            (finding, comparison.lines.iter().filter(|line| line.finding == *finding).count())
        })
        .filter(|(_, count)| *count > 0)
        .map(|(finding, count)| format!("{count} {}", finding.words()))
        .collect();
    let missing = comparison.only_in_a.len();
    if missing > 0 {
        parts.push(format!("{missing} not measured in B"));
    }
    if !is_exact(&comparison.lines) {
        parts.push(format!("threshold {} %", digits(comparison.threshold * 100.0)));
    }
    match comparison.interleaved {
        true => parts.push("A and B took turns".to_owned()),
        false => parts.extend(drift(&comparison.lines)),
    }
    format!("{}: {}", comparison.words(), parts.join(" · "))
}

/// The drift of the machine between A and B, according to the reference loops. `None` when no line
/// is in nanoseconds.
fn drift(lines: &[Line]) -> Option<String> {
    let times = || lines.iter().filter(|line| line.unit == Some(Unit::Nanoseconds));
    let ratios = || times().filter_map(|line| line.reference);
    times().next()?;
    Some(match (ratios().reduce(f64::min), ratios().reduce(f64::max)) {
        (Some(low), Some(high)) if steady(low) && steady(high) => {
            "reference loops alike".to_owned()
        }
        (Some(low), Some(high)) => {
            format!("reference loops B / A {} … {}", ratio(low), ratio(high))
        }
        _ => "no reference loops: drift of the machine unknown".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Paint, comparison::CompareOptions, comparison::History, comparison::Pairing,
        comparison::StatisticChoice, comparison::compare, comparison::match_cases,
    };
    use chronoscope_run::sample;

    fn compared() -> Comparison {
        let (a, b) = (sample::run(), sample::full());
        let (pairs, only_in_a, only_in_b) = match_cases(&a, &b, &Pairing::Alike, |_| true);
        let options = CompareOptions {
            interleaved: true,
            threshold: 0.05,
            judge: &StatisticChoice::default(),
            history: &History::default(),
            conditions: &[],
            look: None,
            in_turn: &|_, _| None,
        };
        let side = |name: &str| Side { name: name.into(), context: a.context.clone(), trace: None };
        let lines = compare(&pairs, &options);
        let comparison = Comparison::new([side("a"), side("b")], &options, lines);
        Comparison { only_in_a, only_in_b, ..comparison }.concluded(false)
    }

    #[test]
    fn every_line_fits_the_screen_and_the_finding_is_first() {
        let comparison = compared();
        for columns in [80, 100, 140] {
            let screen = Screen { columns: Some(columns), ..Screen::plain() };
            let text = table(&comparison, &screen);
            let wide: Vec<&str> =
                text.lines().filter(|line| line.chars().count() > columns).collect();
            assert!(wide.is_empty(), "{columns}: {wide:#?}");
            let title = Compared::new(&comparison).title.replace('\u{a0}', " ");
            let first = text.lines().next().unwrap();
            assert!(title.starts_with(first), "{text}");
        }
        let text = table(&comparison, &Screen::plain());
        assert!(text.contains(TRACK) && text.contains('◆'), "{text}");
        let screen = Screen { paint: Paint::Coloured, ..Screen::plain() };
        assert!(table(&comparison, &screen).starts_with("\x1b[1m"));
    }

    #[test]
    fn a_ratio_is_drawn_on_its_side_of_equality() {
        let comparison = compared();
        let line = comparison.lines.iter().find(|line| !line.statistics.is_empty()).unwrap();
        let mut one = clone(&line.statistics[0]);
        let track = Track { end: 2.0_f64.ln() };
        let mut drawn = |ratio: f64, ends: Option<(f64, f64)>, dumb: bool| {
            one.figures.ratio = Some(ratio);
            one.figures.interval =
                ends.map(|(low, high)| chronoscope_statistics::Interval { low, high });
            track.row(&one, dumb)
        };
        assert_eq!(drawn(2.0, None, false), "       │      ◆");
        assert_eq!(drawn(0.5, None, true), "o      |");
        assert_eq!(drawn(0.8, Some((0.5, 1.0)), false), "━━━━━◆━│");
        assert_eq!(drawn(1.0, None, false), "       ◆");
    }

    fn clone(one: &StatisticLine) -> StatisticLine {
        StatisticLine {
            statistic: one.statistic,
            at: one.at,
            finding: one.finding,
            figures: one.figures,
            at_most: one.at_most,
            settled_by: one.settled_by,
            widened: one.widened,
            between_runs: one.between_runs,
            threshold: one.threshold,
        }
    }
}
