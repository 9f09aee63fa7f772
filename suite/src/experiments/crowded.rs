//! `crowded`: the most urgent thread, and the handler of an interrupt, while the kernel has most to do.
//!
//! A kernel may do long work for tasks that are of no urgency: 200 of them sleep until nearly the same
//! time, or 119 wait for one that ends. Whoever is more urgent must not wait for that work. A program
//! of the kernel's developers makes the crowd, and raises an interrupt at one instruction after the
//! other of the kernel's work. The lab builds that program, runs it, and reads the samples that it
//! prints, as of `operations`. The suite holds only the description of the experiment.
//!
//! - **Sample**: one interrupt. To the urgent thread, from the interrupt, or from the alarm whose handler
//!   it waits for, to the thread's mark. To its handler, from the earliest arrival to the handler's mark:
//!   an upper bound of the stretch with interrupts off, too large by a tick of the alarm at most (6
//!   instructions on `cortex-m4`).
//! - **Control**: none: the mark is in the figure, and the interrupt's move is taken out.
//! - **Evidence**: the program ended by itself without a complaint (it asserts that all sleepers and all
//!   waiting tasks woke in each round), and printed as many rows as it says it has; each has at least
//!   40 samples.
//! - **Source**: tandem. No other kernel has such a program yet.

use crate::spec::{Reading, Spec, WORST};

/// The description of `crowded`.
pub static SPEC: Spec = Spec {
    name: "crowded",
    summary: "an interrupt amid the kernel's longest work: 200 sleepers due at once, an end awaited by 119",
    start: "an interrupt, at one instruction after the other of the kernel's work",
    end: "the mark of the most urgent thread that its handler wakes, or of the handler itself",
    statistic: "one interrupt; its handler's samples exceed the wait by up to a tick of the alarm",
    control: "none",
    evidence: "all rows that the program has were measured, 40 times at least, and all tasks woke",
    pin: "",
    source: "tandem",
    parameters: &[],
    duration_us: |_| 3_000_000,
};

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long does the most urgent thread wait beside 200 sleepers?",
    compared: "beside 200 sleepers, the most urgent thread waits at most",
    sentences: &["beside 200 sleepers, the most urgent thread waits at most {max}"],
    ..WORST
};
