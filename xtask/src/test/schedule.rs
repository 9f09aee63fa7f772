//! Runs steps side by side. A step begins as soon as the steps that it waits for have passed, and
//! its build folder and enough cores are free. If several steps can begin, the step with the
//! longest path to the end of the test begins first. The module knows no step in particular.

use std::{
    cmp::Reverse,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{Sender, channel},
    thread::{self, Scope, available_parallelism},
};

use anyhow::{Context, Result};

use super::{
    measure::{self, TimeSpent},
    step::Step,
};
use crate::repository::target;

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    /// Not run, because a step that it waits for did not pass.
    NotRun,
}

/// A step that has ended.
pub struct EndedStep {
    pub name: String,
    pub outcome: Outcome,
    pub spent: TimeSpent,
    /// The step's standard output and standard error.
    pub output: String,
}

enum State {
    Waiting,
    Running,
    Ended(Outcome),
}

/// Runs all steps and shows the output of each when it ends. After a failure, only the steps that
/// wait for the failed step, directly or through others, are not run. The output of each step is
/// also written to a file in `folder`. Returns the steps in the order of their ends.
///
/// # Errors
/// An output cannot be written or shown.
pub fn run(steps: &[Step], folder: &Path) -> Result<Vec<EndedStep>> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let target = target()?;
    let cores = available_parallelism().map_or(1, usize::from);
    let order = order(steps);
    let mut states: Vec<State> = steps.iter().map(|_| State::Waiting).collect();
    let mut done = Vec::new();
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        loop {
            for index in advance(steps, &order, &mut states, cores) {
                match states[index] {
                    State::Waiting | State::Running => {
                        start(scope, &steps[index], index, folder, &target, sender.clone());
                    }
                    State::Ended(outcome) => done.push(EndedStep {
                        name: steps[index].name.clone(),
                        outcome,
                        spent: TimeSpent::default(),
                        output: String::new(),
                    }),
                }
            }
            if !states.iter().any(|state| matches!(state, State::Running)) {
                return Ok(done);
            }
            let (index, ended): (usize, io::Result<EndedStep>) =
                receiver.recv().context("a step did not report its end")?;
            let ended = ended.with_context(|| steps[index].name.clone())?;
            states[index] = State::Ended(ended.outcome);
            show(&ended)?;
            done.push(ended);
        }
    })
}

/// The indices of the steps, the longest path first. The path of a step is the time from its begin
/// to the end of the last step that waits for it, directly or through others. Steps of one build
/// folder run one at a time, so a step's path is at least the sum of its folder's steps.
fn order(steps: &[Step]) -> Vec<usize> {
    let folder = |step: &Step| -> u32 {
        let is_same = |other: &&Step| !step.lock.is_empty() && other.lock == step.lock;
        steps.iter().filter(is_same).map(|other| other.seconds).sum()
    };
    // Each round extends the paths by one more waiting step, until no path grows.
    let mut paths: Vec<u32> = vec![0; steps.len()];
    for _ in 0..steps.len() {
        let next: Vec<u32> = steps
            .iter()
            .map(|step| {
                let waiting = steps.iter().zip(&paths).filter(|(other, _)| other.waits_for(step));
                let rest = waiting.map(|(_, path)| *path).max().unwrap_or(0);
                rest + step.seconds
            })
            .collect();
        if next == paths {
            break;
        }
        paths = next;
    }
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|&index| {
        let path = paths[index];
        Reverse((path.max(folder(&steps[index])), path))
    });
    order
}

/// Updates the states of the steps that begin now, or that can never begin, and returns the indices
/// of these steps.
fn advance(steps: &[Step], order: &[usize], states: &mut [State], cores: usize) -> Vec<usize> {
    let mut changed = Vec::new();
    loop {
        let next = order.iter().find_map(|&index| match states[index] {
            State::Waiting => Some((index, next_state(index, steps, states, cores)?)),
            State::Running | State::Ended(_) => None,
        });
        let Some((index, state)) = next else { return changed };
        states[index] = state;
        changed.push(index);
    }
}

/// The next state of a waiting step: running, or ended if it can never begin. `None` if the step
/// goes on waiting.
fn next_state(index: usize, steps: &[Step], states: &[State], cores: usize) -> Option<State> {
    let step = &steps[index];
    for (other, state) in steps.iter().zip(states).filter(|(other, _)| step.waits_for(other)) {
        debug_assert_ne!(other.name, step.name, "a step does not need itself");
        match state {
            State::Ended(Outcome::Passed) => {}
            State::Ended(_) => return Some(State::Ended(Outcome::NotRun)),
            State::Waiting | State::Running => return None,
        }
    }
    let running = || {
        let both = steps.iter().zip(states);
        both.filter(|(_, state)| matches!(state, State::Running)).map(|(other, _)| other)
    };
    // A step that asks for more cores than the machine has takes all of them.
    let busy: usize = running().map(|other| other.cores.min(cores)).sum();
    let fits = busy + step.cores.min(cores) <= cores;
    let is_locked = !step.lock.is_empty() && running().any(|other| other.lock == step.lock);
    (fits && !is_locked).then_some(State::Running)
}

