//! `period`: the lateness of a periodic task's start.
//!
//! A task wakes at `t0`, `t0 + interval`, `t0 + 2·interval`, …: each due time is counted from the
//! first one, not from the last wake-up, so lateness does not add up. Several tasks begin together;
//! each next one is less urgent, and its interval is longer by `distance_us`.
//!
//! - **Start**: the due time. On a kernel whose delays end with a tick, the first tick at or after
//!   it; the time from one to the other is the *phase*, an auxiliary series unless all are 0.
//! - **End**: the first instruction of the task after it has woken at or after the due time.
//! - **Sample**: one for *every* due time. A task that wakes late answers all due times that have
//!   passed, each with its own lateness; those after the first are reported as *skipped periods*.
//! - **Control**: marks one straight after the other. Auxiliary: delays that are already due when
//!   the task asks for them, which give the cost of the call alone.
//! - **Evidence**: wake-ups and skipped periods add up to the due times; no wake-up was early; the
//!   kernel switched to the tasks for at least nine wake-ups in ten.
//! - **Pin**: D0 to D4 belong to the first five tasks, and change their level at each wake-up,
//!   right after the clock has been read: a due time is no event that a pin could show. The
//!   interval from edge to edge is the actual period, as P5 reports it. The series *start to start*
//!   is the same by the clock.
//! - **Source**: P5.period; cyclictest measures the same path.
//!
//! How it differs from the sources: cyclictest counts one sample a wake-up and leaves out the
//! periods it slept through, which hides the worst of a stall (coordinated omission). An auxiliary
//! series *as cyclictest counts* is always sent, even if nothing was skipped: over several
//! repetitions it would otherwise show the bad ones only.

use core::{
    mem,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use super::timing::{DueAlready, IDLE, Spinner, descending};
use crate::{
    kernel::{Clock, Kernel, Refusal, Tasks, switches_since},
    mark::{Marks, Slot, drive, pin_of},
    spec::{KIND, Parameter, Reading, Spec, Values, WORST},
    trial::{Trial, name},
    wire::{Pin, Series},
};

/// The description of `period`.
pub static SPEC: Spec = Spec {
    name: "period",
    summary: "how near its due time a periodic task starts, every due time counted",
    start: "the due time",
    end: "the first instruction of the task that has woken at or after it",
    statistic: "the lateness of every due time, those that a late task slept through included; \
                periods skipped",
    control: "marks set one straight after the other; beside: delays that are due already when \
              asked for",
    evidence: "wake-ups and skipped periods make up the due times, none early; nine switches in \
               ten wake-ups, counted by the kernel",
    pin: "D0 to D4, one for each of the first five tasks: changes with each wake-up",
    source: "P5.period; cyclictest",
    parameters: &[
        KIND,
        Parameter {
            name: "interval_us",
            unit: "us",
            default: "1000",
            values: Values::Number(10, 10_000_000),
            help: "the period",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "200",
            values: Values::Number(1, 10_000_000),
            help: "due times of each task",
        },
        Parameter {
            name: "tasks",
            unit: "",
            default: "1",
            values: Values::Number(1, 32),
            help: "tasks, each less urgent than the one before",
        },
        Parameter {
            name: "distance_us",
            unit: "us",
            default: "0",
            values: Values::Number(0, 1_000_000),
            help: "added to the interval of each next task",
        },
        IDLE,
    ],
    duration_us: |request| {
        let longest = request.number("interval_us")
            + (request.number("tasks") - 1) * request.number("distance_us");
        LEAD_US + request.number("loops") * longest
    },
};

/// The time, in microseconds, from the release of the tasks to the first due time, by which all of
/// them must wait.
const LEAD_US: u64 = 2000;

struct Period<K: Kernel> {
    kernel: &'static K,
    lead: u64,
    /// A single mark: the release of the tasks, from which all count their due times.
    start: Marks<K>,
    tasks: &'static [Member<K>],
    due_already: DueAlready<K>,
    done: &'static K::Semaphore,
}

struct Member<K: Kernel> {
    gate: K::Semaphore,
    interval: u64,
    /// The wake-ups: place n is the time at which due time n was answered.
    wakes: Marks<K>,
    wakeups: AtomicU32,
    skipped: AtomicU32,
    switches: AtomicU32,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run<T: Tasks>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal> {
    let (kernel, arena, request) = (trial.kernel, trial.arena, trial.request);
    let tasks = request.count("tasks");
    let member = |number| {
        Ok(Member {
            gate: kernel.semaphore(0)?,
            interval: trial.ticks(
                request.number("interval_us") + number as u64 * request.number("distance_us"),
            ),
            wakes: Marks::new(arena, request.count("loops"))?,
            wakeups: AtomicU32::new(0),
            skipped: AtomicU32::new(0),
            switches: AtomicU32::new(0),
        })
    };
    let all: &'static Period<T::Kernel> = arena.place(Period {
        kernel,
        lead: trial.ticks(LEAD_US),
        start: Marks::new(arena, 1)?,
        tasks: arena.fill(tasks, member)?,
        due_already: DueAlready::new(trial)?,
        done: trial.semaphore(0)?,
    })?;
    for number in 0..tasks {
        T::spawn(kernel, descending(number, tasks), riser::<T>(all, number))?;
    }
    trial.wait(all.done, tasks).await;
    let spinner = Spinner::start(trial).await?;
    let start = kernel.tick_after(kernel.now());
    all.start.set(0, start);
    for task in all.tasks {
        kernel.give(&task.gate);
    }
    trial.wait(all.done, tasks).await;
    kernel.give(&all.tasks[0].gate);
    trial.wait(all.done, 1).await;
    for task in &all.tasks[1..] {
        kernel.give(&task.gate);
    }
    if let Some(spinner) = spinner {
        spinner.stop().await;
    }
    report(trial, all, start + all.lead);
    Ok(())
}

