//! A run of `period` in the words of rt-tests' cyclictest 2.40: its lines, its histogram and its JSON,
//! so that scripts and plots which read them read ours.

use std::{collections::BTreeMap, fmt::Write as _};

use chronoscope_run::{CaseResult, Run};
use serde_json::{Map, Value, json};

use crate::tool::{Thread, document, threads};

/// The form of the output, by the command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Format {
    /// Values in ns, and not in µs.
    pub in_ns: bool,
    /// The number of latenesses in the histogram, from 0 on.
    pub histogram: Option<u64>,
    /// The histogram has the sum of all threads.
    pub with_sum: bool,
    /// The lateness in µs above which the run was to end.
    pub breaks_above: Option<u64>,
    /// The priority of the first thread; 0 for the ordinary class.
    pub priority: u64,
    /// The threads have one priority.
    pub is_level: bool,
    /// The intervals of the first thread, and what each next one adds, in µs.
    pub interval: [u64; 2],
}

/// The lines of the threads; or the histogram, if it is asked for.
pub fn text(case: &CaseResult, format: &Format) -> String {
    let threads = threads(case, format.in_ns);
    let mut text = String::new();
    if format.histogram.is_none() {
        for thread in &threads {
            text += &line(thread, format);
        }
    }
    text + &broken(&threads, format).unwrap_or_default()
}

/// The line of a thread. Its number in the system is not known, and is 0.
fn line(thread: &Thread, format: &Format) -> String {
    let Thread { number, .. } = thread;
    let width = if format.in_ns { 8 } else { 5 };
    let less = if format.is_level { 0 } else { *number };
    format!(
        "T:{number:2} ({:05}) P:{:2} I:{} C:{:7} Min:{:7} Act:{:width$} Avg:{:width$} Max:{:8}\n",
        0,
        format.priority.saturating_sub(less),
        format.interval[0] + number * format.interval[1],
        thread.count(),
        thread.least(),
        thread.last(),
        thread.mean() as u64,
        thread.greatest(),
    )
}

/// The lines on the start that ended the run.
fn broken(threads: &[Thread], format: &Format) -> Option<String> {
    let above = format.breaks_above?.saturating_mul(if format.in_ns { 1000 } else { 1 });
    let late = threads.iter().max_by_key(|thread| thread.greatest())?;
    let ids = |threads: &[Thread]| {
        threads.iter().map(|thread| format!("{:05}", thread.number)).collect::<Vec<_>>().join(" ")
    };
    (late.greatest() >= above).then(|| {
        format!(
            "# Thread Ids: {}\n# Break thread: {}\n# Break value: {}\n",
            ids(threads),
            late.number,
            late.greatest()
        )
    })
}

/// Each start of each thread, where samples were kept.
pub fn verbose(case: &CaseResult, format: &Format) -> String {
    let mut text = String::new();
    for thread in threads(case, format.in_ns).iter().filter(|thread| thread.is_in_order) {
        for (place, (value, _)) in thread.values.iter().enumerate() {
            let _ = writeln!(text, "{:8}:{place:8}:{value:8}", thread.number);
        }
    }
    text
}

