//! `switch`: from one task to the next.
//!
//! N tasks of one priority form a ring. With the `yield` primitive each yields to the next ready
//! task; with the others each gives the next one's semaphore and takes its own. Tasks at even
//! places are of the pair's first kind, those at odd places of its second.
//!
//! With `primitive=native` the object is the kernel's own ([`Native`]) in
//! place of the semaphore; all else is the same.
//!
//! - **Start**: the running task's mark, immediately before it yields or gives.
//! - **End**: the next task's mark, immediately after its own yield or take has returned. One mark
//!   serves as the end of one switch and the start of the next.
//! - **Sample**: one step of the ring, divided by the switches per step that the kernel counted. (A
//!   fair scheduler may need 1.4 switches a step.) Steps shorter than a mark are timed many at once
//!   (`batch`).
//! - **Control**: marks one straight after the other.
//! - **Evidence**: the tasks' own switches, counted by the kernel, are at least one a step.
//! - **Pin**: D0 changes its level right after each mark, so that one edge to the next is a step
//!   plus the cost of driving the pin.
//! - **Source**: P1.switch, P5.switch; `perf bench sched pipe` and lmbench `lat_ctx` measure the
//!   same step.
//!
//! If the processor counts instructions, all instructions of the ring, the tasks' end included, are
//! divided by the switches: a figure with hardly any noise.
//!
//! How it differs from the sources: P1 marks the scheduler's entry, which a portable experiment
//! cannot reach; here the interval includes the call into the kernel and the return, which a user
//! of the kernel pays as well.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::waking::{Common, Own, Waking};
use crate::{
    kernel::{Kernel, Native, Priority, Refusal, Tasks, switches_since},
    mark::{MEASURED, Marks},
    spec::{MEDIAN, Parameter, Reading, Spec, Values},
    trial::Trial,
    wire::{Pin, Series},
};

/// The description of `switch`.
pub static SPEC: Spec = Spec {
    name: "switch",
    summary: "from one task to the next, N tasks in a ring",
    start: "immediately before the running task yields, or gives the next one's semaphore",
    end: "immediately after the next task's yield, or take, has returned",
    statistic: "one step of the ring, per switch that the kernel counted",
    control: "marks set one straight after the other",
    evidence: "switches counted by the kernel for each task: at least one a step",
    pin: "D0 changes with each mark",
    source: "P1.switch, P5.switch",
    parameters: &[
        Parameter {
            name: "pair",
            unit: "",
            default: "thread-thread",
            values: Values::Word(&[
                "thread-thread",
                "process-process",
                "coroutine-coroutine",
                "thread-coroutine",
                "coroutine-thread",
            ]),
            help: "kinds of the tasks at even and at odd places of the ring",
        },
        Parameter {
            name: "primitive",
            unit: "",
            default: "semaphore",
            values: Values::Word(&[
                "yield",
                "semaphore",
                "futex",
                "eventfd",
                "pipe",
                "signal",
                "native",
            ]),
            help: "how a task gives way; futex, eventfd, pipe and signal (sigwaitinfo) are what Linux \
                   can make semaphores of; native: the object that the kernel's own users take, as its \
                   page names it",
        },
        Parameter {
            name: "tasks",
            unit: "",
            default: "2",
            values: Values::Number(2, 1000),
            help: "tasks in the ring",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "20000",
            values: Values::Number(10, 1_000_000),
            help: "steps, in all",
        },
        Parameter {
            name: "batch",
            unit: "",
            default: "0",
            values: Values::Number(0, 10_000),
            help: "steps timed together; 0: 1, but 100 between coroutines, whose step is shorter \
                   than a mark",
        },
        Parameter {
            name: "pad",
            unit: "",
            default: "0",
            values: Values::Number(0, 1_000_000),
            help: "rounds of an empty loop added to every step: makes the case slower on purpose",
        },
    ],
    duration_us: |request| 3 * request.number("loops") + 100 * request.number("tasks"),
};

/// `O` is the object by which a task wakes the next one.
struct Ring<K: Kernel, O: 'static> {
    kernel: &'static K,
    /// Place n is set by the task that has the n-th step; or, when steps are timed together, by the
    /// task at seat 0 in every `stride`-th lap.
    marks: Marks<K>,
    seats: &'static [O],
    switches: &'static [AtomicU32],
    done: &'static K::Semaphore,
    laps: usize,
    /// The number of laps between two marks; 0 if every step has its own mark.
    stride: usize,
    yields: bool,
    pad: u64,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run<A, B>(trial: &mut Trial<'_, A::Kernel>) -> Result<(), Refusal>
where
    A: Tasks,
    B: Tasks<Kernel = A::Kernel>,
{
    run_by::<A, B, Common>(trial).await
}

/// Runs the experiment with the kernel's own primitive.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn native<T: Native>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal> {
    run_by::<T, T, Own>(trial).await
}

