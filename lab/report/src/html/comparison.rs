//! The page of a comparison: the finding as its title, the reasons, each statistic's ratio with its
//! interval, and the figures.

use maud::{Markup, html};

use super::{
    brief, compared,
    figure::Figure,
    fold, heading,
    overview::{finding, list, status_counts},
    page,
    ratio::{self, Heading, Ratio, Tone},
    scale::times,
    shift,
    text::{joined, table},
    trend,
};
use crate::{
    comparison::Comparison, comparison::Finding, comparison::Line, comparison::Shift,
    comparison::Side, comparison::StatisticLine, comparison::in_a_word, comparison::is_exact,
    comparison::up_to,
};
use chronoscope_run::Status;
use chronoscope_run::history::CaseRow;
use chronoscope_units::{digits, show};

/// Renders one comparison, with the trend of its cases over `history`, the store's rows; or several
/// comparisons with the same A, for which `history` is not used.
pub fn render(comparisons: &[Comparison], history: &[CaseRow]) -> String {
    if let [one] = comparisons {
        let (title, answer) = compared::answer(one);
        let statistics: usize = one.lines.iter().map(|line| line.statistics.len()).sum();
        let figures = format!("All figures: {statistics}, with reasons");
        let body = html! {
            (answer)
            (fold(&figures, &section(one), false))
            (fold("From run to run", &trend::of_history(one, history), false))
        };
        return page(&title, &body);
    }
    let names: Vec<&str> = comparisons.iter().map(|comparison| brief(&comparison.b.name)).collect();
    let first = comparisons.first().map_or("", |comparison| brief(&comparison.a.name));
    let runs: Vec<&str> = [first].into_iter().chain(names.iter().copied()).collect();
    let title = format!("{} against {first}", names.join(", "));
    let body = html! {
        (heading(&title))
        (trend::of_runs(comparisons, &runs))
        @for comparison in comparisons { (section(comparison)) }
    };
    page(&title, &body)
}

fn section(comparison: &Comparison) -> Markup {
    let strict = comparison.strict;
    let statuses = comparison.lines.iter().map(|line| line.finding.status(strict));
    let statuses: Vec<(Status, &str)> = statuses.map(|status| (status, status.words())).collect();
    let improved =
        comparison.lines.iter().filter(|line| line.finding == Finding::Improvement).count();
    let turns = if comparison.interleaved { "A and B took turns" } else { "A ran before B" };
    let better = if improved > 0 {
        format!("{improved} of the passes are improvements")
    } else {
        String::new()
    };
    let threshold = if is_exact(&comparison.lines) {
        "exact: any growth is a regression".to_owned()
    } else {
        format!("threshold {} %", digits(comparison.threshold * 100.0))
    };
    let how = joined(&[turns, &threshold, &better]);
    html! {
        section.comparison {
            h2 { (brief(&comparison.b.name)) " " (finding(comparison.finding)) }
            p { (side("A", &comparison.a)) }
            p { (side("B", &comparison.b)) }
            (status_counts(&statuses))
            p.facts { (how) }
            (list("reasons", "Reasons and notes", reasons(comparison)))
            div.charts { @for chart in charts(comparison) { (chart.html()) } }
            (figures(&comparison.lines))
        }
    }
}

/// A side's run: name, date and machine.
fn side(letter: &str, side: &Side) -> String {
    let context = &side.context;
    let system: Vec<&str> = context.system.split(' ').take(2).collect();
    joined(&[
        letter,
        &side.name,
        &context.date,
        &context.host,
        &system.join(" "),
        &context.processor,
    ])
}

/// The sentences and reasons of all series, the cases of one side only, and the notes.
fn reasons(comparison: &Comparison) -> Vec<String> {
    let mut reasons = Vec::new();
    for line in &comparison.lines {
        let name = line.title();
        if line.finding > Finding::NotOffered && !line.sentence.is_empty() {
            reasons.push(format!("{name}: {}", line.sentence));
        }
        let words = line.finding.words();
        reasons.extend(line.reasons.iter().map(|reason| format!("{name}: {words}: {reason}")));
        reasons.extend(line.information.iter().map(|words| format!("{name}: {words}")));
    }
    for (side, keys) in [("A", &comparison.only_in_a), ("B", &comparison.only_in_b)] {
        reasons.extend(keys.iter().map(|key| format!("only in {side}: {key}")));
    }
    reasons.extend(comparison.notes.iter().cloned());
    reasons
}

fn charts(comparison: &Comparison) -> Vec<Figure> {
    let rows = || {
        comparison
            .lines
            .iter()
            .flat_map(|line| line.statistics.iter().map(move |statistic| (line, statistic)))
    };
    let ratios: Vec<Ratio> = rows()
        .filter_map(|(line, statistic)| {
            let figures = &statistic.figures;
            Some(Ratio {
                name: format!("{} {}", line.title(), statistic.statistic),
                value: figures.ratio?,
                range: figures.interval.as_ref().map(|ends| (ends.low, ends.high)),
                within: Some(comparison.threshold),
                verdict: in_a_word(statistic),
                tone: match statistic.finding {
                    Finding::Improvement => Tone::Good,
                    Finding::Pass | Finding::NotOffered => Tone::Plain,
                    Finding::NoRegressionShown | Finding::Inconclusive => Tone::Doubtful,
                    Finding::Regression | Finding::Mixed => Tone::Bad,
                },
            })
        })
        .collect();
    let heading = Heading {
        title: "B / A, statistic by statistic".to_owned(),
        reading: "To the right B is slower. The line is the 95 % interval, the band the threshold."
            .to_owned(),
        axis: "B / A (logarithmic)",
        facts: "a ratio within one clock, of typical repetitions".to_owned(),
    };
    let lines = comparison.lines.iter();
    let shifts: Vec<(String, &Shift)> =
        lines.filter_map(|line| Some((line.title(), line.shift.as_ref()?))).collect();
    let shifts = shift::figures(&shifts, comparison.interleaved);
    ratio::figures(&heading, &ratios).into_iter().chain(shifts).collect()
}

fn figures(lines: &[Line]) -> Markup {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in lines {
        let name = line.title();
        if line.statistics.is_empty() {
            let none = || "–".to_owned();
            let verdict = line.finding.words().to_owned();
            rows.push(vec![name, none(), none(), none(), none(), none(), none(), verdict]);
            continue;
        }
        rows.extend(line.statistics.iter().map(|statistic| row(line, &name, statistic)));
    }
    let heads = ["case", "", "A", "B", "B / A", "95 %", "not excluded", "verdict"];
    table("figures", &heads, &rows)
}

fn row(line: &Line, name: &str, statistic: &StatisticLine) -> Vec<String> {
    let figures = &statistic.figures;
    let none = || "–".to_owned();
    let shown = |value: Option<f64>| value.map_or_else(none, |value| show(value, line.unit_name()));
    let is_open = statistic.finding == Finding::NoRegressionShown;
    vec![
        name.to_owned(),
        statistic.statistic.to_owned(),
        shown(figures.a),
        shown(figures.b),
        figures.ratio.map_or_else(none, times),
        figures
            .interval
            .map_or_else(none, |ends| format!("{}…{}", times(ends.low), times(ends.high))),
        statistic.at_most.filter(|_| is_open).map_or_else(none, up_to),
        in_a_word(statistic).to_owned(),
    ]
}
