//! `delay`: how much longer than asked a delay takes.
//!
//! N tasks, each less urgent than the one before (the eighth and all later ones share the lowest
//! priority), delay for the same time, round after round. All wake at once, so a task's excess
//! includes the excesses of the tasks before it.
//!
//! - **Start**: the time that the delay counts from, read by the task immediately before it asks.
//!   With `start=together` the first task reads it for all, immediately before it lets the others
//!   go, so that all are due at one instant. On a kernel whose delays end with a tick, the start is
//!   put off by the *phase*, so that the delay is due at a tick, as users of such a kernel write
//!   their delays.
//! - **End**: the task's first instruction after the delay.
//! - **Sample**: end less start, less the delay: the excess. One series a task. On a kernel with
//!   ticks each task has two auxiliary series more: the *phase*, and the excess *with the phase*,
//!   from the time at which the task asked.
//! - **Control**: marks one straight after the other. Auxiliary: delays that are already due when
//!   the task asks for them, which give the cost of the call alone.
//! - **Evidence**: every delay was resumed from; none ended before it was due; the kernel switched
//!   to the tasks at least nine times in ten waits.
//! - **Pin**: D0 to D4 belong to the first five tasks. A task's pin is high from before it reads
//!   its start, or looks up the common one, until it has resumed: as in P1.delay.pin, from its own
//!   asking. With `start=together` the tasks after the first ask later than the common start, by
//!   the switches to them, and their pulses are shorter by that: so only the first task's series is
//!   shown by its pin. With `start=own` all are. On a kernel with ticks the pulse shows the series
//!   *with the phase*.
//! - **Source**: P1.delay.pin, P1.delay.timer.
//!
//! How a round begins: the first task is the most urgent. It sleeps until all others wait at their
//! gates, opens the gates, and delays; only then do the others run, and delay. Between the tasks'
//! wake-ups nothing happens besides: a task that has resumed notes it with one store and waits at
//! its gate, which wakes nobody, and the first task next looks after `PAUSE_US`.
//!
//! How it differs from the sources: P1 zeroes a timer or sets a pin and reads back after the delay,
//! so its figure holds the cost of a log line or of the pin as well. With `start=together` the
//! tasks after the first ask some microseconds after the start; that is inside the delay, not added
//! to it.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::timing::{DueAlready, IDLE, Spinner, descending};
use crate::{
    kernel::{Clock, Kernel, Refusal, Tasks, switches_since},
    mark::{MEASURED, Marks, drive, pin_of},
    spec::{KIND, Parameter, Reading, Spec, Values, WORST},
    trial::{Trial, name},
    wire::{Pin, Series},
};

/// The description of `delay`.
pub static SPEC: Spec = Spec {
    name: "delay",
    summary: "how much longer than asked a delay takes, N tasks that wake at once",
    start: "the time the delay counts from, read immediately before the task asks for it",
    end: "the task's first instruction after the delay",
    statistic: "the excess over the delay, a series for each task",
    control: "marks set one straight after the other; beside: delays that are due already when \
              asked for",
    evidence: "all delays resumed from, none early, and nine switches in ten waits, counted by \
               the kernel",
    pin: "D0 to D4, one for each of the first five tasks: high from before it asks until it has \
          resumed",
    source: "P1.delay",
    parameters: &[
        KIND,
        Parameter {
            name: "tasks",
            unit: "",
            default: "5",
            values: Values::Number(1, 32),
            help: "tasks, each less urgent than the one before",
        },
        Parameter {
            name: "delay_us",
            unit: "us",
            default: "50000",
            values: Values::Number(1, 10_000_000),
            help: "the delay",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "10",
            values: Values::Number(1, 1_000_000),
            help: "delays of each task",
        },
        Parameter {
            name: "start",
            unit: "",
            default: "together",
            values: Values::Word(&["together", "own"]),
            help: "together: one start for all tasks of a round; own: each reads its own, one \
                   switch after the other",
        },
        IDLE,
    ],
    duration_us: |request| {
        let pause = if request.number("tasks") > 1 { PAUSE_US } else { 0 };
        request.number("loops") * (request.number("delay_us") + pause + 100)
    },
};

