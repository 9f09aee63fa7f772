//! `interference`: the slowdown of a program that should answer soon by one in the background.
//!
//! Two programs of as many tasks each. *Throughput* does a fixed amount of double-precision work at
//! the kernel's ordinary priority; *latency* does a fifth as much, either at the same priority or
//! as real-time tasks. Each runs alone, then both run together: latency is released when throughput
//! has done about a tenth of its work.
//!
//! - **Start**: the director's mark, immediately before it releases a program's first task. That
//!   task releases the rest of its program before it works, so that an urgent program is released
//!   at one go.
//! - **End**: the last of the marks that the program's tasks set, each immediately after its work.
//! - **Sample**: one run of a program: wall time. Auxiliary: the sum of its tasks' processor time.
//!   Figures: each program's wall time together divided by its wall time alone, and the wall time
//!   of both together divided by the sum of both alone.
//! - **Control**: the programs with no work to do, both in one series.
//! - **Evidence**: every task's checksum belongs to the work asked for; each program's processor
//!   time is the same together as alone, within 10 %, so that a longer run is waiting and not more
//!   work; nobody else took the processor: processor time is at least 90 % of wall time, for each
//!   program alone and for both together. (On several processors that is a weak proof, as the
//!   tasks' times add up.) The port tells each task's class.
//! - **Source**: P4, `test_throughput` and `test_latency -n` (`class=ordinary`) or `-r`
//!   (`class=urgent`). Its figures are 58 s and 12 s of work, hence the fifth.
//!
//! How it differs from P4: the work is a number of steps, found once on the target by timing, so
//! that one case lasts a fraction of a second and not minutes. `work_ms` is all work of the
//! throughput program, shared out among its tasks: the time that it takes alone on one processor. A
//! real-time program whose work lasts longer than Linux's allowance of 0.95 s in a second
//! (`work_ms` above about 4700) is throttled: P4's 12 s were, at "95 % against 5 %".

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::{
    kernel::{Clock, Kernel, Priority, ProcessorTime, Refusal, Tasks},
    mark::{Marks, Slot},
    spec::{Figure, MEDIAN, Parameter, Reading, Spec, Values},
    trial::{Trial, name},
    wire::Series,
    work::{steps_in, work},
};

/// The work of throughput divided by the work of latency.
const SHARE: u64 = 5;

/// The number of runs of each program in a loop: without work, alone, and together.
const RUNS: usize = 3;
const IDLE: usize = 0;
const ALONE: usize = 1;
const TOGETHER: usize = 2;

/// The description of `interference`.
pub static SPEC: Spec = Spec {
    name: "interference",
    summary: "how much longer a short program takes beside one that works in the background",
    start: "immediately before the program's first task is released",
    end: "immediately after the last of its tasks has done its work",
    statistic: "wall time of one run of each program, alone and together; their quotients",
    control: "the programs with no work to do",
    evidence: "checksums of the work done; processor time of each program the same together as \
               alone, and at least 90 % of the wall time",
    pin: "",
    source: "P4",
    parameters: &[
        Parameter {
            name: "kind",
            unit: "",
            default: "thread",
            values: Values::Word(&["thread", "process"]),
            help: "the kind of task",
        },
        Parameter {
            name: "class",
            unit: "",
            default: "ordinary",
            values: Values::Word(&["ordinary", "urgent"]),
            help: "of the latency program: like the other, or real-time",
        },
        Parameter {
            name: "tasks",
            unit: "",
            default: "2",
            values: Values::Number(1, 16),
            help: "tasks of each program",
        },
        Parameter {
            name: "work_ms",
            unit: "ms",
            default: "100",
            values: Values::Number(1, 60_000),
            help: "all work of the throughput program; the latency program has a fifth",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "2",
            values: Values::Number(1, 100),
            help: "times that every run is repeated",
        },
    ],
    // Alone 1 and 1/5, together 6/5.
    duration_us: |request| 50_000 + request.number("loops") * request.number("work_ms") * 2400,
};

