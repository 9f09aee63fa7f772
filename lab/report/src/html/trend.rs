//! The trend of each case over three or more runs: a small line for each series, with its first and
//! last figure, their ratio and the verdict.

use std::collections::{BTreeSet, HashMap};

use maud::{Markup, html};

use super::{
    overview::finding,
    scale::{Scale, times},
    svg::Svg,
    text::{joined, wide},
};
use crate::{comparison::Comparison, comparison::Figures, comparison::Finding, history::Levels};
use chronoscope_run::history::CaseRow;
use chronoscope_units::show;

const WIDTH: f64 = 160.0;
const HEIGHT: f64 = 26.0;
const MARGIN: f64 = 5.0;

/// Fewest runs of a trend; two are already compared.
const MIN_RUNS: usize = 3;

/// The p50 of a series in each run, oldest first; `None` for a run without a figure.
struct Trend<'a> {
    name: String,
    unit: &'a str,
    values: Vec<Option<f64>>,
    finding: Finding,
}

/// The trends of a comparison's cases over the store's runs on B's host, by run number. Empty for
/// fewer than three runs.
pub fn of_history(comparison: &Comparison, rows: &[CaseRow]) -> Markup {
    let rows: Vec<&CaseRow> =
        rows.iter().filter(|row| row.host == comparison.b.context.host).collect();
    let runs: BTreeSet<i64> = rows.iter().map(|row| row.run).collect();
    if runs.len() < MIN_RUNS {
        return Markup::default();
    }
    let mut by_series: HashMap<(&str, &str), Vec<&CaseRow>> = HashMap::new();
    for row in rows {
        by_series.entry((&row.key, &row.series)).or_default().push(row);
    }
    let trends = comparison.lines.iter().map(|line| {
        let own = by_series
            .get(&(line.key.as_str(), line.series.as_str()))
            .map_or(&[][..], Vec::as_slice);
        let value = |run: &i64| own.iter().find(|row| row.run == *run).and_then(|row| row.figure());
        let unit = own.first().map_or("", |row| &row.unit);
        Trend {
            name: line.title(),
            unit,
            values: runs.iter().map(value).collect(),
            finding: line.finding,
        }
    });
    let trends: Vec<Trend<'_>> =
        trends.filter(|trend| trend.values.iter().flatten().count() > 0).collect();
    let names: Vec<String> = runs.iter().map(|run| format!("run {run}")).collect();
    let which = format!("{} to {}, {} of the store", names[0], names[names.len() - 1], names.len());
    section(&trends, &names, (&which, "p50"), "verdict on B")
}

/// The trends over the runs of several comparisons with the same A, which is the first of `runs`.
pub fn of_runs(comparisons: &[Comparison], runs: &[&str]) -> Markup {
    let mut trends: Vec<Trend<'_>> = Vec::new();
    for (index, comparison) in comparisons.iter().enumerate() {
        for line in &comparison.lines {
            let name = line.title();
            let place = trends.iter().position(|trend| trend.name == name).unwrap_or_else(|| {
                trends.push(Trend {
                    name,
                    unit: line.unit_name(),
                    values: vec![None; runs.len()],
                    finding: line.finding,
                });
                trends.len() - 1
            });
            let trend = &mut trends[place];
            let figure = |of: fn(&Figures) -> Option<f64>| line.figures.as_ref().and_then(of);
            trend.values[0] = trend.values[0].or(figure(|figures| figures.a));
            trend.values[index + 1] = figure(|figures| figures.b);
            trend.finding = trend.finding.max(line.finding);
        }
    }
    let names: Vec<String> = runs.iter().map(|run| run.to_string()).collect();
    let lines = || comparisons.iter().flat_map(|comparison| &comparison.lines);
    let judged: BTreeSet<&str> =
        lines().filter_map(|line| Some(line.statistics.first()?.statistic)).collect();
    let figure = judged.first().filter(|_| judged.len() == 1).copied().unwrap_or("figure");
    section(&trends, &names, (&joined(runs), figure), "worst verdict")
}

/// The trends. `which` names the runs and `figure` the statistic.
fn section(
    trends: &[Trend<'_>],
    runs: &[String],
    (which, figure): (&str, &str),
    verdict: &str,
) -> Markup {
    let rows = html! { @for trend in trends { (row(trend, runs)) } };
    let figure = format!("{figure} from run to run");
    let head = ["case", &figure, "first", "last", "last / first", verdict];
    html! {
        section.trend {
            h2 { "From run to run" }
            p.facts {
                (which) "; each line has a scale of its own, from zero; band: the range of the runs \
                 before the last, of one level; ▲: the first run of a new level"
            }
            (wide("figures", &head, &rows))
        }
    }
}

fn row(trend: &Trend<'_>, runs: &[String]) -> Markup {
    let text = |value: Option<f64>| value.map_or("–".to_owned(), |value| show(value, trend.unit));
    let known = || trend.values.iter().flatten().copied();
    let (first, last) = (known().next(), known().next_back());
    let ratio =
        first.zip(last).filter(|(first, _)| *first > 0.0).map(|(first, last)| times(last / first));
    let levels = Levels::new(&trend.values, trend.unit);
    let begins = |at: usize| levels.changes.iter().any(|change| change.at == at);
    let tips: Vec<String> = runs
        .iter()
        .zip(&trend.values)
        .enumerate()
        .map(|(at, (run, value))| {
            let mark = if begins(at) { ", a new level" } else { "" };
            format!("{run}: {}{mark}", text(*value))
        })
        .collect();
    html! {
        tr {
            td { (trend.name) }
            td { (line(trend, &begins, &tips)) }
            td { (text(first)) }
            td { (text(last)) }
            td { (ratio.as_deref().unwrap_or("–")) }
            td { (finding(trend.finding)) }
        }
    }
}

/// The small line chart of a trend, before the range of the runs before the last. Its scale
/// starts at zero, so that changes are in proportion.
fn line(trend: &Trend<'_>, begins: &dyn Fn(usize) -> bool, tips: &[String]) -> Markup {
    let values = &trend.values;
    let known: Vec<(usize, f64)> =
        values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    let high = known.iter().map(|point| point.1).fold(0.0, f64::max);
    let x = Scale::exact(0.0, (values.len() - 1) as f64, [MARGIN, WIDTH - MARGIN]);
    let y = Scale::exact(0.0, if high > 0.0 { high } else { 1.0 }, [HEIGHT - 3.0, MARGIN]);
    let mut svg = Svg::sized(WIDTH, HEIGHT);
    let last = known.last().map_or(0, |point| point.0);
    if let Some(band) = Levels::new(&values[..last], trend.unit).next {
        let (top, bottom) = (y.at(band.high), y.at(band.low));
        svg.rect("band", [MARGIN, top], [WIDTH - 2.0 * MARGIN, (bottom - top).max(1.0)]);
    }
    svg.line("axis", [0.0, HEIGHT - 2.0], [WIDTH, HEIGHT - 2.0]);
    let points: Vec<[f64; 2]> =
        known.iter().map(|(at, value)| [x.at(*at as f64), y.at(*value)]).collect();
    svg.curve("line c0", &points);
    for ((at, _), point) in known.iter().zip(&points) {
        let (shape, class) = if begins(*at) { (2, "bad") } else { (0, "c0") };
        svg.mark(shape, class, *point, &tips[*at]);
    }
    svg.finish(&tips.join(", "))
}
