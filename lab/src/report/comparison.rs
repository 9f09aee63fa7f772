//! The output of `compare`: the answer, one row for each statistic of each series, then the
//! sentences and reasons of verdicts that are not a pass, the unmatched cases, and the overall
//! verdict.

use anyhow::Result;

use super::text_table::{
    Side::{Left, Right},
    TextTable,
};
use crate::{
    comparison::{Comparison, Finding, Line, Side, StatisticLine, in_a_word, steady, up_to},
    run::{Context, Unit},
    units::{digits, show},
};

/// The comparison as JSON.
///
/// # Errors
/// When serialization fails; a comparison holds no value for which it does.
pub fn json(comparison: &Comparison) -> Result<String> {
    Ok(serde_json::to_string_pretty(comparison)? + "\n")
}

/// The comparison as text for a terminal.
pub fn table(comparison: &Comparison) -> String {
    let mut text = format!("{}\n", comparison.answer);
    text.push_str(&(side("A", &comparison.a) + &side("B", &comparison.b)));
    if !comparison.lines.is_empty() {
        text.push_str(&figures(&comparison.lines));
    }
    // The answer has the sentence of a single line.
    let is_told = |line: &&Line| {
        comparison.lines.len() > 1
            && line.finding > Finding::NotOffered
            && !line.sentence.is_empty()
    };
    for line in comparison.lines.iter().filter(is_told) {
        text.push_str(&format!("{}: {}\n", line.name(), line.sentence));
    }
    for line in &comparison.lines {
        for reason in &line.reasons {
            text.push_str(&format!("{}: {}: {reason}\n", line.name(), line.finding.words()));
        }
    }
    for (side, keys) in [("A", &comparison.only_in_a), ("B", &comparison.only_in_b)] {
        for key in keys {
            text.push_str(&format!("only in {side}: {key}\n"));
        }
    }
    for note in &comparison.notes {
        text.push_str(&format!("{note}\n"));
    }
    text + &summary(comparison)
}

fn side(letter: &str, side: &Side) -> String {
    let Context { date, host, system, .. } = &side.context;
    let system = system.split(' ').take(2).collect::<Vec<_>>().join(" ");
    // A baseline has no date, host or system.
    let known =
        [side.name.as_str(), date, host, &system].into_iter().filter(|text| !text.is_empty());
    format!("{letter}: {}\n", known.collect::<Vec<_>>().join(" · "))
}

fn figures(lines: &[Line]) -> String {
    let mut table = TextTable::new(&[
        ("experiment", Left),
        ("case", Left),
        ("series", Left),
        ("", Left),
        ("A", Right),
        ("B", Right),
        ("B / A", Right),
        ("95 % of B / A", Right),
        ("not excluded", Right),
        ("settled by", Right),
        ("verdict", Left),
    ]);
    for line in lines {
        let mut names = vec![line.experiment.clone(), line.case.clone(), series(line)];
        if line.statistics.is_empty() {
            names.resize(names.len() + 7, "–".to_owned());
            names[3].clear();
            names.push(line.finding.words().to_owned());
            table.row(names);
            continue;
        }
        for statistic in &line.statistics {
            let cells = std::mem::replace(&mut names, vec![String::new(); 3]);
            table.row([cells, row(line, statistic)].concat());
        }
    }
    table.render()
}

/// The cells of a statistic.
fn row(line: &Line, statistic: &StatisticLine) -> Vec<String> {
    let figures = &statistic.figures;
    let none = || "–".to_owned();
    let shown = |value: Option<f64>| value.map_or_else(none, |value| show(value, line.unit_name()));
    let is_open = statistic.finding == Finding::NoRegressionShown;
    vec![
        statistic.statistic.to_owned(),
        shown(figures.a),
        shown(figures.b),
        figures.ratio.map_or_else(none, ratio),
        figures
            .interval
            .map_or_else(none, |ends| format!("{} … {}", ratio(ends.low), ratio(ends.high))),
        statistic.at_most.filter(|_| is_open).map_or_else(none, up_to),
        statistic.settled_by.map_or_else(none, |number| number.to_string()),
        in_a_word(statistic).to_owned(),
    ]
}

/// The name of the series, with the nominal value that its figures exclude.
fn series(line: &Line) -> String {
    match line.nominal {
        0.0 => line.series.clone(),
        nominal => format!("{} above {}", line.series, show(nominal, line.unit_name())),
    }
}

/// A ratio with three decimals, which resolve a tenth of a percent.
fn ratio(ratio: f64) -> String {
    if ratio < 10.0 { format!("× {ratio:.3}") } else { format!("× {}", digits(ratio)) }
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
    parts.push(format!("threshold {} %", digits(comparison.threshold * 100.0)));
    match comparison.interleaved {
        true => parts.push("A and B took turns".to_owned()),
        false => parts.extend(drift(&comparison.lines)),
    }
    format!("\n{}: {}\n", comparison.words(), parts.join(" · "))
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
