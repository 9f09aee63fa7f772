//! Variants: the sides of a comparison that `compare` runs itself. A variant is a target, with
//! settings after commas: `linux@host,primitive=pipe`.

use std::{collections::BTreeSet, str::FromStr};

use anyhow::{Context as _, Result, bail};

use crate::{case, case::Case, case::Settings, study::Overrides, study::Study};
use chronoscope_machine::Machines;
use chronoscope_run::Target;

/// A side of a comparison that `compare` runs itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The kernel and the machine.
    pub target: Target,
    /// The parameters that this side sets, each with one value.
    pub settings: Settings,
}

impl FromStr for Variant {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut words = text.split(',');
        let target = words.next().unwrap_or_default().parse()?;
        let mut settings = Settings::new();
        for word in words {
            let (name, value) = word.split_once('=').with_context(|| {
                format!(
                    "`{word}` in `{text}`: settings are NAME=VALUE, as in linux@host,primitive=pipe"
                )
            })?;
            if settings.insert(name.to_owned(), vec![value.to_owned()]).is_some() {
                bail!("`{text}` sets `{name}` twice: a variant has one value of each");
            }
        }
        Ok(Self { target, settings })
    }
}

/// A case of both variants.
pub struct Pair {
    /// The parameters that distinguish the pair from others of its experiment. Parameters that differ
    /// between A and B are left out.
    pub label: String,
    /// The case of the first variant.
    pub a: Case,
    /// The case of the second variant.
    pub b: Case,
}

/// Removes the experiments that lack a parameter which a variant sets, and returns their names.
///
/// # Errors
/// The study names an unknown experiment, or a variant an unknown target.
pub fn leave_out(
    machines: &Machines,
    study: &mut Study,
    a: &Variant,
    b: &Variant,
) -> Result<Vec<String>> {
    let mut out = Vec::new();
    let mut kept = Vec::new();
    for entry in std::mem::take(&mut study.entries) {
        let spec = case::experiment(&entry.experiment)?;
        let mut fits = true;
        for variant in [a, b] {
            let port = machines.describe(&variant.target)?.parameters;
            let known = |name: &String| {
                spec.parameters
                    .iter()
                    .chain(port.iter().map(|(parameter, _)| *parameter))
                    .any(|p| p.name == name)
            };
            fits &= variant.settings.keys().all(known);
        }
        match fits {
            true => kept.push(entry),
            false if out.contains(&entry.experiment) => {}
            false => out.push(entry.experiment),
        }
    }
    study.entries = kept;
    Ok(out)
}

/// The cases of the study on both variants, in pairs. Both sides come from the same entries, so
/// they match one to one. A parameter that either variant sets loses the study's values on both
/// sides, lest a list of values be compared with a single one.
///
/// # Errors
/// An unknown parameter, or a value out of range.
pub fn pairs(
    machines: &Machines,
    study: &Study,
    a: &Variant,
    b: &Variant,
    common: &Overrides,
) -> Result<Vec<Pair>> {
    let varied: BTreeSet<String> = a.settings.keys().chain(b.settings.keys()).cloned().collect();
    let mut study = study.clone();
    for entry in &mut study.entries {
        entry.set.retain(|name, _| !varied.contains(name));
    }
    let side = |variant: &Variant| {
        let mut overrides = Overrides { targets: vec![variant.target.clone()], ..common.clone() };
        overrides.settings.extend(variant.settings.clone());
        study.cases(machines, &overrides)
    };
    let (a_cases, b_cases) = (side(a)?, side(b)?);
    if a_cases.len() != b_cases.len() {
        bail!("`--set` gives several values to what a variant sets: leave it out of one of them");
    }
    let mut seen = BTreeSet::new();
    let mut pairs = Vec::new();
    for (a, b) in a_cases.into_iter().zip(b_cases) {
        // Entries that differ only in varied parameters have become equal.
        if seen.insert((a.request(), b.request())) {
            let common = |name: &String| a.asked.contains(name) && !varied.contains(name);
            let words = a.parameters.iter().filter(|(name, _)| common(name));
            let label =
                words.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
            pairs.push(Pair { label, a, b });
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study;

    fn variant(text: &str) -> Variant {
        text.parse().unwrap()
    }

    #[test]
    fn variants_are_read() {
        let padded = variant("linux@host,pad=300,cpu=1");
        assert_eq!(padded.target.to_string(), "linux@host");
        assert_eq!(padded.settings["pad"], ["300"]);
        for wrong in ["linux", "linux@host,", "linux@host,pad", "linux@host,pad=1,pad=2", ",pad=1"]
        {
            assert!(wrong.parse::<Variant>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_a_variant_sets_replaces_the_study_on_both_sides() {
        let text = "name = 'x'\ntitle = ''\n[[case]]\nexperiment = 'switch'\nset = { primitive = ['yield', 'pipe'], tasks = [2, 5] }";
        let (a, b) = (variant("linux@host"), variant("linux@host,primitive=pipe"));
        let study = study::parse(text).unwrap();
        let pairs = pairs(&Machines::default(), &study, &a, &b, &Overrides::default()).unwrap();
        assert_eq!(
            pairs.iter().map(|pair| pair.label.as_str()).collect::<Vec<_>>(),
            ["tasks=2", "tasks=5"]
        );
        assert!(pairs.iter().all(|pair| pair.a.parameter("primitive") == Some("semaphore")));
        assert!(pairs.iter().all(|pair| pair.b.parameter("primitive") == Some("pipe")));
    }

    #[test]
    fn experiments_without_the_setting_are_named() {
        let text = "name = 'x'\ntitle = ''\n[[case]]\nexperiment = 'switch'";
        let mut study = study::parse(text).unwrap();
        let machines = Machines::default();
        assert!(
            leave_out(
                &machines,
                &mut study,
                &variant("linux@host,cpu=0"),
                &variant("linux@host,pad=1")
            )
            .unwrap()
            .is_empty()
        );
        assert_eq!(
            leave_out(&machines, &mut study, &variant("linux@host"), &variant("linux@host,bad=1"))
                .unwrap(),
            ["switch"]
        );
        assert!(study.entries.is_empty());
    }
}
