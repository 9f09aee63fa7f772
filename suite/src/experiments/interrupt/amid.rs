//! `interrupt` amid the kernel's calls, where the kernel leaves some levels of interrupts unmasked.
//!
//! With `tasks=N`, N tasks give, take and yield all the time. The task that sets the timer sleeps, so
//! the interrupt, due at another instruction in each round, comes amid their calls and its own. With
//! `handler=exempt` the handler is of a level that the kernel never masks, and must not call it: its
//! samples do not depend on the tasks.
//!
//! - **Evidence**: each task took turns. In ten more rounds the handler gives a semaphore, as without
//!   tasks. A handler that is exempt does not: in place of that, at least one interrupt came while the
//!   kernel masked interrupts of other levels.
//!
//! Apart from the experiment without tasks, whose code between two samples is part of its bytes.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use crate::{
    experiments::firing::{Firing, LEAD_US, PROOFS},
    kernel::{Handler, Interrupts, Kernel, Priority, Reason, Refusal, Tasks},
    mark::{MEASURED, Marks},
    spec::{Parameter, Values},
    trial::Trial,
    wire::{Pin, Series},
};

pub(super) const PARAMETER: Parameter = Parameter {
    name: "tasks",
    unit: "",
    default: "0",
    values: Values::Extra(&["0", "2", "10", "30"]),
    help: "tasks that give, take and yield meanwhile, with source=timer",
};

/// A round's time in an emulator, which takes about 70 us for a microsecond without sleep.
pub(super) const ROUND_US: u64 = 70 * 2 * LEAD_US;

struct Loaded<K: Interrupts> {
    firing: Firing<K>,
    starts: Marks<K>,
    ends: Marks<K>,
    load: Load<K>,
    /// `true` after the last interrupt.
    over: AtomicBool,
    /// Given by the handler after the measured rounds, and by the interrupted task at its end.
    given: K::Semaphore,
    is_exempt: bool,
    /// The interrupts that came while the kernel masked interrupts of other levels.
    amid: AtomicU32,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena, or for tasks with another source than the timer.
pub(super) async fn run<K: Interrupts>(trial: &mut Trial<'_, K>) -> Result<(), Refusal> {
    let (kernel, arena) = (trial.kernel, trial.arena);
    let is_exempt = trial.request.word("handler") == "exempt";
    let load = Load::new(trial)?;
    if !load.is_empty() && trial.request.word("source") != "timer" {
        return Err(Refusal::new(
            Reason::Invalid,
            "tasks that use the kernel are interrupted by the timer",
            "add --set source=timer",
        ));
    }
    if is_exempt {
        kernel.exempt();
    }
    let loops = trial.request.count("loops");
    let all: &'static Loaded<K> = arena.place(Loaded {
        firing: Firing::new(trial)?,
        starts: Marks::new(arena, loops)?,
        ends: Marks::new(arena, loops)?,
        load,
        over: AtomicBool::new(false),
        given: kernel.semaphore(0)?,
        is_exempt,
        amid: AtomicU32::new(0),
    })?;
    let handler = arena.place(move || all.enter(kernel))?;
    K::Director::spawn(kernel, Priority::Urgent(1), interrupted(kernel, all, handler))?;
    all.load.start()?;
    loop {
        K::Director::take(kernel, &all.given).await;
        if all.over.load(Relaxed) {
            break;
        }
        all.firing.answer();
    }

    let fired = all.firing.report(trial)?;
    let turns = all.load.end().await;
    if !all.load.is_empty() {
        trial.evidence("turns of the tasks", turns, loops as f64, f64::INFINITY);
    }
    if !is_exempt {
        all.firing.report_proofs(trial);
    } else if !all.load.is_empty() {
        let amid = all.amid.load(Relaxed).into();
        trial.evidence("interrupts while others were masked", amid, 1.0, f64::INFINITY);
    }
    let pin = all.firing.is_raised().then_some(Pin::Pulse(MEASURED));
    let series = Series { pin, ..Series::measured("interrupt") };
    trial.durations(series, &all.starts.first(fired), &all.ends);
    trial.mark_control(&all.starts, 1.0);
    Ok(())
}

