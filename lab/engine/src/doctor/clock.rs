//! Checks of the clock that cases read and of the timers that they sleep on.

use super::{Files, Finding, port::Answer};

/// Clock sources that programs read through the vDSO, without a system call.
const FAST: [&str; 4] =
    ["tsc", "arch_sys_counter", "riscv_clocksource", "hyperv_clocksource_tsc_page"];

/// Clock sources that need a system call, a device access, or both.
const SLOW: [&str; 6] =
    ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "xen", "hyperv_clocksource_msr"];

pub fn source(files: &dyn Files) -> Vec<Finding> {
    const CHECK: &str = "clock source";
    let source =
        match files.text("/sys/devices/system/clocksource/clocksource0/current_clocksource") {
            Ok(source) => source,
            Err(why) => return vec![Finding::unseen(CHECK, why)],
        };
    vec![if FAST.contains(&source.as_str()) {
        Finding::good(CHECK, source)
    } else if SLOW.contains(&source.as_str()) {
        Finding::bad(
            CHECK,
            source,
            "each read of the clock is a system call of a microsecond or more",
            "boot with tsc=reliable, if the processor's counter can be trusted",
        )
    } else {
        Finding::note(
            CHECK,
            source,
            "the hypervisor scales the processor's counter, and may step it",
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, where it is offered",
        )
    }]
}

/// Checks the cost of a clock read, which shows whether the vDSO is used.
pub fn cost(answer: &Answer) -> Vec<Finding> {
    const CHECK: &str = "clock read";
    const WHY: &str = "every mark costs that much, and blurs what is shorter";
    vec![match answer.figure("clock read") {
        Ok(ns) if ns > 250.0 => Finding::bad(
            CHECK,
            format!("{ns:.0} ns: a system call, not the vDSO"),
            WHY,
            "use a clock source that the vDSO can read, and boot without vdso=0",
        ),
        Ok(ns) => Finding::good(CHECK, format!("{ns:.0} ns, through the vDSO")),
        Err(why) => Finding::unseen(CHECK, why),
    }]
}

pub fn slack(files: &dyn Files) -> Vec<Finding> {
    const CHECK: &str = "timer slack";
    vec![match files.number("/proc/self/timerslack_ns") {
        Ok(ns) if ns > 1000 => Finding::note(
            CHECK,
            format!("{} µs", ns / 1000),
            "SCHED_OTHER timers fire up to that much late; real-time tasks have no slack",
            "--set slack_ns=1 for SCHED_OTHER cases",
        ),
        Ok(ns) => Finding::good(CHECK, format!("{ns} ns")),
        Err(why) => Finding::unseen(CHECK, why),
    }]
}

#[cfg(test)]
mod tests {
    use super::{super::Level, super::files::fixture, *};

    #[test]
    fn sources_are_told_apart() {
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        for (name, level) in
            [("tsc\n", Level::Good), ("kvm-clock\n", Level::Note), ("hpet\n", Level::Bad)]
        {
            assert_eq!(source(&fixture(&[(path, name)]))[0].level, level, "{name}");
        }
    }

    #[test]
    fn a_slow_read_is_a_system_call() {
        assert_eq!(cost(&Answer::from_figures(&[("clock read", 26.0)]))[0].level, Level::Good);
        assert_eq!(cost(&Answer::from_figures(&[("clock read", 900.0)]))[0].level, Level::Bad);
        assert_eq!(cost(&Answer::from_figures(&[]))[0].level, Level::Unseen);
    }

    #[test]
    fn slack_is_told() {
        assert_eq!(slack(&fixture(&[("/proc/self/timerslack_ns", "50000\n")]))[0].seen, "50 µs");
        assert_eq!(slack(&fixture(&[("/proc/self/timerslack_ns", "1\n")]))[0].level, Level::Good);
        assert_eq!(slack(&fixture(&[("/proc/self/timerslack_ns", "?\n")]))[0].level, Level::Unseen);
    }
}
