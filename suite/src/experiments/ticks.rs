//! `ticks`: the time that an executor takes to run N empty tasks, in ticks of a slow timer.
//!
//! N tasks that are ready at their first poll are in one run queue in the arena. With
//! `kind=coroutine` one worker in one address space runs them all. With `kind=process` there are
//! two workers in two address spaces, which own the tasks alternately; a worker that finds the
//! other's task at the head hands over and waits, so every step crosses. With `kind=thread` the two
//! workers share an address space, which leaves the cost of the switch.
//!
//! The queue is the published kernel's or one that does the same in constant time:
//!
//! - `queue=linear`: a ring that finds a task by turning all the way round, entry by entry. Each
//!   task is looked up twice, to be marked as asleep before its poll and to be removed after it, so
//!   N tasks move about N² entries.
//! - `queue=constant`: the task in hand is at the head, so both are done there.
//!
//! Why both: the published figures are read as the cost of switching, but grow with N² (about 80
//! instructions × N²), because the ring dominates them. The constant queue shows the rest.
//!
//! - `queue=kernel`: no queue of the suite's. The tasks are coroutines of two processes, half in
//!   each, in the kernel's own ready sets ([`sets`]).
//!
//! With two workers, `order` says whose tasks follow each other: with `alternate` every task is the
//! other worker's, as published; with `batched` all of the first worker's come before all of the
//! second's, so that a run crosses once and hands back once.
//!
//! With two workers, `primitive` is how one hands over to the other: by the other's semaphore, and it
//! takes its own; or by a yield, since they are equals and both ready all the time. With `footprint=P`
//! a worker reads a word of each of P pages after each of its tasks, in the interval, as work does that
//! uses memory: so a core's TLB and caches lose what they held for the other ([`Kernel::pages`]).
//!
//! - **Start**: the first worker's mark, with all N queued, immediately before its first look into
//!   the queue.
//! - **End**: the mark of the worker that finds the queue empty, immediately after that look.
//! - **Sample**: one run of N tasks. The series *timer ticks* is the same samples divided by
//!   `interval_us`.
//! - **Control**: the same with an empty queue (N = 0).
//! - **Evidence**: every task was polled once a run; with two workers, N hand-overs a run (2 with
//!   `order=batched`), by the workers' own count, and at least as many switches by the kernel's; with
//!   a footprint, P pages read a task.
//! - **Pin**: D0: high from before the mark at the start to after the one at the end; D7: the same
//!   of the control.
//! - **Source**: P2.switch.
//!
//! How it differs from P2: P2 counts timer interrupts, which is whole ticks and one too many (the
//! reset counts as one). Here the time is measured and divided, so the count has a fraction and no
//! bias, and a run far shorter than one tick has a figure: on a current processor N = 380 takes
//! less than one tick. No timer interrupts are caused, so their own cost is not in the figure.
//! Queueing the N tasks is outside of the interval.

mod queue;
pub mod sets;
mod ways;

use core::{
    hint::black_box,
    pin::Pin,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    task::{Context, Poll, Waker},
};

use self::queue::Queue;
use crate::{
    arena::Arena,
    kernel::{Clock, Kernel, Priority, Reason, Refusal, Tasks, switches_since},
    mark::{self, MEASURED, Marks},
    request::Request,
    spec::{MEDIAN, Parameter, Reading, Spec, Values},
    trial::Trial,
    wire::{self, Series, Unit},
};

