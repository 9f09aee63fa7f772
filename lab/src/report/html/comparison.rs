//! The page of a comparison: its verdict, the reasons, each case's ratio with its interval, and the
//! figures.

use super::{
    brief,
    figure::Figure,
    overview::{list, status_counts, verdict},
    page,
    ratio::{self, Heading, Ratio, Tone},
    text::{escape, joined, table},
    trend::{self, line_name},
};
use crate::{
    comparison::{Comparison, Finding, Line},
    run::Status,
    store::CaseRow,
    units::{digits, show},
};

/// Renders one comparison, with the trend of its cases over `history`, the store's rows; or several
/// comparisons with the same A, for which `history` is not used.
pub fn render(comparisons: &[Comparison], history: &[CaseRow]) -> String {
    let names: Vec<&str> = comparisons.iter().map(|comparison| brief(&comparison.b.name)).collect();
    let first = comparisons.first().map_or("", |comparison| brief(&comparison.a.name));
    let mut body = String::new();
    if let [one] = comparisons {
        body.push_str(&section(one));
        body.push_str(&trend::of_history(one, history));
    } else {
        let runs: Vec<&str> = [first].into_iter().chain(names.iter().copied()).collect();
        body.push_str(&trend::of_runs(comparisons, &runs));
        body.extend(comparisons.iter().map(section));
    }
    page(&format!("{} against {first}", names.join(", ")), &body)
}

fn section(comparison: &Comparison) -> String {
    let side = |letter: &str, side: &crate::comparison::Side| {
        let context = &side.context;
        let system: Vec<&str> = context.system.split(' ').take(2).collect();
        let text = joined(&[
            letter,
            &side.name,
            &context.date,
            &context.host,
            &system.join(" "),
            &context.processor,
        ]);
        format!("<p>{}</p>\n", escape(&text))
    };
    let statuses: Vec<Status> = comparison.lines.iter().map(|line| line.finding.status()).collect();
    let improved =
        comparison.lines.iter().filter(|line| line.finding == Finding::Improvement).count();
    let turns = if comparison.interleaved { "A and B took turns" } else { "A ran before B" };
    let better = if improved > 0 {
        format!("{improved} of the passes are improvements")
    } else {
        String::new()
    };
    let how =
        joined(&[turns, &format!("threshold {} %", digits(comparison.threshold * 100.0)), &better]);
    let mut reasons = String::new();
    for line in &comparison.lines {
        let lines = line
            .reasons
            .iter()
            .map(|reason| format!("{}: {}: {reason}\n", line_name(line), line.finding.words()));
        reasons.extend(lines);
    }
    for (side, keys) in [("A", &comparison.only_in_a), ("B", &comparison.only_in_b)] {
        reasons.extend(keys.iter().map(|key| format!("only in {side}: {key}\n")));
    }
    reasons.extend(comparison.notes.iter().map(|note| format!("{note}\n")));
    format!(
        "<section class=\"comparison\">\n<h2>{} {}</h2>\n{}{}{}<p class=\"facts\">{}</p>\n{}<div class=\"charts\">\n{}</div>\n{}</section>\n",
        escape(brief(&comparison.b.name)),
        verdict(comparison.verdict),
        side("A", &comparison.a),
        side("B", &comparison.b),
        status_counts(&statuses),
        escape(&how),
        list("reasons", "Reasons and notes", &reasons),
        charts(comparison),
        figures(&comparison.lines),
    )
}

fn charts(comparison: &Comparison) -> String {
    let ratios: Vec<Ratio> = comparison
        .lines
        .iter()
        .filter_map(|line| {
            let figures = line.figures.as_ref()?;
            Some(Ratio {
                name: line_name(line),
                value: figures.ratio?,
                range: figures.interval.as_ref().map(|ends| (ends.low, ends.high)),
                within: Some(comparison.threshold),
                verdict: line.finding.words(),
                tone: match line.finding {
                    Finding::Improvement => Tone::Good,
                    Finding::Pass | Finding::NotOffered => Tone::Plain,
                    Finding::Inconclusive => Tone::Doubtful,
                    Finding::Regression => Tone::Bad,
                },
            })
        })
        .collect();
    let heading = Heading {
        title: "B / A, medians".to_owned(),
        reading: "To the right B is slower. The line is the 95 % interval, the band the threshold."
            .to_owned(),
        axis: "B / A (logarithmic)",
        facts: "a ratio within one clock; repetitions are resampled, not samples".to_owned(),
    };
    ratio::figures(&heading, &ratios).iter().map(Figure::html).collect()
}

fn figures(lines: &[Line]) -> String {
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            let figures = line.figures.as_ref();
            let shown = |value: Option<f64>| {
                value.map_or("–".to_owned(), |value| show(value, line.unit_name()))
            };
            let ratio = |value: f64| format!("×{value:.3}");
            let interval = figures.and_then(|figures| figures.interval.as_ref());
            vec![
                line_name(line),
                shown(figures.and_then(|figures| figures.a)),
                shown(figures.and_then(|figures| figures.b)),
                figures.and_then(|figures| figures.ratio).map_or("–".to_owned(), ratio),
                interval.map_or("–".to_owned(), |ends| {
                    format!("{}…{}", ratio(ends.low), ratio(ends.high))
                }),
                line.finding.words().to_owned(),
            ]
        })
        .collect();
    table("figures", &["case", "A p50", "B p50", "B / A", "95 %", "verdict"], &rows)
}
