//! Peers: well-known tools that measure what we measure, run beside ours in one run.
//!
//! A study's `[[peer]]` says how to run the tool, how to read what it prints, and which case of ours it stands beside.
//! The two run in pairs, ours first in one pair and theirs in the next, so that what drifts in the machine drifts
//! through both; each side of a pair is a fresh process. Placeholders in the command, as `{loops}` or
//! `{loops/2}`, are the case's own parameters, so that both run with the same priority, on the same processor, equally long.
//!
//! Both run on this computer, or in a Linux guest, which is given the host's program (`docs/machines/vm.md`).
//!
//! For each statistic that the study names, every pair gives a ratio, ours to theirs. The median of the ratios is what is
//! judged: a pass when it lies within the tolerance of 1, else a limit missed. A statistic without a tolerance is
//! shown, not judged; one with only one side is shown without a ratio.

use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Deserializer};

use super::{Entry as CaseEntry, Overrides, Study, linux_here};
use crate::{
    case::{self, Case},
    peer::Format,
    run::Target,
    toml_text::words,
    units::words::nearest,
};

/// A peer as a study writes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Entry {
    name: String,
    /// The program that must be there, where it is not the command's first word.
    tool: Option<String>,
    /// The Debian package that brings it.
    package: String,
    /// Arguments, with placeholders; no shell reads them.
    command: Vec<String>,
    reads: Format,
    /// The case of ours.
    experiment: String,
    /// Where both run: this computer, or Linux guests.
    #[serde(default = "linux_here", deserialize_with = "words")]
    target: Vec<String>,
    #[serde(default)]
    set: toml::Table,
    /// As many of each; the study's `repeat`, unless given.
    pairs: Option<usize>,
    beside: Vec<Beside>,
    /// How the two differ, and how to read the ratio.
    #[serde(default)]
    note: String,
}

/// A statistic of ours and one of theirs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Beside {
    /// As in a limit.
    pub ours: Option<String>,
    /// Series of ours: the first of these that the case has.
    #[serde(default, deserialize_with = "words")]
    pub series: Vec<String>,
    /// As the format calls it.
    pub theirs: Option<String>,
    /// Theirs is multiplied by it: 0.5 where one operation of theirs is two of ours.
    #[serde(default = "one")]
    pub scale: f64,
    /// `10 %`: how far the median ratio may lie from 1.
    #[serde(default, deserialize_with = "tolerance")]
    pub within: Option<f64>,
}

fn one() -> f64 {
    1.0
}

fn tolerance<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent {
        Some(percent) if percent.is_finite() && percent > 0.0 => Ok(Some(percent / 100.0)),
        _ => Err(serde::de::Error::custom(format!(
            "`{text}` is not a tolerance: write a number and %, as `10 %`"
        ))),
    }
}

/// A peer, and the case of ours that it stands beside.
#[derive(Clone)]
pub struct Peer {
    pub name: String,
    pub tool: String,
    pub package: String,
    /// Without placeholders.
    pub command: Vec<String>,
    pub format: Format,
    /// Its repetitions are the pairs.
    pub case: Case,
    pub beside: Vec<Beside>,
    pub note: String,
}

impl Entry {
    /// The experiment of ours.
    pub fn experiment(&self) -> &str {
        &self.experiment
    }

    /// As many peers as the settings multiply to.
    ///
    /// # Errors
    /// An unknown name or value, with the nearest valid one.
    pub fn peers(&self, study: &Study, overrides: &Overrides) -> Result<Vec<Peer>> {
        let mut targets =
            self.target.iter().map(|target| target.parse()).collect::<Result<Vec<Target>>>()?;
        if let Some(other) =
            targets.iter().find(|target| !["host", "vm"].contains(&target.machine.as_str()))
        {
            bail!(
                "`{}` cannot run on {other}: peers run on linux@host and in Linux guests",
                self.name
            );
        }
        targets.retain(|target| overrides.targets.is_empty() || overrides.targets.contains(target));
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        let overrides = Overrides { targets, ..overrides.clone() };
        let mut ours = CaseEntry::of(case::experiment(&self.experiment)?);
        ours.set = self.set.clone();
        ours.repeat = self.pairs;
        self.check()?;
        ours.cases(study, &overrides)?.into_iter().map(|case| self.peer(case)).collect()
    }

