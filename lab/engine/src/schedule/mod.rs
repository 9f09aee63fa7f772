//! A set of tasks in a TOML file, for the analysis and for the experiment `taskset`. The module
//! does not know how the costs of a kernel are measured.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, io::Read, path::Path};

use anyhow::{Context, Result, bail, ensure};
use chronoscope_base::toml_text::from_toml;
use chronoscope_statistics::schedule::{Lock, Task};
use chronoscope_units::{file, parse_hertz, parse_time, printable, show};
use serde::Deserialize;

/// The longest file that is read, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// The most tasks, which the experiment `taskset` has priorities for.
pub const MOST_TASKS: usize = 7;

/// The longest period, in ns, as in `taskset`: it runs for many of them.
const LONGEST: f64 = 5e8;

/// The longest name of a task or a lock, in characters.
const LONGEST_NAME: usize = 20;

/// A set of tasks.
#[derive(Debug)]
pub struct TaskSet {
    /// The rate of the processor that the file names, in Hz.
    pub clock: Option<u64>,
    /// By falling priority.
    pub tasks: Vec<Named>,
}

/// A task with its name.
#[derive(Debug, PartialEq)]
pub struct Named {
    /// The name on screens.
    pub name: String,
    /// The priority in the file: a greater number is more urgent.
    pub priority: u64,
    /// The period, or the least distance of two releases, in ns.
    pub period: f64,
    /// In ns, at most the period.
    pub deadline: f64,
    /// The execution time of a job.
    pub execution: Length,
    /// In ns.
    pub jitter: f64,
    /// The number of the lock, from 1, and how long a job has it.
    pub lock: Option<(usize, Length)>,
}

/// The length of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// In ns.
    Time(f64),
    /// In instructions of the target.
    Instructions(f64),
}

/// How long a tick of the analysis is, and how many instructions the processor executes in it.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Ticks a second.
    pub hertz: u64,
    /// Instructions a tick; at most 1.
    pub rate: f64,
}

impl Scale {
    /// The length in ticks.
    pub fn length(&self, length: Length) -> f64 {
        match length {
            Length::Time(ns) => self.ticks(ns),
            Length::Instructions(count) => count / self.rate,
        }
    }

    /// The ticks of a time in ns.
    pub fn ticks(&self, ns: f64) -> f64 {
        ns * self.hertz as f64 / 1e9
    }

    /// The time of ticks, in ns.
    pub fn ns(&self, ticks: f64) -> f64 {
        ticks * 1e9 / self.hertz as f64
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    clock: Option<String>,
    #[serde(default)]
    task: Vec<Row>,
}

/// A table `[[task]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    priority: u64,
    period: Option<String>,
    distance: Option<String>,
    deadline: Option<String>,
    execution: String,
    jitter: Option<String>,
    lock: Option<String>,
    hold: Option<String>,
}

impl TaskSet {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or a task is impossible; the message names the file and the task.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = printable(&path.display().to_string());
        let mut text = String::new();
        file::open(path)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
            .with_context(|| format!("task set {shown}"))?;
        ensure!(
            text.len() as u64 <= MAX_BYTES,
            "task set {shown}: it is longer than {MAX_BYTES} bytes"
        );
        Self::parse(&text).map_err(|error| anyhow::anyhow!("task set {shown}: {error:#}"))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// A task is impossible; the message names it.
    pub fn parse(text: &str) -> Result<Self> {
        let file: File = from_toml(text)?;
        let clock = file.clock.as_deref().map(parse_hertz).transpose().context("`clock`")?;
        ensure!(!file.task.is_empty(), "it has no task: add a table [[task]]");
        ensure!(
            file.task.len() <= MOST_TASKS,
            "it has {} tasks, and at most {MOST_TASKS} can be run",
            file.task.len()
        );
        let mut locks = BTreeMap::new();
        let mut tasks = Vec::new();
        for row in file.task {
            let name = printable(&row.name);
            let task = row.named(&mut locks).with_context(|| format!("task `{name}`"))?;
            if let Some(Named { name: other, .. }) =
                tasks.iter().find(|other: &&Named| other.priority == task.priority)
            {
                bail!(
                    "`{other}` and `{name}` have priority {}: give each task one of its own",
                    task.priority
                );
            }
            ensure!(
                tasks.iter().all(|other| other.name != task.name),
                "two tasks are called `{name}`"
            );
            tasks.push(task);
        }
        tasks.sort_by_key(|task| std::cmp::Reverse(task.priority));
        let of_times = tasks.iter().map(|task| match task.execution {
            Length::Time(ns) => ns / task.period,
            Length::Instructions(_) => 0.0,
        });
        check_use(of_times.sum())?;
        Ok(Self { clock, tasks })
    }

