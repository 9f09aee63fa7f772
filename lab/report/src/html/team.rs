//! The page of a store, for a team: each case over time on each machine, with the range of its next
//! run and the changes of its level.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use maud::{Markup, html};

use super::{
    heading, page,
    scale::{Scale, times},
    svg::Svg,
    text::{unique, wide},
};
use crate::{history::Levels, history::labels, history::range};
use chronoscope_run::history::CaseRow;
use chronoscope_statistics::{change::Change, change::FEWEST};
use chronoscope_units::show;

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 44.0;
const MARGIN: f64 = 5.0;

/// The most runs of a line whose figures each have a mark; of longer lines, only those that
/// begin a new level or are the last.
const MARKED: usize = 40;

/// The most changes in the list at the top; the others are in the pictures.
const LISTED: usize = 50;

/// A series of a case on one machine, from run to run.
struct Line<'a> {
    experiment: &'a str,
    label: &'a str,
    series: &'a str,
    unit: &'a str,
    nominal: f64,
    machine: &'a str,
    runs: Vec<&'a CaseRow>,
    values: Vec<Option<f64>>,
    levels: Levels,
}

impl Line<'_> {
    fn last(&self) -> Option<f64> {
        self.values.iter().rev().flatten().next().copied()
    }
}

/// The page of these rows, which must be ordered from the oldest run to the newest. `words` say which
/// runs they are. Runs of `linked` have a page in the folder `runs` beside this one.
pub fn render(rows: &[CaseRow], words: &str, linked: &dyn Fn(i64) -> bool) -> String {
    let labels = labels_of(rows);
    let lines = lines(rows, &labels);
    let runs: BTreeSet<i64> = rows.iter().map(|row| row.run).collect();
    let runs = match runs.len() {
        1 => format!("1 run{words}"),
        count => format!("{count} runs{words}"),
    };
    let longest = lines.iter().map(|line| line.values.iter().flatten().count()).max().unwrap_or(0);
    let title = match lines.iter().map(|line| line.levels.changes.len()).sum::<usize>() {
        // Fewer figures of a case show no change, unless they are exact.
        0 if longest < FEWEST => {
            format!("{runs}: a change of scattered figures shows from {FEWEST} on")
        }
        0 => format!("No change of level in {runs}"),
        1 => format!("One change of level in {runs}"),
        count => format!("{count} changes of level in {runs}"),
    };
    let body = html! {
        (heading(&title))
        (found(&lines, linked))
        (machines(rows, linked))
        (sections(&lines, linked))
        (all_runs(rows, linked))
    };
    page(&title, &body)
}

/// The name of a row's machine: its host's, where it has none.
fn machine(row: &CaseRow) -> &str {
    if row.machine.is_empty() { &row.host } else { &row.machine }
}

/// The label of each case by its key. Labels distinguish the cases of an experiment.
fn labels_of(rows: &[CaseRow]) -> HashMap<&str, String> {
    let mut experiments: BTreeMap<&str, Vec<&CaseRow>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for row in rows {
        if seen.insert(row.key.as_str()) {
            experiments.entry(&row.experiment).or_default().push(row);
        }
    }
    experiments.into_values().flat_map(|rows| labels(rows.into_iter())).collect()
}

fn lines<'a>(rows: &'a [CaseRow], labels: &'a HashMap<&str, String>) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    let mut places: HashMap<(&str, &str, &str), usize> = HashMap::new();
    // A row without a series is of a case that never ran.
    for row in rows.iter().filter(|row| !row.series.is_empty()) {
        let place = *places.entry((&row.key, &row.series, machine(row))).or_insert_with(|| {
            lines.push(Line {
                experiment: &row.experiment,
                label: labels.get(row.key.as_str()).map_or("", String::as_str),
                series: &row.series,
                unit: &row.unit,
                nominal: row.nominal,
                machine: machine(row),
                runs: Vec::new(),
                values: Vec::new(),
                levels: Levels::new(&[], ""),
            });
            lines.len() - 1
        });
        lines[place].runs.push(row);
    }
    for line in &mut lines {
        line.values = line.runs.iter().map(|row| row.figure()).collect();
        line.levels = Levels::new(&line.values, line.unit);
    }
    lines
}

