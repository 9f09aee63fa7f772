//! `chain`: a lock at the end of a chain of locks, with priority inheritance.
//!
//! The least urgent task holds a lock; a more urgent one holds a second lock and waits for the first; and
//! so on, each more urgent than the one before. The most urgent task asks for the last lock. The kernel
//! lends its priority along the whole chain, the locks are handed over one by one, and the last one is
//! granted. Locks by name are POSIX's, so the port to Linux implements it; small kernels have
//! `inversion`.
//!
//! - **Start**: the most urgent task's mark, immediately before it asks for the last lock.
//! - **End**: its mark, immediately after the lock was granted.
//! - **Sample**: one request; a series for each number of locks, from 1 to `depth`. Beside it, up to the
//!   first instruction of the task that holds the first lock.
//! - **Control**: marks one straight after the other.
//! - **Evidence**: in every round all locks of the chain were held when the most urgent task asked, and
//!   each task passed its locks.
//! - **Source**: rt-tests pip_stress and pi_stress, which check and do not time it.

use crate::spec::{Figure, MEDIAN, Parameter, Reading, Spec, THREAD, Values};

/// The description of `chain`.
pub static SPEC: Spec = Spec {
    name: "chain",
    summary: "a lock at the end of a chain of tasks that wait for each other's locks",
    start: "immediately before the most urgent task asks for the last lock",
    end: "immediately after that lock was granted",
    statistic: "one request; a series for each number of locks",
    control: "marks set one straight after the other",
    evidence: "all locks of the chain were held when the most urgent task asked; every task passed its \
               locks",
    pin: "",
    source: "rt-tests pip_stress",
    parameters: &[
        THREAD,
        Parameter {
            name: "depth",
            unit: "",
            default: "8",
            values: Values::Number(1, 16),
            help: "locks of the longest chain; each takes a priority of its own",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "200",
            values: Values::Number(10, 100_000),
            help: "requests for each number of locks",
        },
    ],
    duration_us: |request| {
        let depth = request.number("depth");
        10_000 + request.number("loops") * depth * (100 + 20 * depth)
    },
};

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long does an urgent task wait at the end of a chain of locks?",
    compared: "an urgent task waits at the end of a chain of locks",
    typical: Figure::Last("p50"),
    worst: Some(Figure::Last("max")),
    sentences: &[
        "an urgent task waits {last p50} at the end of the longest chain of locks, {p50} behind one lock",
    ],
    ..MEDIAN
};
