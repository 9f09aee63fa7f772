//! The table of figures: one row for each series, with the case's verdict in the first.

use chronoscope_suite::experiments;

use super::{Group, INTERVAL, WIDTH};
use crate::{Paint, text_table::Side, text_table::TextTable, text_table::wrap};
use chronoscope_run::{
    Alternation, CaseResult, Domain, Precision, Role, Run, SeriesResult, Statistic, Unit,
    names::TOGETHER,
};
use chronoscope_statistics::{Basis, Slope, chance_of_new_maximum, median};
use chronoscope_units::{digits, show, show_between, show_range, show_two};

/// Longest label in characters that shares a row with figures; a longer one gets a line of its own.
const MAX_LABEL: usize = 40;

/// Shown for a missing value.
const NONE: &str = "–";

/// The columns that a narrow screen loses, in this order.
const DROPPED: [&str; 6] = ["cold", INTERVAL, "control", "n", "p99", "max"];

pub fn section(run: &Run, paint: Paint, width: Option<usize>) -> String {
    let right = |name| (name, Side::Right);
    let mut columns = vec![("case", Side::Left), right("n"), right("cold")];
    for statistic in Statistic::headlines() {
        columns.push(right(statistic.name));
        columns.extend(statistic.interval.map(|_| right(INTERVAL)));
    }
    columns.extend([right("control"), ("verdict", Side::Left)]);
    let mut table = TextTable::new(&columns);
    let stolen = worst_steal(run);
    for group in Group::all(run) {
        table.gap();
        title(&mut table, &group);
        for case in group.cases {
            let rows = Rows { case, paint, some_stolen: stolen > 0.0, columns: columns.len() };
            rows.add(&mut table, &group.label(case));
        }
    }
    table.render_within(width, &DROPPED) + &footnotes(run)
}

fn footnotes(run: &Run) -> String {
    let mut notes = String::new();
    let has_auxiliary =
        |case: &CaseResult| case.series.iter().any(|series| series.role == Role::Auxiliary);
    if run.cases.iter().any(|case| case.is_proven() && has_auxiliary(case)) {
        notes.push_str("(…) auxiliary series: shown, not judged\n");
    }
    notes.extend(longer_runs(run));
    let stolen = worst_steal(run);
    if stolen > 0.0 {
        notes.push_str(&format!(
            "* the hypervisor took up to {} from a repetition: the maximum may be the machine's, not the kernel's\n",
            show(stolen * 1e6, "ns")
        ));
    }
    let drifts = |case: &CaseResult| {
        case.is_proven() && case.measured().any(|one| one.p50_interval_basis == Basis::Drift)
    };
    if run.cases.iter().any(drifts) {
        notes.push_str(
            "drifts: neighbouring repetitions are too alike to be independent, and give no interval\n",
        );
    }
    if notes.is_empty() { notes } else { format!("\n{notes}") }
}

/// The chances with which longer runs exceed the maxima, by rank alone; `None` without samples in
/// time. The chance for a day comes from the first case with an interval.
fn longer_runs(run: &Run) -> Option<String> {
    let in_time = |case: &&CaseResult| {
        let domain = case.clock.as_ref().map(|clock| clock.domain);
        domain == Some(Domain::Wall) && case.is_proven() && case.measured().next().is_some()
    };
    let mut cases = run.cases.iter().filter(in_time).peekable();
    cases.peek()?;
    let day = cases.find_map(|case| {
        let interval: f64 = case.parameters.get("interval_us")?.parse().ok()?;
        let one = case.measured().find(|series| *series.name != *TOGETHER)?;
        let seconds = one.summary.count as f64 * interval / 1e6;
        // Rounding must not make the chance of an uncertain event 100 %.
        let percent = (1000.0 * chance_of_new_maximum(seconds, 86_400.0)?).floor() / 10.0;
        Some(format!(", a day of {} with {percent} %", case.experiment))
    });
    Some(format!(
        "max: a run as long again exceeds it with 50 %, one nine times as long with 90 %{}\n",
        day.unwrap_or_default()
    ))
}

/// The largest steal time of a case's repetitions in ms; 0 for a case without evidence.
fn stolen_from(case: &CaseResult) -> f64 {
    case.figure("steal").filter(|_| case.is_proven()).map_or(0.0, |steal| steal.max)
}

