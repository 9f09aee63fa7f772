//! Checks of the machine's load: other tasks on the processors, limits on processor time, swap and
//! irqbalance. The module reads files of /proc and /sys, and changes nothing.

use super::{Files, Finding, kernel::contains};

/// Checks the average load and the limits on processor time, by a few file reads.
pub fn findings(files: &dyn Files) -> Vec<Finding> {
    vec![average(files), limits(files)]
}

/// Checks swap and irqbalance. They can disturb any case, but rarely, so a figure alone does not
/// show them.
pub fn rare_disturbances(files: &dyn Files) -> Vec<Finding> {
    vec![swap(files), irqbalance(files)]
}

/// Checks the average load of the last minute, per processor of the whole system, whose load it is: 0.5 is
/// noteworthy, 1 is bad.
fn average(files: &dyn Files) -> Finding {
    const CHECK: &str = "load";
    const WHY: &str = "other tasks take the processor from ordinary ones, and the caches from all";
    const MEND: &str = "wait until the machine is idle";
    let text = match files.text("/proc/loadavg") {
        Ok(text) => text,
        Err(why) => return Finding::unseen(CHECK, why),
    };
    let Some(load) = text.split_ascii_whitespace().next().and_then(|word| word.parse::<f64>().ok())
    else {
        return Finding::unseen(CHECK, "/proc/loadavg holds no number");
    };
    let online = files.text("/sys/devices/system/cpu/online").unwrap_or_default();
    let online = (0..4096).filter(|cpu| contains(&online, *cpu)).count().max(1);
    let seen = format!("{load} over the last minute, on {online} processors");
    match load / online as f64 {
        each if each >= 1.0 => Finding::bad(CHECK, seen, WHY, MEND),
        each if each >= 0.5 => Finding::note(CHECK, seen, WHY, MEND),
        _ => Finding::good(CHECK, seen),
    }
}

/// A control group's limit on processor time.
#[derive(Debug, PartialEq)]
struct Limit {
    quota_us: i64,
    period_us: i64,
    /// The number of periods so far in which the limit was reached.
    throttled: i64,
}

/// Checks the innermost limit of this process's control groups. A limit that was ever reached is
/// bad; any other is noteworthy.
fn limits(files: &dyn Files) -> Finding {
    const CHECK: &str = "processor limit";
    const WHY: &str = "a task that used up its share is stopped for the rest of the period";
    const MEND: &str = "run the container without --cpus, or the unit without CPUQuota";
    let groups = match files.text("/proc/self/cgroup") {
        Ok(groups) => groups,
        Err(why) => return Finding::unseen(CHECK, why),
    };
    let folders = folders(&groups);
    let Some(limit) = folders.iter().find_map(|folder| limit(files, folder)) else {
        return match folders.iter().any(|folder| files.text(&format!("{folder}/cpu.stat")).is_ok())
        {
            true => Finding::good(CHECK, "none"),
            false => Finding::unseen(CHECK, "the control groups are not shown"),
        };
    };
    let seen = format!(
        "{} ms in every {} ms, reached {} times",
        limit.quota_us / 1000,
        limit.period_us / 1000,
        limit.throttled
    );
    if limit.throttled > 0 {
        Finding::bad(CHECK, seen, WHY, MEND)
    } else {
        Finding::note(CHECK, seen, WHY, MEND)
    }
}

/// The folders of this process's control groups, each followed by its parents up to the root.
/// `groups` is the text of `/proc/self/cgroup`.
pub fn folders(groups: &str) -> Vec<String> {
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            _ if controllers.split(',').any(|name| name == "cpu") => "/sys/fs/cgroup/cpu",
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            folders.push(format!("{root}{path}"));
            match path.rfind('/') {
                Some(end) => path = &path[..end],
                None => break,
            }
        }
    }
    folders
}

/// The limit of one control group; `None` if the group has none or its files cannot be read.
fn limit(files: &dyn Files, folder: &str) -> Option<Limit> {
    // Version 2 of control groups has quota and period in one file, version 1 in two.
    let (quota_us, period_us) = match files.text(&format!("{folder}/cpu.max")) {
        Ok(text) => {
            let (quota, period) = text.split_once(' ')?;
            (quota.parse().ok()?, period.trim().parse().ok()?)
        }
        Err(_) => (
            files.number(&format!("{folder}/cpu.cfs_quota_us")).ok().filter(|quota| *quota > 0)?,
            files.number(&format!("{folder}/cpu.cfs_period_us")).ok()?,
        ),
    };
    let counts = files.text(&format!("{folder}/cpu.stat")).unwrap_or_default();
    let throttled = counts
        .lines()
        .find_map(|line| line.strip_prefix("nr_throttled ")?.parse().ok())
        .unwrap_or(0);
    Some(Limit { quota_us, period_us, throttled })
}

