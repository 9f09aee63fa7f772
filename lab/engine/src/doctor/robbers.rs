//! Checks of settings and tasks that take time from a case now and then: huge pages, merged pages, tracers,
//! watchdogs, debugging code in the kernel, weights and limits of control groups, and real-time tasks that
//! are more urgent than a case. The module reads files of /proc and /sys, and changes nothing.

use super::{
    Files, Finding, Unread,
    kernel::{config, option},
    load::folders,
};

/// A setting in one file.
struct Setting {
    check: &'static str,
    /// The places of the file, of which the first that exists counts.
    paths: &'static [&'static str],
    /// The level of a content, and the words for it.
    reads: fn(&str) -> Seen,
    why: &'static str,
    mend: &'static str,
}

/// A content of a setting's file.
enum Seen {
    Good(String),
    Note(String),
    Bad(String),
}

/// The word in brackets of a list such as `[always] madvise never`.
fn chosen(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text, |(word, _)| word)
}

/// `on` is noteworthy, 0 is good.
fn switched(text: &str) -> Seen {
    match text {
        "0" => Seen::Good("off".to_owned()),
        _ => Seen::Note("on".to_owned()),
    }
}

static SETTINGS: [Setting; 6] = [
    Setting {
        check: "huge pages",
        paths: &["/sys/kernel/mm/transparent_hugepage/enabled"],
        reads: |text| match chosen(text) {
            "always" => Seen::Note("always".to_owned()),
            word => Seen::Good(word.to_owned()),
        },
        why: "a page fault may clear 2 MiB, and khugepaged moves pages that are in use",
        mend: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    },
    Setting {
        check: "merged pages",
        paths: &["/sys/kernel/mm/ksm/run"],
        reads: |text| match text {
            "1" => Seen::Note("KSM runs".to_owned()),
            _ => Seen::Good("KSM is off".to_owned()),
        },
        why: "ksmd compares the memory of all, and a write to a merged page first copies it",
        mend: "echo 0 > /sys/kernel/mm/ksm/run",
    },
    Setting {
        check: "NUMA balancing",
        paths: &["/proc/sys/kernel/numa_balancing"],
        reads: switched,
        why: "pages are unmapped to see who uses them: each next use is a fault",
        mend: "sysctl kernel.numa_balancing=0",
    },
    Setting {
        check: "tracer",
        paths: &["/sys/kernel/tracing/current_tracer", "/sys/kernel/debug/tracing/current_tracer"],
        reads: |text| match text {
            "nop" => Seen::Good("none".to_owned()),
            name => Seen::Bad(name.to_owned()),
        },
        why: "the kernel's functions take longer while they are traced",
        mend: "echo nop > /sys/kernel/tracing/current_tracer",
    },
    Setting {
        check: "trace events",
        paths: &["/sys/kernel/tracing/events/enable", "/sys/kernel/debug/tracing/events/enable"],
        reads: |text| match text {
            "0" => Seen::Good("none is on".to_owned()),
            "1" => Seen::Bad("all are on".to_owned()),
            _ => Seen::Note("some are on".to_owned()),
        },
        why: "each event that is recorded takes up to a microsecond",
        mend: "echo 0 > /sys/kernel/tracing/events/enable",
    },
    Setting {
        check: "watchdogs",
        paths: &["/proc/sys/kernel/watchdog"],
        reads: switched,
        why: "every few seconds a timer interrupts each processor, and its most urgent thread runs",
        mend: "sysctl kernel.watchdog=0",
    },
];

/// Runs the checks.
pub fn findings(files: &dyn Files) -> Vec<Finding> {
    let settings = SETTINGS.iter().map(|setting| setting.finding(files));
    settings.chain([debugging(files), weight(files), memory(files), urgent_tasks(files)]).collect()
}

impl Setting {
    fn finding(&self, files: &dyn Files) -> Finding {
        let Self { check, why, mend, .. } = *self;
        let found = self.paths.iter().map(|path| files.text(path));
        let text = found.reduce(|first, next| first.or(next));
        match text.unwrap_or(Err(Unread::Absent)).map(|text| (self.reads)(&text)) {
            Ok(Seen::Good(seen)) => Finding::good(check, seen),
            Ok(Seen::Note(seen)) => Finding::note(check, seen, why, mend),
            Ok(Seen::Bad(seen)) => Finding::bad(check, seen, why, mend),
            Err(reason) => Finding::unseen(check, reason),
        }
    }
}

/// Options of the kernel's build that check it while it runs, and whether figures with them are still
/// the kernel's.
const DEBUGGING: [(&str, &str, bool); 7] = [
    ("CONFIG_PROVE_LOCKING", "lockdep", false),
    ("CONFIG_KASAN", "KASAN", false),
    ("CONFIG_KCSAN", "KCSAN", false),
    ("CONFIG_KMSAN", "KMSAN", false),
    ("CONFIG_DEBUG_PREEMPT", "DEBUG_PREEMPT", true),
    ("CONFIG_DEBUG_ATOMIC_SLEEP", "DEBUG_ATOMIC_SLEEP", true),
    ("CONFIG_DEBUG_OBJECTS", "DEBUG_OBJECTS", true),
];

