//! `chronoscope schedule`: a set of tasks on kernels, by analysis with the kernels' measured costs,
//! and by running it.

mod costs;

use std::{fmt, path::PathBuf, sync::atomic::AtomicBool};

use anyhow::{Context, Result, bail, ensure};

use super::{run, session::Session};
use crate::{cli, revision::REVISION};
use chronoscope_base::{console, signals, signals::INTERRUPTED};
use chronoscope_engine::{
    case,
    case::{Case, Plan, Settings},
    journal::{Header, Journal},
    runner,
    runner::{Outcome, Progress, RunOptions, context},
    schedule::TaskSet,
};
use chronoscope_machine::Machines;
use chronoscope_report::{
    self as report, Screen,
    schedule::{Row, Schedule},
};
use chronoscope_run::{CaseResult, Status, Target};
use chronoscope_statistics::schedule::analysis;
use chronoscope_units::{OneLine, parse_hertz, printable};

use self::costs::Plain;

/// The targets, unless some are named.
const TARGETS: [&str; 2] = ["tandem@cortex-m4", "freertos@cortex-m4"];

/// The jobs of a run, and the phases that they are spread over.
const JOBS: f64 = 6000.0;
const PHASES: (usize, usize) = (3, 16);

/// Analyses and runs the set on each target; returns the exit status.
///
/// # Errors
/// The set or a target is impossible, or something cannot be measured.
pub fn execute(arguments: &cli::Schedule) -> Result<u8> {
    report::check(arguments.output.as_deref())?;
    let sets = sets(arguments)?;
    let machines = Machines::default();
    let stop = signals::watch()?;
    let names = match arguments.target.as_slice() {
        [] => TARGETS.map(str::to_owned).to_vec(),
        names => names.to_vec(),
    };
    let benches = names
        .iter()
        .map(|name| Bench::new(&machines, name.parse()?, &sets, arguments))
        .collect::<Result<Vec<_>>>()?;
    if arguments.quiet {
        console::be_quiet();
    }
    let cases: Vec<Case> = benches.iter().flat_map(|bench| bench.costs.clone()).collect();
    let header = Header::new(context::now(REVISION), vec![OneLine::new()], &cases);
    let session = Session::open(&arguments.keep, header, arguments.quiet)?;
    let work = Work { machines: &machines, sets: &sets, benches: &benches, cases: &cases, stop };
    let mut schedules = Vec::new();
    let mut measured = session.measure(|_, progress, journal| {
        let (outcome, made) = work.measure(progress, journal)?;
        schedules = made;
        Ok(outcome)
    })?;
    let stored = measured.store();
    if measured.run()?.context.interrupted {
        stored?;
        console::remark("interrupted: no schedule is made");
        return Ok(INTERRUPTED);
    }
    let file = arguments.output.as_deref();
    let text = match arguments.json {
        true => format!("{:#}\n", report::schedule::json(&schedules)),
        false => report::schedule::render(&schedules, &Screen::for_output(file, None)),
    };
    report::emit(&text, file)?;
    stored?;
    Ok(schedules.iter().map(Schedule::status).max().map_or(0, Status::exit_code))
}

/// A set of tasks, and its file's name.
struct Named {
    /// Empty for the only set.
    file: String,
    tasks: TaskSet,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = if self.file.is_empty() { "the set" } else { &self.file };
        f.write_str(file)
    }
}

/// Reads the sets.
fn sets(arguments: &cli::Schedule) -> Result<Vec<Named>> {
    let is_one = arguments.tasks.len() == 1;
    let read = |path: &PathBuf| {
        let name = path.file_name().filter(|_| !is_one).unwrap_or_default();
        Ok(Named { file: printable(&name.to_string_lossy()), tasks: TaskSet::read(path)? })
    };
    arguments.tasks.iter().map(read).collect()
}

/// A target with the cases that measure its costs.
struct Bench {
    target: Target,
    /// The parameter `chip`, if there is one.
    chip: Option<String>,
    /// The rate of the processor, in Hz; the highest of the chip if there is none.
    clock: Option<u64>,
    costs: Vec<Case>,
}

impl Bench {
    /// # Errors
    /// The target is not emulated, or has no such chip.
    fn new(
        machines: &Machines,
        target: Target,
        sets: &[Named],
        arguments: &cli::Schedule,
    ) -> Result<Self> {
        ensure!(
            machines.describe(&target)?.properties.is_emulated,
            "{target}: a set runs on emulated chips, whose worst costs are exact: name one, as \
             tandem@cortex-m4"
        );
        let given = arguments.clock.as_deref();
        let named = given.map(parse_hertz).transpose().context("--clock")?;
        let mut clocks = sets.iter().map(|set| set.tasks.clock);
        let clock = clocks.next().flatten();
        ensure!(
            named.is_some() || clocks.all(|other| other == clock),
            "the files name different clocks: give --clock 84MHz"
        );
        let rate = named.or(clock);
        if rate.is_none() && arguments.chip.is_none() {
            bail!("the processor's rate is unknown: give --clock 84MHz, or `clock` in the file");
        }
        let clock = rate.map(|hertz| hertz.to_string());
        let chip = arguments.chip.as_ref().map(|chip| run::chip(chip, clock.as_deref()));
        let tasks = || sets.iter().flat_map(|set| &set.tasks.tasks);
        let has_locks = tasks().any(|task| task.lock.is_some());
        let costs = costs::cases(machines, &target, chip.as_deref(), has_locks)?;
        Ok(Self { target, chip, clock: rate, costs })
    }
}