    /// The tasks in ticks: execution times are rounded up, all others down.
    ///
    /// # Errors A task is longer than its deadline, shorter than a tick, or the set uses more than
    /// the processor has.
    pub fn tasks(&self, scale: &Scale) -> Result<Vec<Task>> {
        let tasks: Vec<Task> =
            self.tasks.iter().map(|task| task.at(scale)).collect::<Result<_>>()?;
        check_use(chronoscope_statistics::schedule::utilization(&tasks))?;
        Ok(tasks)
    }

    /// The value of the parameter `set` of `taskset`, for an emulator with this many ns an
    /// instruction: execution times are rounded down, periods up.
    pub fn request(&self, scale: &Scale, ns: f64) -> String {
        let instructions = |length| scale.length(length) * scale.rate * ns;
        let task = |task: &Named| {
            let (lock, hold) = task.lock.unwrap_or((0, Length::Time(0.0)));
            let work = instructions(task.execution).floor();
            format!(
                "{:.0}.{work:.0}.{lock}.{:.0}",
                instructions(Length::Time(task.period)).ceil(),
                instructions(hold).floor().min(work),
            )
        };
        self.tasks.iter().map(task).collect::<Vec<_>>().join("+")
    }
}

/// # Errors
/// The share is more than all of the processor.
fn check_use(share: f64) -> Result<()> {
    ensure!(
        share <= 1.0,
        "its execution times take {:.0} % of the processor, before the kernel's: it can never be met",
        (100.0 * share).ceil()
    );
    Ok(())
}

impl Named {
    fn at(&self, scale: &Scale) -> Result<Task> {
        let (period, deadline) = (scale.ticks(self.period), scale.ticks(self.deadline));
        let work = scale.length(self.execution).ceil();
        let hold = self.lock.map(|(number, hold)| (number, scale.length(hold).ceil()));
        ensure!(deadline >= 1.0, "task `{}`: its deadline is shorter than a cycle", self.name);
        ensure!(
            work <= deadline.floor(),
            "task `{}`: it executes for {} and its deadline is {}",
            self.name,
            show(scale.ns(work), "ns"),
            show(self.deadline, "ns")
        );
        ensure!(
            hold.is_none_or(|(_, hold)| hold <= work),
            "task `{}`: it has its lock for longer than it executes",
            self.name
        );
        Ok(Task {
            period: period as u64,
            deadline: deadline as u64,
            work: work as u64,
            jitter: scale.ticks(self.jitter).ceil() as u64,
            lock: hold.map(|(number, hold)| Lock { number, hold: hold as u64 }),
        })
    }
}

impl Row {
    /// The task; `locks` numbers the names of locks.
    fn named(self, locks: &mut BTreeMap<String, usize>) -> Result<Named> {
        let name = check_name(self.name)?;
        let period = match (self.period, self.distance) {
            (Some(period), None) => time("period", &period)?,
            (None, Some(distance)) => time("distance", &distance)?,
            _ => bail!("give either `period` or `distance`"),
        };
        ensure!(period > 0.0, "its period is zero");
        ensure!(period <= LONGEST, "its period is above {}", show(LONGEST, "ns"));
        let deadline = self.deadline.map_or(Ok(period), |text| time("deadline", &text))?;
        ensure!(deadline > 0.0, "its deadline is zero");
        ensure!(
            deadline <= period,
            "its deadline is above its period, for which there is no analysis here: lower it"
        );
        let jitter = self.jitter.map_or(Ok(0.0), |text| time("jitter", &text))?;
        ensure!(jitter < deadline, "its jitter is not below its deadline");
        let execution = length("execution", &self.execution)?;
        let lock = match (self.lock, self.hold) {
            (None, None) => None,
            (Some(lock), Some(hold)) => {
                let next = locks.len() + 1;
                Some((*locks.entry(check_name(lock)?).or_insert(next), length("hold", &hold)?))
            }
            (Some(_), None) => bail!("it has a `lock`: say with `hold` for how long"),
            (None, Some(_)) => bail!("it has `hold`: name the `lock`"),
        };
        Ok(Named { name, priority: self.priority, period, deadline, execution, jitter, lock })
    }
}

fn check_name(name: String) -> Result<String> {
    let is_short = (1..=LONGEST_NAME).contains(&name.chars().count());
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "_-. ".contains(c));
    ensure!(
        is_short && is_plain,
        "a name has up to {LONGEST_NAME} letters, digits, spaces or any of `_-.`"
    );
    Ok(name)
}

fn time(key: &str, text: &str) -> Result<f64> {
    parse_time(text).with_context(|| format!("`{key} = {}`", printable(text)))
}

/// A time, or a number of instructions as `1200 instructions`.
fn length(key: &str, text: &str) -> Result<Length> {
    let Some(number) = text.trim().strip_suffix("instructions") else {
        return Ok(Length::Time(time(key, text)?));
    };
    let count: Option<u32> = number.trim().parse().ok();
    let count = count.with_context(|| {
        format!("`{key} = {}`: write a whole number, as 1200 instructions", printable(text))
    })?;
    Ok(Length::Instructions(count.into()))
}