/// The interval, in microseconds, at which the first task checks whether all others have resumed.
const PAUSE_US: u64 = 2000;

struct Delay<K: Kernel> {
    kernel: &'static K,
    delay: u64,
    pause: u64,
    loops: usize,
    together: bool,
    tasks: &'static [Member<K>],
    due_already: DueAlready<K>,
    done: &'static K::Semaphore,
}

struct Member<K: Kernel> {
    gate: K::Semaphore,
    /// The number of delays from which the task has resumed.
    resumed: AtomicU32,
    /// A start for each delay. On a kernel with ticks as many times follow, those at which the task
    /// asked: see [`Delay::asked`].
    starts: Marks<K>,
    ends: Marks<K>,
    switches: AtomicU32,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run<T: Tasks>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal> {
    let (kernel, arena) = (trial.kernel, trial.arena);
    let tasks = trial.request.count("tasks");
    let loops = trial.request.count("loops");
    let member = |_| {
        Ok(Member {
            gate: kernel.semaphore(0)?,
            resumed: AtomicU32::new(0),
            starts: Marks::new(arena, if kernel.has_ticks() { 2 * loops } else { loops })?,
            ends: Marks::new(arena, loops)?,
            switches: AtomicU32::new(0),
        })
    };
    let all: &'static Delay<T::Kernel> = arena.place(Delay {
        kernel,
        delay: trial.stretch(trial.request.number("delay_us"))?,
        pause: trial.ticks(PAUSE_US),
        loops,
        together: trial.request.word("start") == "together",
        tasks: arena.fill(tasks, member)?,
        due_already: DueAlready::new(trial)?,
        done: trial.semaphore(0)?,
    })?;
    for number in 0..tasks {
        T::spawn(kernel, descending(number, tasks), sleeper::<T>(all, number))?;
    }
    trial.wait(all.done, tasks).await;
    let spinner = Spinner::start(trial).await?;
    let first = &all.tasks[0];
    kernel.give(&first.gate);
    trial.wait(all.done, tasks).await;
    kernel.give(&first.gate);
    trial.wait(all.done, 1).await;
    if let Some(spinner) = spinner {
        spinner.stop().await;
    }
    report(trial, all);
    Ok(())
}

async fn sleeper<T: Tasks>(all: &'static Delay<T::Kernel>, number: usize) {
    let Delay { kernel, tasks, .. } = *all;
    let me = &tasks[number];
    kernel.give(all.done);
    let before = T::switches(kernel);
    if number == 0 {
        T::take(kernel, &me.gate).await;
    }
    for round in 0..all.loops {
        let start = if number == 0 {
            all.begin::<T>(round).await
        } else {
            T::take(kernel, &me.gate).await;
            drive(kernel, pin_of(number), true);
            let now = kernel.now();
            if all.together { tasks[0].starts.time(all.asked(round), now) } else { now }
        };
        let start = all.put_off(me, round, start);
        me.starts.set(round, start);
        T::delay_until(kernel, start + all.delay).await;
        me.ends.end(kernel, round, pin_of(number));
        me.resumed.store(round as u32 + 1, Relaxed);
    }
    if number == 0 {
        all.gather::<T>(all.loops).await;
        all.open();
    } else {
        // The end of a task takes long, so no task may end before all have resumed.
        T::take(kernel, &me.gate).await;
    }
    me.switches.store(switches_since::<T>(kernel, before), Relaxed);
    kernel.give(all.done);
    if number == 0 {
        T::take(kernel, &me.gate).await;
        all.due_already.run::<T>(kernel).await;
        kernel.give(all.done);
    }
}

/// Starts on kernels with ticks. Of this, a kernel without them compiles nothing.
impl<K: Kernel> Delay<K> {
    /// Returns the place, among a task's starts, of the time at which it asked for a round's delay:
    /// the start's own place on a kernel without ticks.
    #[inline(always)]
    fn asked(&self, round: usize) -> usize {
        if self.kernel.has_ticks() { self.loops + round } else { round }
    }

