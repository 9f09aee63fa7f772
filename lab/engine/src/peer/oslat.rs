//! `oslat -q --json=…`: the gaps in a loop that spins.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Reader, Reading, rt_tests};

pub const READER: Reader = Reader { name: "oslat", statistics: &["gaps", "lost", "max"], read };

#[derive(Deserialize)]
struct Thread {
    /// The longest gap, in µs.
    max: f64,
    /// The number of turns of the loop by their length in whole µs, rounded up; the last bucket has
    /// all longer ones.
    histogram: BTreeMap<String, f64>,
}

/// `gaps` counts the turns that took more than 1 µs; `lost` is the time in them, at least, because
/// the last bucket of the histogram has no end.
fn read(text: &str) -> Result<Vec<Reading>> {
    let thread: Thread = rt_tests::document(text)?.only_thread()?;
    let (mut gaps, mut lost) = (0.0, 0.0);
    for (length, count) in &thread.histogram {
        let length: f64 = length.parse().context("a length that is no number")?;
        if length > 1.0 {
            gaps += count;
            lost += count * length;
        }
    }
    Ok(vec![
        Reading::count("gaps", gaps),
        Reading::ns("lost", 1e3 * lost),
        Reading::ns("max", 1e3 * thread.max),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `oslat -c 1 -f 80 -D 1 -q -z --json=/dev/stdout`, with fewer buckets.
    const OUTPUT: &str = r##"{
  "file_version": 1,
  "cmdline:": "oslat -c 1 -f 80 -D 1 -q -z --json=/dev/stdout",
  "rt_test_version:": "2.40",
  "start_time": "Mon, 23 Nov 2026 00:27:59 +0000",
  "end_time": "Mon, 23 Nov 2026 00:28:01 +0000",
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
  "thread": {
    "0": {
      "cpu": 1,
      "freq": 2597,
      "min": 1,
      "avg": 1.001303,
      "max": 52963,
      "duration": 0.998,
      "histogram": {
        "1": 45526166,
        "2": 82,
        "3": 12,
        "10": 1,
        "32": 37
      }
    }
  }
}
oslat V 2.40
        Core:	 1
"##;

    #[test]
    fn gaps_are_the_turns_of_more_than_a_microsecond() {
        let expected = [
            Reading::count("gaps", 132.0),
            Reading::ns("lost", 1_394_000.0),
            Reading::ns("max", 52_963_000.0),
        ];
        assert_eq!(read(OUTPUT).unwrap(), expected);
        assert!(read("WARNING: not enough privilege").is_err());
    }
}
