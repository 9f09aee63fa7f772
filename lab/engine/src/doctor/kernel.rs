//! Checks of the kernel's build and boot: preemption, tick, isolation, and limits on real-time
//! tasks.

use std::io::Read;

use flate2::read::GzDecoder;

use super::{Disk, Files, Finding, Level, Unread};

/// Runs the checks; `cpu` is the measuring processor.
pub fn findings(files: &dyn Files, cpu: usize) -> Vec<Finding> {
    let config = config(files);
    vec![
        preemption(files, config.as_deref()),
        timers(config.as_deref()),
        isolation(files, cpu),
        throttling(files),
        fair_server(files, cpu),
    ]
}

/// Returns the kernel's build configuration, if the system keeps it.
pub fn config(files: &dyn Files) -> Option<String> {
    /// The most bytes that are unpacked: a configuration takes a few hundred kB, but another gzip
    /// file may unpack to any size.
    const MAX_BYTES: u64 = 4 << 20;
    if let Ok(packed) = files.bytes("/proc/config.gz") {
        let mut text = String::new();
        GzDecoder::new(packed.as_slice()).take(MAX_BYTES).read_to_string(&mut text).ok()?;
        return Some(text);
    }
    let release = files.text("/proc/sys/kernel/osrelease").ok()?;
    files.text(&format!("/boot/config-{release}")).ok()
}

/// The value of an option of the build configuration; `None` if the option is not set.
pub fn option<'a>(config: &'a str, name: &str) -> Option<&'a str> {
    config.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

fn preemption(files: &dyn Files, config: Option<&str>) -> Finding {
    const CHECK: &str = "preemption";
    const WHY: &str = "a task may wait for the end of another's system call";
    const MEND: &str = "boot with preempt=full, or use a PREEMPT_RT kernel";
    match model(files, config).as_deref() {
        Some("rt") => Finding::good(CHECK, "PREEMPT_RT"),
        Some("full") => Finding::note(
            CHECK,
            "full",
            "sections with interrupts or preemption off still delay real-time tasks",
            "use a PREEMPT_RT kernel",
        ),
        Some(model) => Finding::note(CHECK, model, WHY, MEND),
        None => Finding::unseen(
            CHECK,
            "neither the kernel's version nor its configuration tells the model",
        ),
    }
}

/// The preemption model `rt`, `full`, `lazy`, `voluntary` or `none`: the current one if the kernel
/// shows it, else from the boot arguments, else from the build.
fn model(files: &dyn Files, config: Option<&str>) -> Option<String> {
    let version = files.text("/proc/sys/kernel/version").unwrap_or_default();
    if version.contains("PREEMPT_RT") || files.number("/sys/kernel/realtime") == Ok(1) {
        return Some("rt".to_owned());
    }
    // In `none voluntary (full)`, the parentheses mark the current model.
    let shown = files.text("/sys/kernel/debug/sched/preempt").ok();
    if let Some((_, rest)) = shown.as_deref().and_then(|text| text.split_once('(')) {
        return rest.split_once(')').map(|(model, _)| model.to_owned());
    }
    let dynamic = version.contains("PREEMPT_DYNAMIC");
    if dynamic && let Some(model) = argument(files, "preempt") {
        return Some(model);
    }
    let built = |name| config.and_then(|config| option(config, name)) == Some("y");
    let models = [
        ("CONFIG_PREEMPT_NONE", "none"),
        ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
        ("CONFIG_PREEMPT_LAZY", "lazy"),
        ("CONFIG_PREEMPT", "full"),
    ];
    let built = models.iter().find(|(name, _)| built(name)).map(|(_, model)| (*model).to_owned());
    built.or_else(|| (version.contains("PREEMPT") && !dynamic).then(|| "full".to_owned()))
}

/// The value of a boot argument; the last one if the argument occurs several times.
fn argument(files: &dyn Files, name: &str) -> Option<String> {
    let line = files.text("/proc/cmdline").ok()?;
    let mut values = line
        .split_ascii_whitespace()
        .rev()
        .filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    values.next().map(str::to_owned)
}