fn link(run: i64, linked: &dyn Fn(i64) -> bool) -> Markup {
    html! {
        @if linked(run) { a href={ "runs/" (run) ".html" } { "run " (run) } }
        @else { "run " (run) }
    }
}

/// The runs of a machine.
struct Machine<'a> {
    runs: BTreeSet<i64>,
    hosts: BTreeSet<&'a str>,
    last: &'a CaseRow,
}

/// The machines: how many runs each has, and its last one. One name with several hosts may be two
/// machines.
fn machines(rows: &[CaseRow], linked: &dyn Fn(i64) -> bool) -> Markup {
    let mut machines: BTreeMap<&str, Machine<'_>> = BTreeMap::new();
    for row in rows {
        let new = || Machine { runs: BTreeSet::new(), hosts: BTreeSet::new(), last: row };
        let machine = machines.entry(machine(row)).or_insert_with(new);
        machine.runs.insert(row.run);
        machine.hosts.insert(&row.host);
        machine.last = row;
    }
    let rows = html! {
        @for (name, machine) in &machines {
            tr {
                td { (name) }
                td { (machine.runs.len()) }
                td {
                    @match machine.hosts.len() {
                        1 => @for host in &machine.hosts { (host) },
                        count => {
                            (count) " hosts: if they are not one machine, name them with --as"
                        }
                    }
                }
                td { (link(machine.last.run, linked)) }
                td { (*machine.last.started) }
            }
        }
    };
    let head = ["machine", "runs", "host", "last", "started (UTC)"];
    html! {
        h2 { "Machines" }
        (wide("figures machines", &head, &rows))
    }
}

/// All runs, the newest first, each with a link to its page.
fn all_runs(rows: &[CaseRow], linked: &dyn Fn(i64) -> bool) -> Markup {
    let runs: BTreeMap<i64, &CaseRow> = rows.iter().map(|row| (row.run, row)).collect();
    let lines = html! {
        @for row in runs.into_values().rev() {
            tr {
                td { (link(row.run, linked)) }
                td { (machine(row)) }
                td { (*row.started) }
            }
        }
    };
    html! {
        h2 { "Runs" }
        (wide("figures runs", &["run", "machine", "started (UTC)"], &lines))
    }
}