/// The description of `ticks`.
pub static SPEC: Spec = Spec {
    name: "ticks",
    summary: "how long an executor takes to run N empty tasks, in one address space or across two",
    start: "N tasks are queued; immediately before the executor's first look into the queue",
    end: "immediately after the look that finds the queue empty",
    statistic: "one run of all N; the same divided by the timer's interval, not rounded",
    control: "the same with an empty queue",
    evidence: "each task polled once a run; with two workers, N hand-overs a run (2 in batches), \
               and as many switches counted by the kernel; with a footprint, the pages read",
    pin: "D0: high during a run; D7: during its control",
    source: "P2.switch",
    parameters: &[
        Parameter {
            name: "kind",
            unit: "",
            default: "coroutine",
            values: Values::Word(&["coroutine", "process", "thread"]),
            help: "coroutine: one worker runs all; process and thread: two workers in turn",
        },
        Parameter {
            name: "queue",
            unit: "",
            default: "linear",
            values: Values::Word(&["linear", "constant", "kernel"]),
            help: "how a task is found in the run queue: by turning it round, as published, or at \
                   once; kernel: each task is a coroutine of its process, in the kernel's order",
        },
        Parameter {
            name: "order",
            unit: "",
            default: "alternate",
            values: Values::Extra(&["alternate", "batched"]),
            help: "with two workers: their tasks in turn, or all of the first, then all of the \
                   second",
        },
        Parameter {
            name: "primitive",
            unit: "",
            default: "semaphore",
            values: Values::Extra(&["semaphore", "yield"]),
            help: "with two workers: how one hands over to the other",
        },
        Parameter {
            name: "footprint",
            unit: "",
            default: "0",
            values: Values::Extra(&["0", "4", "8", "16", "32"]),
            help: "pages of which a worker reads a word after each of its tasks: for processes of \
                   tandem",
        },
        Parameter {
            name: "tasks",
            unit: "",
            default: "100",
            values: Values::Number(2, 1000),
            help: "empty tasks",
        },
        Parameter {
            name: "interval_us",
            unit: "us",
            default: "500",
            values: Values::Number(1, 1_000_000),
            help: "of the timer whose ticks are told; published: 500 on QEMU virt, 770 on the K210",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "300",
            values: Values::Number(2, 100_000),
            help: "runs",
        },
    ],
    duration_us: |request| {
        let tasks = request.number("tasks");
        let step = if request.word("kind") == "coroutine" { 0 } else { 4 };
        let search = if request.word("queue") == "linear" { tasks * tasks / 400 } else { 0 };
        10_000 + request.number("loops") * (1 + tasks * step + search)
    },
};

/// A task without work, and the number of its polls.
struct Empty(AtomicU32);

impl Future for &Empty {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.0.store(self.0.load(Relaxed) + 1, Relaxed);
        Poll::Ready(())
    }
}

