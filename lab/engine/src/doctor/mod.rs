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
mod robbers;

use std::fmt;

use serde::Serialize;

pub use self::{
    files::{Disk, Files, Unread},
    kernel::is_in_a_partition,
};

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
    /// The processor, if several were examined and differ in this check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<usize>,
}

impl Finding {
    fn good(check: &'static str, seen: impl Into<OneLine>) -> Self {
        Self { check, level: Level::Good, seen: seen.into(), why: "", mend: "", cpu: None }
    }

    fn note(
        check: &'static str,
        seen: impl Into<OneLine>,
        why: &'static str,
        mend: &'static str,
    ) -> Self {
        Self { level: Level::Note, why, mend, ..Self::good(check, seen) }
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
        Self { level: Level::Unseen, ..Self::good(check, reason.to_string()) }
    }
}

/// The doctor's findings.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The first processor that was examined.
    pub cpu: usize,
    /// All of them, if they are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<usize>,
    /// The worst level of the findings.
    pub worst: Level,
    /// All findings, in the order of the checks.
    pub findings: Vec<Finding>,
}

/// Runs all checks on these processors; on the one of cases that name none if there are none. Takes about
/// a second for each, during which the processor's noise is observed, and half a second more where the
/// kernel has the tracer hwlat.
pub fn examine(cpus: &[usize]) -> Report {
    let default = [default_cpu()];
    let cpus = if cpus.is_empty() { &default } else { cpus };
    let each = cpus.iter().map(|cpu| (*cpu, all(*cpu))).collect();
    let findings = merged(each);
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Good);
    let several = if cpus.len() > 1 { cpus.to_vec() } else { Vec::new() };
    Report { cpu: cpus[0], cpus: several, worst, findings }
}

/// All findings of a processor.
fn all(cpu: usize) -> Vec<Finding> {
    let mut findings = at_a_glance(&Disk, cpu);
    findings.extend(clock::slack(&Disk));
    findings.extend(kernel::findings(&Disk, cpu));
    findings.extend(processor::findings(&Disk, cpu, usable_cpus()));
    findings.extend(load::rare_disturbances(&Disk));
    findings.extend(robbers::findings(&Disk));
    let before = quiet::Counts::read(&Disk, cpu);
    let answer = port::ask(cpu);
    let after = quiet::Counts::read(&Disk, cpu);
    findings.extend(permission::findings(&Disk, &answer));
    findings.extend(clock::cost(&answer));
    findings.extend(quiet::findings(&answer, &before, &after));
    findings
}

/// The findings of several processors, check by check: a finding that all have once, each other one with
/// its processor.
fn merged(each: Vec<(usize, Vec<Finding>)>) -> Vec<Finding> {
    let Some((_, first)) = each.first() else { return Vec::new() };
    let of_check = |check: &'static str| -> Vec<Finding> {
        let own = each.iter().flat_map(|(cpu, all)| all.iter().map(move |one| (*cpu, one)));
        let own: Vec<(usize, &Finding)> = own.filter(|(_, one)| one.check == check).collect();
        match own.split_first() {
            Some(((_, first), rest)) if rest.iter().all(|(_, one)| one == first) => {
                vec![(*first).clone()]
            }
            _ => {
                own.iter().map(|(cpu, one)| Finding { cpu: Some(*cpu), ..(*one).clone() }).collect()
            }
        }
    };
    first.iter().flat_map(|finding| of_check(finding.check)).collect()
}

/// The bad findings of the checks that need only a few file reads; `run` prints them as warnings.
pub fn quick() -> Vec<Finding> {
    let findings = at_a_glance(&Disk, default_cpu());
    findings.into_iter().filter(|finding| finding.level == Level::Bad).collect()
}

fn at_a_glance(files: &dyn Files, cpu: usize) -> Vec<Finding> {
    let mut findings = power::findings(files, cpu);
    findings.extend(clock::source(files));
    findings.extend(load::findings(files));
    findings
}

#[cfg(test)]
mod tests {
    use super::{files::fixture, *};

    #[test]
    fn a_finding_that_processors_share_stands_once() {
        let isolated = |cpu: usize| match cpu {
            3 => Finding::good("isolation", "isolated"),
            _ => Finding::note("isolation", "not isolated", "", ""),
        };
        let each = |cpu| (cpu, vec![Finding::good("swap", "none"), isolated(cpu)]);
        let shown = |cpus: &[usize]| -> Vec<(String, Option<usize>)> {
            let findings = merged(cpus.iter().map(|cpu| each(*cpu)).collect());
            findings.iter().map(|one| (format!("{} {}", one.check, one.seen), one.cpu)).collect()
        };
        let swap = ("swap none".to_owned(), None);
        let not = |cpu| ("isolation not isolated".to_owned(), cpu);
        let isolated = ("isolation isolated".to_owned(), Some(3));
        assert_eq!(shown(&[0]), [swap.clone(), not(None)]);
        assert_eq!(shown(&[0, 1]), [swap.clone(), not(None)]);
        assert_eq!(shown(&[1, 3]), [swap, not(Some(1)), isolated]);
    }

    #[test]
    fn a_machine_that_shows_nothing_is_claimed_nothing_of() {
        let files = fixture(&[]);
        let mut findings = at_a_glance(&files, 3);
        findings.extend(clock::slack(&files));
        findings.extend(kernel::findings(&files, 3));
        findings.extend(processor::findings(&files, 3, 4));
        findings.extend(load::rare_disturbances(&files));
        findings.extend(robbers::findings(&files));
        let claims =
            findings.iter().filter(|finding| !matches!(finding.level, Level::Unseen | Level::Good));
        assert_eq!(claims.collect::<Vec<_>>(), Vec::<&Finding>::new());
    }
}
