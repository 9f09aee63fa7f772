//! CSV: one row for each series. `docs/run-file.md` describes the columns.
//!
//! Runs with identical results give identical bytes: no column holds the date, the host or its
//! load. Figures about the machine (steal, load) are in the JSON alone.

use std::collections::BTreeMap;

use chronoscope_run::{CaseResult, Paired, PeerResult, Run, STATISTICS, SeriesResult, Statistic};
use chronoscope_statistics::median;
use chronoscope_units::OneLine;

/// A column: a row of `COLUMNS`.
#[derive(Clone, Copy)]
pub struct Column {
    /// The name in the header.
    pub name: &'static str,
    value: Value,
}

/// The source of a column's cells.
#[derive(Clone, Copy)]
enum Value {
    Case(fn(&CaseResult) -> String),
    /// The cell of a case without series is empty.
    Series(fn(&SeriesResult) -> String),
    /// The statistic with the column's name.
    Statistic,
}

/// The columns, in order. New columns are appended, so that readers by index keep working.
const COLUMNS: &[Column] = &[
    case("experiment", |case| case.experiment.to_string()),
    case("target", |case| case.target.to_string()),
    case("release", |case| case.release.to_string()),
    case("parameters", |case| parameters(&case.parameters)),
    case("clock", |case| case.clock.as_ref().map_or("", |clock| clock.domain.name()).to_owned()),
    case("repetitions", |case| case.repetitions.to_string()),
    series("series", |series| series.name.to_string()),
    series("role", |series| series.role.name().to_owned()),
    series("unit", |series| series.unit.name().to_owned()),
    series("nominal", |series| number(Some(series.nominal))),
    series("per", |series| number(Some(series.per))),
    series("x", |series| number(series.x)),
    series("count", |series| series.summary.count.to_string()),
    statistic("min"),
    statistic("p50"),
    series("p50_low", |series| number(series.p50_interval.map(|interval| interval.low))),
    series("p50_high", |series| number(series.p50_interval.map(|interval| interval.high))),
    statistic("p90"),
    statistic("p99"),
    statistic("p99.9"),
    statistic("p99.99"),
    statistic("max"),
    statistic("mean"),
    statistic("sigma"),
    series("cold", |series| number(median(&series.summary.cold))),
    series("deadline", |series| number(series.deadline)),
    statistic("misses"),
    series("miss_rate_upper", |series| number(series.misses.and_then(|misses| misses.upper))),
    statistic("slope"),
    case("slope_error", |case| number(case.slope.and_then(|slope| slope.standard_error))),
    case("evidence", |case| {
        let each = case.evidence.iter().map(|one| format!("{}={}", one.name, one.value));
        each.collect::<Vec<_>>().join("; ")
    }),
    case("evidence_holds", |case| if case.is_proven() { "yes" } else { "no" }.to_owned()),
    case("verdict", |case| case.verdict.status.words().to_owned()),
];

const fn case(name: &'static str, value: fn(&CaseResult) -> String) -> Column {
    Column { name, value: Value::Case(value) }
}

const fn series(name: &'static str, value: fn(&SeriesResult) -> String) -> Column {
    Column { name, value: Value::Series(value) }
}

const fn statistic(name: &'static str) -> Column {
    Column { name, value: Value::Statistic }
}

/// All columns: `COLUMNS`, then the statistics that it does not place.
pub fn columns() -> impl Iterator<Item = Column> {
    let is_placed = |name: &str| COLUMNS.iter().any(|column| column.name == name);
    let others = STATISTICS.iter().map(|known| known.name).filter(move |name| !is_placed(name));
    COLUMNS.iter().copied().chain(others.map(statistic))
}

impl Column {
    fn cell(&self, case: &CaseResult, series: Option<&SeriesResult>) -> String {
        match self.value {
            Value::Case(value) => value(case),
            Value::Series(value) => series.map(value).unwrap_or_default(),
            Value::Statistic => number(
                Statistic::find(self.name)
                    .and_then(|known| known.of_row(case.slope.as_ref(), series)),
            ),
        }
    }
}

/// Renders the header and all rows. A case without series gets one row with empty series columns.
pub fn render(run: &Run) -> String {
    let mut text = record(columns().map(|column| column.name.to_owned()));
    for case in &run.cases {
        match case.series.as_slice() {
            [] => text.push_str(&row(case, None)),
            all => all.iter().for_each(|series| text.push_str(&row(case, Some(series)))),
        }
    }
    for peer in &run.peers {
        peer.statistics.iter().for_each(|paired| text.push_str(&peer_rows(peer, paired)));
    }
    text
}

/// The rows of one statistic of a peer: Chronoscope's values (`ours`), the peer's (`theirs`) and
/// their ratio, each summarized over the pairs. A row without values is left out.
fn peer_rows(peer: &PeerResult, paired: &Paired) -> String {
    let ratios: Vec<f64> =
        paired.ratio.iter().flat_map(|ratio| [ratio.min, ratio.median, ratio.max]).collect();
    let rows = [
        ("ours", &paired.ours, paired.unit.as_str()),
        ("theirs", &paired.theirs, &paired.unit),
        ("ratio", &ratios, ""),
    ];
    let reported = rows.into_iter().filter(|(_, values, _)| !values.is_empty());
    reported
        .map(|(role, values, unit)| {
            let text = |column: &str| match column {
                "experiment" => peer.experiment.to_string(),
                "target" => peer.target.to_string(),
                "parameters" => parameters(&peer.parameters),
                "repetitions" => peer.pairs.to_string(),
                // Pairs without the statistic are left out of it.
                "count" => paired.ours.len().max(paired.theirs.len()).to_string(),
                "series" => format!("{}: {}", peer.name, paired.name()),
                "role" => role.to_owned(),
                "unit" => unit.to_owned(),
                "min" => number(values.iter().copied().reduce(f64::min)),
                "p50" => number(median(values)),
                "max" => number(values.iter().copied().reduce(f64::max)),
                "verdict" => peer.verdict.status.words().to_owned(),
                _ => String::new(),
            };
            record(columns().map(|column| text(column.name)))
        })
        .collect()
}

