//! Studies: TOML files that name cases, limits, and published figures for comparison.

mod observed;
mod peer;
mod published;
mod requirement;

use std::{
    collections::BTreeMap,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use chronoscope_suite::{EXPERIMENTS, Spec, experiments::image::SPEC as IMAGE};
use serde::Deserialize;

pub use self::peer::{Peer, StatisticPair};
use self::{published::PublishedRow, requirement::Requirement};
use crate::{case, case::Analyser, case::Case, case::Plan, case::Settings, case::Vary};
use chronoscope_base::{
    toml_text, toml_text::from_toml_with_known_keys, toml_text::list, toml_text::word,
};
use chronoscope_machine::{Machines, serial};
use chronoscope_run::{
    Answering, Limit, Published, Run, Target, compared::StatisticChoice, names::CHIP,
    names::COMPILED, names::OBSERVE,
};
use chronoscope_units::{self as units, OneLine, Text, file, words};

/// A study, as its TOML file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Study {
    /// The study's name.
    pub name: OneLine,
    /// The study's question, in one line.
    pub title: OneLine,
    /// Shown under the table: how to read it, and how the study differs from its source.
    #[serde(default)]
    pub notes: Text,
    /// The rules by which the question is answered.
    #[serde(default, rename = "answer")]
    pub answering: Option<Answering>,
    /// Repetitions of each case, unless the case says otherwise.
    #[serde(default = "five")]
    pub repeat: usize,
    /// The start states of the repetitions of each case, unless the case says otherwise.
    #[serde(default)]
    vary: Vary,
    /// Requirements on the system for each case on Linux to be offered.
    #[serde(default)]
    requires: Vec<Requirement>,
    /// The statistics that a comparison judges, unless the case says otherwise.
    #[serde(default)]
    judge: Vec<OneLine>,
    #[serde(default, rename = "case")]
    /// The experiments with their settings.
    pub entries: Vec<Entry>,
    /// Peers: tools to run in pairs with cases.
    #[serde(default, rename = "peer")]
    peers: Vec<peer::Entry>,
}

fn five() -> usize {
    5
}

/// An experiment and its settings, each combination of which is a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Entry {
    /// The experiment's name.
    pub experiment: String,
    /// The targets.
    #[serde(default = "linux_here", deserialize_with = "toml_text::words")]
    pub target: Vec<String>,
    /// Values of parameters; a list makes a case of each value. A parameter that only some of the
    /// targets have applies to those.
    #[serde(default)]
    pub set: toml::Table,
    /// The repetitions of each case, if other than the study's.
    pub repeat: Option<usize>,
    vary: Option<Vary>,
    /// Requirements on the system for the case to be offered, besides the study's own.
    #[serde(default)]
    requires: Vec<Requirement>,
    #[serde(default)]
    judge: Vec<OneLine>,
    /// Samples above this are misses.
    pub deadline: Option<String>,
    /// A sampling analyser that reads the pins as well.
    pub analyser: Option<Analyser>,
    /// The limits by which each case is judged.
    #[serde(default, rename = "limit")]
    pub limits: Vec<Limit>,
    #[serde(default)]
    published: Vec<PublishedRow>,
}

fn linux_here() -> Vec<String> {
    vec!["linux@host".to_owned()]
}

/// The command line's changes to a study.
#[derive(Clone, Default)]
pub struct Overrides {
    /// Only these experiments; all if empty.
    pub experiments: Vec<String>,
    /// The targets of all cases; if empty, the study's.
    pub targets: Vec<Target>,
    /// The images for which the study's targets have a variable, as `mine=$app@cortex-m4`, by its name.
    pub images: BTreeMap<String, PathBuf>,
    /// Values of parameters, which replace the study's.
    pub settings: Settings,
    /// The number of repetitions. If `None`, there are as many as the study says, and more where
    /// there are more start states.
    pub repeat: Option<usize>,
    /// The fewest repetitions of a case while `repeat` is `None`.
    pub fewest: usize,
    /// The start states of the repetitions.
    pub vary: Option<Vary>,
    /// Samples per case in all.
    pub loops: Option<u64>,
    /// The minimum of time to repeat each case for.
    pub duration: Option<Duration>,
    /// The time after which a repetition is ended.
    pub watchdog: Option<Duration>,
    /// The time in ns above which samples are misses.
    pub deadline: Option<f64>,
    /// Permits peers that are programs unknown to the lab. Set by the command line, never by a
    /// file.
    pub allow_programs: bool,
}