/// Starts a thread that runs a step and sends its index and its end to `sender`.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    step: &'scope Step,
    index: usize,
    folder: &Path,
    target: &'scope Path,
    sender: Sender<(usize, io::Result<EndedStep>)>,
) {
    let file = folder.join(step.name.replace([' ', '/', '\'', ',', ':'], "-") + ".txt");
    scope.spawn(move || {
        // Sending fails if `run` has returned, since another step's output could not be shown.
        let _ = sender.send((index, work(step, &file, target)));
    });
}

/// Runs the commands of a step until one fails. Their output goes to `file`.
fn work(step: &Step, file: &PathBuf, target: &Path) -> io::Result<EndedStep> {
    let mut output = File::create(file)?;
    let (mut outcome, mut spent) = (Outcome::Passed, TimeSpent::default());
    for words in &step.commands {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&step.folder).stdin(Stdio::null());
        // A step may name a build folder of its own.
        command.env("CARGO_TARGET_DIR", target).envs(&step.environment);
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
    Ok(EndedStep { name: step.name.clone(), outcome, spent, output })
}

fn show(done: &EndedStep) -> io::Result<()> {
    let word = if done.outcome == Outcome::Passed { "passed" } else { "FAILED" };
    let (wall, cpu) = (done.spent.wall.as_secs_f64(), done.spent.cpu.as_secs_f64());
    let mut out = io::stdout().lock();
    writeln!(out, "== {}: {word} in {wall:.0} s ({cpu:.0} s of processor time)", done.name)?;
    out.write_all(done.output.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::{
        super::{Stage, step::ALL},
        *,
    };

    fn step(name: &str, seconds: u32) -> Step {
        Step::new(Stage::Quick, name, "true").seconds(seconds)
    }

    /// The names of the steps in the order in which they begin, as rows. The steps of a row begin
    /// together, and all of them end before the next row begins.
    fn begins(steps: &[Step], cores: usize) -> Vec<Vec<&str>> {
        let order = order(steps);
        let mut states: Vec<State> = steps.iter().map(|_| State::Waiting).collect();
        let mut begun = Vec::new();
        loop {
            let now = advance(steps, &order, &mut states, cores);
            if now.is_empty() {
                return begun;
            }
            begun.push(now.iter().map(|index| &*steps[*index].name).collect());
            for index in now {
                if matches!(states[index], State::Running) {
                    states[index] = State::Ended(Outcome::Passed);
                }
            }
        }
    }

    #[test]
    fn a_step_has_the_build_folder_that_it_names() {
        let folder = env::temp_dir();
        let built_in = |step: Step| {
            let file = folder.join(format!("chronoscope-step-{}.txt", process::id()));
            let ended = work(&step, &file, Path::new("/all")).unwrap();
            fs::remove_file(file).unwrap();
            ended.output
        };
        let step = Step::new(Stage::Quick, "a", "sh -c").arguments(&["echo $CARGO_TARGET_DIR"]);
        assert_eq!(built_in(step), "/all\n");
        let step = Step::new(Stage::Quick, "a", "sh -c").arguments(&["echo $CARGO_TARGET_DIR"]);
        assert_eq!(built_in(step.variable("CARGO_TARGET_DIR", "/own")), "/own\n");
    }

    #[test]
    fn the_longest_path_begins_first() {
        let steps = [step("a", 5), step("b", 1), step("c", 3), step("after b", 9).after(&["b"])];
        assert_eq!(begins(&steps, 1), [["b"], ["after b"], ["a"], ["c"]]);
        assert_eq!(begins(&steps, 2), [["b", "a"], ["after b", "c"]]);
    }

    #[test]
    fn steps_of_one_folder_count_together_and_run_one_by_one() {
        let folder = |name| step(name, 2).lock("f");
        let steps = [step("a", 5), folder("b"), folder("c"), folder("d")];
        assert_eq!(begins(&steps, 2), [vec!["b", "a"], vec!["c"], vec!["d"]]);
    }

    #[test]
    fn a_step_for_all_cores_runs_alone_but_for_those_that_wait_for_a_network() {
        let steps = [step("all", 9).cores(ALL), step("a", 5), step("net", 1).cores(0)];
        assert_eq!(begins(&steps, 2), [vec!["all", "net"], vec!["a"]]);
        let steps = [step("all", 1).cores(ALL), step("a", 5), step("two", 3).cores(2)];
        assert_eq!(begins(&steps, 1), [["a"], ["two"], ["all"]]);
    }
}