/// The changes of all lines, the newest first; empty without any.
fn found(lines: &[Line<'_>], linked: &dyn Fn(i64) -> bool) -> Markup {
    let mut found: Vec<(&Line<'_>, &Change)> = lines
        .iter()
        .flat_map(|line| line.levels.changes.iter().map(move |change| (line, change)))
        .collect();
    found.sort_by_key(|(line, change)| std::cmp::Reverse(line.runs[change.at].run));
    let rows = html! {
        @for (line, change) in found.iter().take(LISTED) {
            tr {
                td { (line.experiment) }
                td { (case(line)) }
                td { (line.machine) }
                td { (link(line.runs[change.at].run, linked)) }
                td { (link(line.runs[change.noticed].run, linked)) }
                td { (show(change.before, line.unit)) }
                td { (show(change.after, line.unit)) }
                td { (ratio(change)) }
            }
        }
    };
    let head =
        ["experiment", "case", "machine", "since", "noticed", "before", "after", "after / before"];
    html! {
        @if !found.is_empty() {
            h2 { "Changes" }
            p.facts {
                "The newest " @if found.len() <= LISTED { "first. " } @else { (LISTED) ". " }
                "Where nothing changes, a page of 34 cases that run nightly has one a year."
            }
            (wide("figures changes", &head, &rows))
        }
    }
}

fn ratio(change: &Change) -> String {
    if change.before > 0.0 { times(change.after / change.before) } else { "–".to_owned() }
}

/// The name of a line's case, with its series where that says more.
fn case(line: &Line<'_>) -> String {
    let series = if line.series == line.experiment { "" } else { line.series };
    [line.label, series].join(" ").trim().to_owned()
}

/// The lines of each experiment, one below the other.
fn sections(lines: &[Line<'_>], linked: &dyn Fn(i64) -> bool) -> Markup {
    let rows = |experiment: &str| {
        html! {
            @for line in lines.iter().filter(|line| line.experiment == experiment) {
                (row(line, linked))
            }
        }
    };
    let head = ["case", "machine", "runs", "p50 from run to run", "last", "next"];
    html! {
        p.facts {
            "Each line has a scale of its own. Band: the range of the runs of the present level; ◆: the \
             first run of a new level."
        }
        @for experiment in unique(lines.iter().map(|line| line.experiment)) {
            section.team id=(experiment) {
                h2 { (experiment) }
                (wide("figures team", &head, &rows(experiment)))
            }
        }
    }
}

fn row(line: &Line<'_>, linked: &dyn Fn(i64) -> bool) -> Markup {
    let next = line.levels.next.map_or("–".to_owned(), |next| range(&next, line.unit));
    html! {
        tr {
            td {
                (case(line))
                @if line.nominal != 0.0 { " above " (show(line.nominal, line.unit)) }
            }
            td { (line.machine) }
            td {
                @if let [first, .., last] = line.runs.as_slice() && first.run != last.run {
                    (line.runs.len()) " of " (first.run) " to "
                }
                @if let Some(last) = line.runs.last() { (link(last.run, linked)) }
            }
            td { (picture(line)) }
            td { (line.last().map_or("–".to_owned(), |value| show(value, line.unit))) }
            td { (next) }
        }
    }
}

/// The picture of a line: its figures from run to run, the levels between changes, and the range
/// of the present level at its right end.
fn picture(line: &Line<'_>) -> Markup {
    let known: Vec<(usize, f64)> =
        line.values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    let figures: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let band = line.levels.next;
    let ends = band.map(|band| [band.low, band.high]).into_iter().flatten();
    let shown = || figures.iter().copied().chain(ends.clone());
    let (low, high) = (shown().fold(f64::INFINITY, f64::min), shown().fold(0.0, f64::max));
    // At least a tenth of the figures, so that noise stays small.
    let room = ((high - low).max(0.1 * high) - (high - low)) / 2.0;
    let x = |at: usize| {
        let share = at as f64 / (line.runs.len().max(2) - 1) as f64;
        MARGIN + share * (WIDTH - 4.0 * MARGIN)
    };
    let high = if high > 0.0 { high + room } else { 1.0 };
    let y = Scale::exact(low - room, high, [HEIGHT - MARGIN, MARGIN]);
    let mut svg = Svg::sized(WIDTH, HEIGHT);
    if let Some(band) = band {
        let (top, bottom) = (y.at(band.high), y.at(band.low));
        svg.rect("band", [WIDTH - 3.0 * MARGIN, top], [3.0 * MARGIN, (bottom - top).max(1.0)]);
    }
    svg.line("axis", [0.0, HEIGHT - 1.0], [WIDTH, HEIGHT - 1.0]);
    let points: Vec<[f64; 2]> = known.iter().map(|(at, value)| [x(*at), y.at(*value)]).collect();
    svg.curve("line c0", &points);
    let begins = |at: usize| line.levels.changes.iter().find(|change| change.at == at);
    for change in &line.levels.changes {
        let place = x(change.at);
        svg.line("axis", [place, MARGIN], [place, HEIGHT - 1.0]);
    }
    let is_last = |at: usize| known.last().is_some_and(|last| last.0 == at);
    for ((at, value), point) in known.iter().zip(&points) {
        let row = line.runs[*at];
        let begun = begins(*at);
        let (shape, class) = match begun {
            Some(_) => (3, "bad"),
            None if known.len() > MARKED && !is_last(*at) => continue,
            None => (0, "c0"),
        };
        let words =
            begun.map_or(String::new(), |change| format!(", a new level ({})", ratio(change)));
        let tip = format!("run {}, {}: {}{words}", row.run, row.started, show(*value, line.unit));
        svg.mark(shape, class, *point, &tip);
    }
    let summary = format!("{} runs, {} changes of level", known.len(), line.levels.changes.len());
    svg.finish(&summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two machines, thirty runs each; `desk` is slower by a fifth from run 41 on.
    fn rows() -> Vec<CaseRow> {
        let row = |run: i64| {
            let is_desk = run % 2 == 1;
            let noise = [0.0, 3.0, -2.0, 1.0, -3.0, 2.0, -1.0][(run % 7) as usize];
            let level = if is_desk && run > 40 { 1200.0 } else { 1000.0 };
            CaseRow {
                run,
                started: "2026-01-31T12:00:00Z".into(),
                host: if is_desk { "a" } else { "<b>" }.into(),
                key: "switch linux@host tasks=2".into(),
                label: "tasks=2".into(),
                series: "switch".into(),
                unit: "ns".into(),
                nominal: 0.0,
                p50: Some(level + noise),
                status: "pass".into(),
                machine: if is_desk { "desk" } else { "" }.into(),
                experiment: "switch".into(),
            }
        };
        (1..=60).map(row).collect()
    }

    #[test]
    fn a_change_is_listed_with_its_machine_and_run() {
        let text = render(&rows(), " of the study `x`", &|run| run == 41);
        super::super::tests::check(&text);
        assert!(
            text.contains("<h1>One change of level in 60 runs of the study `x`</h1>"),
            "{text}"
        );
        let link = "<td>desk</td><td><a href=\"runs/41.html\">run 41</a></td>";
        assert!(text.contains("<tr><td>run 2</td><td>&lt;b&gt;</td><td>2026-01-31T12"), "{text}");
        assert!(text.contains(link) && text.contains("<td>×1.200</td>"), "{text}");
        assert!(text.contains("run 41, 2026-01-31T12:00:00Z: 1.2"), "{text}");
        assert_eq!(text.matches("a new level (×1.200)").count(), 1, "{text}");
        // The range of the next run is of the new level alone.
        assert!(text.contains("<td>1.20 µs, 82 %</td>"), "{text}");
        // The other machine is named by its host, and did not change.
        assert!(text.contains("&lt;b&gt;</td><td>30 of 2 to run 60"), "{text}");
        assert_eq!(text.matches("0 changes of level").count(), 1, "{text}");
        let linked = render(&rows(), "", &|_| true);
        for run in 1..=60 {
            let link = format!("<tr><td><a href=\"runs/{run}.html\">run {run}</a></td>");
            assert!(linked.contains(&link), "{run}");
        }
    }

    #[test]
    fn two_hosts_of_one_machine_are_reported() {
        let mut rows = rows();
        rows.iter_mut().for_each(|row| row.machine = "desk".into());
        let text = render(&rows, "", &|_| false);
        assert!(text.contains("2 hosts: if they are not one machine"), "{text}");
    }

    #[test]
    fn few_runs_and_none_are_a_page() {
        for count in [0, 1, 4] {
            let text = render(&rows()[..count], "", &|_| true);
            super::super::tests::check(&text);
            assert!(text.contains("a change of scattered figures shows from 15 on"), "{text}");
        }
        let mut odd = rows();
        odd.iter_mut().for_each(|row| row.p50 = Some(0.0));
        super::super::tests::check(&render(&odd, "", &|_| true));
        odd.iter_mut().for_each(|row| row.p50 = None);
        super::super::tests::check(&render(&odd, "", &|_| true));
    }
}
