//! CSV in the long form: one row for each statistic of each series, and one column for each
//! parameter. `docs/run-file.md` describes the columns.
//!
//! As in the CSV of [`super::csv`], no column holds the date, the host or its load.

use std::collections::BTreeSet;

use super::csv::{number, record};
use chronoscope_run::{CaseResult, Run, STATISTICS, SeriesResult};

/// The columns before the parameters' columns.
pub const FIRST: [&str; 5] = ["case", "experiment", "target", "release", "clock"];

/// The columns after the parameters' columns.
pub const LAST: [&str; 7] =
    ["series", "role", "unit", "statistic", "value", "evidence_holds", "verdict"];

/// The prefix of a parameter's column that would have the name of another column.
const APART: &str = "parameter ";

/// Renders the header and all rows; a statistic that a series lacks has none.
pub fn render(run: &Run) -> String {
    let parameters: BTreeSet<&str> =
        run.cases.iter().flat_map(|case| case.parameters.keys()).map(|name| &**name).collect();
    let column = |name: &&str| {
        let taken = FIRST.contains(name) || LAST.contains(name);
        if taken { format!("{APART}{name}") } else { (*name).to_owned() }
    };
    let fixed = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let head = [fixed(&FIRST), parameters.iter().map(column).collect(), fixed(&LAST)];
    let mut text = record(head.concat());
    for (index, case) in run.cases.iter().enumerate() {
        for series in &case.series {
            for (statistic, value) in values(case, series) {
                let own = parameters.iter().map(|name| {
                    let value = case.parameters.iter().find(|(known, _)| &&***known == name);
                    value.map_or_else(String::new, |(_, value)| value.to_string())
                });
                let clock = case.clock.as_ref().map_or("", |clock| clock.domain.name());
                let first = [
                    (index + 1).to_string(),
                    case.experiment.to_string(),
                    case.target.to_string(),
                    case.release.to_string(),
                    clock.to_owned(),
                ];
                let last = [
                    series.name.to_string(),
                    series.role.name().to_owned(),
                    series.unit.name().to_owned(),
                    statistic.to_owned(),
                    number(Some(value)),
                    if case.is_proven() { "yes" } else { "no" }.to_owned(),
                    case.verdict.status.words().to_owned(),
                ];
                text.push_str(&record(first.into_iter().chain(own).chain(last)));
            }
        }
    }
    text
}

/// The finite statistics of a series with their names, and the ends of the median's interval.
fn values(case: &CaseResult, series: &SeriesResult) -> Vec<(&'static str, f64)> {
    let known = STATISTICS.iter().filter_map(|statistic| {
        Some((statistic.name, statistic.of_row(case.slope.as_ref(), Some(series))?))
    });
    let interval = series.p50_interval.map(|ends| [("p50_low", ends.low), ("p50_high", ends.high)]);
    let count = [("count", series.summary.count as f64)];
    let all = count.into_iter().chain(known).chain(interval.into_iter().flatten());
    all.filter(|(_, value)| value.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    #[test]
    fn each_parameter_has_a_column_and_each_statistic_a_row() {
        let mut run = sample::run();
        let mut other = run.cases[0].clone();
        run.cases[0].parameters =
            [("tasks".into(), "2".into()), ("unit".into(), "a".into())].into();
        other.parameters = [("kind".into(), "thread".into())].into();
        run.cases = vec![run.cases[0].clone(), other];
        let text = render(&run);
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!(head[5..8], ["kind", "tasks", "parameter unit"]);
        let median = |case: &str| {
            let of_case = text.lines().filter(|line| line.starts_with(&format!("{case},")));
            let rows: Vec<Vec<&str>> = of_case.map(|line| line.split(',').collect()).collect();
            let wanted = |row: &&Vec<&str>| row[9] == "measured" && row[11] == "p50";
            rows.iter().find(wanted).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let p50 = number(run.cases[0].series[0].summary.p50);
        assert_eq!(median("1")[5..8], ["", "2", "a"]);
        assert_eq!(median("2")[5..8], ["thread", "", ""]);
        assert_eq!(median("1")[12], p50);
        assert!(lines.all(|line| line.split(',').count() == head.len()), "{text}");
    }
}
