//! The known peer tools and their commands. A study names a tool and its settings; every word of
//! the command is from here, so that a study cannot run another program.

use anyhow::{Result, anyhow, bail};
use chronoscope_suite::{Parameter, Values};

use super::{Format, format};
use chronoscope_units::words::nearest;

/// The placeholder of the file that a tool writes its JSON to: its standard output.
pub const STDOUT: &str = "stdout";

/// A known tool.
pub struct Tool {
    /// The name in a study.
    pub name: &'static str,
    /// The program, as `PATH` finds it.
    pub program: &'static str,
    /// The Debian package of the program.
    pub package: &'static str,
    /// The format of the program's output.
    pub format: Format,
    /// The settings that a study may give; all are whole numbers.
    pub settings: &'static [Parameter],
    /// The tool starts under [`WRAPPER`], because it has no flags of its own for the scheduling
    /// class and the processor.
    is_wrapped: bool,
    /// The words of the command, separated by blanks. Placeholders are the case's parameters, the
    /// tool's settings and [`STDOUT`]: `{cpu}`, `{loops/2}`.
    words: &'static str,
}

/// Sets the scheduling class and the processor of the tool after it.
const WRAPPER: &str = "chrt --fifo {priority} taskset --cpu-list {cpu}";

/// The tools. A study's `reads` names the format of one.
pub static TOOLS: &[Tool] = &[
    Tool {
        name: "cyclictest",
        program: "cyclictest",
        package: "rt-tests",
        format: Format(&format::CYCLICTEST),
        settings: &[HISTOGRAM],
        is_wrapped: false,
        // -N (--nsecs): without it every latency is cut to whole µs, half a µs too short on
        // average. --default-system leaves /dev/cpu_dma_latency alone: else cyclictest, and not
        // Chronoscope, forbids deep idle states.
        words: "cyclictest --quiet --default-system --mlockall --policy=fifo \
                --priority={priority} --affinity={cpu} --threads={tasks} \
                --interval={interval_us} --loops={loops} --nsecs --histogram={histogram_ns} \
                --histfile=/dev/null --json={stdout}",
    },
    // A thread on each processor, all of one priority and one interval.
    Tool {
        name: "cyclictest --smp",
        program: "cyclictest",
        package: "rt-tests",
        format: Format(&format::CYCLICTEST_SMP),
        settings: &[HISTOGRAM],
        is_wrapped: false,
        words: "cyclictest --quiet --default-system --mlockall --policy=fifo \
                --priority={priority} --smp --distance=0 --interval={interval_us} \
                --loops={loops} --nsecs --histogram={histogram_ns} --histfile=/dev/null \
                --json={stdout}",
    },
    // It takes three fifths of the interval as runtime, and all of it as deadline and period.
    Tool {
        name: "cyclicdeadline",
        program: "cyclicdeadline",
        package: "rt-tests",
        format: Format(&format::CYCLICDEADLINE),
        settings: &[SECONDS],
        is_wrapped: false,
        words: "cyclicdeadline --quiet --threads={tasks} --interval={interval_us} \
                --duration={seconds} --json={stdout}",
    },
    Tool {
        name: "oslat",
        program: "oslat",
        package: "rt-tests",
        format: Format(&format::OSLAT),
        settings: &[SECONDS],
        is_wrapped: false,
        words: "oslat --quiet --zero-omit --rtprio={priority} --cpu-list={cpu} \
                --cpu-main-thread={cpu} --duration={seconds} --json={stdout}",
    },
    // The kernel's own tracer, on kernels that have it. Its thread is the kernel's, so that it
    // never returns to user mode.
    Tool {
        name: "rtla timerlat",
        program: "rtla",
        package: "rtla",
        format: Format(&format::RTLA_TIMERLAT),
        settings: &[SECONDS, HISTOGRAM],
        is_wrapped: false,
        words: "rtla timerlat hist --nano --cpus={cpu} --period={interval_us} \
                --priority=f:{priority} --duration={seconds}s --entries={histogram_ns}",
    },
    Tool {
        name: "perf bench sched pipe",
        program: "perf",
        package: "linux-perf",
        format: Format(&format::PERF_BENCH_PIPE),
        settings: &[],
        is_wrapped: true,
        words: "perf bench sched pipe --loop {loops/2}",
    },
    Tool {
        name: "perf bench sched pipe --threaded",
        program: "perf",
        package: "linux-perf",
        format: Format(&format::PERF_BENCH_PIPE),
        settings: &[],
        is_wrapped: true,
        words: "perf bench sched pipe --threaded --loop {loops/2}",
    },
    Tool {
        name: "ptsematest",
        program: "ptsematest",
        package: "rt-tests",
        format: Format(&format::PTSEMATEST),
        settings: &[],
        is_wrapped: false,
        words: "ptsematest --quiet --affinity={cpu} --prio={priority} --interval=1 \
                --loops={loops} --json={stdout}",
    },
    Tool {
        name: "sigwaittest",
        program: "sigwaittest",
        package: "rt-tests",
        format: Format(&format::PTSEMATEST),
        settings: &[],
        is_wrapped: false,
        words: "sigwaittest --quiet --affinity={cpu} --prio={priority} --interval=1 \
                --loops={loops} --json={stdout}",
    },
    Tool {
        name: "svsematest",
        program: "svsematest",
        package: "rt-tests",
        format: Format(&format::PTSEMATEST),
        settings: &[],
        is_wrapped: false,
        words: "svsematest --quiet --affinity={cpu} --prio={priority} --interval=1 \
                --loops={loops} --json={stdout}",
    },
    Tool {
        name: "pmqtest",
        program: "pmqtest",
        package: "rt-tests",
        format: Format(&format::PTSEMATEST),
        settings: &[],
        is_wrapped: false,
        words: "pmqtest --quiet --affinity={cpu} --prio={priority} --interval=1 \
                --loops={loops} --json={stdout}",
    },
    Tool {
        name: "hackbench",
        program: "hackbench",
        package: "rt-tests",
        format: Format(&format::HACKBENCH),
        settings: &[
            number("groups", "", "1", (1, 1000), "groups of senders and receivers"),
            number("fds", "", "1", (1, 1000), "senders of a group, and as many receivers"),
            number("datasize", "bytes", "4", (1, 1 << 20), "size of a message"),
        ],
        is_wrapped: true,
        words: "hackbench --threads --pipe --groups {groups} --fds {fds} --datasize {datasize} \
                --loops {loops}",
    },
    Tool {
        name: "pi_stress",
        program: "pi_stress",
        package: "rt-tests",
        format: Format(&format::PI_STRESS),
        settings: &[
            number("groups", "", "1", (1, 1000), "groups of three threads"),
            number("inversions", "", "2000", (1, 1_000_000_000), "inversions before the end"),
        ],
        is_wrapped: false,
        words: "pi_stress --quiet --mlockall --groups={groups} --inversions={inversions}",
    },
];