fn debugging(files: &dyn Files) -> Finding {
    const CHECK: &str = "debugging code";
    const WHY: &str = "the kernel checks itself while it runs: its paths are longer";
    const MEND: &str = "use a kernel that is built without";
    let Some(config) = config(files) else {
        return Finding::unseen(CHECK, "the kernel's build configuration is not kept here");
    };
    let built = || DEBUGGING.iter().filter(|(name, ..)| option(&config, name) == Some("y"));
    let names: Vec<&str> = built().map(|(_, name, _)| *name).collect();
    match (names.is_empty(), built().all(|(.., mild)| *mild)) {
        (true, _) => Finding::good(CHECK, "none"),
        (false, true) => Finding::note(CHECK, names.join(", "), WHY, MEND),
        (false, false) => Finding::bad(CHECK, names.join(", "), WHY, MEND),
    }
}

/// The innermost control group of this process that has this file, with its content.
fn of_group(files: &dyn Files, name: &str) -> Result<String, Unread> {
    let groups = files.text("/proc/self/cgroup")?;
    let folders = folders(&groups);
    let found = folders.iter().find_map(|folder| files.text(&format!("{folder}/{name}")).ok());
    found.ok_or(Unread::Absent)
}

/// Checks the weight among control groups; 100 is the usual one.
fn weight(files: &dyn Files) -> Finding {
    const CHECK: &str = "processor weight";
    match of_group(files, "cpu.weight") {
        Err(why) => Finding::unseen(CHECK, why),
        Ok(text) => match text.parse::<u32>() {
            Ok(weight) if weight < 100 => Finding::note(
                CHECK,
                format!("{weight} of the usual 100"),
                "ordinary tasks get a smaller share wherever others want the processor",
                "raise cpu.weight of the control group (systemd: CPUWeight=100)",
            ),
            _ => Finding::good(CHECK, text),
        },
    }
}

/// Checks the limit above which the kernel slows a control group's use of memory.
fn memory(files: &dyn Files) -> Finding {
    const CHECK: &str = "memory limit";
    match of_group(files, "memory.high") {
        Err(why) => Finding::unseen(CHECK, why),
        Ok(text) => match text.parse::<u64>() {
            Ok(bytes) => Finding::note(
                CHECK,
                format!("slowed above {} MB", bytes >> 20),
                "above it each new page makes the task wait",
                "set memory.high of the control group to max (systemd: MemoryHigh=infinity)",
            ),
            Err(_) => Finding::good(CHECK, "none"),
        },
    }
}

/// The real-time priority of cases that name none.
const OURS: u32 = 80;

/// The most tasks that are named.
const NAMED: usize = 4;

/// Threads of the kernel that are always most urgent, and run when a task is moved or a processor stops.
const ALWAYS: [&str; 2] = ["migration/", "stop/"];

/// Checks for real-time tasks that pre-empt a case: of SCHED_DEADLINE, or of SCHED_FIFO or SCHED_RR with the
/// cases' priority or a higher one.
fn urgent_tasks(files: &dyn Files) -> Finding {
    const CHECK: &str = "urgent tasks";
    let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    let mut processes: Vec<String> = files.names("/proc").into_iter().filter(is_number).collect();
    processes.sort_by_key(|name| (name.len(), name.clone()));
    if processes.is_empty() {
        return Finding::unseen(CHECK, "/proc shows no processes");
    }
    let stat = |process: &String| files.text(&format!("/proc/{process}/stat")).ok();
    let urgent: Vec<String> = processes.iter().filter_map(|one| urgent_task(&stat(one)?)).collect();
    match urgent.as_slice() {
        [] => Finding::good(CHECK, format!("none of priority {OURS} or above")),
        all => {
            let more = all.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Finding::note(
                CHECK,
                format!("{}{more}", all[..all.len().min(NAMED)].join(", ")),
                "they run whenever they want to, before a case of the usual priority",
                "chrt -f -p 70 PID, or run with -p 99",
            )
        }
    }
}

