//! `interrupt`: from an interrupt to its handler.
//!
//! A task raises an interrupt, or sets a timer and spins until it is interrupted, or is interrupted
//! by an external line at a time unknown to it. The handler interrupts the task. Between the rounds
//! the task sleeps.
//!
//! - **Start**: `source=software`: the task's mark, immediately before it raises the interrupt.
//!   `source=timer`: the time that the timer is due. `source=external`: the cycle of the line's
//!   rise, which the bench reports afterwards.
//! - **End**: the handler's first instruction.
//! - **Sample**: one interrupt.
//! - **Control**: marks one straight after the other.
//! - **Evidence**: the handler was entered once a round; a raised interrupt's handler had run when
//!   `raise` returned; an external line rose within the time that the bench had been given. In ten
//!   more rounds, which are not measured, the handler gives a semaphore, and the director answers
//!   before the next round: programs can use interrupts of this urgency.
//! - **Pin**: D0. `source=software`: high from before the mark to after the handler's. Otherwise
//!   the start is no event of the program, and the pin is a pulse that rises right after the
//!   handler's mark: the interval from the bench's line to this pulse is the sample.
//! - **Source**: P1.interrupt is `source=software`.
//!
//! How it differs from the sources: P1 calls response the longest time with interrupts off plus the
//! entry, but exercises the entry only. So does `source=software`; the timer's interrupt comes from
//! outside the task and waits while the kernel masks interrupts, so its maximum includes the
//! longest masked stretch that the runs have met.
//!
//! With `tasks=N` or `handler=exempt` the interrupt comes amid the calls of other tasks (`amid`).
//!
//! With `handler=process` the handler is a driver in user mode, a process that the kernel's own handler
//! wakes; the sample ends with its first instruction.
//!
//! A timer on the clock that the task reads interrupts the same instruction in every round. The
//! external line rises at a random one of [`PHASES`](crate::kernel::PHASES) cycles, while the task
//! executes instructions of one cycle to dozens; with `source=external-idle`, while the processor
//! sleeps. Its samples are a distribution over phases.

#[cfg(feature = "exempt")]
mod amid;

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::firing::{Firing, INTERVAL, LEAD_US, PROOFS, SOURCE};
use crate::{
    kernel::{Handler, Interrupts, Priority, Refusal, Tasks},
    mark::{MEASURED, Marks},
    spec::{Parameter, Reading, Spec, Values, WORST},
    trial::Trial,
    wire::{Pin, Series},
};

/// The description of `interrupt`.
pub static SPEC: Spec = Spec {
    name: "interrupt",
    summary: "from an interrupt to its handler",
    start: "software: immediately before the task raises the interrupt; timer: the time it is \
            due; external: the line rises",
    end: "the handler's first instruction",
    statistic: "one interrupt",
    control: "marks set one straight after the other",
    evidence: "one entry of the handler a round; a raised interrupt's handler has run when the \
               call returns; lines rose when they were to; in ten more rounds the handler gives \
               and a task answers; exempt beside tasks: it came while others were masked",
    pin: "D0, software: high from before it is raised to the handler; else: a pulse from the \
          handler's first instruction on",
    source: "P1.interrupt",
    parameters: &[
        SOURCE,
        Parameter {
            name: "handler",
            unit: "",
            default: "kernel",
            #[cfg(not(feature = "exempt"))]
            values: Values::Extra(&["kernel", "process"]),
            #[cfg(feature = "exempt")]
            values: Values::Extra(&["kernel", "process", "exempt"]),
            help: "process: a driver in user mode, which the kernel's own handler wakes; exempt: of \
                   a level that the kernel never masks, it must not call the kernel",
        },
        #[cfg(feature = "exempt")]
        amid::PARAMETER,
        INTERVAL,
        Parameter {
            name: "loops",
            unit: "",
            default: "300",
            values: Values::Number(10, 1_000_000),
            help: "interrupts",
        },
    ],
    duration_us: |request| {
        #[cfg(feature = "exempt")]
        if request.number("tasks") > 0 {
            return (request.number("loops") + 2 * PROOFS as u64) * amid::ROUND_US;
        }
        let round = request.number("interval_us") + LEAD_US + 20;
        (request.number("loops") + 2 * PROOFS as u64) * round
    },
};

