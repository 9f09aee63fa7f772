//! Where the system places the case: isolated processors and the limits of its control group. Also
//! the requirements that a study has on the system.

use std::{fs, path::Path};

use chronoscope_suite::{Refusal, Trial};

use crate::{kernel::Linux, preemption, processors::Processors};

/// The properties that the system must have for a case to be offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    preempt_rt: bool,
    isolated_cpus: bool,
}

impl Requirements {
    /// Reads the value of `requires`: `preempt_rt`, `isolated-cpus`, or both with `+`.
    pub fn parse(text: &str) -> Option<Self> {
        text.split('+').try_fold(Self::default(), |all, word| match word {
            "preempt_rt" => Some(Self { preempt_rt: true, ..all }),
            "isolated-cpus" => Some(Self { isolated_cpus: true, ..all }),
            _ => None,
        })
    }

    /// # Errors
    /// [`Reason::NotOffered`](chronoscope_suite::Reason::NotOffered) for the first requirement that
    /// the system does not meet.
    pub fn check(self, processors: &Processors) -> Result<(), Refusal> {
        if self.preempt_rt && preemption::model() != Some("rt") {
            return Err(Refusal::not_offered("required: a kernel with PREEMPT_RT"));
        }
        if self.isolated_cpus && !are_isolated(&isolated(), processors) {
            return Err(Refusal::not_offered(
                "required: processors that are isolated (isolcpus), all that the case uses",
            ));
        }
        Ok(())
    }
}

/// Returns the processors that the scheduler leaves alone, by the kernel's list: `2-3,6`.
fn isolated() -> Vec<usize> {
    list(&fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap_or_default())
}

fn list(text: &str) -> Vec<usize> {
    let ranges = text.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

/// Returns whether the case runs on isolated processors only. `cpu=free` is no such case.
fn are_isolated(isolated: &[usize], processors: &Processors) -> bool {
    match (processors.one(), processors.several()) {
        (Some(cpu), _) => isolated.contains(&cpu),
        (None, Some(mut several)) => several.all(|cpu| isolated.contains(&cpu)),
        (None, None) => false,
    }
}

/// Reports the isolation of the case's processors and the limits of its control group, as lines;
/// nothing on a system without either.
pub fn report(trial: &mut Trial<'_, Linux>) {
    let isolated = isolated();
    if !isolated.is_empty() {
        let is_met = are_isolated(&isolated, &trial.kernel.settings.processors);
        let placed = if is_met { "on isolated processors" } else { "not on isolated processors" };
        let isolated = fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap_or_default();
        trial.log(&format!("{placed} (isolated: {})", isolated.trim()));
    }
    let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    if let Some(line) = group_limits(&group, Path::new("/sys/fs/cgroup")) {
        trial.log(&line);
    }
}

/// Returns a line about the control group (version 2) if it, or a group above it, limits processor
/// time or has processors of its own. `own` is the text of `/proc/self/cgroup`, `root` the folder
/// of the hierarchy.
fn group_limits(own: &str, root: &Path) -> Option<String> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let limits: Vec<_> = Path::new(path.trim_start_matches('/'))
        .ancestors()
        .filter(|group| !group.as_os_str().is_empty())
        .flat_map(|group| {
            let read = |file: &str| fs::read_to_string(root.join(group).join(file)).ok();
            let quota = read("cpu.max").filter(|text| !text.starts_with("max"));
            let partition =
                read("cpuset.cpus.partition").filter(|text| !text.starts_with("member"));
            let name =
                |what: &str, text: String| format!("/{}: {what} {}", group.display(), text.trim());
            [quota.map(|text| name("cpu.max", text)), partition.map(|text| name("partition", text))]
        })
        .flatten()
        .collect();
    (!limits.is_empty()).then(|| format!("control group {}", limits.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_words_with_plus() {
        let both = Requirements { preempt_rt: true, isolated_cpus: true };
        assert_eq!(Requirements::parse("preempt_rt+isolated-cpus"), Some(both));
        let one = Requirements { preempt_rt: true, isolated_cpus: false };
        assert_eq!(Requirements::parse("preempt_rt"), Some(one));
        for text in ["", "rt", "preempt_rt+"] {
            assert_eq!(Requirements::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_case_is_isolated_if_all_its_processors_are() {
        let isolated = list("2-3,6\n");
        assert_eq!(isolated, [2, 3, 6]);
        assert!(list("\n").is_empty());
        for (cpu, expected) in
            [("2", true), ("4", false), ("2+6", true), ("2-4", false), ("free", false)]
        {
            let processors = Processors::parse(cpu).unwrap();
            assert_eq!(are_isolated(&isolated, &processors), expected, "{cpu}");
        }
    }

    #[test]
    fn limits_of_all_groups_above_are_reported() {
        let root = std::env::temp_dir().join(format!("chronoscope-groups-{}", std::process::id()));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/cpu.max"), "50000 100000\n").unwrap();
        fs::write(root.join("a/b/cpu.max"), "max 100000\n").unwrap();
        fs::write(root.join("a/b/cpuset.cpus.partition"), "isolated\n").unwrap();
        let line = group_limits("0::/a/b\n", &root);
        let none = group_limits("0::/\n", &root);
        fs::remove_dir_all(&root).unwrap();
        let expected = "control group /a/b: partition isolated; /a: cpu.max 50000 100000";
        assert_eq!((line.as_deref(), none), (Some(expected), None));
    }
}
