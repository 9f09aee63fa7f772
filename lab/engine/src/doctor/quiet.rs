//! Checks the noise on the measuring processor. A task of the port that never waits watches the
//! clock for most of a second, at real-time priority if permitted, while the kernel's counters show
//! the source of each interruption.

use super::{Files, Finding, Unread, port::Answer};

/// The kernel's counters for a processor.
pub struct Counts {
    steal_ms: Result<u64, Unread>,
    /// The number of interrupts so far, by source.
    interrupts: Result<Vec<(String, u64)>, Unread>,
}

impl Counts {
    pub fn read(files: &dyn Files, cpu: usize) -> Self {
        Self {
            steal_ms: files
                .text("/proc/stat")
                .and_then(|text| stolen_ms(&text, cpu).ok_or(Unread::Absent)),
            interrupts: files
                .text("/proc/interrupts")
                .and_then(|text| interrupts(&text, cpu).ok_or(Unread::Absent)),
        }
    }
}

/// The time in ms that the hypervisor took from a processor, from `/proc/stat`, which counts in
/// 1/100 s on every architecture.
fn stolen_ms(stat: &str, cpu: usize) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix(&format!("cpu{cpu} ")))?;
    Some(line.split_ascii_whitespace().nth(7)?.parse::<u64>().ok()? * 10)
}

/// A processor's column of `/proc/interrupts`: the name and the count of each source.
fn interrupts(table: &str, cpu: usize) -> Option<Vec<(String, u64)>> {
    let mut lines = table.lines();
    let processors: Vec<&str> = lines.next()?.split_ascii_whitespace().collect();
    let column = processors.iter().position(|name| *name == format!("CPU{cpu}"))?;
    let row = |line: &str| {
        let (label, rest) = line.split_once(':')?;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let count = words.get(column)?.parse().ok()?;
        // Numbered lines end with the device's name; other lines are named by their label.
        let numbered = label.trim().bytes().all(|byte| byte.is_ascii_digit());
        let name = if numbered { words.last().copied().unwrap_or(label) } else { label.trim() };
        Some((name.to_owned(), count))
    };
    Some(lines.filter_map(row).collect())
}

pub fn findings(answer: &Answer, before: &Counts, after: &Counts) -> Vec<Finding> {
    vec![gaps(answer), hardware(answer), steal(before, after), interrupted(before, after)]
}

/// The gaps that the kernel's tracer hwlat sees while interrupts are off, so that no task and no
/// interrupt of the kernel's makes them.
fn hardware(answer: &Answer) -> Finding {
    const CHECK: &str = "hardware latency";
    const WHY: &str =
        "firmware or a hypervisor stops the processor for as long: no kernel can help it";
    const MEND: &str = "look for system management interrupts in the firmware's settings, or measure on bare metal";
    /// The system's error number for a file that does not exist; the port's -1 is no number of it.
    const ABSENT: [f64; 2] = [2.0, -1.0];
    match answer.figure("hwlat").and_then(|error| Ok((error, answer.figure("hwlat largest")?))) {
        Err(why) => Finding::unseen(CHECK, why),
        Ok((error, _)) if ABSENT.contains(&error) => Finding::unseen(
            CHECK,
            "not shown: the kernel has no tracer hwlat, or tracefs is not mounted or not readable",
        ),
        Ok((error, _)) if error != 0.0 => Finding::unseen(
            CHECK,
            format!("the kernel's tracer hwlat refused (error {error}): needs root"),
        ),
        Ok((_, 0.0)) => {
            Finding::good(CHECK, "no gap over 10 µs in 0.5 s with interrupts off (hwlat)")
        }
        Ok((_, largest)) => {
            let seen = format!("a gap of {largest} µs in 0.5 s with interrupts off (hwlat)");
            if largest >= 100.0 {
                Finding::bad(CHECK, seen, WHY, MEND)
            } else {
                Finding::note(CHECK, seen, WHY, MEND)
            }
        }
    }
}

fn gaps(answer: &Answer) -> Finding {
    const CHECK: &str = "noise";
    const WHY: &str =
        "whatever took the processor then falls into samples too: distrust maxima above all";
    const MEND: &str = "stop other work, isolate the processor, or measure on a quieter machine";
    let figure = |name| answer.figure(name);
    let all = || -> Result<_, String> {
        let fifo = figure("SCHED_FIFO")? == 0.0;
        let counts = (figure("gaps over 10 us")?, figure("gaps over 100 us")?);
        Ok((fifo, figure("watched")?, figure("largest gap")?, figure("lost in gaps")?, counts))
    };
    let (fifo, watched, largest, lost, (over_10, over_100)) = match all() {
        Ok(figures) => figures,
        Err(why) => return Finding::unseen(CHECK, why),
    };
    let class = if fifo { "SCHED_FIFO" } else { "SCHED_OTHER" };
    let seen = format!(
        "in {:.1} s at {class}: {over_10} gaps over 10 µs, {over_100} over 100 µs, the largest {:.0} µs, {:.1} % of the time",
        watched / 1e9,
        largest / 1e3,
        100.0 * lost / watched.max(1.0),
    );
    match (largest, lost / watched.max(1.0)) {
        (largest, share) if largest >= 1e6 || share >= 0.05 => Finding::bad(CHECK, seen, WHY, MEND),
        (largest, _) if largest >= 1e5 => Finding::note(CHECK, seen, WHY, MEND),
        _ => Finding::good(CHECK, seen),
    }
}

