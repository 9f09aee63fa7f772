//! `ptsematest -q --json=/dev/stdout`: the time from one thread's unlock of a mutex to the return
//! of another thread's lock.

use anyhow::Result;
use serde::Deserialize;

use super::{Reader, Reading, rt_tests};

pub const READER: Reader =
    Reader { name: "ptsematest", statistics: &["samples", "min", "mean", "max"], read };

#[derive(Deserialize)]
struct Pair {
    sender: Sender,
    receiver: Receiver,
}

#[derive(Deserialize)]
struct Sender {
    samples: f64,
}

/// Times in µs; only the mean has a fraction.
#[derive(Deserialize)]
struct Receiver {
    min: f64,
    avg: f64,
    max: f64,
}

fn read(text: &str) -> Result<Vec<Reading>> {
    let Pair { sender, receiver } = rt_tests::document(text)?.only_thread()?;
    Ok(vec![
        Reading::count("samples", sender.samples),
        Reading::ns("min", 1e3 * receiver.min),
        Reading::ns("mean", 1e3 * receiver.avg),
        Reading::ns("max", 1e3 * receiver.max),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ptsematest -q -a 1 -p 80 -l 2000 -i 1 --json=/dev/stdout`
    const OUTPUT: &str = r##"{
  "file_version": 1,
  "cmdline:": "ptsematest -q -a 1 -p 80 -l 2000 -i 1 --json=/dev/stdout",
  "rt_test_version:": "2.40",
  "start_time": "Sat, 21 Nov 2026 21:48:01 +0000",
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
  "thread": {
    "0": {
      "sender": {
        "cpu": 1,
        "priority": 80,
        "samples": 2000,
        "interval": 1
      },
      "receiver": {
        "cpu": 1,
        "priority": 80,
        "min": 2,
        "avg": 3.14,
        "max": 41
      }
    }
  }
}
#0: ID31816, P80, CPU1, I1; #1: ID31818, P80, CPU1, Cycles 2000
#1 -> #0, Min    2, Cur   41, Avg    3, Max   41
"##;

    #[test]
    fn the_mean_keeps_its_parts() {
        let expected = [
            Reading::count("samples", 2000.0),
            Reading::ns("min", 2000.0),
            Reading::ns("mean", 3140.0),
            Reading::ns("max", 41000.0),
        ];
        assert_eq!(read(OUTPUT).unwrap(), expected);
        // Only the lines below the JSON have no fractions of a µs.
        assert!(read(&OUTPUT[OUTPUT.find("#0").unwrap()..]).is_err());
    }
}