const HISTOGRAM: Parameter = number(
    "histogram_ns",
    "ns",
    "1000000",
    (1, 1_000_000_000),
    "the end of the histogram; percentiles beyond it are not reported",
);

const SECONDS: Parameter = number("seconds", "s", "1", (1, 3600), "how long the tool measures");

const fn number(
    name: &'static str,
    unit: &'static str,
    default: &'static str,
    (low, high): (u64, u64),
    help: &'static str,
) -> Parameter {
    Parameter { name, unit, default, values: Values::Number(low, high), help }
}

impl Tool {
    /// Finds the tool of that name.
    ///
    /// # Errors
    /// If it is not in the table; the message gives the nearest name.
    pub fn find(name: &str) -> Result<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name).ok_or_else(|| {
            let names: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
            let near = nearest(name, names.iter().copied());
            anyhow!("there is no tool `{name}`{near}; the known tools are {}", names.join(", "))
        })
    }

    /// Returns the words of the command, with placeholders.
    pub fn words(&self) -> Vec<&'static str> {
        let wrapper = if self.is_wrapped { WRAPPER } else { "" };
        wrapper.split_whitespace().chain(self.words.split_whitespace()).collect()
    }

    /// Returns all settings with their values: the given ones, else the defaults.
    ///
    /// # Errors
    /// If a given name is unknown or a value is out of range.
    pub fn settings(&self, given: &[(String, String)]) -> Result<Vec<(&'static str, String)>> {
        for (name, value) in given {
            let Some(setting) = self.settings.iter().find(|setting| setting.name == name) else {
                let names = self.settings.iter().map(|setting| setting.name);
                bail!("{} has no setting `{name}`{}", self.name, nearest(name, names));
            };
            if let Values::Number(low, high) = setting.values
                && !setting.values.contain(value)
            {
                bail!("`{name} = {value}`: it is a whole number from {low} to {high}");
            }
        }
        let chosen = |setting: &Parameter| {
            let given = given.iter().find(|(name, _)| name == setting.name);
            given.map_or_else(|| setting.default.to_owned(), |(_, value)| value.clone())
        };
        Ok(self.settings.iter().map(|setting| (setting.name, chosen(setting))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_numbers_in_their_ranges() {
        let tool = Tool::find("hackbench").unwrap();
        let settings = |name: &str, value: &str| tool.settings(&[(name.into(), value.into())]);
        let set = settings("fds", "20").unwrap();
        assert_eq!(
            set.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(),
            ["1", "20", "4"]
        );
        for (name, value, why) in [
            ("fds", "0", "from 1 to 1000"),
            ("fds", "1 --help", "from 1 to 1000"),
            ("fds", "$(id)", "from 1 to 1000"),
            ("fd", "1", "did you mean `fds`?"),
        ] {
            let error = settings(name, value).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn the_package_of_each_tool_is_installed_for_it() {
        let list = include_str!("../../../../tools/packages.txt");
        for tool in TOOLS {
            let row = |line: &str| {
                let mut words = line.split_whitespace();
                words.next() == Some(tool.package)
                    && words.nth(1) == Some(format!("peer-{}", tool.package).as_str())
            };
            assert!(list.lines().any(row), "{}", tool.package);
        }
    }

    #[test]
    fn defaults_are_in_their_ranges() {
        for setting in TOOLS.iter().flat_map(|tool| tool.settings) {
            assert!(setting.values.contain(setting.default), "{}", setting.name);
        }
    }

    #[test]
    fn an_unknown_tool_is_refused_with_the_nearest_name() {
        for (name, why) in [
            ("sh", "the known tools are cyclictest"),
            ("/usr/bin/cyclictest", "there is no tool"),
            ("cyclictst", "did you mean `cyclictest`?"),
        ] {
            let error = Tool::find(name).err().unwrap().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