fn worst_steal(run: &Run) -> f64 {
    run.cases.iter().map(stolen_from).fold(0.0, f64::max)
}

fn title(table: &mut TextTable, group: &Group<'_>) {
    let first = &group.cases[0];
    let clock = group.cases.iter().find_map(|case| case.clock.as_ref());
    let mut parts = vec![first.experiment.to_string(), first.target.to_string()];
    parts.extend(clock.map(|clock| format!("{} clock", clock.domain)));
    parts.extend(group.common.iter().map(|part| part.text().to_owned()));
    parts.extend(experiments::find(&first.experiment).map(|spec| spec.summary.to_owned()));
    table.line(wrap(&parts, 2, WIDTH));
}

/// The rows of one case.
struct Rows<'a> {
    case: &'a CaseResult,
    paint: Paint,
    /// Some maximum in the table is marked by a star; the others are padded to align.
    some_stolen: bool,
    columns: usize,
}

impl Rows<'_> {
    fn add(&self, table: &mut TextTable, label: &str) {
        let status = self.paint.outcome(self.case);
        // Samples without evidence are not figures of the case.
        if !self.case.is_proven() || self.case.measured().next().is_none() {
            let label = if label.is_empty() { "this case" } else { label };
            let mut cells = vec![format!("  {label}"), String::new(), String::new()];
            cells.push(NONE.to_owned());
            cells.resize(self.columns - 1, String::new());
            cells.push(status);
            return table.row(cells);
        }
        let measured: Vec<&SeriesResult> = self.case.measured().collect();
        let alone = measured.len() == 1 && label.chars().count() <= MAX_LABEL;
        let mut rows: Vec<(String, &SeriesResult)> = Vec::new();
        if let (true, [series]) = (alone, measured.as_slice()) {
            let text = if label.is_empty() { &series.name } else { label };
            rows.push((format!("  {text}"), series));
        } else {
            let indent = if label.is_empty() { "  " } else { "    " };
            rows.extend(
                measured.iter().map(|series| (format!("{indent}{}", series.name), *series)),
            );
        }
        let others = |role: Role| self.case.series.iter().filter(move |series| series.role == role);
        rows.extend(
            others(Role::Pin)
                .chain(others(Role::PinAnalyser))
                .map(|series| (format!("    {}", series.name), series)),
        );
        let auxiliary = others(Role::Auxiliary).chain(others(Role::PinAuxiliary));
        rows.extend(auxiliary.map(|series| (format!("    ({})", series.name), series)));
        if !alone && !label.is_empty() {
            table.line(format!("  {label}"));
        }
        for (index, (text, series)) in rows.into_iter().enumerate() {
            let verdict = if index == 0 { status.clone() } else { String::new() };
            table.row(self.cells(text, series, verdict));
            let lines = [misses(series), p99_of_one(series), alternation(series)];
            lines.into_iter().flatten().for_each(|line| table.line(format!("      {line}")));
        }
        if let Some(slope) = self.case.slope {
            table.line(format!(
                "      {}",
                slope_line(&slope, measured.first().map_or("", |series| series.unit.name()))
            ));
        }
    }

    fn cells(&self, text: String, series: &SeriesResult, verdict: String) -> Vec<String> {
        let unit = short_unit(series.unit);
        let above = if series.nominal > 0.0 { "+ " } else { "" };
        let plain = |value: Option<f64>| {
            value.map_or(NONE.to_owned(), |value| above.to_owned() + &show(value, unit))
        };
        let control = self.case.control_of(series);
        let star = match (self.some_stolen, stolen_from(self.case) > 0.0) {
            (true, true) => " *",
            (true, false) => "  ",
            (false, _) => "",
        };
        let summary = &series.summary;
        let mut cells = vec![text, summary.count.to_string(), plain(median(&summary.cold))];
        for statistic in Statistic::headlines() {
            let value = statistic.of_series(series);
            match (statistic.interval, statistic.name) {
                (Some(_), _) => {
                    let nominal = match series.nominal {
                        0.0 => String::new(),
                        nominal => show(nominal, unit) + " ",
                    };
                    cells.push(figure(series, statistic, unit).map_or(NONE.to_owned(), |figure| {
                        match figure.strip_prefix('-') {
                            Some(size) if series.nominal != 0.0 => format!("{nominal}− {size}"),
                            None if series.nominal != 0.0 => format!("{nominal}+ {figure}"),
                            _ => figure,
                        }
                    }));
                    cells.push(interval(series, statistic, unit));
                }
                (None, "max") => cells.push(plain(value) + star),
                (None, _) => {
                    let figure = figure(series, statistic, unit);
                    cells.push(figure.map_or(NONE.to_owned(), |figure| above.to_owned() + &figure));
                }
            }
        }
        cells.push(control.map_or(String::new(), |control| {
            control.summary.p50.map_or(NONE.to_owned(), |cost| show(cost, unit))
        }));
        cells.push(verdict);
        cells
    }
}

