//! `cyclicdeadline -q --json=…`: how late a task of SCHED_DEADLINE starts in its period.

use anyhow::Result;
use serde::Deserialize;

use super::{Reader, Reading, rt_tests};

pub const READER: Reader =
    Reader { name: "cyclicdeadline", statistics: &["samples", "min", "mean", "max"], read };

/// The times are in µs: all but the mean are whole, cut off.
#[derive(Deserialize)]
struct Thread {
    cycles: f64,
    min: f64,
    avg: f64,
    max: f64,
}

fn read(text: &str) -> Result<Vec<Reading>> {
    let thread: Thread = rt_tests::document(text)?.only_thread()?;
    Ok(vec![
        Reading::count("samples", thread.cycles),
        Reading::ns("min", 1e3 * thread.min),
        Reading::ns("mean", 1e3 * thread.avg),
        Reading::ns("max", 1e3 * thread.max),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cyclicdeadline -q -i 5000 -t 1 -D 1 --json=/dev/stdout`
    const OUTPUT: &str = r##"{
  "file_version": 1,
  "cmdline:": "cyclicdeadline -q -i 5000 -t 1 -D 1 --json=/dev/stdout",
  "rt_test_version:": "2.40",
  "start_time": "Mon, 23 Nov 2026 00:28:20 +0000",
  "end_time": "Mon, 23 Nov 2026 00:28:21 +0000",
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
  "resolution_in_ns": 0,
  "thread": {
    "0": {
	 "cycles": 201,
	 "min": 5,
	 "max": 345,
	 "avg": 23.89
    }
  }
}
Using all CPUS
interval: 3000:5000
  Tested at 2us of 3000us
deadline thread 27537
T: 0 (27537) I:5000 C:    201 Min:      5 Act:   39 Avg:   23 Max:     345
"##;

    #[test]
    fn times_are_read_in_ns() {
        let expected = [
            Reading::count("samples", 201.0),
            Reading::ns("min", 5000.0),
            Reading::ns("mean", 23890.0),
            Reading::ns("max", 345_000.0),
        ];
        assert_eq!(read(OUTPUT).unwrap(), expected);
        let failed = "FATAL: For less than 2ms run times, you need to\nhave HRTICK enabled";
        assert!(read(failed).is_err());
    }
}
