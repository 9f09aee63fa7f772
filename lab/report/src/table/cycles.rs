//! Cycles by function, case by case.

use super::{name, truncate_start};
use crate::{text_table::Side, text_table::TextTable};
use chronoscope_run::{CaseResult, Cycles, Run, Spent};
use chronoscope_units::digits;

/// Number of functions listed for a case; the others are summed.
const MAX_ROWS: usize = 8;

/// Longest function name in characters; a longer one is shortened.
const MAX_NAME: usize = 72;

pub fn section(run: &Run) -> String {
    let mut table = TextTable::new(&[
        ("cycles by function", Side::Left),
        ("cycles", Side::Right),
        ("%", Side::Right),
        ("instructions", Side::Right),
    ]);
    let several_targets = run.cases.iter().any(|case| case.target != run.cases[0].target);
    let mut profiled =
        run.cases.iter().filter_map(|case| Some((case, case.cycles.as_ref()?))).peekable();
    if profiled.peek().is_none() {
        return String::new();
    }
    for (case, cycles) in profiled {
        table.gap();
        table.line(title(case, several_targets, cycles));
        rows(cycles).into_iter().for_each(|row| table.row(row));
    }
    table.render()
}

fn title(case: &CaseResult, several_targets: bool, cycles: &Cycles) -> String {
    let target = if several_targets { format!(" {}", case.target) } else { String::new() };
    let windows = if cycles.windows == 1 {
        "1 window".to_owned()
    } else {
        format!("mean of {} windows", cycles.windows)
    };
    let asleep = match cycles.asleep {
        0 => String::new(),
        asleep => {
            let on_average = if cycles.windows == 1 { "" } else { "on average " };
            let each = digits(asleep as f64 / cycles.windows.max(1) as f64);
            format!("; {on_average}{each} idle cycles more")
        }
    };
    format!("{}{target}: {windows} with pin D0 high{asleep}", name(case))
}

fn rows(cycles: &Cycles) -> Vec<Vec<String>> {
    let windows = cycles.windows.max(1) as f64;
    let row = |name: &str, spent: u64, retired: u64| {
        let share = 100.0 * spent as f64 / cycles.total.max(1) as f64;
        let each = |count: u64| digits(count as f64 / windows);
        vec![
            format!("  {}", truncate_start(name, MAX_NAME)),
            each(spent),
            format!("{share:.1}"),
            each(retired),
        ]
    };
    let (shown, rest) = cycles.rows.split_at(cycles.rows.len().min(MAX_ROWS));
    let mut rows: Vec<Vec<String>> =
        shown.iter().map(|spent| row(&spent.name, spent.cycles, spent.retired)).collect();
    if !rest.is_empty() {
        let sum = |of: fn(&Spent) -> u64| rest.iter().map(of).fold(0, u64::saturating_add);
        rows.push(row(
            &format!("{} others", rest.len()),
            sum(|spent| spent.cycles),
            sum(|spent| spent.retired),
        ));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    #[test]
    fn cycles_are_means_of_the_windows() {
        let mut run = sample::run();
        assert_eq!(section(&run), "");
        let spent = |name: &str, cycles, retired| Spent { name: name.into(), cycles, retired };
        let few = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(|name| spent(name, 10, 10));
        let rows = [&[spent("tandem_suspend", 110, 80)], &few[..]].concat();
        run.cases[0].cycles = Some(Cycles { windows: 10, total: 200, asleep: 5000, rows });
        let text = section(&run);
        let line = |start: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(line("tandem_suspend")[1..], ["11", "55.0", "8"]);
        assert_eq!(line("2 others")[2..], ["2", "10.0", "2"]);
        assert!(
            text.contains("mean of 10 windows with pin D0 high; on average 500 idle cycles more\n"),
            "{text}"
        );
        // A file may hold any number.
        let rows = [&[spent("tandem_suspend", 110, 80)], &few[..]].concat();
        let rows = rows.into_iter().map(|one| Spent { cycles: u64::MAX, ..one }).collect();
        run.cases[0].cycles = Some(Cycles { windows: 1, total: u64::MAX, asleep: 0, rows });
        assert!(section(&run).contains("2 others"));
    }
}
