//! The driver's statistics of each process, which it prints as text.

use std::{fs, process};

/// The paths of the statistics: in debugfs, and in binderfs.
const PLACES: [&str; 3] = [
    "/sys/kernel/debug/binder/stats",
    "/dev/binderfs/binder_logs/stats",
    "/sys/fs/binder/binder_logs/stats",
];

/// Returns the number of calls that this process has made through any of the drivers; `None` if the
/// statistics cannot be read.
pub fn calls_of_this_process() -> Option<u32> {
    let text = PLACES.iter().find_map(|place| fs::read_to_string(place).ok())?;
    calls(&text, process::id())
}

/// Returns the number of a process's calls in the text. The totals come first; then, for each
/// device that a process has opened, a line `proc NUMBER` and its counts: `BC_TRANSACTION: COUNT`,
/// or `BC_TRANSACTION_SG`. A count of 0 has no line.
fn calls(text: &str, process: u32) -> Option<u32> {
    let sections = text.split("\nproc ").skip(1);
    let mut ours = sections.filter_map(|section| {
        let (number, lines) = section.split_once('\n')?;
        (number.trim().parse() == Ok(process)).then_some(lines)
    });
    let count = |line: &str| {
        let (name, count) = line.trim().split_once(": ")?;
        ["BC_TRANSACTION", "BC_TRANSACTION_SG"].contains(&name).then(|| count.parse().ok())?
    };
    let first = ours.next()?;
    Some(
        [first]
            .into_iter()
            .chain(ours)
            .flat_map(str::lines)
            .filter_map(count)
            .fold(0, u32::wrapping_add),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "binder stats:\nBC_TRANSACTION: 900\nBC_REPLY: 7\n\
                        proc: active 2 total 9\nproc 12\ncontext hwbinder\n  threads: 1\n  \
                        BC_TRANSACTION: 4\n  BC_FREE_BUFFER: 103\n  BC_TRANSACTION_SG: 100\n  \
                        BR_REPLY: 104\nproc 120\ncontext hwbinder\n  threads: 1\n  \
                        BC_REPLY_SG: 100\n";

    #[test]
    fn a_process_is_told_from_all_and_from_others() {
        assert_eq!(calls(TEXT, 12), Some(104));
        assert_eq!(calls(TEXT, 120), Some(0));
        assert_eq!(calls(TEXT, 1), None);
        assert_eq!(calls("", 1), None);
        assert_eq!(calls("binder stats:\nproc \nproc x\nBC_TRANSACTION: 1", 1), None);
    }
}
