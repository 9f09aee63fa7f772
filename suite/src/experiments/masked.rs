//! `masked`: the longest stretch with interrupts off, while tasks use the kernel.
//!
//! In every round all tasks sleep until one common time, each on a timer of its own, which is the
//! worst moment for a kernel's timers. Then each gives its neighbour's semaphore, takes its own,
//! and yields. Meanwhile the most urgent interrupt is due once a round. Its time in the round
//! advances by a step that visits every tick of the span once before it repeats (the golden ratio
//! of the span, from a phase set by `seed`). Any number of rounds is spread evenly, and on a
//! deterministic machine all instructions of the tasks' work are interrupted in the end. If the
//! kernel masks interrupts at that instruction, the handler starts late.
//!
//! If delays end with a tick of the kernel, a round starts shortly before a tick, with which all
//! tasks wake. The round's interrupt is set with the tick before. The interrupt then also meets the
//! handler of the tick, if that is as urgent.
//!
//! A handler that is more urgent than the kernel masks is never late, and must not call the kernel.
//! Its figure would say nothing about the interrupts that a program can use. So more rounds follow
//! the measured ones, a quarter as many. In each the same tasks do the same work, the handler gives
//! a semaphore, and the task that sets the interrupts answers before the round ends. Their
//! interrupts are spread over the span like the measured ones: a masked stretch longer than about
//! 3 × span / (loops / 4) is met by at least one give.
//!
//! - **Start**: the time that the interrupt is due.
//! - **End**: the handler's first instruction. Where handlers are drivers in user mode, the first
//!   instruction of the kernel's own handler, which wakes the driver.
//! - **Sample**: one interrupt. The figure `masked` is the longest sample less the longest of the
//!   series `kernel not in use`, which holds the entry alone.
//! - **Control**: the same interrupts while one task spins and calls nothing: the series `kernel
//!   not in use`. Its role is not `Control`, because the samples of a kernel that never masks
//!   interrupts rightly equal it. The instrument's own cost is marks set one straight after the
//!   other.
//! - **Evidence**: every interrupt had been set before it was due and arrived before the next was
//!   set; the tasks were switched to at least once a round each, by the kernel's count; and each
//!   give of the handler was answered within its round.
//! - **Pin**: D0: a pulse that rises right after the handler's mark. A due time is no event that a
//!   pin could show.
//! - **Source**: P1.interrupt, which defines response as the longest time with interrupts off plus
//!   the entry.
//!
//! How it differs from the source: P1 exercises the entry only (see `interrupt`). `tasks=2,10,30`
//! shows a dependence on the number of tasks. The longest stretch is found to within span / loops
//! ticks.

mod timetable;

use core::{
    hint,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};

use self::timetable::{MARGIN, Timetable};
use crate::{
    kernel::{Clock, Interrupts, Kernel, Priority, Refusal, Source, Tasks, switches_since},
    mark::{MEASURED, Marks},
    spec::{Figure, KIND, Parameter, Reading, Spec, Values, WORST},
    trial::Trial,
    wire::{Domain, Series},
};

/// The description of `masked`.
pub static SPEC: Spec = Spec {
    name: "masked",
    summary: "the longest stretch with interrupts off, while tasks use the kernel",
    start: "the time that the most urgent interrupt is due",
    end: "its handler's first instruction",
    statistic: "one interrupt; beside it `masked`: the longest less the longest while the kernel \
                is not in use",
    control: "the same while one task spins and calls nothing (`kernel not in use`); marks one \
              straight after the other",
    evidence: "each interrupt set in time and arrived before the next; each task switched to at \
               least once a round; then, in a quarter as many rounds that are not measured, the \
               handler gives and a task answers within the round",
    pin: "D0: a pulse from the handler's first instruction on",
    source: "P1.interrupt",
    parameters: &[
        KIND,
        Parameter {
            name: "tasks",
            unit: "",
            default: "10",
            values: Values::Number(1, 1000),
            help: "tasks that sleep, give, take and yield",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "2000",
            values: Values::Number(10, 1_000_000),
            help: "rounds, of one interrupt each",
        },
        Parameter {
            name: "interval_us",
            unit: "us",
            default: "20",
            values: Values::Number(1, 1_000),
            help: "each task's share of a round, in which its work must fit",
        },
        Parameter {
            name: "seed",
            unit: "",
            default: "1",
            values: Values::Number(0, u32::MAX as u64),
            help: "of the interrupts' times",
        },
    ],
    duration_us: |request| {
        // An emulator takes about 30 us for a task's work in a round.
        let round = (request.number("tasks") + MARGIN) * request.number("interval_us").max(30);
        let loops = request.count("loops");
        (ALONE + loops + proofs(loops)) as u64 * round + 2 * 1_000_000 / LEAD
    },
};

/// The number of rounds without use of the kernel. Few, because the entry hardly varies.
pub const ALONE: usize = 100;

/// Returns the number of rounds after the measured ones, in which the handler calls the kernel.
const fn proofs(loops: usize) -> usize {
    loops.div_ceil(4)
}