fn swap(files: &dyn Files) -> Finding {
    const CHECK: &str = "swap";
    let text = match files.text("/proc/swaps") {
        Ok(text) => text,
        Err(why) => return Finding::unseen(CHECK, why),
    };
    let used: u64 = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_ascii_whitespace().nth(3)?.parse::<u64>().ok())
        .sum();
    match (text.lines().count(), used) {
        (0 | 1, _) => Finding::good(CHECK, "none"),
        (_, 0) => Finding::good(CHECK, "not in use"),
        (_, used) => Finding::note(
            CHECK,
            format!("{} MB in use", used / 1024),
            "memory that is not locked may have to come back from the disk",
            "leave mlock=yes, or swapoff -a",
        ),
    }
}

fn irqbalance(files: &dyn Files) -> Finding {
    const CHECK: &str = "irqbalance";
    let processes: Vec<String> = files
        .names("/proc")
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    if processes.is_empty() {
        return Finding::unseen(CHECK, "/proc shows no processes");
    }
    match processes
        .iter()
        .any(|process| files.text(&format!("/proc/{process}/comm")).as_deref() == Ok("irqbalance"))
    {
        true => Finding::note(
            CHECK,
            "running",
            "it moves interrupts to other processors while cases run",
            "systemctl stop irqbalance",
        ),
        false => Finding::good(CHECK, "not running"),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Level, files::fixture},
        *,
    };

    #[test]
    fn load_counts_by_processor() {
        let level = |online| {
            let online = ("/sys/devices/system/cpu/online", online);
            average(&fixture(&[("/proc/loadavg", "2.10 1.50 1.00 3/125 22608\n"), online])).level
        };
        assert_eq!(
            [level("0-1"), level("0,2-4"), level("0-7")],
            [Level::Bad, Level::Note, Level::Good]
        );
        assert_eq!(average(&fixture(&[("/proc/loadavg", "\n")])).level, Level::Unseen);
    }

    #[test]
    fn limits_of_all_groups_above_count() {
        assert_eq!(
            folders("0::/a/b\n"),
            ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"]
        );
        assert_eq!(folders("5:memory:/x\n1:cpu,cpuacct:/\nnonsense\n"), ["/sys/fs/cgroup/cpu"]);
        let container = fixture(&[
            ("/proc/self/cgroup", "0::/\n"),
            ("/sys/fs/cgroup/cpu.max", "50000 100000\n"),
            (
                "/sys/fs/cgroup/cpu.stat",
                "usage_usec 1\nnr_periods 9\nnr_throttled 3\nthrottled_usec 1\n",
            ),
        ]);
        let found = limits(&container);
        assert_eq!(
            (found.level, found.seen.as_str()),
            (Level::Bad, "50 ms in every 100 ms, reached 3 times")
        );
        let older = fixture(&[
            ("/proc/self/cgroup", "4:cpu,cpuacct:/box\n"),
            ("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "200000\n"),
            ("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n"),
        ]);
        assert_eq!(limits(&older).level, Level::Note);
        let mut free = vec![
            ("/proc/self/cgroup", "0::/user.slice\n"),
            ("/sys/fs/cgroup/cpu.stat", "usage_usec 1\n"),
        ];
        free.push(("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"));
        assert_eq!(limits(&fixture(&free)).level, Level::Good);
        assert_eq!(limits(&fixture(&free[..1])).level, Level::Unseen);
    }

    #[test]
    fn swap_counts_when_it_is_used() {
        assert_eq!(
            swap(&fixture(&[("/proc/swaps", "Filename Type Size Used Priority\n")])).seen,
            "none"
        );
        let used = "Filename Type Size Used Priority\n/dev/sda2 partition 2097148 10240 -2\n";
        assert_eq!(swap(&fixture(&[("/proc/swaps", used)])).seen, "10 MB in use");
        let idle = "Filename Type Size Used Priority\n/dev/sda2 partition 2097148 0 -2\n";
        assert_eq!(swap(&fixture(&[("/proc/swaps", idle)])).level, Level::Good);
    }

    #[test]
    fn irqbalance_is_found_among_the_processes() {
        let with = fixture(&[
            ("/proc/1/comm", "init\n"),
            ("/proc/77/comm", "irqbalance\n"),
            ("/proc/stat", ""),
        ]);
        assert_eq!(irqbalance(&with).level, Level::Note);
        assert_eq!(irqbalance(&fixture(&[("/proc/1/comm", "init\n")])).level, Level::Good);
        assert_eq!(irqbalance(&fixture(&[("/proc/stat", "")])).level, Level::Unseen);
    }
}