impl Overrides {
    /// Checks that at least one case has each parameter. Cases that lack a parameter ignore it.
    fn check(&self, cases: &[&Case]) -> Result<()> {
        let known = |name: &str| {
            let is_asked = |case: &Case| case.asked.iter().any(|asked| asked == name);
            let has = |case: &Case| case.parameter(name).is_some() || case.may_have(name);
            cases.iter().any(|case| has(case) || is_asked(case))
        };
        if let Some(name) = self.settings.keys().find(|name| !known(name)) {
            if name == COMPILED {
                bail!(
                    "no target here has other builds: kernels on emulated chips have, as \
                     tandem@cortex-m4"
                );
            }
            let has = |spec: &&&Spec| spec.parameters.iter().any(|known| known.name == name);
            let others: Vec<&str> = EXPERIMENTS.iter().filter(has).map(|spec| spec.name).collect();
            let names =
                cases.iter().flat_map(|case| case.parameters.iter().map(|(name, _)| name.as_str()));
            let mend = match others.as_slice() {
                [] => words::hint(name, names),
                others => format!(": it is one of {};", words::listed(others, "and")),
            };
            bail!(
                "no experiment here has a parameter `{name}`{mend} `chronoscope list EXPERIMENT` shows all"
            );
        }
        if self.loops.is_some() && cases.iter().all(|case| case::loops(case.spec).is_none()) {
            bail!("no experiment here has `loops` to set with -l");
        }
        Ok(())
    }
}

/// The most repetitions of a case. Each is a process of its own.
const MOST_REPETITIONS: usize = 1_000_000;

impl Study {
    /// All published figures that the study names.
    ///
    /// # Errors
    /// A row does not have one place for each value.
    pub fn published(&self) -> Result<Vec<Published>> {
        Ok(self.entries.iter().map(Entry::published).collect::<Result<Vec<_>>>()?.concat())
    }

    /// The study of experiments that the command line names without a study.
    pub fn from_entries(entries: Vec<Entry>) -> Self {
        let names: Vec<_> = entries.iter().map(|entry| entry.experiment.as_str()).collect();
        Self {
            name: "".into(),
            title: names.join(", ").into(),
            notes: "".into(),
            answering: None,
            repeat: five(),
            vary: Vary::default(),
            requires: Vec::new(),
            judge: Vec::new(),
            entries,
            peers: Vec::new(),
        }
    }

    /// All cases of the study.
    ///
    /// # Errors
    /// A case is invalid; the message has its number in the file and the nearest valid name.
    pub fn cases(&self, machines: &Machines, overrides: &Overrides) -> Result<Vec<Case>> {
        let cases = self.expand(machines, overrides)?;
        self.check(overrides, &cases, &[])?;
        Ok(cases)
    }

    /// All cases of the study, and all peers, each with a case of its own.
    ///
    /// # Errors
    /// If a case or a peer is invalid; the message has its number in the file.
    pub fn plan(
        &self,
        machines: &Machines,
        overrides: &Overrides,
    ) -> Result<(Vec<Case>, Vec<Peer>)> {
        let (cases, peers) = (self.expand(machines, overrides)?, self.peers(machines, overrides)?);
        self.check(overrides, &cases, &peers)?;
        Ok((cases, peers))
    }

    fn check(&self, overrides: &Overrides, cases: &[Case], peers: &[Peer]) -> Result<()> {
        let all: Vec<&Case> = cases.iter().chain(peers.iter().map(|peer| &peer.case)).collect();
        if let Some(case) = all.iter().find(|case| case.repeat > MOST_REPETITIONS) {
            bail!(
                "`{}` is to be repeated {} times: write at most {MOST_REPETITIONS}, or a duration, as -D 1h",
                case.spec.name,
                case.repeat
            );
        }
        if all.is_empty() {
            bail!("there is nothing to run: `{}` has no such case", self.name);
        }
        overrides.check(&all)
    }