/// The time from the creation of the tasks to the first round, as a fraction of a second: 1 /
/// `LEAD`.
const LEAD: u64 = 200;

/// The ticks added to the lead on a kernel with ticks.
const LEAD_TICKS: u64 = 5;

struct Masked<K: Interrupts> {
    kernel: &'static K,
    /// The timetable of the rounds without use of the kernel.
    alone: Timetable,
    timetable: Timetable,
    /// The number of rounds in which the kernel is in use, the last ones not measured.
    last: usize,
    /// The period of the kernel's tick in ticks of the clock, or 0.
    tick: u64,
    /// The handler's mark of each round: first the rounds without use of the kernel, then the
    /// others.
    entries: Marks<K>,
    /// The place of the handler's next mark.
    place: AtomicU32,
    /// The number of handler entries.
    entered: AtomicU32,
    /// The number of interrupts set after their due time, or before the last one had arrived.
    late: AtomicU32,
    /// `true` after the last measured round: the handler gives `answer`.
    proving: AtomicBool,
    /// The number of handler entries before that.
    measured: AtomicU32,
    answer: K::Semaphore,
    /// The number of gives that were answered within their round.
    answered: AtomicU32,
    seats: &'static [K::Semaphore],
    switches: &'static [AtomicU32],
    done: &'static K::Semaphore,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run<T>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal>
where
    T: Tasks,
    T::Kernel: Interrupts,
{
    let (kernel, arena) = (trial.kernel, trial.arena);
    let [tasks, loops] = ["tasks", "loops"].map(|key| trial.request.count(key));
    let share = trial.ticks(trial.request.number("interval_us"));
    let tick = trial.ticks(kernel.tick_us());
    let alone = Timetable::new(share, tasks as u64, trial.request.number("seed"));
    let all: &'static Masked<T::Kernel> = arena.place(Masked {
        kernel,
        alone,
        timetable: alone.with_ticks(tick),
        last: loops + proofs(loops),
        tick,
        entries: Marks::new(arena, ALONE + loops)?,
        place: AtomicU32::new(0),
        entered: AtomicU32::new(0),
        late: AtomicU32::new(0),
        proving: AtomicBool::new(false),
        measured: AtomicU32::new(0),
        answer: kernel.semaphore(0)?,
        answered: AtomicU32::new(0),
        seats: arena.fill(tasks, |_| kernel.semaphore(0))?,
        switches: arena.fill(tasks, |_| Ok(AtomicU32::new(0)))?,
        done: trial.semaphore(0)?,
    })?;
    let handler = arena.place(|| {
        let place = all.place.load(Relaxed) as usize;
        if !<T::Kernel as Interrupts>::IS_DRIVEN {
            all.entries.mark(kernel, place);
        } else if place < all.entries.len() {
            all.entries.set(place, kernel.entered());
        }
        kernel.drive(MEASURED, true);
        all.entered.store(all.entered.load(Relaxed) + 1, Relaxed);
        kernel.drive(MEASURED, false);
        if all.proving.load(Relaxed) {
            all.prove();
        }
    })?;
    kernel.attach(Source::Timer, handler)?;

    let soon = || kernel.now() + kernel.hertz() / LEAD;
    let alone = soon();
    T::spawn(kernel, Priority::Urgent(8), spinner::<T>(all, alone))?;
    trial.wait(all.done, 1).await;
    let mut first = soon();
    if tick > 0 {
        // Tasks wake with a tick, so the director is at one now. The first round starts half a
        // share before a tick.
        <T::Kernel as Kernel>::Director::delay_until(kernel, first).await;
        first = kernel.now() + LEAD_TICKS * tick - share / 2;
    }
    T::spawn(kernel, Priority::Urgent(8), setter::<T>(all, first))?;
    for seat in 0..tasks {
        // Pairs of equal priority: a semaphore is given to a task as urgent, more urgent, and less
        // urgent.
        let urgency = 1 + (seat / 2 % 2) as u8;
        T::spawn(kernel, Priority::Urgent(urgency), member::<T>(all, seat, first))?;
    }
    // Not for the setter, which waits for ever if the kernel has lost a give of the handler.
    trial.wait(all.done, tasks).await;
    let end = first + all.timetable.start(all.last);
    <T::Kernel as Kernel>::Director::delay_until(kernel, end).await;
    all.report(trial, alone, first);
    Ok(())
}

impl<K: Interrupts> Masked<K> {
    fn rounds(&self) -> usize {
        self.entries.len() - ALONE
    }

    /// Sets a round's interrupt. Not inlined: the instructions after the last read of the clock are
    /// part of all samples, and must be the same in both series.
    #[inline(never)]
    fn set(&self, place: usize, due: u64) {
        let unready = self.entered.load(Relaxed) as usize != place || self.kernel.now() >= due;
        self.late.store(self.late.load(Relaxed) + u32::from(unready), Relaxed);
        self.place.store(place as u32, Relaxed);
        self.kernel.arm(due);
    }

    /// Calls the kernel from the handler. Not inlined: the handler saves no registers for it before
    /// its mark.
    #[cold]
    #[inline(never)]
    fn prove(&'static self) {
        self.kernel.give_from_handler(&self.answer);
    }

