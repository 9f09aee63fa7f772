//! `cyclictest -N -h … --json=/dev/stdout`: how late a periodic thread wakes.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::{Reader, Reading, rt_tests};

pub const READER: Reader = Reader {
    name: "cyclictest",
    statistics: &["samples", "min", "mean", "p50", "p90", "p99", "max"],
    read,
};

/// The threads of all processors, each by its processor.
pub const SMP: Reader = Reader { name: "cyclictest --smp", read: read_each, ..READER };

#[derive(Deserialize)]
struct Thread {
    #[serde(default)]
    cpu: usize,
    /// Counts of samples by latency. Samples beyond the histogram's end are not in it, but in all
    /// other figures.
    #[serde(default)]
    histogram: BTreeMap<String, u64>,
    cycles: u64,
    min: f64,
    avg: f64,
    max: f64,
}

fn read(text: &str) -> Result<Vec<Reading>> {
    document(text)?.only_thread()?.readings()
}

fn read_each(text: &str) -> Result<Vec<Reading>> {
    let mut all = Vec::new();
    for thread in document(text)?.threads() {
        let of_thread = thread.readings()?.into_iter();
        all.extend(of_thread.map(|reading| Reading { cpu: Some(thread.cpu), ..reading }));
    }
    Ok(all)
}

fn document(text: &str) -> Result<rt_tests::Document<Thread>> {
    let document = rt_tests::document::<Thread>(text)?;
    if document.resolution_in_ns != 1 {
        bail!("it is not in ns: give it -N");
    }
    Ok(document)
}

impl Thread {
    /// Omits percentiles beyond the histogram's end.
    fn readings(&self) -> Result<Vec<Reading>> {
        let thread = self;
        let mut histogram = thread
            .histogram
            .iter()
            .map(|(latency, &count)| {
                Ok((latency.parse().context("a latency that is no number")?, count))
            })
            .collect::<Result<Vec<(u64, u64)>>>()?;
        histogram.sort_unstable();
        let mut readings = vec![
            Reading::count("samples", thread.cycles as f64),
            Reading::ns("min", thread.min),
            Reading::ns("mean", thread.avg),
            Reading::ns("max", thread.max),
        ];
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
            let rank = (share * thread.cycles as f64).ceil() as u64;
            readings
                .extend(at_rank(&histogram, rank).map(|latency| Reading::ns(name, latency as f64)));
        }
        Ok(readings)
    }
}

/// The `rank`-th smallest, counted from 1.
fn at_rank(histogram: &[(u64, u64)], rank: u64) -> Option<u64> {
    let mut seen = 0;
    let found = histogram.iter().find(|(_, count)| {
        seen += count;
        seen >= rank
    });
    found.map(|&(latency, _)| latency)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The JSON of `cyclictest -q -a 1 -p 80 -m -i 1000 -l 10 -N -h 25000 --histfile=/dev/null
    /// --json=/dev/stdout`.
    const OUTPUT: &str = r##"{
  "file_version": 1,
  "cmdline:": "cyclictest -q -a 1 -p 80 -m -i 1000 -l 10 -N -h 25000 --histfile=/dev/null --json=/dev/stdout",
  "rt_test_version:": "2.40",
  "start_time": "Sat, 21 Nov 2026 21:48:00 +0000",
  "end_time": "Sat, 21 Nov 2026 21:48:01 +0000",
  "return_code": 0,
  "sysinfo": {
    "sysname": "Linux",
    "nodename": "vm",
    "release": "6.18.44",
    "version": "#1 SMP PREEMPT_DYNAMIC @0",
    "machine": "x86_64",
    "realtime": 0
  },
  "num_threads": 1,
  "resolution_in_ns": 1,
  "thread": {
    "0": {
      "histogram": {
        "13830": 1,
        "15098": 1,
        "15424": 1,
        "15511": 1,
        "15749": 1,
        "15767": 1,
        "15787": 1,
        "20092": 1,
        "21399": 1,
        "24536": 1
      },
      "cycles": 10,
      "min": 13830,
      "max": 24536,
      "avg": 17319.30,
      "cpu": 1,
      "node": 0
    }
  }
}
# /dev/cpu_dma_latency set to 0us
"##;

    fn value(text: &str, name: &str) -> Option<f64> {
        read(text)
            .unwrap()
            .into_iter()
            .find(|reading| reading.name == name)
            .map(|reading| reading.value)
    }

    #[test]
    fn each_thread_has_its_processor() {
        let end = OUTPUT.rfind('}').unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&OUTPUT[..=end]).unwrap();
        let mut second = json["thread"]["0"].clone();
        second["cpu"] = 5.into();
        json["thread"]["1"] = second;
        let readings = (SMP.read)(&serde_json::to_string_pretty(&json).unwrap()).unwrap();
        let one = (READER.read)(OUTPUT).unwrap();
        let of = |cpu| {
            let of_cpu = readings.iter().filter(move |reading| reading.cpu == Some(cpu));
            of_cpu.map(|reading| Reading { cpu: None, ..*reading }).collect::<Vec<_>>()
        };
        assert_eq!((of(1), of(5), readings.len()), (one.clone(), one.clone(), 2 * one.len()));
    }

    #[test]
    fn statistics_and_percentiles_are_read() {
        let found =
            READER.statistics.iter().map(|name| value(OUTPUT, name).unwrap()).collect::<Vec<_>>();
        assert_eq!(found, [10.0, 13830.0, 17319.3, 15749.0, 21399.0, 24536.0, 24536.0]);
    }

    #[test]
    fn what_lies_beyond_the_histogram_is_not_guessed() {
        let cut = OUTPUT.replace(",\n        \"21399\": 1,\n        \"24536\": 1", "");
        assert_eq!(value(&cut, "p50"), Some(15749.0));
        assert_eq!(value(&cut, "p90"), None);
        assert_eq!(value(&cut, "max"), Some(24536.0));
    }

    #[test]
    fn other_output_is_an_error() {
        for (text, told) in [
            (String::new(), "--json"),
            ("T: 0 ( 1234) P:80 I:1000 C: 10 Min: 13".to_owned(), "--json"),
            (OUTPUT[..600].to_owned(), "EOF"),
            (OUTPUT.replace("in_ns\": 1", "in_ns\": 0"), "-N"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(format!("{error:#}").contains(told), "{error:#}");
        }
    }
}
