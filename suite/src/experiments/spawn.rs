//! `spawn`: create N empty tasks and see them end.
//!
//! A creator, itself a task of the kind, creates N empty tasks, reaps N, and reaps once more in
//! vain. All have ordinary priority.
//!
//! - **Start**: the creator's mark, immediately before it creates the first task.
//! - **End**: the creator's mark, immediately after the last reap, which has failed.
//! - **Sample**: one run of N tasks, divided by N.
//! - **Control**: the same run with N = 0, which is the reap in vain alone; divided by N as well.
//! - **Evidence**: as many tasks ran as were created, as many were reaped, and the reap after them
//!   failed.
//! - **Pin**: D0: high from before the mark at the start to after the one at the end; D7: the same
//!   of the control.
//! - **Source**: P2.spawn: `fork` N times, `wait` N times, and one `wait` that must fail; there for
//!   coroutines too.
//!
//! How it differs from the source: P2 gives counts of `get_time`, whose unit there is 12,500 timer
//! units, 1.25 ms on QEMU's `virt` machine: a published count c for N tasks is c × 1.25 ms / N a
//! task. P2 times its main function from entry to exit, which holds the program's own set-up; here
//! the creator runs already. P2's coroutine kernel removes tasks from its run queue in O(N) steps
//! each, which dominates its figures; with the kernels here, see whether the figure for one task
//! grows with N.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::{
    kernel::{Kernel, Priority, Reason, Refusal, Tasks},
    mark::{self, MEASURED, Marks},
    request::Request,
    spec::{KIND, MEDIAN, Parameter, Reading, Spec, Values},
    trial::Trial,
    wire::{Pin, Series},
};

/// The description of `spawn`.
pub static SPEC: Spec = Spec {
    name: "spawn",
    summary: "create N empty tasks and see them end",
    start: "immediately before the first of N tasks is created",
    end: "immediately after N tasks have been reaped and one more reap has failed",
    statistic: "one run, divided by N",
    control: "the same run with N = 0: the failing reap alone",
    evidence: "N tasks ran and N were reaped in every run, and the reap after them failed",
    pin: "D0: high during a run; D7: during its control",
    source: "P2.spawn",
    parameters: &[
        KIND,
        Parameter {
            name: "tasks",
            unit: "",
            default: "100",
            values: Values::Number(1, 1000),
            help: "tasks created in one run",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "0",
            values: Values::Number(0, 10_000),
            help: "runs; 0: 100 of coroutines, 20 of threads, 5 of processes, which cost the more \
                   in this order",
        },
        Parameter {
            name: "way",
            unit: "",
            default: "task",
            values: Values::Extra(&["task", "plain"]),
            help: "plain: as a C program makes it, by pthread_create or fork alone; task: with the \
                   signal stack, the class and the processor that a task of the other \
                   experiments has",
        },
    ],
    duration_us: |request| {
        let each = match request.tasks() {
            "coroutine" => 1,
            "process" => 300,
            _ => 60,
        };
        5_000 + loops(request) as u64 * request.number("tasks") * each
    },
};

fn loops(request: &Request<'_>) -> usize {
    match (request.count("loops"), request.tasks()) {
        (0, "coroutine") => 100,
        (0, "process") => 5,
        (0, _) => 20,
        (loops, _) => loops,
    }
}

struct Nursery<K: Kernel> {
    kernel: &'static K,
    /// A mark for each run, and for each control.
    starts: Marks<K>,
    ends: Marks<K>,
    control_starts: Marks<K>,
    control_ends: Marks<K>,
    /// The number of the last run in which the task of each place ran.
    visited: &'static [AtomicU32],
    ran: AtomicU32,
    reaped: AtomicU32,
    /// The number of reaps that failed, as they must.
    failed: AtomicU32,
    /// The number of tasks that the kernel refused to create.
    refused: AtomicU32,
    done: &'static K::Semaphore,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run<T: Tasks>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal> {
    run_by::<T, T>(trial).await
}

/// Runs the experiment with a creator of the kind `C`.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run_by<C, T>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal>
where
    T: Tasks,
    C: Tasks<Kernel = T::Kernel>,
{
    let kernel = trial.kernel;
    let tasks = trial.request.count("tasks");
    let loops = loops(&trial.request);
    let nursery: &'static Nursery<T::Kernel> = trial.arena.place(Nursery {
        kernel,
        starts: Marks::new(trial.arena, loops)?,
        ends: Marks::new(trial.arena, loops)?,
        control_starts: Marks::new(trial.arena, loops)?,
        control_ends: Marks::new(trial.arena, loops)?,
        visited: trial.arena.fill(tasks, |_| Ok(AtomicU32::new(0)))?,
        ran: AtomicU32::new(0),
        reaped: AtomicU32::new(0),
        failed: AtomicU32::new(0),
        refused: AtomicU32::new(0),
        done: trial.semaphore(0)?,
    })?;
    C::spawn(kernel, Priority::Ordinary, creator::<T>(nursery))?;
    trial.wait(nursery.done, 1).await;

    if nursery.refused.load(Relaxed) > 0 {
        return Err(Refusal::new(
            Reason::Exhausted,
            "the kernel refused to create a task",
            "ask for fewer tasks",
        ));
    }
    let (runs, all) = (loops as f64, (loops * tasks) as f64);
    trial.evidence("tasks that ran", nursery.ran.load(Relaxed).into(), all, all);
    trial.evidence("tasks reaped", nursery.reaped.load(Relaxed).into(), all, all);
    trial.evidence(
        "reaps that failed as they must",
        nursery.failed.load(Relaxed).into(),
        runs,
        runs,
    );
    let per = tasks as f64;
    let [pin, control_pin] = [MEASURED, mark::CONTROL].map(|pin| Some(Pin::Pulse(pin)));
    trial.durations(
        Series { per, pin, ..Series::measured("spawn") },
        &nursery.starts,
        &nursery.ends,
    );
    let control = Series { per, pin: control_pin, ..Series::control("failing reap, a task") };
    trial.durations(control, &nursery.control_starts, &nursery.control_ends);
    Ok(())
}

/// Creates and reaps the tasks of all runs. The only writer of the counts.
async fn creator<T: Tasks>(nursery: &'static Nursery<T::Kernel>) {
    let kernel = nursery.kernel;
    let (mut ran, mut reaped, mut failed, mut refused) = (0, 0, 0, 0);
    for place in 0..nursery.starts.len() {
        let run = place as u32 + 1;
        nursery.starts.start(kernel, place, MEASURED);
        for slot in nursery.visited {
            let empty = async move { slot.store(run, Relaxed) };
            refused += u32::from(T::spawn(kernel, Priority::Ordinary, empty).is_err());
        }
        for _ in nursery.visited {
            reaped += u32::from(T::reap(kernel).await);
        }
        failed += u32::from(!T::reap(kernel).await);
        nursery.ends.end(kernel, place, MEASURED);

        ran += nursery.visited.iter().map(|slot| u32::from(slot.load(Relaxed) == run)).sum::<u32>();
        nursery.control_starts.start(kernel, place, mark::CONTROL);
        let _nobody = T::reap(kernel).await;
        nursery.control_ends.end(kernel, place, mark::CONTROL);
    }
    nursery.ran.store(ran, Relaxed);
    nursery.reaped.store(reaped, Relaxed);
    nursery.failed.store(failed, Relaxed);
    nursery.refused.store(refused, Relaxed);
    kernel.give(nursery.done);
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long does it take to make and end a task?",
    compared: "a task is made and ended in",
    sentences: &["a task is made and ended in {p50} at the median, {max} at worst"],
    ..MEDIAN
};