impl<K: Interrupts> Loaded<K> {
    /// The handler.
    #[inline(always)]
    fn enter(&'static self, kernel: &'static K) {
        let entries = self.firing.entries();
        self.ends.mark(kernel, entries);
        // The pin is already high if the task has raised the interrupt.
        kernel.drive(MEASURED, !self.firing.is_raised());
        self.firing.count(entries);
        kernel.drive(MEASURED, false);
        if self.is_exempt {
            self.amid.store(self.amid.load(Relaxed) + u32::from(kernel.masks()), Relaxed);
        } else if entries >= self.ends.len() {
            self.prove(kernel);
        }
    }

    /// Calls the kernel. Not inlined: the handler saves no registers for it before its mark.
    #[cold]
    #[inline(never)]
    fn prove(&'static self, kernel: &'static K) {
        kernel.give_from_handler(&self.given);
    }
}

/// The task that fires the interrupt, once a round.
async fn interrupted<K: Interrupts>(kernel: &'static K, all: &'static Loaded<K>, handler: Handler) {
    let loops = all.starts.len();
    let proofs = if all.is_exempt { 0 } else { PROOFS };
    if all.firing.attach(handler) {
        for round in 0..loops + proofs {
            let starts = Some(&all.starts).filter(|_| round < loops);
            let fired = if starts.is_none() || all.load.is_empty() {
                all.firing.fire(round, starts).await
            } else {
                all.firing.fire_amid(round, starts).await
            };
            if !fired {
                break;
            }
            if starts.is_none() {
                all.firing.wait_for_answer(round - loops).await;
            }
        }
    }
    all.over.store(true, Relaxed);
    kernel.give(&all.given);
}

/// A ring of tasks of the director's kind. Each gives its neighbour's semaphore, takes its own and
/// yields, until they are to end.
struct Load<K: Kernel> {
    kernel: &'static K,
    seats: &'static [K::Semaphore],
    over: AtomicBool,
    /// The turns that the tasks have ended.
    turns: AtomicU32,
    ended: K::Semaphore,
}

impl<K: Kernel> Load<K> {
    /// # Errors
    /// [`Refusal`] from the kernel or the arena.
    fn new(trial: &Trial<'_, K>) -> Result<Self, Refusal> {
        let (kernel, tasks) = (trial.kernel, trial.request.count("tasks"));
        Ok(Self {
            kernel,
            seats: trial.arena.fill(tasks, |_| kernel.semaphore(0))?,
            over: AtomicBool::new(false),
            turns: AtomicU32::new(0),
            ended: kernel.semaphore(0)?,
        })
    }

    fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    /// Starts the tasks, less urgent than all others.
    ///
    /// # Errors
    /// [`Refusal`] from the kernel.
    fn start(&'static self) -> Result<(), Refusal> {
        (0..self.seats.len())
            .try_for_each(|seat| K::Director::spawn(self.kernel, Priority::Idle, self.member(seat)))
    }

    async fn member(&'static self, seat: usize) {
        let kernel = self.kernel;
        let (mine, next) = (&self.seats[seat], &self.seats[(seat + 1) % self.seats.len()]);
        while !self.over.load(Relaxed) {
            kernel.give(next);
            K::Director::take(kernel, mine).await;
            K::Director::yield_now(kernel).await;
            self.turns.store(self.turns.load(Relaxed) + 1, Relaxed);
        }
        // The neighbour may wait for this turn's unit.
        kernel.give(next);
        kernel.give(&self.ended);
    }

    /// Has the tasks end, waits until they have, and returns the number of their turns.
    async fn end(&'static self) -> f64 {
        self.over.store(true, Relaxed);
        for _ in self.seats {
            K::Director::take(self.kernel, &self.ended).await;
        }
        self.turns.load(Relaxed).into()
    }
}
