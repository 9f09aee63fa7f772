//! The section of one experiment: its events, charts, table of figures, and evidence.

use chronoscope_suite::experiments;
use maud::{Markup, html};

use super::{
    case_figures,
    frame::number,
    overview::outcome,
    panel::{Panel, Subject},
    rules,
    text::{grouped, joined, wide},
};
use crate::{
    table::Group, table::INTERVAL, table::evidence, table::figures::alternation,
    table::figures::figure, table::figures::interval, table::figures::p99_of_one,
};
use chronoscope_run::{CaseResult, SeriesResult, Statistic, Unit};
use chronoscope_statistics::median;
use chronoscope_units::show;

const NONE: &str = "–";

/// The section of an experiment, empty without a case of it.
pub fn section(experiment: &str, subjects: &[Subject<'_>]) -> Markup {
    let cases: Vec<(&str, &CaseResult)> = subjects
        .iter()
        .flat_map(|subject| subject.run.cases.iter().map(move |case| (subject.name.as_str(), case)))
        .filter(|(_, case)| case.experiment == experiment)
        .collect();
    let Some((_, first)) = cases.first() else { return Markup::default() };
    let summary = experiments::find(experiment).map_or("", |spec| spec.summary);
    let panels = Panel::all(experiment, subjects);
    let mut charts = case_figures::charts(experiment, subjects);
    for panel in &panels {
        // Charts of different clocks look alike: the title names the measure.
        let measure =
            if panels.len() > 1 { format!(" ({})", panel.measure()) } else { String::new() };
        for mut figure in rules::charts(panel) {
            figure.title.push_str(&measure);
            charts.push(figure);
        }
    }
    let (of_cases, remarks) = rules::charts_of_cases(experiment, subjects);
    charts.extend(of_cases);
    html! {
        section id=(anchor(experiment)) {
            h2 { (experiment) }
            p.lead { (summary) }
            p.events { "from: " (*first.start) br; "to: " (*first.end) }
            @if !charts.is_empty() {
                div.charts { @for chart in &charts { (chart.html()) } }
            }
            @for remark in remarks { p.note { (remark) } }
            (figures(&cases, subjects.len() > 1))
        }
    }
}

/// The HTML id of an experiment's section.
pub fn anchor(experiment: &str) -> String {
    let letters =
        experiment.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    format!("experiment-{}", letters.collect::<String>())
}

/// A row of the table of figures.
struct Figures {
    class: &'static str,
    /// The first cell.
    name: Markup,
    /// The cells of the statistics; empty for a row that only names a case.
    cells: Vec<String>,
    verdict: Markup,
}

/// The table of all figures; a case without evidence shows only its verdict. Neighbouring columns
/// that are equal in all rows are one, as for deterministic series; columns without a figure are
/// left out.
fn figures(cases: &[(&str, &CaseResult)], many: bool) -> Markup {
    let mut header = vec!["n", "cold"];
    for statistic in Statistic::headlines() {
        header.push(statistic.name);
        header.extend(statistic.interval.map(|_| INTERVAL));
    }
    header.push("control");
    let mut rows: Vec<Figures> = Vec::new();
    for (subject, case) in cases {
        let name = joined(&[if many { *subject } else { "" }, &case.target, &case.label]);
        let verdict = outcome(case);
        let shown: Vec<&SeriesResult> = case
            .series
            .iter()
            .filter(|series| !series.role.is_control() && case.is_proven())
            .collect();
        match shown.as_slice() {
            [] => rows.push(Figures {
                class: "",
                name: html! { (name) },
                cells: vec![NONE.to_owned(); header.len()],
                verdict,
            }),
            [series] => rows.push(row(false, &name, case, series, verdict)),
            many => {
                let name = html! { span { (name) } };
                rows.push(Figures { class: "case", name, cells: Vec::new(), verdict });
                rows.extend(
                    many.iter()
                        .map(|series| row(true, &series.name, case, series, Markup::default())),
                );
            }
        }
    }
    let columns = columns(&header, &rows);
    let names = columns.iter().map(|(name, _)| name.as_str());
    let head: Vec<&str> = std::iter::once("case").chain(names).chain(["verdict"]).collect();
    let rows = html! {
        @for Figures { class, name, cells, verdict } in &rows {
            tr class=(class) {
                @if cells.is_empty() {
                    td colspan=(columns.len() + 1) { (name) }
                } @else {
                    td { (name) }
                    @for (_, index) in &columns { td { (grouped(&cells[*index])) } }
                }
                td { (verdict) }
            }
        }
    };
    wide("figures", &head, &rows)
}

/// The columns that are shown: the heading, and the place of the cells. Equal neighbours share one.
fn columns(header: &[&str], rows: &[Figures]) -> Vec<(String, usize)> {
    let filled: Vec<&Figures> = rows.iter().filter(|row| !row.cells.is_empty()).collect();
    let says = |cell: &String| !cell.is_empty() && cell != NONE;
    let mut columns: Vec<(String, usize)> = Vec::new();
    for (index, name) in header.iter().enumerate() {
        if !filled.iter().any(|row| says(&row.cells[index])) {
            continue;
        }
        let equal = |other: usize| filled.iter().all(|row| row.cells[other] == row.cells[index]);
        match columns.last_mut() {
            Some((names, first)) if index > 1 && *first > 0 && equal(*first) => {
                names.push_str(&format!(" = {name}"));
            }
            _ => columns.push(((*name).to_owned(), index)),
        }
    }
    columns
}

/// The row of a series; `named` if the row above names its case.
fn row(
    named: bool,
    name: &str,
    case: &CaseResult,
    series: &SeriesResult,
    verdict: Markup,
) -> Figures {
    let summary = &series.summary;
    let unit = short(series.unit);
    let above = if series.nominal > 0.0 { "+ " } else { "" };
    let plain = |value: Option<f64>| {
        value.map_or(NONE.to_owned(), |value| above.to_owned() + &show(value, unit))
    };
    let control = case.control_of(series);
    let nominal = match series.unit {
        _ if series.nominal <= 0.0 => String::new(),
        Unit::Nanoseconds => format!(" (beyond {})", show(series.nominal, "ns")),
        _ => format!(" (beyond {} {unit})", number(series.nominal)),
    };
    let notes = [p99_of_one(series), alternation(series)].into_iter().flatten();
    let mut cells = vec![summary.count.to_string(), plain(median(&summary.cold))];
    for statistic in Statistic::headlines() {
        cells.push(
            figure(series, statistic, unit)
                .map_or(NONE.to_owned(), |figure| above.to_owned() + &figure),
        );
        cells.extend(statistic.interval.map(|_| interval(series, statistic, unit)));
    }
    cells.push(
        control.and_then(|control| Some(show(control.summary.p50?, unit))).unwrap_or_default(),
    );
    let class = match (named, series.role.is_auxiliary()) {
        (true, true) => "series auxiliary",
        (true, false) => "series",
        (false, true) => "auxiliary",
        (false, false) => "",
    };
    let name = html! {
        (name) (nominal)
        @for note in notes { br; small { (note) } }
    };
    Figures { class, name, cells, verdict }
}

/// A unit's name, abbreviated to fit a narrow cell.
fn short(unit: Unit) -> &'static str {
    if unit == Unit::Instructions { "instr" } else { unit.name() }
}

/// The evidence and counters of an experiment's cases, folded; empty without any.
pub fn proofs(experiment: &str, subjects: &[Subject<'_>]) -> Markup {
    let mut lists = Vec::new();
    for subject in subjects {
        let name = if subjects.len() > 1 { subject.name.as_str() } else { "" };
        let groups = Group::all(subject.run);
        for group in groups.filter(|group| group.cases[0].experiment == experiment) {
            let first = &group.cases[0];
            let lines = evidence::lines(&group);
            if !lines.is_empty() {
                lists.push((joined(&[name, &first.target, &first.release]), lines));
            }
        }
    }
    html! {
        @if !lists.is_empty() {
            details.evidence {
                summary { (experiment) ": evidence and counters" }
                dl {
                    @for (title, lines) in &lists {
                        dt { (title) }
                        @for (label, items) in lines {
                            dd { @if !label.is_empty() { b { (label) } " " } (joined(items)) }
                        }
                    }
                }
            }
        }
    }
}