/// The histogram, as cyclictest prints it and `gnuplot` scripts read it.
pub fn histogram(case: &CaseResult, format: &Format) -> String {
    let rows = format.histogram.unwrap_or_default();
    // A row is a µs, whatever the unit of the lines.
    let threads = threads(case, false);
    let with_sum = format.with_sum;
    let counts: Vec<BTreeMap<u64, u64>> =
        threads.iter().map(|thread| thread.buckets(1, rows)).collect();
    let joined = |all: &[u64], width: usize, between: &str| {
        let sum = with_sum.then(|| all.iter().sum::<u64>());
        let all: Vec<String> = all.iter().chain(&sum).map(|one| format!("{one:0width$}")).collect();
        all.join(between)
    };
    let mut text = String::from("# Histogram\n");
    for row in 0..rows {
        let all: Vec<u64> =
            counts.iter().map(|counts| counts.get(&row).copied().unwrap_or_default()).collect();
        let _ = writeln!(text, "{row:06} {}", joined(&all, 6, "\t"));
    }
    let inside: Vec<u64> = counts.iter().map(|counts| counts.values().sum()).collect();
    // Of the last two lines, the column of all threads has the greatest, and the sum.
    let row = |text: &mut String, name: &str, one: &dyn Fn(&Thread) -> u64, all: Option<u64>| {
        let numbers = threads.iter().map(one).chain(all.filter(|_| with_sum));
        let numbers: Vec<String> = numbers.map(|number| format!("{number:05}")).collect();
        let _ = writeln!(text, "# {name}: {}", numbers.join(" "));
    };
    let over = |thread: &Thread| thread.over(rows);
    let greatest = threads.iter().map(Thread::greatest).max();
    let _ = writeln!(text, "# Total: {}", joined(&inside, 9, " "));
    row(&mut text, "Min Latencies", &Thread::least, None);
    row(&mut text, "Avg Latencies", &|thread| thread.mean() as u64, None);
    row(&mut text, "Max Latencies", &Thread::greatest, greatest);
    row(&mut text, "Histogram Overflows", &over, Some(threads.iter().map(over).sum()));
    text += "# Histogram Overflow at cycle number:\n";
    for thread in &threads {
        let _ = writeln!(text, "# Thread {}:{}", thread.number, overflows(thread, rows));
    }
    text + "\n"
}

/// The numbers of a thread's starts beyond the histogram: as many as it has rows.
fn overflows(thread: &Thread, rows: u64) -> String {
    if !thread.is_in_order {
        return String::new();
    }
    let over = thread.values.iter().enumerate().filter(|(_, (value, _))| *value >= rows);
    let over: Vec<usize> = over.map(|(place, _)| place).collect();
    let most = usize::try_from(rows).unwrap_or(usize::MAX);
    let mut text: String = over.iter().take(most).map(|place| format!(" {place:05}")).collect();
    if over.len() > most {
        let _ = write!(text, " # {:05} others", over.len() - most);
    }
    text
}

/// The result in the form of cyclictest's `--json`. `command` is the command line, and `end` the
/// time at the end, as [`Context::date`](chronoscope_run::Context).
pub fn json(run: &Run, case: &CaseResult, format: &Format, command: &str, end: &str) -> Value {
    let rows = format.histogram.unwrap_or_default();
    let threads = threads(case, format.in_ns);
    let thread = |thread: &Thread| {
        let mut histogram = Map::new();
        for (row, count) in thread.buckets(1, rows) {
            histogram.insert(row.to_string(), count.into());
        }
        let value = json!({
            "histogram": histogram,
            "cycles": thread.count(),
            "min": thread.least(),
            "max": thread.greatest(),
            "avg": (thread.mean() * 100.0).round() / 100.0,
            "cpu": thread.cpu,
            "node": 0,
        });
        (thread.number.to_string(), value)
    };
    let own = json!({
        "num_threads": threads.len(),
        "resolution_in_ns": u8::from(format.in_ns),
        "thread": threads.iter().map(thread).collect::<Map<_, _>>(),
    });
    document(run, command, end, own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(values: &[u64]) -> Thread {
        let values = values.iter().map(|value| (*value, 1)).collect();
        Thread { number: 1, cpu: 0, values, is_in_order: true }
    }

    #[test]
    fn a_line_has_the_columns_of_the_tool() {
        let format = Format { priority: 90, interval: [1000, 500], ..Format::default() };
        assert_eq!(
            line(&thread(&[22, 50, 35, 2799]), &format),
            "T: 1 (00000) P:89 I:1500 C:      4 Min:     22 Act: 2799 Avg:  726 Max:    2799\n"
        );
    }

    #[test]
    fn starts_beyond_the_histogram_are_listed_as_many_as_it_has_rows() {
        assert_eq!(overflows(&thread(&[1, 9, 2, 9, 9]), 2), " 00001 00002 # 00002 others");
        assert_eq!(overflows(&thread(&[1, 0]), 2), "");
    }
}
