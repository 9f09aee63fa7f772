//! `queue=kernel`: the tasks are coroutines of two processes, in the kernel's order.
//!
//! Each process has half of the tasks in a ready set of its own; the kernel decides which process
//! runs. `order` is the kernel's: with `alternate` another process runs after each turn, with
//! `batched` after a turn of each coroutine. A task is polled once a run and ready again, so its
//! end is in no run. Two coroutines more have the marks: the first of the first process, and the
//! last of the second. The first run warms up, in the last all tasks end; neither is measured.
//!
//! - **Start**: the mark of the first process's first coroutine, in its turn.
//! - **End**: the mark of the second process's last coroutine, once all N have had a turn.
//! - **Control**: the same with the two coroutines of the marks alone, in two processes before.
//! - **Evidence**: each task had one turn a run; by the kernel's count, between the number of
//!   measured runs and the number of all runs, there were 2 switches a run with `batched`, and one
//!   a turn with `alternate`.

use core::{
    pin::Pin,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    task::{Context, Poll},
};

use super::{Empty, ODD, Runs, is_batched, send};
use crate::{
    kernel::{Kernel, Order, Priority, Refusal, Sets, switches_since},
    mark::{self, MEASURED},
    trial::Trial,
};

const PRIORITY: Priority = Priority::Urgent(1);

struct Bench<K: Kernel> {
    kernel: &'static K,
    tasks: &'static [Empty],
    /// The turns of each coroutine: the runs, one before them and one behind.
    turns: usize,
    order: Order,
    marks: Runs<K>,
    /// The second process waits for it until the first is about to run.
    gate: K::Semaphore,
    /// The kernel's count of switches to the processes with tasks.
    switches: AtomicU32,
    done: &'static K::Semaphore,
}

/// A task: empty, and as often ready as there are turns.
struct Turn {
    task: &'static Empty,
    turns: u32,
}

impl Future for Turn {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let polls = self.task.0.load(Relaxed) + 1;
        self.task.0.store(polls, Relaxed);
        if polls == self.turns { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// A coroutine that sets a mark in each turn but the first and the last.
struct Marker<K: Kernel> {
    bench: &'static Bench<K>,
    side: Side,
    phase: Phase,
    turn: usize,
}

impl<K: Kernel> Future for Marker<K> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let Bench { kernel, marks, turns, .. } = self.bench;
        // Marks beyond the end of the buffer are ignored.
        let run = self.turn.wrapping_sub(1);
        self.turn += 1;
        match (self.side, self.phase) {
            (Side::First, Phase::Empty) => marks.empty_starts.start(*kernel, run, mark::CONTROL),
            (Side::First, Phase::Full) => marks.starts.start(*kernel, run, MEASURED),
            (Side::Second, Phase::Empty) => marks.empty_ends.end(*kernel, run, mark::CONTROL),
            (Side::Second, Phase::Full) => marks.ends.end(*kernel, run, MEASURED),
        }
        if self.turn == *turns { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    First,
    Second,
}

/// The control, and the measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Empty,
    Full,
}

/// The memory of a process's coroutines.
struct Places<T: Sets> {
    tasks: &'static mut [T::Place<Turn>],
    marker: &'static mut T::Place<Marker<T::Kernel>>,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run<T: Sets>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal> {
    let (kernel, arena) = (trial.kernel, trial.arena);
    let tasks = trial.request.count("tasks");
    let loops = trial.request.count("loops");
    if !tasks.is_multiple_of(2) {
        return Err(ODD);
    }
    let bench: &'static Bench<T::Kernel> = arena.place(Bench {
        kernel,
        tasks: arena.fill(tasks, |_| Ok(Empty(AtomicU32::new(0))))?,
        turns: loops + 2,
        order: if is_batched(&trial.request) { Order::Batched } else { Order::Alternate },
        marks: Runs::new(arena, loops)?,
        gate: kernel.semaphore(0)?,
        switches: AtomicU32::new(0),
        done: trial.semaphore(0)?,
    })?;
    for phase in [Phase::Empty, Phase::Full] {
        // The second waits, so it is created first.
        for side in [Side::Second, Side::First] {
            let each = if phase == Phase::Full { tasks / 2 } else { 0 };
            let places = Places {
                tasks: arena.lend(each, |_| Ok(T::place()))?,
                marker: &mut arena.lend(1, |_| Ok(T::place()))?[0],
            };
            T::spawn(kernel, PRIORITY, process::<T>(bench, phase, side, places))?;
        }
        trial.wait(bench.done, 2).await;
    }
    report::<T>(trial, bench);
    Ok(())
}

async fn process<T: Sets>(
    bench: &'static Bench<T::Kernel>,
    phase: Phase,
    side: Side,
    places: Places<T>,
) {
    let kernel = bench.kernel;
    match side {
        Side::First => kernel.give(&bench.gate),
        Side::Second => T::take(kernel, &bench.gate).await,
    }
    let before = T::switches(kernel);
    turns(bench, phase, side, places);
    if phase == Phase::Full {
        let switches = bench.switches.load(Relaxed) + switches_since::<T>(kernel, before);
        bench.switches.store(switches, Relaxed);
    }
    kernel.give(bench.done);
}

/// Runs a process's coroutines to their end: the marker first on the first side, last on the second.
fn turns<T: Sets>(bench: &'static Bench<T::Kernel>, phase: Phase, side: Side, places: Places<T>) {
    let set = T::open(bench.kernel);
    let marker = Marker { bench, side, phase, turn: 0 };
    let (first, second) = bench.tasks.split_at(bench.tasks.len() / 2);
    match side {
        Side::First => {
            T::add(&set, PRIORITY, places.marker, marker);
            add_tasks::<T>(&set, places.tasks, first, bench.turns);
        }
        Side::Second => {
            add_tasks::<T>(&set, places.tasks, second, bench.turns);
            T::add(&set, PRIORITY, places.marker, marker);
        }
    }
    T::run(&set, bench.order);
}

fn add_tasks<T: Sets>(
    set: &T::Set,
    places: &'static mut [T::Place<Turn>],
    tasks: &'static [Empty],
    turns: usize,
) {
    for (place, task) in places.iter_mut().zip(tasks) {
        T::add(set, PRIORITY, place, Turn { task, turns: turns as u32 });
    }
}

fn report<T: Sets>(trial: &mut Trial<'_, T::Kernel>, bench: &Bench<T::Kernel>) {
    let tasks = bench.tasks.len();
    let once_a_run =
        bench.tasks.iter().filter(|task| task.0.load(Relaxed) as usize == bench.turns).count();
    let all = tasks as f64;
    trial.evidence("tasks polled once in every run", once_a_run as f64, all, all);
    // Both markers have turns as well.
    let crossings = if bench.order == Order::Batched { 2 } else { tasks + 2 };
    let [low, high] = [bench.turns - 2, bench.turns].map(|runs| (crossings * runs) as f64);
    trial.evidence("switches", f64::from(bench.switches.load(Relaxed)), low, high);
    send(trial, &bench.marks);
}
