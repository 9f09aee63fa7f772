//! The doctor: checks of this machine for conditions that disturb measurements, each with its
//! effect and its remedy. It knows nothing of cases and runs.
//!
//! Every check is a pure function that returns findings. Its input is the contents of some files,
//! or the port's answers where only a trial shows the condition. Each file holds a group of checks.
//! A check that cannot read its input reports the level [`Level::Unseen`] and makes no claim.

mod clock;
mod files;
mod kernel;
mod load;
mod permission;
mod port;
mod power;
mod processor;
mod quiet;

use std::fmt;

use serde::Serialize;

pub use files::{Disk, Files, Unread};

use chronoscope_machine::{host::default_cpu, host::usable_cpus};
use chronoscope_units::OneLine;

/// The level of a finding, ordered from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The condition does not disturb measurements.
    Good,
    /// The check could not be made.
    Unseen,
    /// The condition matters when figures are read or compared.
    Note,
    /// Figures measured under this condition are doubtful.
    Bad,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the check.
    pub check: &'static str,
    /// How bad the condition is.
    pub level: Level,
    /// The observed condition; for an unseen one, the reason why it is unseen.
    pub seen: OneLine,
    /// The effect on measurements; empty if there is none.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub why: &'static str,
    /// The remedy; empty if none is possible or needed.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub mend: &'static str,
}

impl Finding {
    fn good(check: &'static str, seen: impl Into<OneLine>) -> Self {
        Self { check, level: Level::Good, seen: seen.into(), why: "", mend: "" }
    }

    fn note(
        check: &'static str,
        seen: impl Into<OneLine>,
        why: &'static str,
        mend: &'static str,
    ) -> Self {
        Self { check, level: Level::Note, seen: seen.into(), why, mend }
    }

    fn bad(
        check: &'static str,
        seen: impl Into<OneLine>,
        why: &'static str,
        mend: &'static str,
    ) -> Self {
        Self { level: Level::Bad, ..Self::note(check, seen, why, mend) }
    }

    fn unseen(check: &'static str, reason: impl fmt::Display) -> Self {
        Self { check, level: Level::Unseen, seen: reason.to_string().into(), why: "", mend: "" }
    }
}

/// The doctor's findings.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The processor that was examined, on which cases run by default.
    pub cpu: usize,
    /// The worst level of the findings.
    pub worst: Level,
    /// All findings, in the order of the checks.
    pub findings: Vec<Finding>,
}

/// Runs all checks. Takes about a second, during which the processor's noise is observed, and half
/// a second more where the kernel has the tracer hwlat.
pub fn examine() -> Report {
    let cpu = default_cpu();
    let mut findings = at_a_glance(&Disk, cpu);
    findings.extend(clock::slack(&Disk));
    findings.extend(kernel::findings(&Disk, cpu));
    findings.extend(processor::findings(&Disk, cpu, usable_cpus()));
    findings.extend(load::rare_disturbances(&Disk));
    let before = quiet::Counts::read(&Disk, cpu);
    let answer = port::ask(cpu);
    let after = quiet::Counts::read(&Disk, cpu);
    findings.extend(permission::findings(&Disk, &answer));
    findings.extend(clock::cost(&answer));
    findings.extend(quiet::findings(&answer, &before, &after));
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Good);
    Report { cpu, worst, findings }
}

/// The bad findings of the checks that need only a few file reads; `run` prints them as warnings.
pub fn quick() -> Vec<Finding> {
    let findings = at_a_glance(&Disk, default_cpu());
    findings.into_iter().filter(|finding| finding.level == Level::Bad).collect()
}

fn at_a_glance(files: &dyn Files, cpu: usize) -> Vec<Finding> {
    let mut findings = power::findings(files, cpu);
    findings.extend(clock::source(files));
    findings.extend(load::findings(files, usable_cpus()));
    findings
}

#[cfg(test)]
mod tests {
    use super::{files::fixture, *};

    #[test]
    fn a_machine_that_shows_nothing_is_claimed_nothing_of() {
        let files = fixture(&[]);
        let mut findings = at_a_glance(&files, 3);
        findings.extend(clock::slack(&files));
        findings.extend(kernel::findings(&files, 3));
        findings.extend(processor::findings(&files, 3, 4));
        findings.extend(load::rare_disturbances(&files));
        let claims =
            findings.iter().filter(|finding| !matches!(finding.level, Level::Unseen | Level::Good));
        assert_eq!(claims.collect::<Vec<_>>(), Vec::<&Finding>::new());
    }
}