/// The name, class and number of a task that is at least as urgent as a case, from its line in
/// `/proc/PID/stat`.
fn urgent_task(stat: &str) -> Option<String> {
    let (id, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    // The fields after the name begin with the third one; the real-time priority is the 40th, the class
    // the 41st.
    let mut fields = rest.split_ascii_whitespace().skip(37);
    let priority: u32 = fields.next()?.parse().ok()?;
    let class = match fields.next()? {
        "1" => "FIFO",
        "2" => "RR",
        "6" => return Some(format!("{name} (DEADLINE, {id})")),
        _ => return None,
    };
    let is_ours = ALWAYS.iter().any(|always| name.starts_with(always));
    (priority >= OURS && !is_ours).then(|| format!("{name} ({class} {priority}, {id})"))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Level, files::fixture},
        *,
    };

    fn found(content: &[(&str, &str)], check: &str) -> (Level, String) {
        let all = findings(&fixture(content));
        let finding = all.into_iter().find(|finding| finding.check == check).unwrap();
        (finding.level, finding.seen.to_string())
    }

    /// A line of `/proc/PID/stat` with this real-time priority and class.
    fn stat(id: u32, name: &str, priority: u32, class: u32) -> String {
        let before = "0 ".repeat(37);
        format!("{id} ({name}) {before}{priority} {class} 0 0 0\n")
    }

    #[test]
    fn each_setting_is_read_in_each_of_its_states() {
        let huge = "/sys/kernel/mm/transparent_hugepage/enabled";
        let tracer = "/sys/kernel/tracing/current_tracer";
        let older = "/sys/kernel/debug/tracing/current_tracer";
        let events = "/sys/kernel/tracing/events/enable";
        for (path, text, check, level) in [
            (huge, "[always] madvise never\n", "huge pages", Level::Note),
            (huge, "always [madvise] never\n", "huge pages", Level::Good),
            ("/sys/kernel/mm/ksm/run", "1\n", "merged pages", Level::Note),
            ("/sys/kernel/mm/ksm/run", "0\n", "merged pages", Level::Good),
            ("/proc/sys/kernel/numa_balancing", "1\n", "NUMA balancing", Level::Note),
            ("/proc/sys/kernel/numa_balancing", "0\n", "NUMA balancing", Level::Good),
            (tracer, "function\n", "tracer", Level::Bad),
            (tracer, "nop\n", "tracer", Level::Good),
            (older, "function_graph\n", "tracer", Level::Bad),
            (events, "1\n", "trace events", Level::Bad),
            (events, "X\n", "trace events", Level::Note),
            (events, "0\n", "trace events", Level::Good),
            ("/proc/sys/kernel/watchdog", "1\n", "watchdogs", Level::Note),
            ("/proc/sys/kernel/watchdog", "0\n", "watchdogs", Level::Good),
        ] {
            assert_eq!(found(&[(path, text)], check).0, level, "{path}: {text}");
        }
    }

    #[test]
    fn a_debug_kernel_is_bad_and_small_checks_are_noteworthy() {
        let built = |config: &str| {
            let release = ("/proc/sys/kernel/osrelease", "6.1\n");
            found(&[release, ("/boot/config-6.1", config)], "debugging code")
        };
        assert_eq!(built("CONFIG_HZ=250\n"), (Level::Good, "none".to_owned()));
        assert_eq!(built("CONFIG_DEBUG_PREEMPT=y\n").0, Level::Note);
        let both = "CONFIG_DEBUG_PREEMPT=y\nCONFIG_PROVE_LOCKING=y\n";
        assert_eq!(built(both), (Level::Bad, "lockdep, DEBUG_PREEMPT".to_owned()));
    }

    #[test]
    fn limits_of_the_innermost_group_count() {
        let group = ("/proc/self/cgroup", "0::/a/b\n");
        let weight =
            |text| found(&[group, ("/sys/fs/cgroup/a/cpu.weight", text)], "processor weight");
        assert_eq!(weight("1\n"), (Level::Note, "1 of the usual 100".to_owned()));
        assert_eq!(weight("100\n").0, Level::Good);
        let high = |text| found(&[group, ("/sys/fs/cgroup/a/b/memory.high", text)], "memory limit");
        assert_eq!(high("8388608\n"), (Level::Note, "slowed above 8 MB".to_owned()));
        assert_eq!(high("max\n").0, Level::Good);
    }

    #[test]
    fn tasks_that_come_before_a_case_are_named() {
        let tasks = [
            stat(1, "init", 0, 0),
            stat(17, "migration/0", 99, 1),
            stat(44, "irq/16-a) disk", 50, 1),
            stat(812, "hog of (all)", 99, 1),
            stat(900, "round", 80, 2),
            stat(901, "edf", 0, 6),
        ];
        let paths = [1, 17, 44, 812, 900, 901].map(|id| format!("/proc/{id}/stat"));
        let content: Vec<(&str, &str)> =
            paths.iter().map(|path| &**path).zip(tasks.iter().map(|task| &**task)).collect();
        let named = "hog of (all) (FIFO 99, 812), round (RR 80, 900), edf (DEADLINE, 901)";
        assert_eq!(found(&content, "urgent tasks"), (Level::Note, named.to_owned()));
        assert_eq!(found(&content[..3], "urgent tasks").0, Level::Good);
    }
}