/// Polls a task like an executor, through a pointer that hides the future's type.
#[inline(never)]
fn poll(task: &Empty) -> bool {
    let mut task = task;
    let future: &mut (dyn Future<Output = ()> + Unpin) = black_box(&mut task);
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

fn is_batched(request: &Request<'_>) -> bool {
    request.word("order") == "batched"
}

const ODD: Refusal = Refusal::new(
    Reason::Invalid,
    "two workers share the tasks evenly",
    "ask for an even number of tasks",
);

/// Returns whether the request is for coroutines of tasks of the kind `T`.
#[doc(hidden)]
pub fn asks_for_sets<T: Tasks>(request: &Request<'_>) -> bool {
    request.spec().name == SPEC.name
        && request.word("queue") == "kernel"
        && request.tasks() == T::KIND
}

struct Bench<K: Kernel> {
    kernel: &'static K,
    queue: Queue,
    tasks: &'static [Empty],
    workers: &'static [Worker<K>],
    done: &'static K::Semaphore,
    loops: usize,
    marks: Runs<K>,
    work: Work,
}

/// The work of a worker besides its tasks.
struct Work {
    /// The pages that it reads after each of its tasks.
    pages: &'static [[u8; 4096]],
    /// The number of pages read. One worker runs at a time.
    read: AtomicU32,
}

struct Runs<K: Kernel> {
    /// The start of each run; `ends` has the same places.
    starts: Marks<K>,
    ends: Marks<K>,
    /// The marks of the runs with an empty queue.
    empty_starts: Marks<K>,
    empty_ends: Marks<K>,
}

impl<K: Kernel> Runs<K> {
    fn new(arena: &Arena, loops: usize) -> Result<Self, Refusal> {
        Ok(Self {
            starts: Marks::new(arena, loops)?,
            ends: Marks::new(arena, loops)?,
            empty_starts: Marks::new(arena, loops)?,
            empty_ends: Marks::new(arena, loops)?,
        })
    }
}

struct Worker<K: Kernel> {
    turn: K::Semaphore,
    /// The number of hand-overs to the other worker.
    handed_over: AtomicU32,
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
    let workers = if T::KIND == "coroutine" { 1 } else { 2 };
    if trial.request.word("queue") == "kernel" {
        return Err(Refusal::not_offered(
            "no tasks of this kind have coroutines of their own here",
        ));
    }
    let is_given = |key| trial.request.given(key).is_some();
    if workers == 1 && is_given("order") {
        let what = "one worker has no order of workers";
        return Err(Refusal::new(Reason::Invalid, what, "leave `order` out"));
    }
    if workers == 1 && (is_given("primitive") || is_given("footprint")) {
        let what = "one worker hands over to nobody";
        return Err(Refusal::new(Reason::Invalid, what, "leave `primitive` and `footprint` out"));
    }
    let footprint = trial.request.count("footprint");
    let Some(pages) = kernel.pages().get(..footprint) else {
        return Err(Refusal::not_offered(
            "these tasks have no pages with translations of their own",
        ));
    };
    if !tasks.is_multiple_of(workers) {
        return Err(ODD);
    }
    let bench: &'static Bench<T::Kernel> = arena.place(Bench {
        kernel,
        queue: Queue::new(arena, tasks, trial.request.word("queue") == "linear")?,
        tasks: arena.fill(tasks, |_| Ok(Empty(AtomicU32::new(0))))?,
        workers: arena.fill(workers, |_| {
            let (handed_over, switches) = (AtomicU32::new(0), AtomicU32::new(0));
            Ok(Worker { turn: kernel.semaphore(0)?, handed_over, switches })
        })?,
        done: trial.semaphore(0)?,
        loops,
        marks: Runs::new(arena, loops)?,
        work: Work { pages, read: AtomicU32::new(0) },
    })?;
    let is_batched = is_batched(&trial.request);
    let yields = trial.request.word("primitive") == "yield";
    if yields {
        ways::start::<T, true>(bench, is_batched)?;
    } else if footprint > 0 {
        ways::start::<T, false>(bench, is_batched)?;
    } else {
        if workers == 2 {
            T::spawn(kernel, Priority::Urgent(1), second::<T>(bench))?;
        }
        match is_batched {
            true => T::spawn(kernel, Priority::Urgent(1), first::<T, true>(bench))?,
            false => T::spawn(kernel, Priority::Urgent(1), first::<T, false>(bench))?,
        }
    }
    trial.wait(bench.done, workers).await;
    report::<T>(trial, bench);
    Ok(())
}

/// The worker that queues all tasks and starts each run. A second worker, if there is one, owns the
/// last of an even number of tasks, and ends the run.
///
/// The order of tasks is a constant, so that the time between two runs belongs to one order alone.
async fn first<T: Tasks, const BATCHED: bool>(bench: &'static Bench<T::Kernel>) {
    let kernel = bench.kernel;
    let before = T::switches(kernel);
    let mut rested = kernel.now();
    for run in 0..bench.loops {
        if kernel.now() - rested > kernel.hertz() / 2 {
            // Linux throttles real-time tasks that take more than 95 % of a processor.
            T::delay_until(kernel, kernel.now() + kernel.hertz() / 10).await;
            rested = kernel.now();
        }
        bench.marks.empty_starts.start(kernel, run, mark::CONTROL);
        execute::<T>(bench, 0).await;
        bench.marks.empty_ends.end(kernel, run, mark::CONTROL);
        if BATCHED {
            let share = bench.tasks.len() / bench.workers.len();
            for task in 0..bench.tasks.len() {
                bench.queue.push(task as u32, (task / share) as u32, 0);
            }
        } else {
            for (task, space) in (0..bench.tasks.len()).zip((0..bench.workers.len()).cycle()) {
                bench.queue.push(task as u32, space as u32, 0);
            }
        }
        bench.marks.starts.start(kernel, run, MEASURED);
        execute::<T>(bench, 0).await;
        if bench.workers.len() == 1 {
            bench.marks.ends.end(kernel, run, MEASURED);
        }
    }
    finish::<T>(bench, 0, before);
}

