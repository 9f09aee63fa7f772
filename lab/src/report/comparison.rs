//! The output of `compare`: one row for each series, then the reasons of verdicts that are not a
//! pass, the unmatched cases, and the overall verdict.

use anyhow::Result;

use super::text_table::{
    Side::{Left, Right},
    TextTable,
};
use crate::{
    comparison::{Comparison, Finding, Line, Side, steady},
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
    let mut text = side("A", &comparison.a) + &side("B", &comparison.b);
    if !comparison.lines.is_empty() {
        text.push_str(&figures(&comparison.lines));
    }
    for line in &comparison.lines {
        for reason in &line.reasons {
            text.push_str(&format!("{}: {}: {reason}\n", name(line), line.finding.words()));
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
        ("A p50", Right),
        ("B p50", Right),
        ("B / A", Right),
        ("95 % of B / A", Right),
        ("noise", Right),
        ("verdict", Left),
    ]);
    for line in lines {
        let figures = line.figures.as_ref();
        let shown = |value: Option<f64>, unit: &str| {
            value.map_or("–".to_owned(), |value| show(value, unit))
        };
        let interval = figures.and_then(|figures| figures.interval);
        table.row(vec![
            line.experiment.clone(),
            line.case.clone(),
            series(line),
            shown(figures.and_then(|figures| figures.a), line.unit_name()),
            shown(figures.and_then(|figures| figures.b), line.unit_name()),
            figures.and_then(|figures| figures.ratio).map_or("–".to_owned(), ratio),
            interval.map_or("–".to_owned(), |ends| {
                format!("{} … {}", ratio(ends.low), ratio(ends.high))
            }),
            figures.and_then(|figures| figures.noise_floor).map_or("–".to_owned(), percent),
            line.finding.words().to_owned(),
        ]);
    }
    table.render()
}

/// The name of the series, with the nominal value that its figures exclude.
fn series(line: &Line) -> String {
    match line.nominal {
        0.0 => line.series.clone(),
        nominal => format!("{} above {}", line.series, show(nominal, line.unit_name())),
    }
}

fn name(line: &Line) -> String {
    [&line.experiment, &line.case, &line.series]
        .map(String::as_str)
        .join(" ")
        .trim_end()
        .replace("  ", " ")
}

/// A ratio with three decimals, which resolve a tenth of a percent.
fn ratio(ratio: f64) -> String {
    if ratio < 10.0 { format!("× {ratio:.3}") } else { format!("× {}", digits(ratio)) }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The last line: the overall verdict, the number of lines by finding, and the comparison's
/// settings, as `regression: 1 regression · 3 pass · threshold 5 %`.
fn summary(comparison: &Comparison) -> String {
    let counted = [
        Finding::Regression,
        Finding::Inconclusive,
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
    format!("\n{}: {}\n", comparison.verdict.words(), parts.join(" · "))
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
