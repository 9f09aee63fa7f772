//! The system's placement of the case: isolated processors and the limits of its control group.

use std::{fs, path::Path};

use chronoscope_suite::Trial;

use crate::{kernel::Linux, processors::isolated, requirements::are_isolated};

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
