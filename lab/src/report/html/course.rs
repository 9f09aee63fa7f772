//! How each case went from run to run, where there are more than two: a small line for each series, its verdicts and its figures.

use std::collections::{BTreeSet, HashMap};

use super::{
    comparison::name,
    overview::verdict,
    scale::Scale,
    svg::Svg,
    text::{escape, joined},
};
use crate::{
    comparison::{Comparison, Figures, Finding},
    store::CaseRow,
    units::show,
};

const WIDTH: f64 = 160.0;
const HEIGHT: f64 = 26.0;
const MARGIN: f64 = 5.0;

/// Two runs are compared already: a course begins with three.
const LEAST: usize = 3;

/// A series of a case over the runs, the first among them; none where a run has no figure of it.
struct Course<'a> {
    name: String,
    unit: &'a str,
    values: Vec<Option<f64>>,
    finding: Finding,
}

/// Of one comparison's cases: every run on B's machine among these rows of the store, the oldest first.
pub fn of_history(comparison: &Comparison, rows: &[CaseRow]) -> String {
    let rows: Vec<&CaseRow> =
        rows.iter().filter(|row| row.host == comparison.b.context.host).collect();
    let runs: BTreeSet<i64> = rows.iter().map(|row| row.run).collect();
    if runs.len() < LEAST {
        return String::new();
    }
    let mut by_series: HashMap<(&str, &str), Vec<&CaseRow>> = HashMap::new();
    for row in rows {
        by_series.entry((&row.key, &row.series)).or_default().push(row);
    }
    let courses = comparison.lines.iter().map(|line| {
        let own = by_series
            .get(&(line.key.as_str(), line.series.as_str()))
            .map_or(&[][..], Vec::as_slice);
        let value = |run: &i64| own.iter().find(|row| row.run == *run).and_then(|row| row.figure());
        let unit = own.first().map_or("", |row| &row.unit);
        Course {
            name: name(line),
            unit,
            values: runs.iter().map(value).collect(),
            finding: line.finding,
        }
    });
    let courses: Vec<Course<'_>> =
        courses.filter(|course| course.values.iter().flatten().count() > 0).collect();
    let names: Vec<String> = runs.iter().map(|run| format!("run {run}")).collect();
    let which = format!("{} to {}, {} of the store", names[0], names[names.len() - 1], names.len());
    section(&courses, &names, &which, "verdict on B")
}

/// Of comparisons with one and the same A.
pub fn of_runs(comparisons: &[Comparison], runs: &[&str]) -> String {
    let mut courses: Vec<Course<'_>> = Vec::new();
    for (index, comparison) in comparisons.iter().enumerate() {
        for line in &comparison.lines {
            let name = name(line);
            let place =
                courses.iter().position(|course| course.name == name).unwrap_or_else(|| {
                    courses.push(Course {
                        name,
                        unit: &line.unit,
                        values: vec![None; runs.len()],
                        finding: line.finding,
                    });
                    courses.len() - 1
                });
            let course = &mut courses[place];
            let figure = |of: fn(&Figures) -> Option<f64>| line.figures.as_ref().and_then(of);
            course.values[0] = course.values[0].or(figure(|figures| figures.a));
            course.values[index + 1] = figure(|figures| figures.b);
            course.finding = course.finding.max(line.finding);
        }
    }
    let names: Vec<String> = runs.iter().map(|run| run.to_string()).collect();
    section(&courses, &names, &joined(runs), "worst verdict")
}

fn section(courses: &[Course<'_>], runs: &[String], which: &str, verdict: &str) -> String {
    let rows: String = courses.iter().map(|course| row(course, runs)).collect();
    let head = ["case", "p50 from run to run", "first", "last", "last / first", verdict];
    let head: String = head.map(|name| format!("<th>{name}</th>")).concat();
    format!(
        "<section class=\"course\">\n<h2>From run to run</h2>\n<p class=\"facts\">{}; each line has a scale of its own, from zero</p>\n\
         <div class=\"wide\" tabindex=\"0\"><table class=\"figures\"><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>\n</section>\n",
        escape(which),
    )
}

fn row(course: &Course<'_>, runs: &[String]) -> String {
    let told =
        |value: Option<f64>| value.map_or("–".to_owned(), |value| show(value, course.unit));
    let known = || course.values.iter().flatten().copied();
    let (first, last) = (known().next(), known().next_back());
    let ratio = first
        .zip(last)
        .filter(|(first, _)| *first > 0.0)
        .map(|(first, last)| format!("×{:.3}", last / first));
    let cells = [told(first), told(last), ratio.unwrap_or("–".to_owned())]
        .map(|cell| format!("<td>{}</td>", escape(&cell)));
    let told_by_run: Vec<String> = runs
        .iter()
        .zip(&course.values)
        .map(|(run, value)| format!("{run}: {}", told(*value)))
        .collect();
    format!(
        "<tr><td>{}</td><td>{}</td>{}<td>{}</td></tr>\n",
        escape(&course.name),
        line(&course.values, &told_by_run),
        cells.concat(),
        verdict(course.finding.status()),
    )
}

/// From zero: a change looks as large as it is.
fn line(values: &[Option<f64>], told: &[String]) -> String {
    let known: Vec<(usize, f64)> =
        values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    let high = known.iter().map(|point| point.1).fold(0.0, f64::max);
    let x = Scale {
        low: 0.0,
        high: (values.len() - 1) as f64,
        from: MARGIN,
        to: WIDTH - MARGIN,
        log: false,
    };
    let y = Scale {
        low: 0.0,
        high: if high > 0.0 { high } else { 1.0 },
        from: HEIGHT - 3.0,
        to: MARGIN,
        log: false,
    };
    let mut svg = Svg::sized(WIDTH, HEIGHT);
    svg.line("axis", [0.0, HEIGHT - 2.0], [WIDTH, HEIGHT - 2.0]);
    let points: Vec<[f64; 2]> =
        known.iter().map(|(at, value)| [x.at(*at as f64), y.at(*value)]).collect();
    svg.curve("line c0", &points);
    for ((at, _), point) in known.iter().zip(&points) {
        svg.mark(0, "c0", *point, &told[*at]);
    }
    svg.finish(&told.join(", "))
}