    fn expand(&self, machines: &Machines, overrides: &Overrides) -> Result<Vec<Case>> {
        let known: Vec<String> = self.entries.iter().flat_map(Entry::variables).collect();
        if let Some(name) = overrides.images.keys().find(|name| !known.contains(name)) {
            bail!(
                "`--image {name}=…`: no target of the study has an image `${name}`{}",
                words::nearest(name, known.iter().map(String::as_str))
            );
        }
        let mut cases = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            if overrides.experiments.is_empty() || overrides.experiments.contains(&entry.experiment)
            {
                cases.extend(entry.cases(machines, self, overrides).map_err(|error| {
                    match self.name.as_str() {
                        "" => error,
                        name => error.context(format!("case {} of `{name}`", index + 1)),
                    }
                })?);
            }
        }
        match overrides.duration {
            Some(length) => {
                let repeat = overrides.repeat.unwrap_or(1);
                let soaked = cases.into_iter().map(|case| case.soaked(machines, length, repeat));
                soaked.collect()
            }
            None => Ok(cases),
        }
    }

    fn peers(&self, machines: &Machines, overrides: &Overrides) -> Result<Vec<Peer>> {
        let mut peers = Vec::new();
        for (index, entry) in self.peers.iter().enumerate() {
            if overrides.experiments.is_empty()
                || overrides.experiments.iter().any(|name| name == entry.experiment())
            {
                let place = || format!("peer {} of `{}`", index + 1, self.name);
                peers.extend(entry.peers(machines, self, overrides).with_context(place)?);
            }
        }
        Ok(peers)
    }
}

impl Entry {
    fn published(&self) -> Result<Vec<Published>> {
        Ok(self.published.iter().map(PublishedRow::figures).collect::<Result<Vec<_>>>()?.concat())
    }

    /// The names of the variables in the images of its targets.
    fn variables(&self) -> impl Iterator<Item = String> {
        let targets = self.target.iter().filter_map(|text| text.parse::<Target>().ok());
        targets.filter_map(|target| Some(variable(target.image.as_deref()?)?.to_owned()))
    }

    /// The targets, with the images that the command line gives for their variables; without those
    /// that have none, where the command line names other targets.
    ///
    /// # Errors
    /// A target cannot be read, or names a file; or a variable has no image.
    fn targets(&self, overrides: &Overrides) -> Result<Vec<Target>> {
        let mut targets = Vec::new();
        for text in &self.target {
            let mut target: Target = text.parse()?;
            if let Some(name) = target.image.as_deref().and_then(variable) {
                target.image = match overrides.images.get(name) {
                    Some(image) => Some(image.clone()),
                    None if overrides.targets.is_empty() => {
                        bail!("`{text}` has no image yet: give it as --image {name}=FILE")
                    }
                    None => continue,
                };
            } else {
                no_image(&target)?;
            }
            targets.push(target);
        }
        Ok(targets)
    }

    /// The experiment with its defaults.
    pub fn with_defaults(spec: &Spec) -> Self {
        Self {
            experiment: spec.name.to_owned(),
            target: linux_here(),
            set: toml::Table::new(),
            repeat: None,
            vary: None,
            requires: Vec::new(),
            judge: Vec::new(),
            deadline: None,
            analyser: None,
            limits: Vec::new(),
            published: Vec::new(),
        }
    }

    /// The limits of a case with these settings from the command line. A study's limits of time count
    /// what its machines count: they are none for the time of a chip that the study does not name.
    fn limits_with(&self, settings: &Settings) -> Vec<Limit> {
        let counts_bytes = self.experiment == IMAGE.name;
        let is_other = settings.contains_key(CHIP) && !self.set.contains_key(CHIP);
        if is_other && !counts_bytes { Vec::new() } else { self.limits.clone() }
    }

    /// The values of parameters that the study sets.
    fn settings(&self) -> Settings {
        let values = |value: &toml::Value| list(value.clone()).iter().map(word).collect();
        self.set.iter().map(|(name, value)| (name.clone(), values(value))).collect()
    }