/// A statistic of a series, with the digits that the repetitions agree on: `2.90 µs`, `2.9 µs` or,
/// for one with an interval, `20–48 µs`. `None` if the series has too few samples for it.
pub(crate) fn figure(series: &SeriesResult, statistic: &Statistic, unit: &str) -> Option<String> {
    let value = statistic.of_series(series)?;
    Some(match series.precision(statistic) {
        Precision::Full => show(value, unit),
        Precision::Range { low, high } if statistic.interval.is_some() => {
            show_between(low, high, unit)
        }
        Precision::Range { .. } | Precision::Two => show_two(value, unit),
    })
}

/// The cell for the interval of a statistic: its ends, or the reason why there is none.
pub(crate) fn interval(series: &SeriesResult, statistic: &Statistic, unit: &str) -> String {
    let ends = statistic.interval.and_then(|interval| interval(series));
    match (series.p50_interval_basis, ends.zip(statistic.of_series(series))) {
        (Basis::Exact, _) => "exact".to_owned(),
        (Basis::Drift, _) => "drifts".to_owned(),
        (_, Some((ends, value))) => show_range(ends.low, ends.high, value, unit),
        _ => NONE.to_owned(),
    }
}

/// Names a p99 that one repetition makes.
pub(crate) fn p99_of_one(series: &SeriesResult) -> Option<String> {
    let others = show(series.p99_of_one()?, series.unit.name());
    let count = series.by_repetition.len();
    Some(format!(
        "p99: one of {count} repetitions makes it; that of the others is {others} at most"
    ))
}

/// The two values between which a figure alternates, and the mean.
pub(crate) fn alternation(series: &SeriesResult) -> Option<String> {
    let unit = short_unit(series.unit);
    let [one, other]: Alternation = series.alternation()?;
    let value = |(value, share): (f64, f64)| format!("{} ({:.0} %)", digits(value), share * 100.0);
    let mean = show(series.summary.mean?, unit);
    Some(format!("alternates between {} and {}: mean {mean}", value(one), value(other)))
}

/// Shows a value as nominal part plus excess, as `50 ms + 61.2 µs`: three digits of the sum would
/// hide the excess.
pub fn with_nominal(excess: f64, nominal: f64, unit: &str) -> String {
    match excess {
        _ if nominal == 0.0 => show(excess, unit),
        excess if excess < 0.0 => format!("{} − {}", show(nominal, unit), show(-excess, unit)),
        excess => format!("{} + {}", show(nominal, unit), show(excess, unit)),
    }
}

/// A unit's name, abbreviated to fit a narrow cell.
fn short_unit(unit: Unit) -> &'static str {
    if unit == Unit::Instructions { "instr" } else { unit.name() }
}

/// The misses of a series with a deadline, and their episodes: counts of this run alone.
fn misses(series: &SeriesResult) -> Option<String> {
    let (deadline, misses) = (series.deadline?, series.misses?);
    let deadline = show(deadline, series.unit.name());
    let head =
        format!("later than {deadline}: {} of {} in this run", misses.misses, misses.samples);
    let samples = |count: u64| format!("{count} sample{}", if count == 1 { "" } else { "s" });
    let episodes = match series.bursts.map(|bursts| (bursts.episodes, bursts.longest)) {
        None | Some((0, _)) => String::new(),
        Some((1, longest)) => format!(", in 1 episode of {}", samples(longest)),
        Some((episodes, longest)) => {
            format!(", in {episodes} episodes, the longest of {}", samples(longest))
        }
    };
    Some(head + &episodes)
}