struct Interrupt<K: Interrupts> {
    firing: Firing<K>,
    starts: Marks<K>,
    ends: Marks<K>,
    /// `true` after the last interrupt.
    over: AtomicBool,
    /// Given by the handler after the measured rounds, and by the interrupted task at its end.
    given: K::Semaphore,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run<K: Interrupts>(trial: &mut Trial<'_, K>) -> Result<(), Refusal> {
    #[cfg(feature = "exempt")]
    if trial.request.number("tasks") > 0 || trial.request.word("handler") == "exempt" {
        if K::HAS_EXEMPT {
            return amid::run(trial).await;
        }
        return Err(Refusal::not_offered(
            "this port has no interrupts that its kernel never masks: `masked` measures the others",
        ));
    }
    let (kernel, arena) = (trial.kernel, trial.arena);
    if (trial.request.word("handler") == "process") != K::IS_DRIVEN {
        return Err(Refusal::not_offered("handlers of interrupts are no processes here"));
    }
    let loops = trial.request.count("loops");
    let all: &'static Interrupt<K> = arena.place(Interrupt {
        firing: Firing::new(trial)?,
        starts: Marks::new(arena, loops)?,
        ends: Marks::new(arena, loops)?,
        over: AtomicBool::new(false),
        given: kernel.semaphore(0)?,
    })?;
    let handler = arena.place(move || {
        let entries = all.firing.entries();
        all.ends.mark(kernel, entries);
        // The pin is already high if the task has raised the interrupt.
        kernel.drive(MEASURED, !all.firing.is_raised());
        all.firing.count(entries);
        kernel.drive(MEASURED, false);
        if entries >= all.ends.len() {
            prove(kernel, all);
        }
    })?;
    K::Director::spawn(kernel, Priority::Urgent(1), interrupted(kernel, all, handler))?;
    loop {
        K::Director::take(kernel, &all.given).await;
        if all.over.load(Relaxed) {
            break;
        }
        all.firing.answer();
    }

    let fired = all.firing.report(trial)?;
    all.firing.report_proofs(trial);
    let pin = all.firing.is_raised().then_some(Pin::Pulse(MEASURED));
    trial.durations(
        Series { pin, ..Series::measured("interrupt") },
        &all.starts.first(fired),
        &all.ends,
    );
    trial.mark_control(&all.starts, 1.0);
    Ok(())
}

/// Calls the kernel from the handler. Not inlined: the handler saves no registers for it before its
/// mark.
#[cold]
#[inline(never)]
fn prove<K: Interrupts>(kernel: &'static K, all: &'static Interrupt<K>) {
    kernel.give_from_handler(&all.given);
}

/// The interrupted task: fires the interrupt once a round.
async fn interrupted<K: Interrupts>(
    kernel: &'static K,
    all: &'static Interrupt<K>,
    handler: Handler,
) {
    if all.firing.attach(handler) {
        let loops = all.starts.len();
        for round in 0..loops + PROOFS {
            let is_measured = round < loops;
            let starts = Some(&all.starts).filter(|_| is_measured);
            if !all.firing.fire(round, starts).await {
                break;
            }
            if !is_measured {
                all.firing.wait_for_answer(round - loops).await;
            }
        }
    }
    all.over.store(true, Relaxed);
    kernel.give(&all.given);
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long after its interrupt does a handler start at worst?",
    compared: "a handler starts after its interrupt by at most",
    sentences: &["a handler starts {max} after its interrupt at worst, {p50} at the median"],
    ..WORST
};
