//! Runs steps side by side: each as soon as the steps before it have passed, its build folder is
//! free, and enough cores are.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{Sender, channel},
    thread::{self, Scope, available_parallelism},
};

use anyhow::{Context, Result};

use super::{
    measure::{self, Spent},
    table::Step,
};
use crate::repository::target;

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    /// A step that it needs did not pass.
    NotRun,
}

/// A step that has ended.
pub struct Done {
    pub name: String,
    pub outcome: Outcome,
    pub spent: Spent,
    /// Everything that the step printed.
    pub output: String,
}

enum State {
    Waiting,
    Running,
    Ended(Outcome),
}

/// Runs all steps and shows the output of each when it ends. A step that fails keeps only those
/// from running that need it. `folder` keeps the outputs.
///
/// # Errors
/// An output cannot be kept or shown.
pub fn run(steps: &[Step], folder: &Path) -> Result<Vec<Done>> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let target = target()?;
    let cores = available_parallelism().map_or(1, usize::from);
    let mut states: Vec<State> = steps.iter().map(|_| State::Waiting).collect();
    let mut done = Vec::new();
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        loop {
            for (index, outcome) in advance(steps, &mut states, cores) {
                match outcome {
                    None => start(scope, &steps[index], index, folder, &target, sender.clone()),
                    Some(outcome) => done.push(Done {
                        name: steps[index].name.clone(),
                        outcome,
                        spent: Spent::default(),
                        output: String::new(),
                    }),
                }
            }
            if !states.iter().any(|state| matches!(state, State::Running)) {
                return Ok(done);
            }
            let (index, ended): (usize, io::Result<Done>) =
                receiver.recv().context("a step has no end")?;
            let ended = ended.with_context(|| steps[index].name.clone())?;
            states[index] = State::Ended(ended.outcome);
            show(&ended)?;
            done.push(ended);
        }
    })
}

/// The steps that now begin, as `None`, or never will. Updates their states.
fn advance(steps: &[Step], states: &mut [State], cores: usize) -> Vec<(usize, Option<Outcome>)> {
    let mut changes = Vec::new();
    loop {
        let next = (0..steps.len()).find_map(|index| {
            let waits = matches!(states[index], State::Waiting);
            waits.then(|| readiness(index, steps, states, cores)).flatten().map(|new| (index, new))
        });
        let Some((index, outcome)) = next else { return changes };
        states[index] = outcome.map_or(State::Running, State::Ended);
        changes.push((index, outcome));
    }
}

/// `Some(None)` for a step that can begin, `Some(Some(…))` for one that never can.
fn readiness(
    index: usize,
    steps: &[Step],
    states: &[State],
    cores: usize,
) -> Option<Option<Outcome>> {
    let step = &steps[index];
    let needs = |other: &Step| step.after.iter().any(|name| other.name.starts_with(name));
    for (other, state) in steps.iter().zip(states).filter(|(other, _)| needs(other)) {
        debug_assert_ne!(other.name, step.name, "a step does not need itself");
        match state {
            State::Ended(Outcome::Passed) => {}
            State::Ended(_) => return Some(Some(Outcome::NotRun)),
            State::Waiting | State::Running => return None,
        }
    }
    let running = || {
        let both = steps.iter().zip(states);
        both.filter(|(_, state)| matches!(state, State::Running)).map(|(other, _)| other)
    };
    let busy: usize = running().map(|other| other.cores).sum();
    let is_locked = !step.lock.is_empty() && running().any(|other| other.lock == step.lock);
    // A step for more cores than there are runs alone.
    let fits = busy == 0 || busy + step.cores <= cores;
    (fits && !is_locked).then_some(None)
}

fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    step: &'scope Step,
    index: usize,
    folder: &Path,
    target: &'scope Path,
    sender: Sender<(usize, io::Result<Done>)>,
) {
    let file = folder.join(step.name.replace([' ', '/', '\'', ',', ':'], "-") + ".txt");
    scope.spawn(move || {
        // The receiver is gone if another step's output could not be shown.
        let _ = sender.send((index, work(step, &file, target)));
    });
}

/// Runs the commands of a step until one fails.
fn work(step: &Step, file: &PathBuf, target: &Path) -> io::Result<Done> {
    let mut output = File::create(file)?;
    let (mut outcome, mut spent) = (Outcome::Passed, Spent::default());
    for words in &step.commands {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&step.folder).envs(&step.environment);
        command.env("CARGO_TARGET_DIR", target).stdin(Stdio::null());
        command.stdout(output.try_clone()?).stderr(output.try_clone()?);
        match measure::run(&mut command) {
            Ok((status, more)) => {
                spent += more;
                if !status.success() {
                    writeln!(output, "{} ended with {status}", words.join(" "))?;
                    outcome = Outcome::Failed;
                }
            }
            Err(error) => {
                writeln!(output, "{} does not start: {error}", words[0])?;
                outcome = Outcome::Failed;
            }
        }
        if outcome == Outcome::Failed {
            break;
        }
    }
    let output = String::from_utf8_lossy(&fs::read(file)?).into_owned();
    Ok(Done { name: step.name.clone(), outcome, spent, output })
}

fn show(done: &Done) -> io::Result<()> {
    let word = if done.outcome == Outcome::Passed { "passed" } else { "FAILED" };
    let (wall, cpu) = (done.spent.wall.as_secs_f64(), done.spent.cpu.as_secs_f64());
    let mut out = io::stdout().lock();
    writeln!(out, "== {}: {word} in {wall:.0} s ({cpu:.0} s of processor time)", done.name)?;
    out.write_all(done.output.as_bytes())?;
    out.flush()
}