    fn check(&self) -> Result<()> {
        if self.beside.is_empty() {
            bail!("`{}` stands beside nothing", self.name);
        }
        for theirs in self.beside.iter().filter_map(|beside| beside.theirs.as_deref()) {
            let known = self.reads.statistics();
            if !known.contains(&theirs) {
                let near = nearest(theirs, known.iter().copied());
                bail!(
                    "`{}` has no statistic `{theirs}`{near}; it has {}",
                    self.name,
                    known.join(", ")
                );
            }
        }
        Ok(())
    }

    fn peer(&self, case: Case) -> Result<Peer> {
        let command: Vec<String> =
            self.command.iter().map(|word| fill(word, &case)).collect::<Result<_>>()?;
        let program = command.first().with_context(|| format!("`{}` has no command", self.name))?;
        Ok(Peer {
            name: self.name.clone(),
            tool: self.tool.clone().unwrap_or_else(|| program.clone()),
            package: self.package.clone(),
            command,
            format: self.reads,
            case,
            beside: self.beside.clone(),
            note: self.note.clone(),
        })
    }
}

/// A word of a command with its placeholders filled: `{cpu}`, `{loops/2}`.
fn fill(word: &str, case: &Case) -> Result<String> {
    let mut filled = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, after) =
            after.split_once('}').with_context(|| format!("`{word}`: a `{{` without its `}}`"))?;
        filled += before;
        filled += &value(inside, case).with_context(|| format!("`{word}`"))?;
        rest = after;
    }
    Ok(filled + rest)
}

fn value(placeholder: &str, case: &Case) -> Result<String> {
    let (name, divisor) = placeholder.split_once('/').unwrap_or((placeholder, "1"));
    let value = case.parameter(name).ok_or_else(|| {
        let names = case.parameters.iter().map(|(name, _)| name.as_str());
        anyhow!("`{}` has no parameter `{name}`{}", case.spec.name, nearest(name, names))
    })?;
    match (divisor.parse::<u64>(), value.parse::<u64>()) {
        (Ok(1), _) => Ok(value.to_owned()),
        (Ok(divisor), Ok(number)) if divisor > 0 => Ok((number / divisor).max(1).to_string()),
        _ => bail!("`{{{placeholder}}}` does not divide a number by a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"
        name = "one"
        title = "One peer."
        [[peer]]
        name = "pipe"
        package = "linux-perf"
        command = ["chrt", "-f", "{priority}", "perf", "-l", "{loops/2}", "--cpu={cpu}"]
        reads = "perf-bench-pipe"
        experiment = "switch"
        set = { primitive = "pipe", loops = 1000, cpu = 0 }
        pairs = 7
        beside = [{ ours = "mean", theirs = "operation", scale = 0.5, within = "5 %" }]
    "#;

    fn peers(text: &str) -> Result<Vec<Peer>> {
        Ok(super::super::parse(text)?.plan(&Overrides::default())?.1)
    }

    #[test]
    fn a_peer_runs_as_its_case_does() {
        let peers = peers(STUDY).unwrap();
        assert_eq!(peers[0].command.join(" "), "chrt -f 80 perf -l 500 --cpu=0");
        assert_eq!(peers[0].case.repeat, 7);
        assert_eq!(peers[0].beside[0].within, Some(0.05));
    }

    #[test]
    fn mistakes_are_told_with_the_nearest_name() {
        for (right, wrong, told) in [
            ("{loops/2}", "{lops}", "did you mean `loops`?"),
            ("{loops/2}", "{loops/0}", "does not divide"),
            ("{loops/2}", "{loops", "without its `}`"),
            ("theirs = \"operation\"", "theirs = \"operations\"", "did you mean `operation`?"),
            ("5 %", "5", "is not a tolerance"),
            ("perf-bench-pipe", "lmbench", "unknown variant"),
            ("experiment = \"switch\"", "experiment = \"swich\"", "did you mean `switch`?"),
        ] {
            let error = peers(&STUDY.replace(right, wrong)).err().unwrap();
            assert!(format!("{error:#}").contains(told), "{error:#}");
        }
    }
}