fn steal(before: &Counts, after: &Counts) -> Finding {
    const CHECK: &str = "steal";
    match (&before.steal_ms, &after.steal_ms) {
        (Ok(before), Ok(after)) if after > before => Finding::bad(
            CHECK,
            format!("{} ms while watching", after - before),
            "the hypervisor ran others on this processor: maxima are its, not the kernel's",
            "measure when the host is idle, or on bare metal",
        ),
        (Ok(_), Ok(_)) => Finding::good(CHECK, "none while watching"),
        (Err(why), _) | (_, Err(why)) => Finding::unseen(CHECK, why),
    }
}

fn interrupted(before: &Counts, after: &Counts) -> Finding {
    const CHECK: &str = "interrupts";
    let (before, after) = match (&before.interrupts, &after.interrupts) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(why), _) | (_, Err(why)) => return Finding::unseen(CHECK, why),
    };
    let mut came: Vec<(&str, u64)> = after
        .iter()
        .enumerate()
        // A line that appeared or vanished in between shifts the others, and names may repeat; so
        // both the position and the name must match.
        .filter_map(|(line, (name, count))| {
            let (known, earlier) = before.get(line)?;
            (known == name).then(|| (name.as_str(), count.saturating_sub(*earlier)))
        })
        .filter(|(_, count)| *count > 0)
        .collect();
    came.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let total: u64 = came.iter().map(|(_, count)| count).sum();
    let named: Vec<String> =
        came.iter().take(3).map(|(name, count)| format!("{name} {count}")).collect();
    let seen = match total {
        0 => "none while watching".to_owned(),
        _ => format!("{total} while watching ({})", named.join(", ")),
    };
    // The timer tick alone (LOC) comes up to a thousand times a second.
    let besides: u64 = came.iter().filter(|(name, _)| *name != "LOC").map(|(_, count)| count).sum();
    if besides < 200 {
        return Finding::good(CHECK, seen);
    }
    Finding::note(
        CHECK,
        seen,
        "each takes microseconds from whatever runs",
        "move them with /proc/irq/N/smp_affinity, or pass -a for another processor",
    )
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Level, files::fixture},
        *,
    };

    const TABLE: &str = "           CPU0       CPU2
 36:          5     260964 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 37:          0          7 PCI-MSIX-0000:00:03.0   0-edge      eth0
LOC:     290423     476800   Local timer interrupts
ERR:          0
";

    #[test]
    fn a_processors_column_is_read() {
        let read = |cpu| interrupts(TABLE, cpu);
        let names = [("virtio1-req.0", 260_964), ("eth0", 7), ("LOC", 476_800)];
        assert_eq!(read(2).unwrap(), names.map(|(name, count)| (name.to_owned(), count)));
        assert_eq!(read(0).unwrap()[2].1, 290_423);
        assert_eq!((read(1), interrupts("", 0)), (None, None));
    }

    fn counts(stat: &'static str, table: &'static str) -> Counts {
        Counts::read(&fixture(&[("/proc/stat", stat), ("/proc/interrupts", table)]), 1)
    }

    #[test]
    fn only_what_came_while_watching_counts() {
        let stat = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 98674 0 23092 159318 1392 0 405 76 0 0\n";
        let later = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 98774 0 23092 159318 1392 0 405 79 0 0\n";
        let before = counts(stat, "  CPU0 CPU1\n 8: 1 100 chip rtc0\nLOC: 5 5000 Local\n");
        let quiet = counts(stat, "  CPU0 CPU1\n 8: 9 102 chip rtc0\nLOC: 5 5250 Local\n");
        let noisy = counts(later, "  CPU0 CPU1\n 8: 9 900 chip rtc0\nLOC: 5 5250 Local\n");
        assert_eq!(steal(&before, &quiet).level, Level::Good);
        assert_eq!(steal(&before, &noisy).seen, "30 ms while watching");
        assert_eq!(interrupted(&before, &quiet).seen, "252 while watching (LOC 250, rtc0 2)");
        assert_eq!(interrupted(&before, &quiet).level, Level::Good);
        assert_eq!(interrupted(&before, &noisy).level, Level::Note);
        assert_eq!(interrupted(&before, &counts("", "")).level, Level::Unseen);
        assert_eq!(steal(&before, &counts("cpu1 nonsense", "")).level, Level::Unseen);
    }

    #[test]
    fn hardware_latency_is_judged_where_it_was_seen() {
        let level = |error: f64, largest: f64| {
            hardware(&Answer::from_figures(&[("hwlat", error), ("hwlat largest", largest)])).level
        };
        assert_eq!(
            [0.0, 15.0, 400.0].map(|us| level(0.0, us)),
            [Level::Good, Level::Note, Level::Bad]
        );
        assert_eq!([-1.0, 2.0, 13.0].map(|error| level(error, 0.0)), [Level::Unseen; 3]);
        assert_eq!(hardware(&Answer::from_figures(&[])).level, Level::Unseen);
    }

    #[test]
    fn noise_is_judged_by_its_largest_gap_and_its_share() {
        let answer = |largest: f64, lost: f64| {
            gaps(&Answer::from_figures(&[
                ("SCHED_FIFO", 0.0),
                ("watched", 8e8),
                ("largest gap", largest),
                ("lost in gaps", lost),
                ("gaps over 10 us", 7.0),
                ("gaps over 100 us", 1.0),
            ]))
        };
        assert_eq!(answer(2e4, 1e5).level, Level::Good);
        assert_eq!(answer(2e5, 3e5).level, Level::Note);
        assert_eq!(answer(2e6, 3e6).level, Level::Bad);
        assert_eq!(answer(5e4, 8e7).level, Level::Bad);
        assert!(
            answer(2e5, 3e5)
                .seen
                .contains("SCHED_FIFO: 7 gaps over 10 µs, 1 over 100 µs, the largest 200 µs")
        );
        assert_eq!(gaps(&Answer::from_figures(&[])).level, Level::Unseen);
    }
}