fn timers(config: Option<&str>) -> Finding {
    const CHECK: &str = "timers";
    let Some((config, hertz)) =
        config.and_then(|config| Some((config, option(config, "CONFIG_HZ")?)))
    else {
        return Finding::unseen(CHECK, "the kernel's build configuration is not kept here");
    };
    if option(config, "CONFIG_HIGH_RES_TIMERS") == Some("y") {
        Finding::good(CHECK, format!("high resolution; the tick is {hertz} Hz"))
    } else {
        Finding::bad(
            CHECK,
            format!("no high resolution: timers fire at ticks, {hertz} Hz"),
            "every delay is rounded up to a tick",
            "use a kernel with CONFIG_HIGH_RES_TIMERS",
        )
    }
}

/// Checks whether the scheduler, the tick and RCU leave the processor to its tasks: at boot, or by an
/// isolated partition of control groups.
fn isolation(files: &dyn Files, cpu: usize) -> Finding {
    const CHECK: &str = "isolation";
    let booted = match files.text("/sys/devices/system/cpu/isolated") {
        Ok(list) => list,
        // Older kernels list the processors in a boot argument. Its leading flags are not numbers
        // and are ignored.
        Err(why) => match argument(files, "isolcpus") {
            Some(list) => list,
            None if files.text("/proc/cmdline").is_ok() => String::new(),
            None => return Finding::unseen(CHECK, why),
        },
    };
    let apart = partitioned(files);
    let full = files.text("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    let callbacks = argument(files, "rcu_nocbs").unwrap_or_default();
    let place = match (contains(&booted, cpu), contains(&apart, cpu)) {
        (true, _) => "in isolcpus",
        (false, true) => "in an isolated partition",
        (false, false) => {
            let others = [&booted, &apart].map(|list| list.trim_matches(','));
            let others: Vec<&str> = others.into_iter().filter(|list| !list.is_empty()).collect();
            let (seen, mend) = match others.is_empty() {
                true => (
                    format!("processor {cpu} is not isolated"),
                    "boot with isolcpus=domain,managed_irq,N nohz_full=N rcu_nocbs=N, and pass -a N",
                ),
                false => (
                    format!("processor {cpu} is not isolated: {} is", others.join(",")),
                    "run there: -a LIST",
                ),
            };
            return Finding::note(CHECK, seen, "other tasks, and interrupts, run there too", mend);
        }
    };
    // A processor without ticks needs no callbacks of RCU either.
    let rest = match (contains(&full, cpu), contains(&callbacks, cpu)) {
        (true, _) => " and nohz_full",
        (false, true) => " and rcu_nocbs, but has ticks (no nohz_full)",
        (false, false) => ", but has ticks (no nohz_full) and callbacks (no rcu_nocbs)",
    };
    Finding::good(CHECK, format!("processor {cpu} is {place}{rest}"))
}

/// Returns whether a processor is in an isolated partition of control groups.
pub fn is_in_a_partition(cpu: usize) -> bool {
    contains(&partitioned(&Disk), cpu)
}

/// The processors of isolated partitions, as one list.
fn partitioned(files: &dyn Files) -> String {
    const ROOT: &str = "/sys/fs/cgroup";
    // From Linux 6.7 on the root lists them all.
    files.text(&format!("{ROOT}/cpuset.cpus.isolated")).unwrap_or_else(|_| {
        let groups = files.names(ROOT);
        let own = groups.iter().filter_map(|group| {
            let state = files.text(&format!("{ROOT}/{group}/cpuset.cpus.partition")).ok()?;
            let cpus = files.text(&format!("{ROOT}/{group}/cpuset.cpus.effective")).ok()?;
            (state == "isolated").then_some(cpus)
        });
        own.collect::<Vec<_>>().join(",")
    })
}

/// `true` if a list such as `0-2,5` contains this processor; words that are not numbers are
/// ignored.
pub fn contains(list: &str, cpu: usize) -> bool {
    list.split(',').any(|part| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        match (low.trim().parse::<usize>(), high.trim().parse::<usize>()) {
            (Ok(low), Ok(high)) => (low..=high).contains(&cpu),
            _ => false,
        }
    })
}

