//! Checks of the processor's power saving: its frequency, and the idle states that it must leave.

use super::{Files, Finding, Unread};

pub fn findings(files: &dyn Files, cpu: usize) -> Vec<Finding> {
    vec![governor(files, cpu), boost(files), idle(files, cpu)]
}

fn governor(files: &dyn Files, cpu: usize) -> Finding {
    const CHECK: &str = "cpufreq governor";
    match files.text(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")) {
        Ok(name) if name == "performance" => Finding::good(CHECK, name),
        Ok(name) if name == "userspace" => Finding::note(
            CHECK,
            name,
            "some program sets the clock's speed, at any time",
            "cpupower frequency-set -g performance",
        ),
        Ok(name) => Finding::bad(
            CHECK,
            name,
            "the clock's speed follows the load: short cases run on a slow clock",
            "cpupower frequency-set -g performance",
        ),
        Err(Unread::Absent) => {
            Finding::unseen(CHECK, "no cpufreq driver: the firmware or the hypervisor decides")
        }
        Err(why) => Finding::unseen(CHECK, why),
    }
}

fn boost(files: &dyn Files) -> Finding {
    const CHECK: &str = "boost";
    let boosts = match files.number("/sys/devices/system/cpu/intel_pstate/no_turbo") {
        Ok(no_turbo) => Ok(no_turbo == 0),
        Err(_) => files.number("/sys/devices/system/cpu/cpufreq/boost").map(|boost| boost != 0),
    };
    match boosts {
        Ok(true) => Finding::note(
            CHECK,
            "on",
            "the clock's speed depends on temperature and on the neighbours",
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > /sys/devices/system/cpu/cpufreq/boost",
        ),
        Ok(false) => Finding::good(CHECK, "off"),
        Err(why) => Finding::unseen(CHECK, why),
    }
}

/// An idle state: its name and its exit latency in µs.
type State = (String, i64);

fn idle(files: &dyn Files, cpu: usize) -> Finding {
    const CHECK: &str = "idle states";
    const WHY: &str =
        "waking from a deep state adds its exit to the latency of whatever ends the idling";
    const MEND: &str = "hold 0 in /dev/cpu_dma_latency while measuring (cyclictest and tuned do), or cpupower idle-set -D 10";
    let driver = match files.text("/sys/devices/system/cpu/cpuidle/current_driver") {
        Ok(driver) => driver,
        Err(why) => return Finding::unseen(CHECK, why),
    };
    let limit = latency_limit(files);
    let Some((name, exit)) = deepest(files, cpu, limit) else {
        return Finding::unseen(CHECK, format!("driver {driver} shows no states"));
    };
    let held = limit
        .map_or(String::new(), |limit| format!(", held to {limit} µs by /dev/cpu_dma_latency"));
    let seen = format!("{driver}: deepest is {name}, {exit} µs to leave{held}");
    match exit {
        50.. => Finding::bad(CHECK, seen, WHY, MEND),
        10.. => Finding::note(CHECK, seen, WHY, MEND),
        _ => Finding::good(CHECK, seen),
    }
}

/// The exit latency in µs that a program has limited the processors to; `None` without a limit.
fn latency_limit(files: &dyn Files) -> Option<i64> {
    /// The value that the file holds without a limit.
    const NO_LIMIT: i32 = 2_000_000_000;
    let bytes = files.bytes("/dev/cpu_dma_latency").ok()?;
    let limit = i32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?);
    (0..NO_LIMIT).contains(&limit).then_some(limit.into())
}

/// The enabled and allowed state with the longest exit latency.
fn deepest(files: &dyn Files, cpu: usize, limit: Option<i64>) -> Option<State> {
    let state = |index: usize| -> Option<(State, bool)> {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{index}");
        let exit = files.number(&format!("{folder}/latency")).ok()?;
        let name =
            files.text(&format!("{folder}/name")).unwrap_or_else(|_| format!("state{index}"));
        Some(((name, exit), files.number(&format!("{folder}/disable")).unwrap_or(0) == 0))
    };
    let states = (0..16).map_while(state).filter(|(_, enabled)| *enabled).map(|(state, _)| state);
    states
        .filter(|(_, exit)| limit.is_none_or(|limit| *exit <= limit))
        .max_by_key(|(_, exit)| *exit)
}

#[cfg(test)]
mod tests {
    use super::{super::Level, super::files::fixture, *};

    fn laptop(dma_latency: &'static str) -> impl Files {
        fixture(&[
            ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n"),
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
            ("/sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n"),
            ("/sys/devices/system/cpu/cpu3/cpuidle/state0/name", "POLL\n"),
            ("/sys/devices/system/cpu/cpu3/cpuidle/state0/latency", "0\n"),
            ("/sys/devices/system/cpu/cpu3/cpuidle/state1/name", "C1E\n"),
            ("/sys/devices/system/cpu/cpu3/cpuidle/state1/latency", "10\n"),
            ("/sys/devices/system/cpu/cpu3/cpuidle/state2/name", "C8\n"),
            ("/sys/devices/system/cpu/cpu3/cpuidle/state2/latency", "151\n"),
            ("/sys/devices/system/cpu/cpu3/cpuidle/state2/disable", "0\n"),
            ("/sys/devices/system/cpu/cpu3/cpuidle/state3/name", "C10\n"),
            ("/sys/devices/system/cpu/cpu3/cpuidle/state3/latency", "890\n"),
            ("/sys/devices/system/cpu/cpu3/cpuidle/state3/disable", "1\n"),
            ("/dev/cpu_dma_latency", dma_latency),
        ])
    }

    #[test]
    fn a_laptop_saves_power() {
        let found = findings(&laptop(super::super::files::DENIED), 3);
        assert_eq!(
            found.iter().map(|f| f.level).collect::<Vec<_>>(),
            [Level::Bad, Level::Note, Level::Bad]
        );
        assert_eq!(found[2].seen, "intel_idle: deepest is C8, 151 µs to leave");
    }

    #[test]
    fn a_held_latency_keeps_deep_states_out() {
        let found = idle(&laptop("\x00\x00\x00\x00"), 3);
        assert_eq!((found.level, found.seen.contains("POLL")), (Level::Good, true), "{found:?}");
        assert_eq!(idle(&laptop("\x14\x00\x00\x00"), 3).level, Level::Note);
        // No limit (0x77359400) is bytes that are not UTF-8. A negative limit and a short read
        // count as no limit.
        assert_eq!(idle(&laptop("\x7f\x7f\x7f\x7f"), 3).level, Level::Bad);
        assert_eq!(idle(&laptop("\x01"), 3).level, Level::Bad);
    }

    #[test]
    fn a_guest_that_halts_and_polls_is_fine() {
        let files = fixture(&[
            ("/sys/devices/system/cpu/cpuidle/current_driver", "haltpoll\n"),
            ("/sys/devices/system/cpu/cpu1/cpuidle/state0/name", "POLL\n"),
            ("/sys/devices/system/cpu/cpu1/cpuidle/state0/latency", "0\n"),
            ("/sys/devices/system/cpu/cpu1/cpuidle/state1/name", "haltpoll idle\n"),
            ("/sys/devices/system/cpu/cpu1/cpuidle/state1/latency", "1\n"),
        ]);
        let found = findings(&files, 1);
        assert_eq!(
            found.iter().map(|f| f.level).collect::<Vec<_>>(),
            [Level::Unseen, Level::Unseen, Level::Good]
        );
    }
}