struct Program<K: Kernel> {
    kernel: &'static K,
    /// The work of each task, in steps.
    steps: u64,
    /// The checksums of no work and of `steps`.
    sums: [u32; 2],
    seats: &'static [K::Semaphore],
    done: &'static K::Semaphore,
    runs: usize,
    /// A mark per run.
    starts: Marks<K>,
    /// A mark per run and task at the end of its work; `spent` has the same places.
    ends: Marks<K>,
    spent: &'static [K::Slot],
    /// The number of runs with the right checksum, by task.
    right: &'static [AtomicU32],
}

impl<K: Kernel> Program<K> {
    fn place(trial: &Trial<'_, K>, steps: u64) -> Result<&'static Self, Refusal> {
        let (kernel, arena) = (trial.kernel, trial.arena);
        let tasks = trial.request.count("tasks");
        let runs = trial.request.count("loops") * RUNS;
        arena.place(Self {
            kernel,
            steps,
            sums: [work(0), work(steps)],
            seats: arena.fill(tasks, |_| kernel.semaphore(0))?,
            done: trial.semaphore(0)?,
            runs,
            starts: Marks::new(arena, runs)?,
            ends: Marks::new(arena, runs * tasks)?,
            spent: arena.fill(runs * tasks, |_| Ok(K::Slot::empty()))?,
            right: arena.fill(tasks, |_| Ok(AtomicU32::new(0)))?,
        })
    }

    fn release(&self, run: usize) {
        self.starts.mark(self.kernel, run);
        self.kernel.give(&self.seats[0]);
    }

    /// Returns the ticks from the start of a run to the end of its last task.
    fn wall(&self, run: usize) -> i64 {
        self.places(run).map(|place| self.starts.until(run, &self.ends, place)).max().unwrap_or(0)
    }

    /// Returns the sum of all tasks' processor time in a run, in ticks.
    fn spent(&self, run: usize) -> i64 {
        let zero = K::Slot::truncate(0);
        self.places(run).map(|place| K::Slot::between(zero, self.spent[place].load())).sum()
    }

    fn places(&self, run: usize) -> core::ops::Range<usize> {
        run * self.seats.len()..(run + 1) * self.seats.len()
    }

    /// Returns the start and the value of the phase's run in each loop.
    fn samples(
        &self,
        phase: usize,
        what: fn(&Self, usize) -> i64,
    ) -> impl Iterator<Item = (i64, i64)> {
        (phase..self.runs)
            .step_by(RUNS)
            .map(move |run| (self.starts.until(0, &self.starts, run), what(self, run)))
    }

    fn total(&self, phase: usize, what: fn(&Self, usize) -> i64) -> f64 {
        self.samples(phase, what).map(|(_, value)| value as f64).sum()
    }
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run<T: ProcessorTime>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal> {
    let kernel = trial.kernel;
    let tasks = trial.request.count("tasks");
    let class = match trial.request.word("class") {
        "urgent" => Priority::Urgent(1),
        _ => Priority::Ordinary,
    };
    let head_start = trial.ticks(trial.request.number("work_ms") * 100);
    let steps = steps_in(kernel, 10 * head_start / tasks as u64);
    let throughput = Program::place(trial, steps)?;
    let latency = Program::place(trial, steps / SHARE)?;
    for seat in 0..tasks {
        T::spawn(kernel, Priority::Ordinary, member::<T>(throughput, seat))?;
        T::spawn(kernel, class, member::<T>(latency, seat))?;
    }
    trial.wait(throughput.done, tasks).await;
    trial.wait(latency.done, tasks).await;
    for first in (0..throughput.runs).step_by(RUNS) {
        for phase in [IDLE, ALONE] {
            for program in [throughput, latency] {
                program.release(first + phase);
                trial.wait(program.done, tasks).await;
            }
        }
        throughput.release(first + TOGETHER);
        <T::Kernel as Kernel>::Director::delay_until(kernel, kernel.now() + head_start).await;
        latency.release(first + TOGETHER);
        trial.wait(latency.done, tasks).await;
        trial.wait(throughput.done, tasks).await;
    }
    report(trial, throughput, latency);
    Ok(())
}

async fn member<T: ProcessorTime>(program: &'static Program<T::Kernel>, seat: usize) {
    let kernel = program.kernel;
    kernel.give(program.done);
    let mut right = 0;
    for run in 0..program.runs {
        let working = run % RUNS != IDLE;
        let place = program.places(run).start + seat;
        T::take(kernel, &program.seats[seat]).await;
        if seat == 0 {
            program.seats[1..].iter().for_each(|seat| kernel.give(seat));
        }
        let before = T::processor_time(kernel);
        let sum = work(if working { program.steps } else { 0 });
        program.ends.mark(kernel, place);
        program.spent[place]
            .store(<T::Kernel as Clock>::Slot::truncate(T::processor_time(kernel) - before));
        right += u32::from(sum == program.sums[usize::from(working)]);
        program.right[seat].store(right, Relaxed);
        kernel.give(program.done);
    }
}

fn report<K: Kernel>(trial: &mut Trial<'_, K>, throughput: &Program<K>, latency: &Program<K>) {
    let wall = Program::wall;
    let spent = Program::spent;
    for (who, program) in [("throughput", throughput), ("latency", latency)] {
        let tasks = (program.runs * program.seats.len()) as f64;
        let right: f64 = program.right.iter().map(|right| f64::from(right.load(Relaxed))).sum();
        trial.evidence(&name(format_args!("{who}: right checksums")), right, tasks, tasks);
        let same_work = program.total(TOGETHER, spent) / program.total(ALONE, spent);
        trial.evidence(
            &name(format_args!("{who}: processor time, together / alone")),
            same_work,
            0.9,
            1.1,
        );
        let ran = program.total(ALONE, spent) / program.total(ALONE, wall);
        trial.evidence(
            &name(format_args!("{who} alone: processor / wall time")),
            ran,
            0.9,
            f64::INFINITY,
        );
        trial.figure(&name(format_args!("{who}: steps of a task")), "", program.steps as f64);
        let stretched = program.total(TOGETHER, wall) / program.total(ALONE, wall);
        trial.figure(&name(format_args!("{who} stretched")), "", stretched);
        for (phase, how) in [(ALONE, "alone"), (TOGETHER, "together")] {
            let text = name(format_args!("{who} {how}"));
            trial.samples(Series::measured(&text), program.samples(phase, wall));
            let text = name(format_args!("{who} {how}, processor time"));
            trial.samples(Series::auxiliary(&text), program.samples(phase, spent));
        }
    }
    let both = |run| {
        throughput
            .wall(run)
            .max(throughput.starts.until(run, &latency.starts, run) + latency.wall(run))
    };
    let both: i64 = (TOGETHER..throughput.runs).step_by(RUNS).map(both).sum();
    let ran = throughput.total(TOGETHER, spent) + latency.total(TOGETHER, spent);
    trial.evidence("both together: processor / wall time", ran / both as f64, 0.9, f64::INFINITY);
    let one_by_one = throughput.total(ALONE, wall) + latency.total(ALONE, wall);
    trial.figure("both together / one after the other", "", both as f64 / one_by_one);
    let idle = throughput.samples(IDLE, wall).chain(latency.samples(IDLE, wall));
    trial.samples(Series::control("no work"), idle);
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how much longer does a program take beside another?",
    compared: "a short program takes, as a multiple of its time alone,",
    typical: Figure::Named("latency stretched"),
    worst: None,
    sentences: &[
        "a short program takes {latency stretched} times as long beside another as alone",
        "a program takes {p50} beside another",
    ],
    ..MEDIAN
};