    /// Returns the start from which a task's delay ends with a tick, and notes when the task asked.
    /// On a kernel without ticks returns `asked` itself.
    #[inline(always)]
    fn put_off(&self, task: &Member<K>, round: usize, asked: u64) -> u64 {
        if !self.kernel.has_ticks() {
            return asked;
        }
        task.starts.set(self.asked(round), asked);
        self.kernel.tick_after(asked + self.delay) - self.delay
    }
}

/// The first task's work between the rounds.
impl<K: Kernel> Delay<K> {
    /// Waits until all others have resumed from `rounds` delays.
    async fn gather<T: Tasks<Kernel = K>>(&self, rounds: usize) {
        let others = &self.tasks[1..];
        while !others.is_empty() {
            T::delay_until(self.kernel, self.kernel.now() + self.pause).await;
            if others.iter().all(|task| task.resumed.load(Relaxed) as usize >= rounds) {
                break;
            }
        }
    }

    /// Opens the gates of the other tasks. They run once this task waits.
    fn open(&self) {
        for task in &self.tasks[1..] {
            self.kernel.give(&task.gate);
        }
    }

    /// Begins a round. Returns the start of the first task's own delay.
    async fn begin<T: Tasks<Kernel = K>>(&self, round: usize) -> u64 {
        self.gather::<T>(round).await;
        if self.together {
            self.kernel.drive(MEASURED, true);
        }
        let start = self.kernel.now();
        // Before the gates open: the others read it.
        self.tasks[0].starts.set(self.asked(round), start);
        self.open();
        if self.together {
            start
        } else {
            self.kernel.drive(MEASURED, true);
            self.kernel.now()
        }
    }
}

fn report<K: Kernel>(trial: &mut Trial<'_, K>, all: &Delay<K>) {
    let delays = (all.tasks.len() * all.loops) as f64;
    // With others, each task also waits once a round for the round to begin.
    let waits = if all.tasks.len() > 1 { 2.0 * delays } else { delays };
    // A delay that a stalled task asks for too late ends without a switch.
    let switches: f64 = all.tasks.iter().map(|task| f64::from(task.switches.load(Relaxed))).sum();
    let resumed: f64 = all.tasks.iter().map(|task| f64::from(task.resumed.load(Relaxed))).sum();
    let early = |task: &Member<K>| {
        let delay = all.delay.cast_signed();
        (0..all.loops).filter(|&round| task.starts.until(round, &task.ends, round) < delay).count()
    };
    let early: usize = all.tasks.iter().map(early).sum();
    trial.evidence("delays resumed from", resumed, delays, delays);
    trial.evidence("early wake-ups", early as f64, 0.0, 0.0);
    trial.evidence("switches", switches, 0.9 * waits - 1.0, f64::INFINITY);
    for (number, task) in all.tasks.iter().enumerate() {
        let name = name(format_args!("task {}", number + 1));
        // The others' pins rise when they ask, which is not their start if that is the first
        // task's.
        let pin = pin_of(number).filter(|_| number == 0 || !all.together).map(Pin::Pulse);
        let series = Series { nominal: all.delay, pin, ..Series::measured(&name) };
        if trial.kernel.has_ticks() {
            report_with_phase(trial, series, task);
        } else {
            trial.durations(series, &task.starts, &task.ends);
        }
    }
    all.due_already.report(trial);
}

/// Reports a task's delays on a kernel with ticks. `series` is the measured one, with the task's
/// pin.
fn report_with_phase<K: Kernel>(trial: &mut Trial<'_, K>, series: Series<'_>, task: &Member<K>) {
    let (starts, asked) = task.starts.split(task.ends.len());
    let Series { name: task_name, nominal, pin, .. } = series;
    trial.durations(Series { pin: None, ..series }, &starts, &task.ends);
    let whole = name(format_args!("{task_name}, with the phase"));
    let whole = Series { nominal, pin, ..Series::auxiliary(&whole) };
    trial.durations(whole, &asked, &task.ends);
    let phase = name(format_args!("{task_name}, phase"));
    trial.durations(Series::auxiliary(&phase), &asked, &starts);
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how late does a delay end at worst?",
    compared: "a delay ends late by at most",
    sentences: &[
        "a delay ends {max} late at worst, {p99} at p99, {p50} at the median",
        "a delay ends {max} late at worst, {p50} at the median",
    ],
    ..WORST
};