fn parameters(parameters: &BTreeMap<OneLine, OneLine>) -> String {
    let each = parameters.iter().map(|(name, value)| format!("{name}={value}"));
    each.collect::<Vec<_>>().join(" ")
}

fn row(case: &CaseResult, series: Option<&SeriesResult>) -> String {
    record(columns().map(|column| column.cell(case, series)))
}

/// A number in the shortest form that parses back to the same value; empty for `None` and for
/// values that are not finite.
pub(super) fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(String::new, |value| value.to_string())
}

/// Formats a CSV record, including its line feed.
pub(super) fn record(fields: impl IntoIterator<Item = String>) -> String {
    fields.into_iter().map(|field| quoted(&field)).collect::<Vec<_>>().join(",") + "\n"
}

/// Quotes a field by RFC 4180: fields with a comma, a quote or a line break are enclosed in quotes,
/// with quotes inside doubled.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    /// Parses CSV by the grammar of RFC 4180.
    fn read(text: &str) -> Vec<Vec<String>> {
        let (mut records, mut fields, mut field, mut quotes) =
            (Vec::new(), Vec::new(), String::new(), false);
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            match character {
                '"' if quotes && rest.peek() == Some(&'"') => field.extend(rest.next()),
                '"' => quotes = !quotes,
                ',' if !quotes => fields.push(std::mem::take(&mut field)),
                '\n' if !quotes => {
                    fields.push(std::mem::take(&mut field));
                    records.push(std::mem::take(&mut fields));
                }
                other => field.push(other),
            }
        }
        assert!(!quotes && fields.is_empty() && field.is_empty(), "the last line is whole");
        records
    }

    #[test]
    fn each_series_has_a_row_and_each_row_every_column() {
        let run = sample::run();
        let records = read(&render(&run));
        let names: Vec<&str> = columns().map(|column| column.name).collect();
        assert_eq!(records[0], names);
        assert!(records.iter().all(|record| record.len() == names.len()));
        let rows: usize = run.cases.iter().map(|case| case.series.len().max(1)).sum();
        assert_eq!(records.len(), 1 + rows);
    }

    #[test]
    fn every_statistic_has_one_column() {
        for known in STATISTICS {
            assert_eq!(columns().filter(|column| column.name == known.name).count(), 1);
        }
        let of_statistics =
            columns().filter(|column| matches!(column.value, Value::Statistic)).count();
        assert_eq!(of_statistics, STATISTICS.len());
    }

    #[test]
    fn values_are_those_of_the_series() {
        let run = sample::run();
        let records = read(&render(&run));
        let cell = |row: usize, name: &str| {
            &records[row][columns().position(|column| column.name == name).unwrap()]
        };
        assert_eq!(cell(1, "parameters"), "pair=thread-thread tasks=2");
        assert_eq!(cell(1, "p50"), "2900");
        assert_eq!(cell(1, "p50_low"), "2850");
        assert_eq!(cell(1, "p99.99"), "", "there is none of so few samples");
        assert_eq!(cell(1, "evidence"), "switches=5004");
        assert_eq!(cell(1, "verdict"), "pass");
    }

    #[test]
    fn peers_have_rows_for_both_sides_and_their_ratio() {
        let records = read(&render(&sample::full()));
        let cell = |record: &[String], name: &str| {
            record[columns().position(|column| column.name == name).unwrap()].clone()
        };
        let peers =
            records.iter().filter(|record| cell(record, "series").starts_with("perf bench"));
        let reported: Vec<_> = peers
            .map(|record| ["role", "unit", "min", "p50", "max"].map(|name| cell(record, name)))
            .collect();
        assert_eq!(reported[0], ["ours", "ns", "2940", "3000", "3100"]);
        assert_eq!(reported[1], ["theirs", "ns", "2910", "2910", "2920"]);
        assert_eq!(reported[2][..2], ["ratio", ""]);
        assert_eq!(reported[3], ["theirs", "count", "40000", "40000", "40000"]);
        assert_eq!(reported.len(), 4, "one side makes no ratio");
    }

    #[test]
    fn identical_runs_give_identical_rows() {
        let run = sample::run();
        let mut later = run.clone();
        later.context.date = "2027-02-02T02:02:02Z".into();
        later.context.host = "elsewhere".into();
        for figure in later.cases.iter_mut().flat_map(|case| &mut case.figures) {
            figure.value += 1.0;
        }
        assert_eq!(render(&run), render(&later));
    }

    #[test]
    fn odd_fields_are_quoted() {
        assert_eq!(quoted("plain words"), "plain words");
        let fields = ["a,b", "say \"hi\"", "two\nlines", ""].map(str::to_owned);
        assert_eq!(read(&record(fields.clone())), [fields]);
    }
}