    fn cases(
        &self,
        machines: &Machines,
        study: &Study,
        overrides: &Overrides,
    ) -> Result<Vec<Case>> {
        if self.experiment == OBSERVE {
            return self.observations(machines, study, overrides);
        }
        let spec = case::experiment(&self.experiment)?;
        let own = self.settings();
        let deadline = self.deadline.as_deref().map(deadline).transpose()?;
        let vary = overrides.vary.or(self.vary).unwrap_or(study.vary);
        let own_repeat = self.repeat.unwrap_or(study.repeat);
        let plan = Plan {
            repeat: overrides
                .repeat
                .unwrap_or_else(|| vary.repetitions(own_repeat).max(overrides.fewest)),
            vary,
            duration: overrides.duration,
            watchdog: overrides.watchdog,
            loops: overrides.loops,
            deadline: overrides.deadline.or(deadline),
            analyser: self.analyser,
            limits: self.limits_with(&overrides.settings),
            judge: StatisticChoice::read(&self.judge)?.or(StatisticChoice::read(&study.judge)?),
            published: self.published()?,
        };
        if own_repeat == 0 || plan.repeat == 0 {
            bail!("repeat is at least 1");
        }
        self.limits.iter().try_for_each(|limit| limit.check(spec.name, plan.deadline))?;
        let written = self.targets(overrides)?;
        let targets = if overrides.targets.is_empty() { &written } else { &overrides.targets };
        if overrides.targets.is_empty() {
            written.iter().try_for_each(no_device)?;
        }
        let names = |target| -> Result<Vec<&str>> {
            Ok(case::parameters(machines, spec, target)?
                .into_iter()
                .map(|(parameter, _)| parameter.name)
                .collect())
        };
        // A setting applies to the targets that have the parameter; at least one must.
        let all = written.iter().chain(targets).map(names).collect::<Result<Vec<_>>>()?.concat();
        let places = plan.published.iter().flat_map(|published| published.when.keys());
        if let Some(name) = places.clone().find(|name| !all.contains(&name.as_str())) {
            bail!(
                "published: `{}` has no parameter `{name}`{}",
                spec.name,
                words::nearest(name, all.iter().copied())
            );
        }
        // An entry for a chip is for the machines that it names.
        let is_for = |target: &&Target| {
            let mut machines = written.iter().map(|target| &target.machine);
            !self.set.contains_key(CHIP) || machines.any(|machine| *machine == target.machine)
        };
        let mut cases = Vec::new();
        for target in targets.iter().filter(is_for) {
            let known = names(target)?;
            let is_known = |name: &String| known.contains(&name.as_str());
            let mut settings = own.clone();
            settings.retain(|name, _| is_known(name) || !all.contains(&name.as_str()));
            settings
                .extend(overrides.settings.clone().into_iter().filter(|(name, _)| is_known(name)));
            let mut expanded = case::expand(machines, spec, target, &settings, &plan)?;
            // A case with another value than the study's is not the published one; the number of
            // samples does not matter.
            for case in &mut expanded {
                let is_told = own.iter().all(|(name, values)| {
                    name == "loops"
                        || case
                            .parameter(name)
                            .is_none_or(|value| values.iter().any(|own| own == value))
                });
                if !is_told {
                    case.published.clear();
                }
            }
            cases.append(&mut expanded);
        }
        requirement::add(&mut cases, study.requires.iter().chain(&self.requires))
            .map_err(|target| anyhow!("`requires` is for cases on Linux, not on {target}"))?;
        let sees_pins = |case: &Case| case.parameter("pins") == Some("yes");
        if self.analyser.is_some() && overrides.targets.is_empty() && !cases.iter().any(sees_pins) {
            bail!(
                "the analyser has no pins to look at: set pins = \"yes\", on a target that has them"
            );
        }
        Ok(cases)
    }
}

/// The deadline that a study writes.
///
/// # Errors
/// If it is no time, or no time at all: every sample would be a miss.
fn deadline(text: &str) -> Result<f64> {
    match units::parse_time(text)? {
        0.0 => bail!("`deadline = \"{text}\"`: every sample would miss it: write a time above 0"),
        time => Ok(time),
    }
}

