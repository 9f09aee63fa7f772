//! A step of the test: commands, and what the schedule must know about them.

use std::{collections::BTreeMap, env, path::PathBuf};

use super::Stage;
use crate::repository::root;

/// The cores of a step that measures this machine: nothing else runs meanwhile.
pub const ALL: usize = usize::MAX;

/// A check: commands that run one after the other, in a process group of their own.
#[derive(Clone, Debug)]
pub struct Step {
    pub name: String,
    pub stage: Stage,
    /// The step begins when all steps whose names begin with one of these have passed.
    pub after: Vec<String>,
    /// The build folder that cargo locks meanwhile; steps with the same folder run one at a time.
    pub lock: String,
    /// The number of cores that the step keeps busy: 0 if it waits for a network.
    pub cores: usize,
    /// The wall-clock time on two idle cores with nothing built. The schedule needs it only to order
    /// the steps, so a rough figure will do.
    pub seconds: u32,
    pub folder: PathBuf,
    pub commands: Vec<Vec<String>>,
    pub environment: BTreeMap<&'static str, String>,
}

impl Step {
    /// A step of one command ([`words`]).
    pub fn new(stage: Stage, name: impl Into<String>, command: &str) -> Self {
        let step = Self {
            name: name.into(),
            stage,
            after: Vec::new(),
            lock: String::new(),
            cores: 1,
            seconds: 10,
            folder: root().to_owned(),
            commands: Vec::new(),
            environment: BTreeMap::new(),
        };
        step.then(command)
    }

    /// Returns whether the step begins only when `other` has passed.
    pub fn waits_for(&self, other: &Self) -> bool {
        self.after.iter().any(|name| other.name.starts_with(name.as_str()))
    }

    /// Adds a command.
    pub fn then(mut self, command: &str) -> Self {
        self.commands.push(words(command));
        self
    }

    /// Adds commands.
    pub fn then_all(self, commands: impl IntoIterator<Item = String>) -> Self {
        commands.into_iter().fold(self, |step, command| step.then(&command))
    }

    pub fn after(mut self, names: &[&str]) -> Self {
        self.after.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    pub fn lock(mut self, folder: impl Into<String>) -> Self {
        self.lock = folder.into();
        self
    }

    pub fn cores(mut self, cores: usize) -> Self {
        self.cores = cores;
        self
    }

    pub fn seconds(mut self, seconds: u32) -> Self {
        self.seconds = seconds;
        self
    }

    pub fn within(mut self, folder: &str) -> Self {
        self.folder = root().join(folder);
        self
    }

    /// Adds arguments to the last command.
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        let last = self.commands.last_mut().expect("a step has a command");
        last.extend(arguments.iter().map(|word| (*word).to_owned()));
        self
    }

    pub fn variable(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.insert(name, value.into());
        self
    }
}

/// The words of a command, separated by blanks. The first word `xtask` is this program.
fn words(command: &str) -> Vec<String> {
    let mut words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    if words[0] == "xtask" {
        let program = env::current_exe().unwrap_or_else(|_| "xtask".into());
        words[0] = program.display().to_string();
    }
    words
}
