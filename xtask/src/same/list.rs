//! The list of cases whose figures depend on nothing but the program: emulated chips, simulated
//! cores, and Linux guests whose clock counts instructions.

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};

/// Cases that one call of the program measures.
pub struct CaseSet {
    pub name: &'static str,
    /// The set belongs to `--quick`.
    pub is_quick: bool,
    pub cases: Cases,
}

pub enum Cases {
    /// Experiments on targets, and further options of `run`.
    Experiments {
        experiments: &'static [&'static str],
        targets: &'static [&'static str],
        options: &'static [&'static str],
    },
    /// The cases of a study that are not on [`VARYING`] machines.
    Study(&'static str),
}

/// The machines whose figures differ between two runs of one program.
const VARYING: [&str; 1] = ["host"];

/// The target of a study's case that names none.
const USUAL: &str = "linux@host";

/// The experiments that every kernel is asked for. A kernel that does not offer one gives a case
/// without samples.
const COMMON: &[&str] = &["switch", "message", "wakeup", "interrupt", "masked"];

const FEW: &[&str] = &["-l", "200", "--repeat", "2"];

const fn common(name: &'static str, targets: &'static [&'static str]) -> CaseSet {
    let cases = Cases::Experiments { experiments: COMMON, targets, options: FEW };
    CaseSet { name, is_quick: true, cases }
}

const fn study(name: &'static str) -> CaseSet {
    CaseSet { name, is_quick: false, cases: Cases::Study(name) }
}

pub static SETS: [CaseSet; 10] = [
    common(
        "cortex-m4",
        &[
            "bare@cortex-m4",
            "embassy@cortex-m4",
            "embassy-thread@cortex-m4",
            "freertos@cortex-m4",
            "freertos-checked@cortex-m4",
            "freertos-notify@cortex-m4",
            "lilos@cortex-m4",
            "rtic@cortex-m4",
            "tandem@cortex-m4",
            "tandem-basepri@cortex-m4",
        ],
    ),
    common("rv32", &["bare@rv32", "embassy@rv32", "freertos@rv32", "tandem@rv32"]),
    common("rv64", &["tandem@rv64"]),
    CaseSet {
        name: "guest",
        is_quick: true,
        cases: Cases::Experiments {
            experiments: &["period"],
            targets: &["linux-rt@vm"],
            options: FEW,
        },
    },
    study("tandem"),
    study("p1-embassy-preempt"),
    study("p2-tornado"),
    study("p3-binder"),
    study("p4-linux-rt"),
    study("vm-load"),
];

/// The sets whose names contain one of the filters; all, if there are no filters.
///
/// # Errors
/// A filter selects no set.
pub fn select(is_quick: bool, filters: &[&str]) -> Result<Vec<&'static CaseSet>> {
    let sets: Vec<_> = SETS.iter().filter(|set| set.is_quick || !is_quick).collect();
    for filter in filters {
        let names = || sets.iter().map(|set| set.name).collect::<Vec<_>>().join(", ");
        let is_known = sets.iter().any(|set| set.name.contains(filter));
        ensure!(is_known, "no set of cases contains `{filter}` in its name: {}", names());
    }
    let is_wanted = |set: &&&CaseSet| {
        filters.is_empty() || filters.iter().any(|filter| set.name.contains(filter))
    };
    Ok(sets.iter().filter(is_wanted).copied().collect())
}

/// The text of a study without peers, and without the cases on [`VARYING`] machines.
///
/// # Errors
/// The text is no study, or no case is left.
pub fn without_varying(study: &str) -> Result<String> {
    let mut study: Table = study.parse()?;
    study.remove("peer");
    let cases = study.get_mut("case").and_then(Value::as_array_mut);
    let cases = cases.context("the study has no cases")?;
    cases.retain_mut(keep_steady_targets);
    ensure!(!cases.is_empty(), "the study has no case on a deterministic target");
    Ok(toml::to_string(&study)?)
}

/// Removes the targets of a case whose figures vary. Returns whether any target is left.
fn keep_steady_targets(case: &mut Value) -> bool {
    let Some(case) = case.as_table_mut() else { return false };
    let mut targets = match case.remove("target") {
        Some(Value::Array(targets)) => targets,
        Some(target) => vec![target],
        None => vec![USUAL.into()],
    };
    let machine = |target: &Value| Some(target.as_str()?.rsplit_once('@')?.1.to_owned());
    targets.retain(|target| machine(target).is_some_and(|name| !VARYING.contains(&&*name)));
    let is_any = !targets.is_empty();
    case.insert("target".to_owned(), Value::Array(targets));
    is_any
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;
    use crate::{images, repository::root};

    #[test]
    fn cases_on_this_host_are_left_out() {
        let text = "name = 'p'\n[[peer]]\ntool = 'x'\n[[case]]\nexperiment = 'delay'\n\
                    [[case]]\nexperiment = 'switch'\ntarget = ['linux@host', 'tandem@ibex']\n\
                    [[case]]\nexperiment = 'period'\ntarget = 'linux-rt@vm'\nrepeat = 3\n";
        let left: Table = without_varying(text).unwrap().parse().unwrap();
        let expected = "name = 'p'\n[[case]]\nexperiment = 'switch'\ntarget = ['tandem@ibex']\n\
                        [[case]]\nexperiment = 'period'\ntarget = ['linux-rt@vm']\nrepeat = 3\n";
        assert_eq!(left, expected.parse().unwrap());
        assert!(without_varying("[[case]]\nexperiment = 'delay'\n").is_err());
    }

    #[test]
    fn every_study_of_the_list_has_deterministic_cases() {
        for set in &SETS {
            if let Cases::Study(name) = set.cases {
                let text = fs::read_to_string(root().join(format!("studies/{name}.toml")));
                let left = without_varying(&text.unwrap()).unwrap();
                assert!(!left.contains("@host\"]"), "{name}: {left}");
            }
        }
    }

    #[test]
    fn every_kernel_of_the_quick_chips_is_measured() {
        let chips = ["cortex-m4", "rv32", "rv64"];
        let known = images::targets().unwrap().into_iter();
        let known: BTreeSet<String> = known
            .filter(|target| chips.iter().any(|chip| target.ends_with(&format!("@{chip}"))))
            .collect();
        let listed = SETS.iter().filter(|set| chips.contains(&set.name));
        let listed = listed.flat_map(|set| match set.cases {
            Cases::Experiments { targets, .. } => targets,
            Cases::Study(_) => &[],
        });
        assert_eq!(known, listed.map(|target| (*target).to_owned()).collect());
    }

    #[test]
    fn filters_select_by_name() {
        let names = |is_quick, filters: &[&str]| {
            let sets = select(is_quick, filters).map_err(|error| error.to_string())?;
            Ok::<_, String>(sets.iter().map(|set| set.name).collect::<Vec<_>>())
        };
        assert_eq!(names(true, &[]).unwrap(), ["cortex-m4", "rv32", "rv64", "guest"]);
        assert_eq!(names(false, &["p3", "rv"]).unwrap(), ["rv32", "rv64", "p3-binder"]);
        assert_eq!(names(false, &[]).unwrap().len(), SETS.len());
        assert!(names(true, &["p3"]).unwrap_err().contains("`p3` in its name: cortex-m4, rv32"));
    }
}