async fn riser<T: Tasks>(all: &'static Period<T::Kernel>, number: usize) {
    let kernel = all.kernel;
    let me = &all.tasks[number];
    kernel.give(all.done);
    T::take(kernel, &me.gate).await;
    let mut due = all.start.time(0, kernel.now()) + all.lead;
    let (mut answered, mut wakeups) = (0, 0);
    let before = T::switches(kernel);
    while answered < me.wakes.len() {
        T::delay_until(kernel, due).await;
        let now = kernel.now();
        drive(kernel, pin_of(number), wakeups % 2 == 0);
        wakeups += 1;
        // This due time, and all that have passed since.
        loop {
            me.wakes.set(answered, now);
            answered += 1;
            due += me.interval;
            if due > now || answered == me.wakes.len() {
                break;
            }
            me.skipped.store(me.skipped.load(Relaxed) + 1, Relaxed);
        }
    }
    me.switches.store(switches_since::<T>(kernel, before), Relaxed);
    me.wakeups.store(wakeups, Relaxed);
    kernel.give(all.done);
    // The end of a task takes long, so no task may end before all have woken for the last time.
    T::take(kernel, &me.gate).await;
    if number == 0 {
        all.due_already.run::<T>(kernel).await;
        kernel.give(all.done);
    }
}

fn report<K: Kernel>(trial: &mut Trial<'_, K>, all: &Period<K>, first: u64) {
    let sum = |count: fn(&Member<K>) -> &AtomicU32| {
        all.tasks.iter().map(|task| f64::from(count(task).load(Relaxed))).sum::<f64>()
    };
    let wakeups = sum(|task| &task.wakeups);
    let skipped = sum(|task| &task.skipped);
    let due = all.tasks.iter().map(|task| task.wakes.len()).sum::<usize>() as f64;
    let early: usize = all
        .tasks
        .iter()
        .map(|task| task.samples(first).filter(|&(_, late)| late < 0).count())
        .sum();
    trial.figure("skipped periods", "", skipped);
    trial.evidence("wake-ups and skipped periods", wakeups + skipped, due, due);
    trial.evidence("early wake-ups", early as f64, 0.0, 0.0);
    // A delay that a stalled task asks for too late ends without a switch.
    trial.evidence("switches", sum(|task| &task.switches), 0.9 * wakeups - 1.0, f64::INFINITY);
    for (number, task) in all.tasks.iter().enumerate() {
        let task_name = name(format_args!("task {}", number + 1));
        trial.kernel.series_starts(&task_name, <K::Slot as Slot>::truncate(first));
        // A late task may answer a due time before the tick after it.
        let phase = |(since, late)| {
            let due = first.wrapping_add_signed(since);
            (all.kernel.tick_after(due) - due).cast_signed().min(late)
        };
        let from_tick = |(since, late)| (since, late - phase((since, late)));
        trial.samples(Series::measured(&task_name), task.samples(first).map(from_tick));
        trial.samples(
            Series::auxiliary(&name(format_args!("{task_name}, as cyclictest counts"))),
            task.woken(first).map(from_tick),
        );
        if all.kernel.has_ticks() {
            let phases = || task.samples(first).map(|sample| (sample.0, phase(sample)));
            if phases().any(|(_, phase)| phase > 0) {
                let name = name(format_args!("{task_name}, phase"));
                trial.samples(Series::auxiliary(&name), phases());
            }
        }
        let start_to_start = name(format_args!("{task_name}, start to start"));
        let pin = pin_of(number).map(Pin::Edges);
        trial.samples(
            Series { pin, ..Series::auxiliary(&start_to_start) },
            task.start_to_start(first),
        );
    }
    all.due_already.report(trial);
}

impl<K: Kernel> Member<K> {
    /// Returns each due time, counted from the first one, and its lateness.
    fn samples(&self, first: u64) -> impl Iterator<Item = (i64, i64)> {
        (0..self.wakes.len()).map(move |place| {
            let since = place as u64 * self.interval;
            (since.cast_signed(), self.wakes.lateness(place, first + since))
        })
    }

    /// Returns the samples of the due times that a wake-up answered first.
    fn woken(&self, first: u64) -> impl Iterator<Item = (i64, i64)> {
        let samples = self.samples(first).enumerate();
        let woken = samples.filter(|&(place, _)| {
            place == 0 || self.wakes.until(place - 1, &self.wakes, place) != 0
        });
        woken.map(|(_, sample)| sample)
    }

    /// Returns the intervals from each wake-up to the next.
    fn start_to_start(&self, first: u64) -> impl Iterator<Item = (i64, i64)> {
        let mut starts = self.woken(first).map(|(due, late)| due + late);
        let mut start = starts.next().unwrap_or(0);
        starts.map(move |next| (start, next - mem::replace(&mut start, next)))
    }
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how late does a periodic task start at worst?",
    compared: "a periodic task starts late by at most",
    sentences: &[
        "a periodic task starts {max} late at worst, {p99} at p99, {p50} at the median",
        "a periodic task starts {max} late at worst, {p50} at the median",
    ],
    ..WORST
};
