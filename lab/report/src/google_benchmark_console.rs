//! The table that Google Benchmark prints on a terminal, without colours and user counters, for
//! readers and scripts that expect its layout.

use super::google_benchmark::{Entry, Problem, benchmarks};
use chronoscope_run::Run;

/// Google Benchmark's minimum width of the name column, in characters.
const MIN_NAME_WIDTH: usize = 10;

/// Renders a run as the console output of Google Benchmark.
pub fn render(run: &Run) -> String {
    let entries = benchmarks(run);
    let names =
        entries.iter().map(|entry| entry.name.chars().count()).fold(MIN_NAME_WIDTH, usize::max);
    let header =
        format!("{:names$} {:>13} {:>15} {:>12}", "Benchmark", "Time", "CPU", "Iterations");
    let rule = "-".repeat(header.len());
    let lines = entries.iter().map(|entry| format!("{:names$} {}\n", entry.name, row(entry)));
    format!("{rule}\n{header}\n{rule}\n{}", lines.collect::<String>())
}

fn row(entry: &Entry) -> String {
    match &entry.problem {
        Some(Problem::Error { error_message, .. }) => {
            return format!("ERROR OCCURRED: '{error_message}'");
        }
        Some(Problem::Skipped { skip_message, .. }) => return format!("SKIPPED: '{skip_message}'"),
        None => {}
    }
    let is_share =
        entry.aggregate.as_ref().is_some_and(|aggregate| aggregate.aggregate_unit == "percentage");
    let (unit, [real, processor]) = match [entry.real_time, entry.cpu_time] {
        shares if is_share => ("%", shares.map(|share| format!("{:10.2}", 100.0 * share))),
        times => (entry.time_unit, times.map(time)),
    };
    let row = format!("{real} {unit:<4} {processor} {unit:<4} {:>10}", entry.iterations);
    if entry.label.is_empty() { row } else { format!("{row} {}", entry.label) }
}

/// Formats a time in ten characters, with Google Benchmark's number of decimals.
fn time(value: f64) -> String {
    let digits = match value {
        ..1.0 => 3,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{value:10.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronoscope_run::sample;

    #[test]
    fn it_looks_like_google_benchmark() {
        let text = render(&sample::run());
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("-----")
                && lines[0] == lines[2]
                && lines[0].len() == lines[1].len(),
            "{text}"
        );
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>(),
            ["Benchmark", "Time", "CPU", "Iterations"]
        );
        let first: Vec<&str> = lines[3].split_whitespace().collect();
        assert_eq!((first[2], first[4], first.len()), ("ns", "ns", 6), "{text}");
        assert!(lines.iter().any(|line| line.contains("_cv") && line.contains(" %  ")), "{text}");
        assert!(text.contains("SKIPPED: '") && text.contains("ERROR OCCURRED: '"), "{text}");
    }

    #[test]
    fn times_keep_their_digits() {
        let texts = [0.5, 3.25, 42.06, 70302.4].map(time);
        assert_eq!(texts, ["     0.500", "      3.25", "      42.1", "     70302"]);
    }
}