/// The sign before the name of a variable.
const VARIABLE: char = '$';

/// The name of the variable that stands for an image in a study.
fn variable(image: &Path) -> Option<&str> {
    image.to_str()?.strip_prefix(VARIABLE)
}

/// Checks that a target of a study names no image, which may be a program for this computer.
///
/// # Errors
/// If the target has an image.
fn no_image(target: &Target) -> Result<()> {
    if let Some(image) = &target.image {
        bail!(
            "{} is a file of this computer, which a study may not start: write {}=$image@{} in the \
             study, and give it on the command line, as --image image={}",
            image.display(),
            target.kernel,
            target.machine,
            image.display()
        );
    }
    Ok(())
}

/// Checks that a target of a study opens no device: its path is for the command line to name.
///
/// # Errors
/// If the target is a serial line, or a board by its name.
fn no_device(target: &Target) -> Result<()> {
    if [serial::PREFIX, serial::boards::PREFIX]
        .iter()
        .any(|prefix| target.machine.starts_with(prefix))
    {
        bail!(
            "`{target}` is a device of this computer, which a study may not open: name it on the \
             command line, as --target {target}"
        );
    }
    Ok(())
}

include!(concat!(env!("OUT_DIR"), "/studies.rs"));

/// Returns the names of the studies of this version, in the order of the alphabet.
pub fn names() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().map(|(name, _)| *name)
}

/// The study that a word names: its whole name, or its first part where no other begins so, as `p1`.
pub fn named(word: &str) -> Option<&'static str> {
    let begins = |name: &&str| name.strip_prefix(word).is_some_and(|rest| rest.starts_with('-'));
    let mut short = names().filter(begins);
    let only = short.next().filter(|_| short.next().is_none());
    names().find(|name| *name == word).or(only.filter(|_| !word.is_empty()))
}

/// Completes a run of an older program, which kept no rules for its answer: it gets the rules of the
/// study of the same name in this version.
pub fn complete(run: &mut Run) {
    if run.answering.is_none()
        && let Some((_, text)) = STUDIES.iter().find(|(name, _)| *name == &*run.study)
    {
        run.answering = parse(text).ok().and_then(|study| study.answering);
    }
}

/// Finds the study that a word of the command line names: one of this version, or a file. A file
/// with the name of such a study is named with its path, as `./quick`.
///
/// # Errors
/// If it is neither, with the nearest name; or as [`load`].
pub fn find(word: &Path) -> Result<Study> {
    let name = word.to_str().unwrap_or_default();
    let known = named(name);
    if let Some((_, text)) = STUDIES.iter().find(|(name, _)| known == Some(*name)) {
        return parse(text);
    }
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if is_name && !word.exists() {
        bail!(
            "there is no study `{name}`{} the studies are {}; a file is named with its path",
            words::hint(name, names()),
            names().collect::<Vec<_>>().join(", ")
        );
    }
    load(word)
}

/// Reads a study.
///
/// # Errors
/// The file cannot be read or is not a study; the message has the place in the file.
pub fn load(path: &Path) -> Result<Study> {
    /// The limit for a study's file; a larger file is something else.
    const MAX_BYTES: u64 = 1 << 20;
    let read = || {
        let mut text = String::new();
        file::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
        Ok::<_, std::io::Error>(text)
    };
    let text = read().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            anyhow!("no such file: {}: name a study that exists", path.display())
        }
        _ => anyhow!(error).context(format!("cannot read the study {}", path.display())),
    })?;
    if text.len() as u64 > MAX_BYTES {
        bail!("{}: a file of more than {MAX_BYTES} bytes is not a study", path.display());
    }
    parse(&text).map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// Reads a study from text.
///
/// # Errors
/// The text is not a study, with the line; or a sentence of its answer cannot be read.
pub fn parse(text: &str) -> Result<Study> {
    let study: Study = from_toml_with_known_keys(text)?;
    study.answering.as_ref().map_or(Ok(()), Answering::check)?;
    Ok(study)
}