fn slope_line(slope: &Slope, unit: &str) -> String {
    let value = match slope.standard_error {
        // Two digits of the error, and as many places of the slope.
        Some(error) if error > 0.0 => {
            let places = (1.0 - error.log10().floor()).clamp(0.0, 9.0) as usize;
            format!("{:.places$} ± {error:.places$} (standard error)", slope.slope)
        }
        Some(_) => format!("{:.3} ± 0", slope.slope),
        None => format!("{:.3} (two points: no standard error)", slope.slope),
    };
    format!("slope {value} · {} at 0", show(slope.intercept, unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_statistics::{Bursts, MissRate};

    #[test]
    fn nominal_parts_are_shown_apart() {
        assert_eq!(with_nominal(61_200.0, 50e6, "ns"), "50 ms + 61.2 µs");
        assert_eq!(with_nominal(-5_000.0, 50e6, "ns"), "50 ms − 5 µs");
        assert_eq!(with_nominal(61_200.0, 0.0, "ns"), "61.2 µs");
    }

    #[test]
    fn a_slope_has_the_places_of_its_error() {
        let line = |error| {
            slope_line(&Slope { slope: 0.99984, intercept: 2.07e6, standard_error: error }, "ns")
        };
        assert_eq!(line(Some(0.00031)), "slope 0.99984 ± 0.00031 (standard error) · 2.07 ms at 0");
        assert_eq!(line(Some(0.12)), "slope 1.00 ± 0.12 (standard error) · 2.07 ms at 0");
        assert!(line(None).starts_with("slope 1.000 (two points"));
    }

    #[test]
    fn longer_runs_exceed_the_maximum() {
        let mut run = chronoscope_run::sample::run();
        let usual =
            "max: a run as long again exceeds it with 50 %, one nine times as long with 90 %";
        assert_eq!(longer_runs(&run), Some(format!("{usual}\n")));
        // 5000 samples at 1 ms are 5 s.
        run.cases[1].parameters.insert("interval_us".into(), "1000".into());
        assert_eq!(longer_runs(&run), Some(format!("{usual}, a day of switch with 99.9 %\n")));
        // One processor's samples take as long as both processors' together.
        run.cases[1].series[0].summary.count = 50_000_000;
        let day = format!("{usual}, a day of switch with 63.3 %\n");
        assert_eq!(longer_runs(&run), Some(day.clone()));
        let mut all = run.cases[1].series[0].clone();
        (all.name, all.summary.count) = ("all processors".into(), 100_000_000);
        run.cases[1].series.insert(0, all);
        assert_eq!(longer_runs(&run), Some(day));
        for case in &mut run.cases {
            case.clock.iter_mut().for_each(|clock| clock.domain = Domain::Instructions);
        }
        assert_eq!(longer_runs(&run), None);
    }

    #[test]
    fn misses_are_counts_of_this_run() {
        let mut series = chronoscope_run::sample::series("switch", 2_900.0);
        assert_eq!(misses(&series), None);
        (series.deadline, series.misses) = (Some(100e3), Some(MissRate::new(0, 5_000)));
        series.bursts = None;
        assert_eq!(misses(&series).unwrap(), "later than 100 µs: 0 of 5000 in this run");
        let mut bursts =
            Bursts { tested: 100, dispersion: Some(9.0), p: Some(0.0), episodes: 0, longest: 0 };
        series.bursts = Some(bursts);
        assert!(misses(&series).unwrap().ends_with("0 of 5000 in this run"));
        series.misses = series.misses.map(|one| MissRate { misses: 37, ..one });
        (bursts.episodes, bursts.longest) = (4, 12);
        series.bursts = Some(bursts);
        let line = misses(&series).unwrap();
        let end = "37 of 5000 in this run, in 4 episodes, the longest of 12 samples";
        assert!(line.ends_with(end), "{line}");
        (bursts.episodes, bursts.longest) = (1, 1);
        series.bursts = Some(bursts);
        assert!(misses(&series).unwrap().ends_with(", in 1 episode of 1 sample"));
        bursts.episodes = 3;
        series.bursts = Some(bursts);
        assert!(misses(&series).unwrap().ends_with(", in 3 episodes, the longest of 1 sample"));
    }
}