/// The measurements of all targets.
struct Work<'a> {
    machines: &'a Machines,
    sets: &'a [Named],
    benches: &'a [Bench],
    /// The costs of all benches.
    cases: &'a [Case],
    stop: &'a AtomicBool,
}

impl Work<'_> {
    /// Measures the costs, then runs the set on each target, and analyses it; no schedules if
    /// stopped.
    fn measure(
        &self,
        progress: &mut dyn Progress,
        journal: &mut Journal,
    ) -> Result<(Outcome, Vec<Schedule>)> {
        let mut outcome = self.run(self.cases, progress, journal)?;
        if outcome.interrupted {
            return Ok((outcome, Vec::new()));
        }
        let mut results = outcome.results.iter();
        let (mut cases, mut costs) = (Vec::new(), Vec::new());
        for bench in self.benches {
            let own: Vec<_> = results.by_ref().take(bench.costs.len()).flatten().collect();
            let named = || bench.target.to_string();
            let plain = Plain::new(&own, bench.chip.is_some(), bench.clock).with_context(named)?;
            for set in self.sets {
                // A set that cannot be met is refused before any runs.
                set.tasks.tasks(&plain.scale).with_context(|| format!("{set} on {}", named()))?;
                cases.push(case_of(self.machines, bench, &set.tasks, &plain)?);
            }
            costs.push(plain);
        }
        // A journal is of the cases that it was opened for.
        let ran = self.run(&cases, progress, &mut Journal::none())?;
        outcome.interrupted |= ran.interrupted;
        let mut schedules = Vec::new();
        let each = self.benches.iter().zip(&costs);
        let each = each.flat_map(|bench| self.sets.iter().map(move |set| (bench, set)));
        for (((bench, plain), set), result) in each.zip(&ran.results) {
            if let (Some(result), false) = (result, ran.interrupted) {
                schedules.push(analyse(bench, plain, set, result)?);
            }
        }
        outcome.spent += ran.spent;
        outcome.complete += ran.complete;
        outcome.results.extend(ran.results);
        Ok((outcome, schedules))
    }

    fn run(
        &self,
        cases: &[Case],
        progress: &mut dyn Progress,
        journal: &mut Journal,
    ) -> Result<Outcome> {
        let options = RunOptions { keep_samples: false, jobs: 1 };
        runner::run(self.machines, cases, options, progress, self.stop, journal)
    }
}

/// The case that runs the set.
fn case_of(machines: &Machines, bench: &Bench, set: &TaskSet, plain: &Plain) -> Result<Case> {
    let longest = set.tasks.iter().map(|task| task.period).fold(0.0, f64::max);
    let jobs: f64 = set.tasks.iter().map(|task| (2.0 * longest / task.period).ceil()).sum();
    let phases = ((JOBS / jobs) as usize).clamp(PHASES.0, PHASES.1);
    let one = |name: &str, value: String| (name.to_owned(), vec![value]);
    let settings = Settings::from([
        one("set", set.request(&plain.scale, plain.ns)),
        one("phases", phases.to_string()),
    ]);
    let cases = case::expand(
        machines,
        case::experiment("taskset")?,
        &bench.target,
        &settings,
        &Plan { repeat: 1, ..Plan::default() },
    )?;
    cases.into_iter().next().context("one value a parameter makes one case")
}

/// Analyses the set with the costs, those that its own run has measured included.
fn analyse(bench: &Bench, plain: &Plain, set: &Named, ran: &CaseResult) -> Result<Schedule> {
    let Named { file, tasks: set } = set;
    costs::check(ran).with_context(|| bench.target.to_string())?;
    let scale = &plain.scale;
    let tasks = set.tasks(scale)?;
    let costs = plain.with_handlers(ran);
    let bounds = analysis::responses(&tasks, &costs);
    let at_most = plain.with_handlers_at_most(ran);
    let series: Vec<_> = ran.measured().collect();
    ensure!(series.len() == tasks.len(), "{}: the set ran with other tasks", bench.target);
    let rows = tasks.iter().enumerate().map(|(place, task)| Row {
        name: set.tasks[place].name.clone(),
        task: task.clone(),
        response: bounds[place],
        room: analysis::room(&tasks, &costs, place),
        observed: series[place].summary.max.unwrap_or(0.0) / scale.rate,
        jobs: series[place].summary.count,
    });
    let phases = ran.parameters.get("phases").and_then(|phases| phases.parse().ok());
    Ok(Schedule {
        file: file.clone(),
        kernel: bench.target.kernel.clone(),
        clock: plain.words(bench.chip.as_deref()),
        hertz: scale.hertz,
        rows: rows.collect(),
        costs,
        scale: analysis::scale(&tasks, &costs),
        phases: phases.unwrap_or(1),
        at_most: at_most.map(|costs| analysis::responses(&tasks, &costs)),
    })
}
