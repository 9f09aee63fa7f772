//! `wakeup`: from a handler to the task that it wakes.
//!
//! A task waits on a semaphore. A less urgent one raises an interrupt, or is interrupted by a timer
//! while it spins, or by an external line; the handler gives the semaphore, and the waiting task
//! runs before the interrupted one goes on.
//!
//! - **Start**: the handler's mark, immediately before it gives the semaphore.
//! - **End**: the waiting task's first instruction after it has taken the semaphore.
//! - **Sample**: one interrupt. With `source=external` a second series starts at the rise of the
//!   line.
//! - **Control**: marks one straight after the other.
//! - **Evidence**: the handler was entered once a round; the kernel switched to the waiting task
//!   once a round; a raised interrupt's handler had run when `raise` returned. A round ends with
//!   the waiting task's answer, so the handler may call the kernel.
//! - **Pin**: D0: high from before the handler's mark to after the task's.
//! - **Source**: P5.isr.
//!
//! With `primitive=native` the handler wakes the task by the kernel's own object
//! ([`Native`]) in place of the semaphore; all else is the same.
//!
//! Where handlers are drivers in user mode, the mark is the driver's: the sample holds its give, its
//! next wait, and the switch from its process to the waiting one.
//!
//! How it differs from the sources: P5 triggers the interrupt from outside; `source=external` is
//! the same, and `source=timer` comes close. The waiting task may be a coroutine; the interrupted
//! one is of the director's kind, a thread where there are threads.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use super::{
    firing::{Firing, INTERVAL, LEAD_US, SOURCE},
    waking::{Common, Own, PRIMITIVE, Waking},
};
use crate::{
    kernel::{Handler, Interrupts, Kernel, Native, Priority, Refusal, Tasks, switches_since},
    mark::{MEASURED, Marks},
    spec::{KIND, Parameter, Reading, Spec, Values, WORST},
    trial::Trial,
    wire::{Pin, Series},
};

/// The description of `wakeup`.
pub static SPEC: Spec = Spec {
    name: "wakeup",
    summary: "from an interrupt's handler to the task that it wakes",
    start: "in the handler, immediately before it gives the semaphore; beside it, external: the \
            line rises",
    end: "the waiting task's first instruction after it has taken the semaphore",
    statistic: "one interrupt",
    control: "marks set one straight after the other",
    evidence: "one entry of the handler a round; one switch to the waiting task a round, counted \
               by the kernel",
    pin: "D0: high from the handler to the task",
    source: "P5.isr",
    parameters: &[
        KIND,
        PRIMITIVE,
        SOURCE,
        INTERVAL,
        Parameter {
            name: "loops",
            unit: "",
            default: "300",
            values: Values::Number(10, 1_000_000),
            help: "interrupts",
        },
    ],
    duration_us: |request| request.number("loops") * (request.number("interval_us") + LEAD_US + 30),
};

/// `O` is the object by which the handler wakes the task.
struct Wakeup<K: Interrupts, O> {
    kernel: &'static K,
    firing: Firing<K>,
    /// The rises of the external line.
    lines: Marks<K>,
    starts: Marks<K>,
    ends: Marks<K>,
    /// Given by the handler.
    given: O,
    /// Given by the waiting task before it waits again.
    answered: K::Semaphore,
    /// `true` after the last interrupt.
    over: AtomicBool,
    switches: AtomicU32,
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
    run_by::<T, Common>(trial).await
}

/// Runs the experiment with the kernel's own primitive.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn native<T>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal>
where
    T: Native,
    T::Kernel: Interrupts,
{
    run_by::<T, Own>(trial).await
}

async fn run_by<T, W>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal>
where
    T: Tasks,
    T::Kernel: Interrupts,
    W: Waking<T> + 'static,
{
    let (kernel, arena) = (trial.kernel, trial.arena);
    let loops = trial.request.count("loops");
    let firing = Firing::new(trial)?;
    let all: &'static Wakeup<T::Kernel, W::Object> = arena.place(Wakeup {
        kernel,
        lines: Marks::new(arena, if firing.is_external() { loops } else { 0 })?,
        firing,
        starts: Marks::new(arena, loops)?,
        ends: Marks::new(arena, loops)?,
        given: W::object(kernel)?,
        answered: kernel.semaphore(0)?,
        over: AtomicBool::new(false),
        switches: AtomicU32::new(0),
        done: trial.semaphore(0)?,
    })?;
    let handler = arena.place(move || {
        let entries = all.firing.entries();
        all.firing.count(entries);
        all.starts.start(kernel, entries, MEASURED);
        W::give_from_handler(kernel, &all.given);
    })?;
    // The waiting task is created first: a process must not be forked while its parent has threads.
    T::spawn(kernel, Priority::Urgent(2), waiter::<T, W>(all))?;
    <T::Kernel as Kernel>::Director::spawn(
        kernel,
        Priority::Urgent(1),
        interrupted::<T, W>(all, handler),
    )?;
    trial.wait(all.done, 2).await;

    let fired = all.firing.report(trial)?;
    trial.evidence(
        "switches",
        all.switches.load(Relaxed).into(),
        0.99 * fired as f64,
        f64::INFINITY,
    );
    let pin = Some(Pin::Pulse(MEASURED));
    trial.durations(
        Series { pin, ..Series::measured("wake-up") },
        &all.starts.first(fired),
        &all.ends,
    );
    if all.firing.is_external() {
        trial.durations(Series::measured("from the line"), &all.lines.first(fired), &all.ends);
    }
    trial.mark_control(&all.starts, 1.0);
    Ok(())
}

async fn waiter<T, W>(all: &'static Wakeup<T::Kernel, W::Object>)
where
    T: Tasks,
    T::Kernel: Interrupts,
    W: Waking<T>,
{
    let kernel = all.kernel;
    let before = T::switches(kernel);
    kernel.give(&all.answered);
    for round in 0..=all.ends.len() {
        W::take(kernel, &all.given).await;
        all.ends.end(kernel, round, MEASURED);
        if all.over.load(Relaxed) {
            break;
        }
        kernel.give(&all.answered);
    }
    all.switches.store(switches_since::<T>(kernel, before), Relaxed);
    kernel.give(all.done);
}

/// The interrupted task: fires the interrupt once a round.
async fn interrupted<T, W>(all: &'static Wakeup<T::Kernel, W::Object>, handler: Handler)
where
    T: Tasks,
    T::Kernel: Interrupts,
    W: Waking<T>,
{
    let kernel = all.kernel;
    // Wait until the other task waits.
    <T::Kernel as Kernel>::Director::take(kernel, &all.answered).await;
    let lines = Some(&all.lines).filter(|lines| !lines.is_empty());
    if all.firing.attach(handler) {
        for round in 0..all.starts.len() {
            if !all.firing.fire(round, lines).await {
                break;
            }
            // The woken task has run by now, unless the two share a cooperative executor or run on
            // two processors.
            <T::Kernel as Kernel>::Director::take(kernel, &all.answered).await;
        }
    }
    all.over.store(true, Relaxed);
    W::give(kernel, &all.given);
    kernel.give(all.done);
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long after its handler does a task run at worst?",
    compared: "a task runs after its handler by at most",
    sentences: &["a task runs {max} after the handler that wakes it at worst, {p50} at the median"],
    ..WORST
};
