//! Checks of the user's permissions, from the port's attempts to use them.

use std::io;

use super::{Files, Finding, port::Answer};

/// The numbers of the Linux errors that this module tells apart.
const ENOENT: i32 = 2;
const EOPNOTSUPP: i32 = 95;
const ENOSYS: i32 = 38;

pub fn findings(files: &dyn Files, answer: &Answer) -> Vec<Finding> {
    vec![fifo(answer), memory(files, answer), counter(answer)]
}

fn fifo(answer: &Answer) -> Finding {
    const CHECK: &str = "real-time scheduling";
    match answer.figure("SCHED_FIFO") {
        Ok(0.0) => Finding::good(CHECK, "SCHED_FIFO is permitted"),
        Ok(error) => Finding::bad(
            CHECK,
            format!("SCHED_FIFO is refused: {}", description(error)),
            "cases at real-time priority, the default, cannot run",
            "run as root, give the port cap_sys_nice with setcap, or raise `ulimit -r`; under CONFIG_RT_GROUP_SCHED also \
             give the control group some cpu.rt_runtime_us",
        ),
        Err(why) => Finding::unseen(CHECK, why),
    }
}

fn memory(files: &dyn Files, answer: &Answer) -> Finding {
    const CHECK: &str = "locked memory";
    match answer.figure("mlockall") {
        Ok(0.0) if let Some(bytes) = limit(files) => Finding::note(
            CHECK,
            format!("permitted up to {} kB", bytes / 1024),
            "cases with many tasks or samples need more",
            "run as root, raise `ulimit -l`, or pass --set mlock=no",
        ),
        Ok(0.0) => Finding::good(CHECK, "permitted"),
        Ok(error) => Finding::bad(
            CHECK,
            format!("refused: {}", description(error)),
            "a page fault may fall into a sample, and cases that lock memory, the default, cannot run",
            "run as root, raise `ulimit -l`, or pass --set mlock=no",
        ),
        Err(why) => Finding::unseen(CHECK, why),
    }
}

/// The locked-memory limit in bytes; `None` if there is none or the user has CAP_IPC_LOCK.
fn limit(files: &dyn Files) -> Option<u64> {
    const CAP_IPC_LOCK: u32 = 14;
    let status = files.text("/proc/self/status").ok()?;
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?.trim();
    if u64::from_str_radix(capabilities, 16).ok()? >> CAP_IPC_LOCK & 1 == 1 {
        return None;
    }
    let limits = files.text("/proc/self/limits").ok()?;
    let soft = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"))?;
    soft.split_ascii_whitespace().next()?.parse().ok()
}

fn counter(answer: &Answer) -> Finding {
    const CHECK: &str = "instruction counter";
    match answer.figure("instruction counter") {
        Ok(0.0) => Finding::good(CHECK, "there is one, and it may be read"),
        Ok(error) if [ENOENT, EOPNOTSUPP, ENOSYS].contains(&(error as i32)) => Finding::note(
            CHECK,
            "there is none",
            "instructions, the figure that noise touches least, cannot be counted",
            "measure on bare metal, or have the hypervisor pass the counters on",
        ),
        Ok(error) => Finding::note(
            CHECK,
            format!("refused: {}", description(error)),
            "instructions, the figure that noise touches least, cannot be counted",
            "run as root, or with CAP_PERFMON, or sysctl kernel.perf_event_paranoid=0",
        ),
        Err(why) => Finding::unseen(CHECK, why),
    }
}

fn description(error: f64) -> String {
    let text = io::Error::from_raw_os_error(error as i32).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Level, files::fixture},
        *,
    };

    fn levels(answer: &Answer) -> Vec<Level> {
        findings(&fixture(&[]), answer).iter().map(|finding| finding.level).collect()
    }

    #[test]
    fn locked_memory_may_have_a_limit() {
        let seen = |capabilities, limits| {
            let files =
                fixture(&[("/proc/self/status", capabilities), ("/proc/self/limits", limits)]);
            memory(&files, &Answer::from_figures(&[("mlockall", 0.0)])).seen
        };
        let some = "Max open files 20000 20000 files\nMax locked memory         8388608    8388608    bytes\n";
        assert_eq!(seen("CapEff:\t0000000000000000\n", some), "permitted up to 8192 kB");
        assert_eq!(seen("CapEff:\t000001ffffffffff\n", some), "permitted");
        assert_eq!(
            seen("CapEff:\t0000000000000000\n", "Max locked memory unlimited unlimited bytes\n"),
            "permitted"
        );
    }

    #[test]
    fn what_was_tried_is_told() {
        let root = Answer::from_figures(&[
            ("SCHED_FIFO", 0.0),
            ("mlockall", 0.0),
            ("instruction counter", 2.0),
        ]);
        assert_eq!(levels(&root), [Level::Good, Level::Good, Level::Note]);
        let user = Answer::from_figures(&[
            ("SCHED_FIFO", 1.0),
            ("mlockall", 12.0),
            ("instruction counter", 13.0),
        ]);
        assert_eq!(levels(&user), [Level::Bad, Level::Bad, Level::Note]);
        assert!(fifo(&user).seen.ends_with("Operation not permitted"));
        assert_eq!(levels(&Answer::from_figures(&[])), [Level::Unseen; 3]);
    }
}
