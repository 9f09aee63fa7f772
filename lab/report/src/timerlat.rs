//! A run of `period` in the words of `rtla timerlat`, as Debian 12 has it: the histogram and the summary of
//! each processor. The interrupt's own latency is not measured, so it has no columns in the histogram, and
//! the summary has `-`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use chronoscope_run::CaseResult;

use crate::tool::{Thread, threads};

/// The form of the output, by the command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Format {
    /// Values in ns, and not in µs.
    pub in_ns: bool,
    /// The number of buckets of a histogram.
    pub entries: u64,
    /// The width of a bucket, in the unit of values.
    pub width: u64,
    /// The lines before the histogram.
    pub has_header: bool,
    /// The first column of the histogram.
    pub has_index: bool,
    /// The count and the figures of each processor after the histogram.
    pub has_summary: bool,
    /// Buckets that are empty on all processors are shown.
    pub with_zeros: bool,
    /// The interval of the threads, in µs.
    pub interval: u64,
}

impl Format {
    fn unit(&self) -> &'static str {
        if self.in_ns { "ns" } else { "us" }
    }
}

/// The length of the run in whole seconds: measured where the run has it, or by its starts.
fn seconds(case: &CaseResult, threads: &[Thread], format: &Format) -> u64 {
    let elapsed = case.figures.iter().find(|figure| &*figure.name == "elapsed");
    let most = threads.iter().map(Thread::count).max().unwrap_or_default();
    let by_starts = most.saturating_mul(format.interval) as f64 / 1e6;
    elapsed.map_or(by_starts, |figure| figure.value).round() as u64
}

/// A length in the form of the tool: days, and hours, minutes and seconds.
fn duration(seconds: u64) -> String {
    let [days, hours, minutes] = [86_400, 3600, 60].map(|length| seconds / length);
    format!("{days:3} {:02}:{:02}:{:02} ", hours % 24, minutes % 60, seconds % 60)
}

/// The histogram, a column for each processor.
pub fn histogram(case: &CaseResult, format: &Format) -> String {
    let threads = threads(case, format.in_ns);
    let mut text = String::new();
    if format.has_header {
        let unit = if format.in_ns { "nanoseconds" } else { "microseconds" };
        let _ =
            writeln!(text, "# RTLA timerlat histogram\n# Time unit is {unit} ({})", format.unit());
        let _ = writeln!(text, "# Duration: {}", duration(seconds(case, &threads, format)));
        text += if format.has_index { "Index" } else { "" };
        for thread in &threads {
            let _ = write!(text, "   Thr-{:03}", thread.cpu);
        }
        text.push('\n');
    }
    let mut row = |label: &str, one: &dyn Fn(&Thread) -> u64| {
        let label = if format.has_index { label } else { "" };
        let columns: String = threads.iter().map(|thread| format!("{:9} ", one(thread))).collect();
        let _ = writeln!(
            text,
            "{label:<width$}{columns}",
            width = if format.has_index { 6 } else { 0 }
        );
    };
    let end = format.entries.saturating_mul(format.width);
    let counts: Vec<_> =
        threads.iter().map(|thread| thread.buckets(format.width, format.entries)).collect();
    let filled = counts.iter().flat_map(BTreeMap::keys).copied().collect::<BTreeSet<_>>();
    let shown: &mut dyn Iterator<Item = u64> =
        if format.with_zeros { &mut (0..format.entries) } else { &mut filled.into_iter() };
    for bucket in shown {
        row(&bucket.saturating_mul(format.width).to_string(), &|thread| {
            counts[thread.number as usize].get(&bucket).copied().unwrap_or_default()
        });
    }
    row("over:", &|thread| thread.over(end));
    if format.has_summary {
        row("count:", &Thread::count);
        row("min:", &Thread::least);
        row("avg:", &|thread| thread.mean() as u64);
        row("max:", &Thread::greatest);
    }
    text
}

/// The summary, a line for each processor.
pub fn summary(case: &CaseResult, format: &Format) -> String {
    const NONE: &str = "        -         -         -         - |";
    let (threads, unit) = (threads(case, format.in_ns), format.unit());
    let duration = duration(seconds(case, &threads, format));
    let mut text = format!("{:37}Timer Latency{:46}\n", "", "");
    let _ = writeln!(
        text,
        "{duration:<6}   |          IRQ Timer Latency ({unit})        |         Thread Timer Latency ({unit})"
    );
    text += "CPU COUNT      |      cur       min       avg       max |      cur       min       avg       \
             max\n";
    for thread in &threads {
        let [now, least, mean, most] =
            [thread.last(), thread.least(), thread.mean() as u64, thread.greatest()];
        let _ = writeln!(
            text,
            "{:3} #{:<9} |{NONE}{now:9} {least:9} {mean:9} {most:9}",
            thread.cpu,
            thread.count()
        );
    }
    text
}

/// Returns whether a thread was later than `us`, which ends the run.
pub fn is_stopped(case: &CaseResult, us: u64) -> bool {
    threads(case, true).iter().any(|thread| thread.greatest() > us.saturating_mul(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(values: &[(u64, u64)]) -> Thread {
        Thread { number: 0, cpu: 3, values: values.to_vec(), is_in_order: true }
    }

    #[test]
    fn buckets_are_as_wide_as_asked_and_leave_out_what_is_beyond() {
        let format = Format { entries: 3, width: 10, ..Format::default() };
        let counts = thread(&[(0, 1), (9, 2), (10, 4), (29, 8), (30, 16)])
            .buckets(format.width, format.entries);
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(0, 3), (1, 4), (2, 8)]);
    }

    #[test]
    fn the_length_is_of_days_and_a_time() {
        assert_eq!(duration(90_061), "  1 01:01:01 ");
        assert_eq!(duration(59), "  0 00:00:59 ");
    }
}
