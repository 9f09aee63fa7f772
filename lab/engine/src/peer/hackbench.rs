//! `hackbench`: groups of senders, each of which sends messages to every receiver of its group.

use anyhow::{Context, Result};

use super::{
    Reader, Reading,
    text::{number_after, number_before},
};

pub const READER: Reader =
    Reader { name: "hackbench", statistics: &["messages", "time", "message"], read };

/// The tool prints the time in ms; with many messages the time of one is exact.
fn read(text: &str) -> Result<Vec<Reading>> {
    let find = |part: fn(&str) -> Option<f64>| text.lines().find_map(part);
    let groups = find(|line| number_before(line, "groups using"))
        .context("there is no number of groups in it")?;
    // A group has as many receivers as senders, and two descriptors for each pair.
    let descriptors =
        find(|line| number_before(line, "file descriptors each")).context("no file descriptors")?;
    let each = find(|line| number_after(line, "Each sender will pass"))
        .context("no number of messages")?;
    let seconds = find(|line| number_after(line, "Time:")).context("there is no `Time:` in it")?;
    let messages = groups * (descriptors / 2.0).powi(2) * each;
    Ok(vec![
        Reading::count("messages", messages),
        Reading::ns("time", 1e9 * seconds),
        Reading::ns("message", 1e9 * seconds / messages),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `hackbench -g 1 -f 20 -l 20 -s 4 -p -T`
    const OUTPUT: &str =
        "Running in threaded mode with 1 groups using 40 file descriptors each (== 40 tasks)
Each sender will pass 20 messages of 4 bytes
Time: 0.006
";

    #[test]
    fn every_sender_sends_to_every_receiver() {
        let expected = [
            Reading::count("messages", 8000.0),
            Reading::ns("time", 6_000_000.0),
            Reading::ns("message", 750.0),
        ];
        assert_eq!(read(OUTPUT).unwrap(), expected);
        assert!(read("Creating fdpair (error: Too many open files)").is_err());
    }
}
