//! The implementation of the experiment `chain`, which the suite's module of that name specifies.
//!
//! All tasks share one processor. Task 0 locks the first lock and wakes the others in the order of their
//! urgency; each runs at once, locks its own lock, asks for the one before, and so blocks.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use chronoscope_suite::{
    Kernel, Priority, Reason, Refusal, Tasks, Trial,
    kernel::{Mutexes, Protocol},
    mark::Marks,
    trial::name,
    wire::Series,
};

use crate::{kernel::Linux, mutex::Mutex, semaphore::Semaphore, settings::Policy, thread::Thread};

/// The requests of one number of locks.
struct Point {
    asked: Marks<Linux>,
    granted: Marks<Linux>,
    /// The first instruction of task 0 with the priority of the most urgent one.
    lent: Marks<Linux>,
}

/// A task of the chain, or the most urgent one.
struct Actor {
    go: &'static Semaphore,
    rounds: AtomicU32,
}

struct Stage {
    kernel: &'static Linux,
    points: &'static [Point],
    /// Lock n is held by task n; the most urgent task asks for the last of a round.
    locks: &'static [&'static Mutex],
    actors: &'static [Actor],
    urgent: Actor,
    loops: usize,
    /// The locks that are held in this round, and of all rounds those that were when the most urgent task
    /// asked.
    held: AtomicU32,
    held_in_all: AtomicU32,
    done: &'static Semaphore,
}

impl Actor {
    fn new(trial: &Trial<'_, Linux>) -> Result<Self, Refusal> {
        Ok(Self { go: trial.semaphore(0)?, rounds: AtomicU32::new(0) })
    }
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena, or for a case whose tasks have no priorities or several
/// processors.
pub async fn run(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    let kernel = trial.kernel;
    let [depth, loops] = ["depth", "loops"].map(|key| trial.request.count(key));
    if !matches!(kernel.settings.policy, Policy::Fifo | Policy::RoundRobin) {
        return Err(Refusal::not_offered("without real-time priorities there is none to lend"));
    }
    if kernel.settings.processors.one().is_none() {
        let what = "a chain is built on one processor";
        return Err(Refusal::new(Reason::Invalid, what, "choose one with -a"));
    }
    let arena = trial.arena;
    let lock = |_| Thread::mutex(kernel, arena, Protocol::Inheritance);
    let stage: &'static Stage = arena.place(Stage {
        kernel,
        points: arena.fill(depth, |_| {
            let marks = || Marks::new(arena, loops);
            Ok(Point { asked: marks()?, granted: marks()?, lent: marks()? })
        })?,
        locks: arena.fill(depth, lock)?,
        actors: arena.fill(depth, |_| Actor::new(trial))?,
        urgent: Actor::new(trial)?,
        loops,
        held: AtomicU32::new(0),
        held_in_all: AtomicU32::new(0),
        done: trial.semaphore(0)?,
    })?;
    let urgency = |task: usize| Priority::Urgent(task as u8 + 1);
    Thread::spawn(kernel, urgency(depth), stage.urgent())?;
    for task in (1..depth).rev() {
        Thread::spawn(kernel, urgency(task), stage.waiter(task))?;
    }
    Thread::spawn(kernel, urgency(0), stage.first())?;
    trial.wait(stage.done, depth + 1).await;
    for round in 0..depth * loops {
        stage.held.store(0, Relaxed);
        kernel.give(stage.actors[0].go);
        trial.wait(stage.done, stage.locks_of(round) + 1).await;
    }
    stage.report(trial);
    Ok(())
}

impl Stage {
    /// The locks of a round's chain: 1 to the depth, in turns.
    fn locks_of(&self, round: usize) -> usize {
        round % self.points.len() + 1
    }

    /// The rounds in which a task of the chain takes part, in ascending order: those with more locks than
    /// its number.
    fn rounds_of(&self, task: usize) -> impl Iterator<Item = usize> + use<'_> {
        (0..self.points.len() * self.loops).filter(move |&round| self.locks_of(round) > task)
    }

    async fn first(&'static self) {
        let kernel = self.kernel;
        kernel.give(self.done);
        for round in self.rounds_of(0) {
            let locks = self.locks_of(round);
            Thread::take(kernel, self.actors[0].go).await;
            Thread::lock(kernel, self.locks[0]).await;
            self.held.fetch_add(1, Relaxed);
            for actor in &self.actors[1..locks] {
                kernel.give(actor.go);
            }
            kernel.give(self.urgent.go);
            self.points[locks - 1].lent.mark(kernel, round / self.points.len());
            Thread::unlock(kernel, self.locks[0]);
            self.end(&self.actors[0]);
        }
    }

    async fn waiter(&'static self, task: usize) {
        let kernel = self.kernel;
        kernel.give(self.done);
        for _ in self.rounds_of(task) {
            Thread::take(kernel, self.actors[task].go).await;
            Thread::lock(kernel, self.locks[task]).await;
            self.held.fetch_add(1, Relaxed);
            Thread::lock(kernel, self.locks[task - 1]).await;
            Thread::unlock(kernel, self.locks[task - 1]);
            Thread::unlock(kernel, self.locks[task]);
            self.end(&self.actors[task]);
        }
    }

    async fn urgent(&'static self) {
        let kernel = self.kernel;
        kernel.give(self.done);
        for round in self.rounds_of(0) {
            let (locks, place) = (self.locks_of(round), round / self.points.len());
            let point = &self.points[locks - 1];
            Thread::take(kernel, self.urgent.go).await;
            let held = self.held.load(Relaxed);
            point.asked.mark(kernel, place);
            Thread::lock(kernel, self.locks[locks - 1]).await;
            point.granted.mark(kernel, place);
            Thread::unlock(kernel, self.locks[locks - 1]);
            self.held_in_all.fetch_add(held, Relaxed);
            self.end(&self.urgent);
        }
    }

    fn end(&self, actor: &Actor) {
        actor.rounds.fetch_add(1, Relaxed);
        self.kernel.give(self.done);
    }

    fn report(&self, trial: &mut Trial<'_, Linux>) {
        let depth = self.points.len();
        let all: usize = (0..depth * self.loops).map(|round| self.locks_of(round)).sum();
        let held = self.held_in_all.load(Relaxed).into();
        trial.evidence("locks held when the most urgent task asked", held, all as f64, all as f64);
        let passed: u32 = self.actors.iter().map(|actor| actor.rounds.load(Relaxed)).sum();
        trial.evidence("locks passed on", passed.into(), all as f64, all as f64);
        for (locks, point) in (1..).zip(self.points) {
            let plural = if locks == 1 { "" } else { "s" };
            let text = name(format_args!("{locks} lock{plural}"));
            let x = Some(f64::from(locks));
            trial.durations(Series { x, ..Series::measured(&text) }, &point.asked, &point.granted);
            let text = name(format_args!("{locks} lock{plural}, priority lent"));
            trial.durations(Series::auxiliary(&text), &point.asked, &point.lent);
        }
        trial.mark_control(&self.points[0].asked, 1.0);
    }
}
