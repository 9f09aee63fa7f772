//! `log`: one line of log, beside one mark.
//!
//! A task logs lines of a round number and a clock value in the way of the kernel's users. Before
//! that it measures the cost of a mark and of its clock read: it sets marks and reads the bare
//! clock in alternating batches.
//!
//! - **Start**: the mark immediately before a line is logged. The clock value in the line was read
//!   before it.
//! - **End**: the mark immediately after the line is logged.
//! - **Sample**: one line. Auxiliary: `mark` and `clock read`, a batch of 1000 each, from one mark
//!   to the next. The interval holds 1000 operations and one mark, so a sample is divided by 1001.
//!   The figure `mark per clock read` is the ratio of the shortest, least disturbed batches.
//! - **Control**: marks one straight after the other.
//! - **Evidence**: bytes were accepted for every single line. A port whose log could stall must
//!   drop the line instead of waiting for ever; a dropped line leaves the count of bytes unchanged,
//!   so it shows here.
//! - **Pin**: D0: high from before the mark at the start to after the one at the end.
//! - **Source**: P1.log.
//!
//! How it differs from the source: P1 takes the time from one line's clock read to the next one's,
//! so its line includes a clock read; here the control is the cost of the marks.

use core::{
    hint::black_box,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use crate::{
    kernel::{Clock, Kernel, Log, Priority, Refusal, Tasks},
    mark::{MEASURED, Marks, Slot},
    spec::{KIND, MEDIAN, Parameter, Reading, Spec, Values},
    trial::Trial,
    wire::{Pin, Series},
};

/// The description of `log`.
pub static SPEC: Spec = Spec {
    name: "log",
    summary: "one line of log in the kernel's usual way, beside one mark",
    start: "immediately before a line with a clock value is logged",
    end: "immediately after",
    statistic: "one line; beside it one mark and one bare clock read, timed 1000 together",
    control: "marks set one straight after the other",
    evidence: "bytes accepted for every line",
    pin: "D0: high while a line is logged",
    source: "P1.log",
    parameters: &[
        KIND,
        Parameter {
            name: "loops",
            unit: "",
            // Lines of 30 to 40 bytes: all of them fit a Linux pipe (64 KiB) that nobody empties
            // meanwhile.
            default: "1500",
            values: Values::Number(10, 1_000_000),
            help: "lines",
        },
        Parameter {
            name: "batches",
            unit: "",
            default: "200",
            values: Values::Number(2, 10_000),
            help: "batches of 1000 marks, and of 1000 clock reads",
        },
    ],
    duration_us: |request| 3 * request.number("loops") + 60 * request.number("batches") + 5_000,
};

/// The number of marks, or clock reads, timed together.
const BATCH: usize = 1000;

struct Bench<K: Kernel> {
    kernel: &'static K,
    /// A mark for each line.
    starts: Marks<K>,
    ends: Marks<K>,
    /// From place 2n to 2n + 1: a batch of marks; from 2n + 1 to 2n + 2: a batch of clock reads.
    edges: Marks<K>,
    /// The buffer that the batches of marks write to.
    scratch: Marks<K>,
    accepted: AtomicU32,
    done: &'static K::Semaphore,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run<T>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal>
where
    T: Tasks<Kernel: Log>,
{
    let kernel = trial.kernel;
    let lines = trial.request.count("loops");
    let batches = trial.request.count("batches");
    let bench: &'static Bench<T::Kernel> = trial.arena.place(Bench {
        kernel,
        starts: Marks::new(trial.arena, lines)?,
        ends: Marks::new(trial.arena, lines)?,
        edges: Marks::new(trial.arena, 2 * batches + 1)?,
        scratch: Marks::new(trial.arena, BATCH)?,
        accepted: AtomicU32::new(0),
        done: trial.semaphore(0)?,
    })?;
    let before = kernel.logged();
    T::spawn(kernel, Priority::Urgent(1), writer::<T>(bench))?;
    trial.wait(bench.done, 1).await;

    let bytes = kernel.logged() - before;
    trial.evidence(
        "lines accepted",
        bench.accepted.load(Relaxed).into(),
        lines as f64,
        lines as f64,
    );
    trial.figure("bytes per line", "", bytes as f64 / lines as f64);
    let pin = Some(Pin::Pulse(MEASURED));
    trial.durations(Series { pin, ..Series::measured("log line") }, &bench.starts, &bench.ends);

    let edges = &bench.edges;
    let batch_at = |place| (edges.until(0, edges, place), edges.until(place, edges, place + 1));
    let marks = (0..batches).map(|batch| batch_at(2 * batch));
    let reads = (0..batches).map(|batch| batch_at(2 * batch + 1));
    let shortest = |batches: &mut dyn Iterator<Item = (i64, i64)>| {
        batches.map(|(_, ticks)| ticks).min().unwrap_or(0)
    };
    let (mark, read) = (shortest(&mut marks.clone()), shortest(&mut reads.clone()));
    trial.figure("mark per clock read", "", mark as f64 / read as f64);
    let per = (BATCH + 1) as f64;
    trial.samples(Series { per, ..Series::auxiliary("mark") }, marks);
    trial.samples(Series { per, ..Series::auxiliary("clock read") }, reads);
    trial.mark_control(&bench.starts, 1.0);
    Ok(())
}

async fn writer<T: Tasks<Kernel: Log>>(bench: &'static Bench<T::Kernel>) {
    let kernel = bench.kernel;
    bench.edges.mark(kernel, 0);
    for edge in (1..bench.edges.len()).step_by(2) {
        batch_of_marks(kernel, &bench.scratch);
        bench.edges.mark(kernel, edge);
        batch_of_reads(kernel);
        bench.edges.mark(kernel, edge + 1);
    }
    let mut accepted = 0;
    for round in 0..bench.starts.len() {
        let bytes = kernel.logged();
        let ticks = kernel.now();
        bench.starts.start(kernel, round, MEASURED);
        kernel.log(round as u32, ticks);
        bench.ends.end(kernel, round, MEASURED);
        accepted += u32::from(kernel.logged() > bytes);
    }
    bench.accepted.store(accepted, Relaxed);
    kernel.give(bench.done);
}

/// Sets a batch of marks like an experiment, with a bounds check each.
#[inline(never)]
fn batch_of_marks<K: Kernel>(kernel: &K, scratch: &Marks<K>) {
    for place in 0..BATCH {
        scratch.mark(kernel, place);
    }
}

/// Reads the clock a batch of times and stores no value. Every value is used, or the compiler would
/// drop its extension to 64 bits.
#[inline(never)]
fn batch_of_reads<K: Kernel>(kernel: &K) {
    let first = <K::Slot as Slot>::truncate(0);
    let sum = (0..BATCH)
        .fold(0_i64, |sum, _| sum.wrapping_add(<K::Slot as Slot>::between(first, kernel.read())));
    black_box(sum);
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "what does a line of the log cost its task?",
    compared: "a line of the log costs its task",
    sentences: &["a line of the log costs its task {p50} at the median, {max} at worst"],
    ..MEDIAN
};