    fn report(&self, trial: &mut Trial<'_, K>, alone: u64, first: u64) {
        let rounds = self.rounds();
        let all = (ALONE + rounds) as f64;
        trial.evidence("interrupts", self.measured.load(Relaxed).into(), all, all);
        trial.evidence("interrupts set too late", self.late.load(Relaxed).into(), 0.0, 0.0);
        let switches: f64 =
            self.switches.iter().map(|switches| f64::from(switches.load(Relaxed))).sum();
        trial.evidence("switches", switches, (self.last * self.seats.len()) as f64, f64::INFINITY);
        let proofs = (self.last - rounds) as f64;
        let answered = self.answered.load(Relaxed).into();
        trial.evidence("gives of the handler answered in their round", answered, proofs, proofs);

        let late = |place: usize, origin: u64, due: u64| {
            (due.cast_signed(), self.entries.lateness(place, origin + due))
        };
        let not_in_use = || (0..ALONE).map(|round| late(round, alone, self.alone.due(round)));
        let in_use =
            || (0..rounds).map(|round| late(ALONE + round, first, self.timetable.due(round)));
        let longest = |samples: &mut dyn Iterator<Item = (i64, i64)>| {
            samples.map(|(_, late)| late).max().unwrap_or(0)
        };
        let masked = (longest(&mut in_use()) - longest(&mut not_in_use())) as f64;
        let (unit, tick) = match trial.kernel.domain() {
            Domain::Wall => ("ns", 1e9 / trial.kernel.hertz() as f64),
            Domain::Instructions => ("instructions", 1.0),
            Domain::Cycles => ("cycles", 1.0),
        };
        trial.figure("masked", unit, masked * tick);
        trial.samples(Series::measured("interrupt"), in_use());
        trial.samples(Series::auxiliary("kernel not in use"), not_in_use());
        trial.mark_control(&self.entries.first(ALONE), 1.0);
    }
}

/// The task that is interrupted while the kernel is not in use. It must not call the kernel, so it
/// does not yield from its first round on, whatever its kind, and spins for at most a round at a
/// time.
async fn spinner<T: Tasks>(all: &'static Masked<T::Kernel>, origin: u64)
where
    T::Kernel: Interrupts,
{
    // Early enough even if the task wakes with the tick after that.
    T::delay_until(all.kernel, origin - all.alone.margin - all.tick).await;
    for round in 0..ALONE {
        all.set(round, origin + all.alone.due(round));
        let next = origin + all.alone.start(round + 1);
        let waits = || all.entered.load(Relaxed) as usize == round;
        while waits() && all.kernel.now() < next {
            // Many steps for each read of the clock, which is slow in an emulator.
            for _ in 0..100 {
                if !waits() {
                    break;
                }
                hint::spin_loop();
            }
        }
    }
    all.kernel.give(all.done);
}

/// The task that sets each round's interrupt before the other tasks wake, and that answers the
/// handler after the measured rounds.
async fn setter<T: Tasks>(all: &'static Masked<T::Kernel>, first: u64)
where
    T::Kernel: Interrupts,
{
    let ready = |round| first + all.timetable.start(round) - all.timetable.margin;
    let rounds = all.rounds();
    for round in 0..rounds {
        T::delay_until(all.kernel, ready(round)).await;
        all.set(ALONE + round, first + all.timetable.due(round));
    }
    T::delay_until(all.kernel, ready(rounds)).await;
    all.measured.store(all.entered.load(Relaxed), Relaxed);
    all.proving.store(true, Relaxed);
    for round in rounds..all.last {
        T::delay_until(all.kernel, ready(round)).await;
        all.set(ALONE + round, first + all.timetable.due(round));
        T::take(all.kernel, &all.answer).await;
        // A round ends with the start of the next, for which there is still time then: a kernel that
        // looks for work with its next tick answers within the round.
        let end = first + all.timetable.start(round + 1);
        let in_time = u32::from(all.kernel.now() < end);
        all.answered.store(all.answered.load(Relaxed) + in_time, Relaxed);
    }
}

/// A task that uses the kernel.
async fn member<T: Tasks>(all: &'static Masked<T::Kernel>, seat: usize, first: u64)
where
    T::Kernel: Interrupts,
{
    let kernel = all.kernel;
    let (mine, next) = (&all.seats[seat], &all.seats[(seat + 1) % all.seats.len()]);
    let before = T::switches(kernel);
    for round in 0..all.last {
        T::delay_until(kernel, first + all.timetable.start(round)).await;
        kernel.give(next);
        T::take(kernel, mine).await;
        T::yield_now(kernel).await;
    }
    all.switches[seat].store(switches_since::<T>(kernel, before), Relaxed);
    kernel.give(all.done);
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long are interrupts off at worst?",
    compared: "interrupts stay off at most",
    worst: Some(Figure::Named("masked")),
    sentences: &[
        "interrupts stay off for {masked} at most",
        "interrupts stay off for {max} at most",
    ],
    ..WORST
};