/// Checks the share of each period after which the kernel stops real-time tasks.
fn throttling(files: &dyn Files) -> Finding {
    const CHECK: &str = "real-time throttling";
    let runtime = files.number("/proc/sys/kernel/sched_rt_runtime_us");
    let period = files.number("/proc/sys/kernel/sched_rt_period_us");
    match (runtime, period) {
        (Ok(runtime), Ok(period)) if (0..period).contains(&runtime) => {
            let finding = Finding::note(
                CHECK,
                format!("{} ms in every {} ms", runtime / 1000, period / 1000),
                "real-time tasks that run longer than that are stopped for the rest of the period",
                "work in shorter bursts, or sysctl kernel.sched_rt_runtime_us=-1",
            );
            // The usual 95 % stops endless loops alone; a smaller share stops a loaded control loop.
            let level = if runtime < period / 10 * 9 { Level::Bad } else { finding.level };
            Finding { level, ..finding }
        }
        (Ok(_), Ok(_)) => Finding::good(CHECK, "off"),
        (Err(why), _) | (_, Err(why)) => Finding::unseen(CHECK, why),
    }
}

/// Checks the fair server, which takes time from real-time tasks for ordinary ones.
fn fair_server(files: &dyn Files, cpu: usize) -> Finding {
    const CHECK: &str = "fair server";
    let folder = format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}");
    match (files.number(&format!("{folder}/runtime")), files.number(&format!("{folder}/period"))) {
        (Ok(0), Ok(_)) => Finding::good(CHECK, "off"),
        (Ok(runtime), Ok(period)) => Finding::note(
            CHECK,
            format!("{} ms in every {} ms", runtime / 1_000_000, period / 1_000_000),
            "ordinary tasks that real-time ones keep out get that much of the processor all the same",
            "work in shorter bursts, or echo 0 to its runtime in /sys/kernel/debug/sched/fair_server",
        ),
        (Err(Unread::Absent), _) => {
            Finding::unseen(CHECK, "not shown: an older kernel, or debugfs is not mounted")
        }
        (Err(why), _) | (_, Err(why)) => Finding::unseen(CHECK, why),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Level,
            files::{DENIED, fixture},
        },
        *,
    };

    const DYNAMIC: (&str, &str) =
        ("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Tue Nov 4 12:00:00 UTC 2025\n");

    #[test]
    fn the_preemption_model_is_what_runs_now() {
        let model = |files: &[(&'static str, &'static str)], config| model(&fixture(files), config);
        let debug = ("/sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n");
        let boot = ("/proc/cmdline", "root=/dev/sda1 preempt=none quiet preempt=voluntary\n");
        let built = "CONFIG_PREEMPT_BUILD=y\n# CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_NONE=y\n";
        assert_eq!(model(&[DYNAMIC, debug, boot], Some(built)).unwrap(), "full");
        assert_eq!(model(&[DYNAMIC, boot], Some(built)).unwrap(), "voluntary");
        assert_eq!(model(&[DYNAMIC], Some(built)).unwrap(), "none");
        assert_eq!(model(&[DYNAMIC], None), None);
        assert_eq!(
            model(&[("/proc/sys/kernel/version", "#1 SMP PREEMPT_RT Debian 6.1\n")], None).unwrap(),
            "rt"
        );
        assert_eq!(
            model(&[("/proc/sys/kernel/version", "#1 SMP PREEMPT 5.4\n")], None).unwrap(),
            "full"
        );
        assert_eq!(model(&[("/sys/kernel/realtime", "1\n")], None).unwrap(), "rt");
        assert_eq!(model(&[], None), None);
    }

    #[test]
    fn partitions_and_other_isolated_processors_are_seen() {
        let seen = |files: &[(&str, &str)], cpu| isolation(&fixture(files), cpu).seen.to_string();
        let cmdline = ("/proc/cmdline", "ro rcu_nocbs=2\n");
        let boot = ("/sys/devices/system/cpu/isolated", "2-3\n");
        assert_eq!(seen(&[boot, cmdline], 1), "processor 1 is not isolated: 2-3 is");
        let with_ticks = "processor 2 is in isolcpus and rcu_nocbs, but has ticks (no nohz_full)";
        assert_eq!(seen(&[boot, cmdline], 2), with_ticks);
        let none = ("/sys/devices/system/cpu/isolated", "\n");
        let newer = ("/sys/fs/cgroup/cpuset.cpus.isolated", "1\n");
        let apart = "processor 1 is in an isolated partition, but has ticks (no nohz_full) and callbacks \
                     (no rcu_nocbs)";
        assert_eq!(seen(&[none, newer], 1), apart);
        let older = [
            none,
            ("/sys/fs/cgroup/rt/cpuset.cpus.partition", "isolated\n"),
            ("/sys/fs/cgroup/rt/cpuset.cpus.effective", "1\n"),
            ("/sys/fs/cgroup/user/cpuset.cpus.partition", "member\n"),
            ("/sys/fs/cgroup/user/cpuset.cpus.effective", "0-1\n"),
        ];
        assert_eq!(seen(&older, 1), apart);
        assert_eq!(seen(&older, 0), "processor 0 is not isolated: 1 is");
    }

    #[test]
    fn isolation_is_of_the_processor_measured_on() {
        let isolated = [
            ("/sys/devices/system/cpu/isolated", "2-3,6\n"),
            ("/sys/devices/system/cpu/nohz_full", "3\n"),
            ("/proc/cmdline", "quiet\n"),
        ];
        let level = |cpu| isolation(&fixture(&isolated), cpu).level;
        assert_eq!([level(3), level(2), level(4)], [Level::Good, Level::Good, Level::Note]);
        let older = fixture(&[("/proc/cmdline", "isolcpus=nohz,domain,1-2\n")]);
        assert_eq!([1, 3].map(|cpu| isolation(&older, cpu).level), [Level::Good, Level::Note]);
        assert!(!contains("(null)", 0) && !contains("", 0) && !contains("9-", 9));
    }

    #[test]
    fn what_is_kept_back_from_real_time_tasks_is_told() {
        let usual = fixture(&[
            ("/proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
            ("/proc/sys/kernel/sched_rt_period_us", "1000000\n"),
            ("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000\n"),
            ("/sys/kernel/debug/sched/fair_server/cpu0/period", "1000000000\n"),
        ]);
        assert_eq!(throttling(&usual).seen, "950 ms in every 1000 ms");
        assert_eq!(fair_server(&usual, 0).seen, "50 ms in every 1000 ms");
        let off = fixture(&[
            ("/proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
            ("/proc/sys/kernel/sched_rt_period_us", "1000000\n"),
            ("/sys/kernel/debug/sched/fair_server/cpu0/runtime", DENIED),
        ]);
        assert_eq!(throttling(&off).level, Level::Good);
        assert_eq!(fair_server(&off, 0).seen, "not readable: needs root");
    }

    #[test]
    fn a_kernel_without_precise_timers_is_bad() {
        let level = |config| timers(config).level;
        assert_eq!(
            level(Some("CONFIG_HZ_250=y\nCONFIG_HZ=250\nCONFIG_HIGH_RES_TIMERS=y\n")),
            Level::Good
        );
        assert_eq!(level(Some("CONFIG_HZ=100\n# CONFIG_HIGH_RES_TIMERS is not set\n")), Level::Bad);
        assert_eq!([level(Some("not a configuration")), level(None)], [Level::Unseen; 2]);
    }

    #[test]
    fn a_configuration_lies_in_boot_or_is_none() {
        let boot = fixture(&[
            ("/proc/sys/kernel/osrelease", "6.1.0\n"),
            ("/boot/config-6.1.0", "CONFIG_HZ=250\n"),
        ]);
        assert_eq!(config(&boot).unwrap(), "CONFIG_HZ=250");
        assert_eq!(config(&fixture(&[("/proc/config.gz", "not gzip")])), None);
    }
}
