//! `perf bench sched pipe`: a word back and forth between two tasks through two pipes.

use anyhow::{Context, Result};

use super::{Reader, Reading, text::number_before};

pub const READER: Reader = Reader { name: "perf-bench-pipe", statistics: &["operation"], read };

/// Reads the time of one operation, which is a word in each direction.
fn read(text: &str) -> Result<Vec<Reading>> {
    let us = text
        .lines()
        .find_map(|line| number_before(line, "usecs/op"))
        .context("there is no `usecs/op` in it")?;
    Ok(vec![Reading::ns("operation", 1e3 * us)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `perf bench sched pipe -l 20000`
    const OUTPUT: &str = "# Running 'sched/pipe' benchmark:
# Executed 20000 pipe operations between two processes

     Total time: 0.152 [sec]

       7.632850 usecs/op
         131012 ops/sec
";

    #[test]
    fn the_time_of_an_operation_is_read() {
        assert_eq!(read(OUTPUT).unwrap(), [Reading::ns("operation", 7632.85)]);
        assert!(read("# Running 'sched/pipe' benchmark:\n").is_err());
    }
}
