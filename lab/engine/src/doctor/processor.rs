//! Checks of the processors: their number, shared cores, and virtualisation.

use super::{Files, Finding, kernel::contains};

/// Runs the checks; `usable` is the number of processors that this program may run on.
pub fn findings(files: &dyn Files, cpu: usize, usable: usize) -> Vec<Finding> {
    vec![count(usable), siblings(files, cpu), hypervisor(files)]
}

fn count(usable: usize) -> Finding {
    const CHECK: &str = "processors";
    match usable {
        0 | 1 => Finding::note(
            CHECK,
            "one may be used",
            "the lab, and everything else, shares it with the tasks measured",
            "give the machine a second processor, or this program a wider affinity",
        ),
        usable => Finding::good(CHECK, format!("{usable} may be used")),
    }
}

fn siblings(files: &dyn Files, cpu: usize) -> Finding {
    const CHECK: &str = "hyper-threading";
    match files.text(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")) {
        Ok(list) if (0..4096).filter(|&other| contains(&list, other)).count() > 1 => Finding::note(
            CHECK,
            format!("processors {list} share one core"),
            "work on the sibling slows the tasks measured",
            "echo off > /sys/devices/system/cpu/smt/control, or leave the sibling idle",
        ),
        Ok(_) => Finding::good(CHECK, format!("processor {cpu} has its core to itself")),
        Err(why) => Finding::unseen(CHECK, why),
    }
}

fn hypervisor(files: &dyn Files) -> Finding {
    const CHECK: &str = "hypervisor";
    const WHY: &str = "the host may take the processor away at any time, and waking a halted guest costs microseconds more";
    const MEND: &str = "compare medians rather than maxima here; for bounds, measure on bare metal";
    let flags = files.text("/proc/cpuinfo").ok().and_then(|text| {
        let flags = text.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':'))?.1;
        Some(flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
    });
    let name = files
        .text("/sys/hypervisor/type")
        .or_else(|_| files.text("/proc/device-tree/hypervisor/compatible"));
    match (name, flags) {
        (Ok(name), _) => Finding::note(CHECK, format!("a guest of {name}"), WHY, MEND),
        (Err(_), Some(true)) => Finding::note(CHECK, "a guest, as the processor says", WHY, MEND),
        (Err(_), Some(false)) => Finding::good(CHECK, "none"),
        // Only x86 has the flag.
        (Err(why), None) => Finding::unseen(CHECK, why),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Level, files::fixture},
        *,
    };

    #[test]
    fn siblings_share_a_core() {
        let list =
            |list| fixture(&[("/sys/devices/system/cpu/cpu3/topology/thread_siblings_list", list)]);
        assert_eq!(siblings(&list("3\n"), 3).level, Level::Good);
        assert_eq!(siblings(&list("1,3\n"), 3).seen, "processors 1,3 share one core");
        assert_eq!(siblings(&list("2-3\n"), 3).level, Level::Note);
        assert_eq!(siblings(&fixture(&[]), 3).level, Level::Unseen);
    }

    #[test]
    fn a_guest_knows_that_it_is_one() {
        let level = |files| hypervisor(&fixture(files)).level;
        assert_eq!(
            level(&[("/proc/cpuinfo", "flags\t\t: fpu vme hypervisor lahf_lm\n")]),
            Level::Note
        );
        assert_eq!(level(&[("/proc/cpuinfo", "flags\t\t: fpu vme lahf_lm\n")]), Level::Good);
        assert_eq!(level(&[("/proc/cpuinfo", "Features\t: fp asimd evtstrm\n")]), Level::Unseen);
        assert_eq!(
            level(&[("/sys/hypervisor/type", "xen\n"), ("/proc/cpuinfo", "flags : fpu\n")]),
            Level::Note
        );
    }

    #[test]
    fn one_processor_is_shared() {
        assert_eq!([count(1), count(2)].map(|finding| finding.level), [Level::Note, Level::Good]);
    }
}
