//! The section of one experiment: its events, charts, table of figures, and evidence.

use chronoscope_suite::experiments;

use super::{
    case_figures,
    figure::Figure,
    frame::number,
    overview::outcome,
    panel::{Panel, Subject},
    rules,
    text::{escape, grouped, joined},
};
use crate::{
    table::Group, table::INTERVAL, table::evidence, table::figures::alternation,
    table::figures::figure, table::figures::interval, table::figures::p99_of_one,
};
use chronoscope_run::{CaseResult, SeriesResult, Statistic, Unit};
use chronoscope_statistics::median;
use chronoscope_units::show;

const NONE: &str = "–";

pub fn html(experiment: &str, subjects: &[Subject<'_>]) -> String {
    let cases: Vec<(&str, &CaseResult)> = subjects
        .iter()
        .flat_map(|subject| subject.run.cases.iter().map(move |case| (subject.name.as_str(), case)))
        .filter(|(_, case)| case.experiment == experiment)
        .collect();
    let Some((_, first)) = cases.first() else { return String::new() };
    let summary = experiments::find(experiment).map_or("", |spec| spec.summary);
    let panels = Panel::all(experiment, subjects);
    let mut charts: String =
        case_figures::charts(experiment, subjects).iter().map(Figure::html).collect();
    for panel in &panels {
        // Charts of different clocks look alike: the title names the measure.
        let of = if panels.len() > 1 { format!(" ({})", panel.measure()) } else { String::new() };
        for mut figure in rules::charts(panel) {
            figure.title.push_str(&of);
            charts.push_str(&figure.html());
        }
    }
    let (of_cases, remarks) = rules::charts_of_cases(experiment, subjects);
    charts.extend(of_cases.iter().map(Figure::html));
    let remarks: String = remarks
        .iter()
        .map(|remark| format!("<p class=\"note\">{}</p>\n", escape(remark)))
        .collect();
    let charts = if charts.is_empty() {
        charts
    } else {
        format!("<div class=\"charts\">\n{charts}</div>\n")
    };
    let name = escape(experiment);
    format!(
        "<section id=\"{}\">\n<h2>{name}</h2>\n<p class=\"lead\">{}</p>\n<p class=\"events\">from: {}<br/>to: {}</p>\n\
         {charts}{remarks}{}</section>\n",
        anchor(experiment),
        escape(summary),
        escape(&first.start),
        escape(&first.end),
        figures(&cases, subjects.len() > 1),
    )
}

/// The HTML id of an experiment's section.
pub fn anchor(experiment: &str) -> String {
    let letters =
        experiment.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    format!("experiment-{}", letters.collect::<String>())
}

/// A row of the table of figures.
struct Figures {
    class: String,
    /// The first cell, as HTML.
    name: String,
    /// The cells of the statistics; empty for a row that only names a case.
    cells: Vec<String>,
    verdict: String,
}

/// The table of all figures; a case without evidence shows only its verdict. Neighbouring columns
/// that are equal in all rows are one, as those of deterministic series; columns without a figure are
/// left out.
fn figures(cases: &[(&str, &CaseResult)], many: bool) -> String {
    let mut header = vec!["n", "cold"];
    for statistic in Statistic::headlines() {
        header.push(statistic.name);
        header.extend(statistic.interval.map(|_| INTERVAL));
    }
    header.push("control");
    let mut rows: Vec<Figures> = Vec::new();
    for (subject, case) in cases {
        let mut words = vec![if many { *subject } else { "" }, &case.target, &case.label];
        words.retain(|word| !word.is_empty());
        let name = escape(&joined(&words));
        let verdict = outcome(case);
        let shown =
            case.series.iter().filter(|series| !series.role.is_control() && case.is_proven());
        let shown: Vec<&SeriesResult> = shown.collect();
        match shown.as_slice() {
            [] => {
                let cells = vec![NONE.to_owned(); header.len()];
                rows.push(Figures { class: String::new(), name, cells, verdict });
            }
            [series] => rows.push(row("", &name, case, series, verdict)),
            many => {
                let (class, name) = ("case".to_owned(), format!("<span>{name}</span>"));
                rows.push(Figures { class, name, cells: Vec::new(), verdict });
                rows.extend(many.iter().map(|series| {
                    row("series", &escape(&series.name), case, series, String::new())
                }));
            }
        }
    }
    let columns = columns(&header, &rows);
    let head: String = columns.iter().map(|(name, _)| format!("<th>{name}</th>")).collect();
    let body: String = rows.iter().map(|row| line(row, &columns)).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"figures\"><thead><tr><th>case</th>{head}<th>verdict</th></tr></thead><tbody>\n{body}</tbody></table></div>\n"
    )
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

fn line(row: &Figures, columns: &[(String, usize)]) -> String {
    let Figures { class, name, cells, verdict } = row;
    if cells.is_empty() {
        let span = columns.len() + 1;
        return format!(
            "<tr class=\"{class}\"><td colspan=\"{span}\">{name}</td><td>{verdict}</td></tr>\n"
        );
    }
    let cells: String = columns
        .iter()
        .map(|(_, index)| format!("<td>{}</td>", escape(&grouped(&cells[*index]))))
        .collect();
    format!("<tr class=\"{class}\"><td>{name}</td>{cells}<td>{verdict}</td></tr>\n")
}

fn row(
    class: &str,
    name: &str,
    case: &CaseResult,
    series: &SeriesResult,
    verdict: String,
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
    let notes: String =
        notes.map(|note| format!("<br/><small>{}</small>", escape(&note))).collect();
    let auxiliary = if series.role.is_auxiliary() { " auxiliary" } else { "" };
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
    let (class, name) = (format!("{class}{auxiliary}"), format!("{name}{nominal}{notes}"));
    Figures { class, name, cells, verdict }
}

/// A unit's name, abbreviated to fit a narrow cell.
fn short(unit: Unit) -> &'static str {
    if unit == Unit::Instructions { "instr" } else { unit.name() }
}

/// The evidence and counters of an experiment's cases, folded; empty without any.
pub fn proofs(experiment: &str, subjects: &[Subject<'_>]) -> String {
    let mut lists = String::new();
    for subject in subjects {
        for group in Group::all(subject.run).filter(|group| group.cases[0].experiment == experiment)
        {
            let name = if subjects.len() > 1 { subject.name.as_str() } else { "" };
            let lines = evidence::lines(&group);
            if lines.is_empty() {
                continue;
            }
            let title = joined(&[name, &group.cases[0].target, &group.cases[0].release]);
            lists.push_str(&format!("<dt>{}</dt>\n", escape(&title)));
            for (label, items) in lines {
                let label = if label.is_empty() {
                    String::new()
                } else {
                    format!("<b>{}</b> ", escape(&label))
                };
                lists.push_str(&format!("<dd>{label}{}</dd>\n", escape(&joined(&items))));
            }
        }
    }
    if lists.is_empty() {
        return lists;
    }
    format!(
        "<details class=\"evidence\"><summary>{}: evidence and counters</summary>\n<dl>\n{lists}</dl></details>\n",
        escape(experiment)
    )
}