async fn run_by<A, B, W>(trial: &mut Trial<'_, A::Kernel>) -> Result<(), Refusal>
where
    A: Tasks,
    B: Tasks<Kernel = A::Kernel>,
    W: Waking<A> + Waking<B, Object = <W as Waking<A>>::Object> + 'static,
{
    let kernel = trial.kernel;
    let tasks = trial.request.count("tasks");
    let batch = match trial.request.count("batch") {
        0 if trial.request.tasks() == "coroutine-coroutine" => 100,
        0 => 1,
        batch => batch,
    };
    let stride = batch.div_ceil(tasks);
    let laps = trial.request.count("loops").div_ceil(tasks).max(2).next_multiple_of(stride) + 1;
    let (marks, per) =
        if batch == 1 { (laps * tasks, 1) } else { (laps.div_ceil(stride), stride * tasks) };
    let ring: &'static Ring<A::Kernel, <W as Waking<A>>::Object> = trial.arena.place(Ring {
        kernel,
        marks: Marks::new(trial.arena, marks)?,
        seats: trial.arena.fill(tasks, |_| <W as Waking<A>>::object(kernel))?,
        switches: trial.arena.fill(tasks, |_| Ok(AtomicU32::new(0)))?,
        done: trial.semaphore(0)?,
        // The tasks end in an extra lap, whose marks are beyond the buffer, because the end of a
        // task takes long.
        laps: laps + 1,
        stride: if batch == 1 { 0 } else { stride },
        yields: trial.request.word("primitive") == "yield",
        pad: trial.request.number("pad"),
    })?;
    for seat in trial.order(tasks) {
        match seat % 2 {
            0 => spawn::<A, W>(ring, seat)?,
            _ => spawn::<B, W>(ring, seat)?,
        }
    }
    trial.wait(ring.done, tasks).await;
    let executed = kernel.instructions();
    <W as Waking<A>>::give(kernel, &ring.seats[0]);
    trial.wait(ring.done, tasks).await;
    let executed =
        kernel.instructions().zip(executed).map(|(after, before)| after.wrapping_sub(before));

    let taken = (tasks * ring.laps) as f64;
    let counted: f64 = ring.switches.iter().map(|count| f64::from(count.load(Relaxed))).sum();
    // If tasks do not run in the order of the ring, two marks of the same level may follow each
    // other.
    let pin = ring.marks.are_sorted().then_some(Pin::Edges(MEASURED));
    ring.marks.sort();
    trial.evidence("switches", counted, 0.99 * taken, f64::INFINITY);
    trial.figure("switches per step", "", counted / taken);
    if let Some(executed) = executed {
        trial.figure("instructions per switch", "", executed as f64 / counted.max(taken));
    }
    let per = per as f64 * (counted / taken).max(1.0);
    trial.intervals(Series { per, pin, ..Series::measured("switch") }, &ring.marks);
    trial.mark_control(&ring.marks, per);
    Ok(())
}

fn spawn<T, W>(ring: &'static Ring<T::Kernel, W::Object>, seat: usize) -> Result<(), Refusal>
where
    T: Tasks,
    W: Waking<T> + 'static,
{
    let (kernel, urgent) = (ring.kernel, Priority::Urgent(1));
    let plain = ring.stride == 0 && ring.pad == 0;
    match (ring.yields, plain) {
        (true, true) => T::spawn(kernel, urgent, member::<T, W, true, true>(ring, seat)),
        (true, false) => T::spawn(kernel, urgent, member::<T, W, true, false>(ring, seat)),
        (false, true) => T::spawn(kernel, urgent, member::<T, W, false, true>(ring, seat)),
        (false, false) => T::spawn(kernel, urgent, member::<T, W, false, false>(ring, seat)),
    }
}

/// The options of the case are constants here, so that a step of the plain case is a mark and the
/// operation only: on a small kernel, tests between two marks would cost as much as the switch.
async fn member<T, W, const YIELDS: bool, const PLAIN: bool>(
    ring: &'static Ring<T::Kernel, W::Object>,
    seat: usize,
) where
    T: Tasks,
    W: Waking<T>,
{
    let kernel = ring.kernel;
    let tasks = ring.seats.len();
    let (mine, next) = (&ring.seats[seat], &ring.seats[(seat + 1) % tasks]);
    let before = T::switches(kernel);
    // All tasks are ready before the first step.
    kernel.give(ring.done);
    W::take(kernel, mine).await;
    if YIELDS && seat == 0 {
        // The other tasks become ready in the order of the ring, so that all are in the same lap.
        ring.seats[1..].iter().for_each(|seat| W::give(kernel, seat));
    }
    let mut place = seat;
    // One lap less than takes: the take before the first lap is a switch too.
    for lap in 1..ring.laps {
        ring.step::<PLAIN>(seat, lap, place);
        place += tasks;
        if YIELDS {
            T::yield_now(kernel).await;
        } else {
            W::give(kernel, next);
            W::take(kernel, mine).await;
        }
    }
    W::give(kernel, next);
    ring.switches[seat].store(switches_since::<T>(kernel, before), Relaxed);
    kernel.give(ring.done);
}

impl<K: Kernel, O: 'static> Ring<K, O> {
    /// Sets the mark of a step, and lengthens the step if the case asks for it.
    #[inline(always)]
    fn step<const PLAIN: bool>(&self, seat: usize, lap: usize, place: usize) {
        if PLAIN {
            self.marks.edge(self.kernel, place, MEASURED);
            return;
        }
        if self.stride == 0 {
            self.marks.edge(self.kernel, place, MEASURED);
        } else if seat == 0 && (lap - 1).is_multiple_of(self.stride) {
            self.marks.edge(self.kernel, (lap - 1) / self.stride, MEASURED);
        }
        for _ in 0..self.pad {
            core::hint::black_box(());
        }
    }
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long does a switch take?",
    compared: "a switch takes",
    sentences: &[
        "a switch takes {p50} at the median, {p99} at p99, {max} at worst",
        "a switch takes {p50} at the median, {max} at worst",
    ],
    ..MEDIAN
};