async fn second<T: Tasks>(bench: &'static Bench<T::Kernel>) {
    let kernel = bench.kernel;
    let before = T::switches(kernel);
    T::take(kernel, &bench.workers[1].turn).await;
    for run in 0..bench.loops {
        execute::<T>(bench, 1).await;
        bench.marks.ends.end(kernel, run, MEASURED);
        hand_over(bench, 1);
        if run + 1 < bench.loops {
            T::take(kernel, &bench.workers[1].turn).await;
        }
    }
    finish::<T>(bench, 1, before);
}

/// Runs tasks until the queue is empty. The worker that owns the task at the head owns the queue.
#[inline(always)]
async fn execute<T: Tasks>(bench: &'static Bench<T::Kernel>, this: usize) {
    while let Some(head) = bench.queue.head() {
        let task = head.task.load(Relaxed);
        if head.space.load(Relaxed) as usize == this {
            bench.queue.sleep(task);
            if poll(&bench.tasks[task as usize]) {
                bench.queue.remove(task);
            }
        } else {
            hand_over(bench, this);
            T::take(bench.kernel, &bench.workers[this].turn).await;
        }
    }
}

#[inline(always)]
fn count(counter: &AtomicU32, more: u32) {
    counter.store(counter.load(Relaxed) + more, Relaxed);
}

fn hand_over<K: Kernel>(bench: &Bench<K>, this: usize) {
    count(&bench.workers[this].handed_over, 1);
    bench.kernel.give(&bench.workers[1 - this].turn);
}

fn finish<T: Tasks>(bench: &Bench<T::Kernel>, this: usize, before: Option<u32>) {
    bench.workers[this].switches.store(switches_since::<T>(bench.kernel, before), Relaxed);
    bench.kernel.give(bench.done);
}

fn report<T: Tasks>(trial: &mut Trial<'_, T::Kernel>, bench: &Bench<T::Kernel>) {
    let tasks = bench.tasks.len() as f64;
    let once_a_run =
        bench.tasks.iter().filter(|task| task.0.load(Relaxed) as usize == bench.loops).count();
    trial.evidence("tasks polled once in every run", once_a_run as f64, tasks, tasks);
    if bench.workers.len() == 2 {
        let count = |what: fn(&Worker<T::Kernel>) -> &AtomicU32| -> f64 {
            bench.workers.iter().map(|worker| f64::from(what(worker).load(Relaxed))).sum()
        };
        let a_run = if is_batched(&trial.request) { 2.0 } else { tasks };
        let crossings = a_run * bench.loops as f64;
        trial.evidence("hand-overs", count(|worker| &worker.handed_over), crossings, crossings);
        trial.evidence(
            "switches",
            count(|worker| &worker.switches),
            0.99 * crossings,
            f64::INFINITY,
        );
    }
    let pages = bench.work.pages.len();
    if pages > 0 {
        let all = tasks * (bench.loops * pages) as f64;
        trial.evidence("pages read", bench.work.read.load(Relaxed).into(), all, all);
    }
    send(trial, &bench.marks);
}

fn send<K: Kernel>(trial: &mut Trial<'_, K>, marks: &Runs<K>) {
    let interval = trial.ticks(trial.request.number("interval_us")).max(1) as f64;
    let timer_ticks =
        Series { unit: Unit::Count, per: interval, ..Series::auxiliary("timer ticks") };
    let [pin, control_pin] = [MEASURED, mark::CONTROL].map(|pin| Some(wire::Pin::Pulse(pin)));
    trial.durations(Series { pin, ..Series::measured("run") }, &marks.starts, &marks.ends);
    trial.durations(timer_ticks, &marks.starts, &marks.ends);
    let control = Series { pin: control_pin, ..Series::control("empty queue") };
    trial.durations(control, &marks.empty_starts, &marks.empty_ends);
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long does an executor take to run its empty tasks?",
    compared: "the executor runs its empty tasks in",
    sentences: &["the executor runs its empty tasks in {p50} at the median, {max} at worst"],
    ..MEDIAN
};
