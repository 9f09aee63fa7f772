//! `rtla timerlat hist -n`: the kernel's tracer timerlat. A thread of the kernel's waits for a timer;
//! the times are from the due time to the timer's interrupt, and to the thread.

use anyhow::{Context, Result};

use super::{Reader, Reading};

pub const READER: Reader = Reader {
    name: "rtla timerlat",
    statistics: &[
        "samples", "min", "p50", "mean", "max", "irq min", "irq p50", "irq mean", "irq max",
    ],
    read,
};

/// The columns of a processor: the interrupt, and the thread.
const IRQ: usize = 0;
const THREAD: usize = 1;

/// Omits the medians that lie beyond the histogram's end.
fn read(text: &str) -> Result<Vec<Reading>> {
    let samples = row(text, "count:")?[THREAD];
    let mut readings = vec![Reading::count("samples", samples)];
    for (names, column) in [
        (["min", "mean", "max", "p50"], THREAD),
        (["irq min", "irq mean", "irq max", "irq p50"], IRQ),
    ] {
        for (name, label) in names.into_iter().zip(["min:", "avg:", "max:"]) {
            readings.push(Reading::ns(name, row(text, label)?[column]));
        }
        readings.extend(median(text, column, samples).map(|ns| Reading::ns(names[3], ns)));
    }
    Ok(readings)
}

/// The values of a line of the summary.
fn row(text: &str, label: &str) -> Result<[f64; 2]> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(label));
    line.and_then(values).with_context(|| format!("there is no `{label}` in it"))
}

/// The first two numbers of a line.
fn values(line: &str) -> Option<[f64; 2]> {
    let mut words = line.split_whitespace().map(|word| word.parse().ok());
    Some([words.next()??, words.next()??])
}

/// The median of a column, from the histogram's lines: a time in ns and the counts of both columns.
fn median(text: &str, column: usize, samples: f64) -> Option<f64> {
    let mut seen = 0.0;
    text.lines().find_map(|line| {
        let (time, counts) = line.trim().split_once(char::is_whitespace)?;
        let time: f64 = time.parse().ok()?;
        seen += values(counts)?[column];
        (2.0 * seen >= samples).then_some(time)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `rtla timerlat hist -n -c 0 -d 1s -p 1000 -P f:80 -E 100000`, with fewer lines.
    const OUTPUT: &str = "# RTLA timerlat histogram
# Time unit is nanoseconds (ns)
# Duration:   0 00:00:02
Index   IRQ-000   Thr-000
1350          3         0
1360          2         0
7900          0         3
8100          0         2
over:         0         0
count:        5         5
min:       1350      7900
avg:       1354      7980
max:       1360      8100
";

    #[test]
    fn interrupt_and_thread_are_read_apart() {
        let expected = [
            Reading::count("samples", 5.0),
            Reading::ns("min", 7900.0),
            Reading::ns("mean", 7980.0),
            Reading::ns("max", 8100.0),
            Reading::ns("p50", 7900.0),
            Reading::ns("irq min", 1350.0),
            Reading::ns("irq mean", 1354.0),
            Reading::ns("irq max", 1360.0),
            Reading::ns("irq p50", 1350.0),
        ];
        assert_eq!(read(OUTPUT).unwrap(), expected);
        let short = OUTPUT.replace("8100          0         2\n", "");
        assert_eq!(read(&short).unwrap(), expected);
        let beyond = OUTPUT.replace("7900          0         3\n", "");
        assert_eq!(read(&beyond).unwrap().len(), 8, "a median beyond the histogram's end");
        let failed = "osnoise/timerlat tracer is not available";
        assert!(read(failed).is_err());
    }
}
