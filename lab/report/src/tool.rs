//! The parts that outputs in the words of other tools share: the threads of a run of `period`, and the
//! head of rt-tests' JSON.

use std::collections::BTreeMap;

use chronoscope_run::{CaseResult, Run, SeriesResult};
use serde_json::{Value, json};

/// The end of the name of a series with each wake-up's first due time alone.
const AS_CYCLICTEST: &str = ", as cyclictest counts";

/// A thread: its latenesses in the unit of the output, each with its number, in the order of time
/// where samples were kept.
pub(crate) struct Thread {
    pub(crate) number: u64,
    pub(crate) cpu: u64,
    pub(crate) values: Vec<(u64, u64)>,
    pub(crate) is_in_order: bool,
}

impl Thread {
    pub(crate) fn count(&self) -> u64 {
        self.values.iter().map(|(_, count)| count).sum()
    }

    pub(crate) fn least(&self) -> u64 {
        self.values.iter().map(|(value, _)| *value).min().unwrap_or_default()
    }

    pub(crate) fn greatest(&self) -> u64 {
        self.values.iter().map(|(value, _)| *value).max().unwrap_or_default()
    }

    pub(crate) fn mean(&self) -> f64 {
        let sum: f64 = self.values.iter().map(|(value, count)| *value as f64 * *count as f64).sum();
        sum / self.count().max(1) as f64
    }

    /// The last lateness, or the mean where the order is not known.
    pub(crate) fn last(&self) -> u64 {
        let last = self.values.last().filter(|_| self.is_in_order);
        last.map_or(self.mean() as u64, |(value, _)| *value)
    }

    /// The number of latenesses in each of the first `most` buckets of `width` that has any.
    pub(crate) fn buckets(&self, width: u64, most: u64) -> BTreeMap<u64, u64> {
        let mut counts = BTreeMap::new();
        for (value, count) in &self.values {
            let bucket = value / width;
            if bucket < most {
                *counts.entry(bucket).or_default() += count;
            }
        }
        counts
    }

    /// The number of latenesses from `end` on.
    pub(crate) fn over(&self, end: u64) -> u64 {
        self.values.iter().filter(|(value, _)| *value >= end).map(|(_, count)| count).sum()
    }
}

/// The threads of a case, in its order.
pub(crate) fn threads(case: &CaseResult, in_ns: bool) -> Vec<Thread> {
    let unit = if in_ns { 1.0 } else { 1000.0 };
    let has_own = case.series.iter().any(|series| series.name.ends_with(AS_CYCLICTEST));
    let is_thread = |series: &&SeriesResult| match series.name.strip_suffix(AS_CYCLICTEST) {
        Some(_) => true,
        None => !has_own && ["task ", "cpu "].iter().any(|word| series.name.starts_with(word)),
    };
    let only_cpu = case.parameters.get("cpu").and_then(|cpu| cpu.parse().ok()).unwrap_or_default();
    let thread = |(number, series): (usize, &SeriesResult)| {
        let is_in_order = !series.samples.is_empty();
        let samples = series.samples.iter().map(|(_, value)| (*value, 1));
        let histogram = series.histogram.iter().copied();
        let all: Vec<(f64, u64)> =
            if is_in_order { samples.collect() } else { histogram.collect() };
        let cpu =
            series.name.strip_prefix("cpu ").and_then(|rest| rest.split(',').next()?.parse().ok());
        Thread {
            number: number as u64,
            cpu: cpu.unwrap_or(only_cpu),
            values: all.into_iter().map(|(value, count)| ((value / unit) as u64, count)).collect(),
            is_in_order,
        }
    };
    case.series.iter().filter(is_thread).enumerate().map(thread).collect()
}

/// A result in the form of rt-tests' `--json`, with the tool's `own` keys. `command` is the command line,
/// and `end` the time at the end, as [`Context::date`](chronoscope_run::Context).
pub(crate) fn document(run: &Run, command: &str, end: &str, own: Value) -> Value {
    let context = &run.context;
    let mut words = context.system.split(' ');
    let (sysname, release) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let version: Vec<&str> = words.collect();
    let version = version.join(" ");
    // Two of its keys have a colon of their own.
    let mut document = json!({
        "file_version": 1,
        "cmdline:": command,
        "rt_test_version:": "2.40",
        "start_time": date(&context.date),
        "end_time": date(end),
        "return_code": 0,
        "sysinfo": {
            "sysname": sysname,
            "nodename": context.host,
            "release": release,
            "version": version,
            "machine": std::env::consts::ARCH,
            "realtime": u8::from(version.contains("PREEMPT_RT")),
        },
    });
    if let (Value::Object(document), Value::Object(own)) = (&mut document, own) {
        document.extend(own);
    }
    document
}

/// A time as `2026-11-28T00:59:46Z` in the form `Sat, 28 Nov 2026 00:59:46 +0000`.
fn date(text: &str) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let read = || {
        let (day, time) = text.strip_suffix('Z')?.split_once('T')?;
        let mut numbers = day.split('-').map(|number| number.parse::<usize>().ok());
        let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let name = MONTHS.get(month.checked_sub(1)?)?;
        // Sakamoto's formula: the year counts from March.
        let shift = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4][month - 1];
        let years = year - usize::from(month < 3);
        let of_week = (years + years / 4 - years / 100 + years / 400 + shift + day) % 7;
        Some(format!("{}, {day:02} {name} {year} {time} +0000", DAYS[of_week]))
    };
    read().unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_the_form_of_the_tool() {
        assert_eq!(date("2026-11-28T00:59:46Z"), "Sat, 28 Nov 2026 00:59:46 +0000");
        assert_eq!(date("2024-02-29T23:00:00Z"), "Thu, 29 Feb 2024 23:00:00 +0000");
        assert_eq!(date("today"), "today");
    }
}
