//! The doctor: what on this machine spoils measurements, why it matters, and its mend.
//!
//! Every check is a pure function from the contents of some files (and, where only trying tells, from what the port
//! answered) to findings; one file a group of checks. A check never claims what it could not see: that is a level of its
//! own.

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

use crate::machine::host::{last_cpu, usable_cpus};

/// Ordered from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Good,
    /// It could not be looked at.
    Unseen,
    /// Worth knowing when figures are read or compared.
    Note,
    /// Figures measured here are doubtful.
    Bad,
}

/// One thing looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    /// What is so here; for what is unseen, why it is.
    pub seen: String,
    /// What it does to measurements; empty where it does nothing.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub why: &'static str,
    /// What to do about it; empty where nothing can or need be done.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub mend: &'static str,
}

impl Finding {
    fn good(check: &'static str, seen: impl Into<String>) -> Self {
        Self { check, level: Level::Good, seen: seen.into(), why: "", mend: "" }
    }

    fn note(
        check: &'static str,
        seen: impl Into<String>,
        why: &'static str,
        mend: &'static str,
    ) -> Self {
        Self { check, level: Level::Note, seen: seen.into(), why, mend }
    }

    fn bad(
        check: &'static str,
        seen: impl Into<String>,
        why: &'static str,
        mend: &'static str,
    ) -> Self {
        Self { level: Level::Bad, ..Self::note(check, seen, why, mend) }
    }

    fn unseen(check: &'static str, reason: impl fmt::Display) -> Self {
        Self { check, level: Level::Unseen, seen: reason.to_string(), why: "", mend: "" }
    }
}

/// What the doctor found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The processor that cases run on, and that was looked at.
    pub cpu: usize,
    /// The worst of the findings.
    pub worst: Level,
    pub findings: Vec<Finding>,
}

/// Looks at everything. Takes a second, because noise must be watched.
pub fn examine() -> Report {
    let cpu = last_cpu();
    let mut findings = at_a_glance(&Disk, cpu);
    findings.extend(clock::slack(&Disk));
    findings.extend(kernel::findings(&Disk, cpu));
    findings.extend(processor::findings(&Disk, cpu, usable_cpus()));
    findings.extend(load::habits(&Disk));
    let before = quiet::Counts::read(&Disk, cpu);
    let answer = port::ask(cpu);
    let after = quiet::Counts::read(&Disk, cpu);
    findings.extend(permission::findings(&Disk, &answer));
    findings.extend(clock::cost(&answer));
    findings.extend(quiet::findings(&answer, &before, &after));
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Good);
    Report { cpu, worst, findings }
}

/// The bad findings among those that cost a few file reads: what `run` warns of.
pub fn quick() -> Vec<Finding> {
    let findings = at_a_glance(&Disk, last_cpu());
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
        findings.extend(load::habits(&files));
        let claims =
            findings.iter().filter(|finding| !matches!(finding.level, Level::Unseen | Level::Good));
        assert_eq!(claims.collect::<Vec<_>>(), Vec::<&Finding>::new());
    }
}
