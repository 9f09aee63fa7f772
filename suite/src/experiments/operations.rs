//! `operations`: a kernel's operations one by one, by a benchmark of the kernel's own.
//!
//! The other experiments are the same code for every kernel, so a mark, a port's call and the
//! kernel's count of switches are in their figures. Here the kernel's developers wrote the program:
//! each operation stands between two marks as its users write it. The lab builds that program, runs
//! it, and reads the samples that it prints. `docs/tandem.md` says what each row of tandem's does.
//! The suite holds only the description of the experiment.
//!
//! - **Sample**: one operation, between two marks; nothing is subtracted. A series for each
//!   operation, and one for each object's bytes of memory that the program knows.
//! - **Control**: the series `control: two marks`, without an operation between them.
//! - **Evidence**: the program ended by itself without a complaint (it tests what its operations
//!   have done), and printed as many operations as it says it has; each has at least 40 samples.
//! - **Source**: tandem, whose goals the rows are; `studies/tandem.toml` has limits for
//!   them.

use crate::spec::{MEDIAN, Parameter, Reading, Spec, Values};

/// The description of `operations`.
pub static SPEC: Spec = Spec {
    name: "operations",
    summary: "a kernel's operations one by one, by a benchmark of its own",
    start: "the mark before an operation",
    end: "the mark behind it: in the task that it wakes, if it is so named",
    statistic: "one operation; nothing is subtracted",
    control: "two marks without an operation between them",
    evidence: "all operations that the program has were measured, 40 times at least",
    pin: "",
    source: "tandem",
    parameters: &[Parameter {
        name: "slices",
        unit: "",
        default: "no",
        values: Values::Word(&["no", "yes"]),
        help: "the kernel's build: with time slices, before one is set; its rows that differ",
    }],
    duration_us: |_| 2_000_000,
};

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long do the kernel's own operations take?",
    compared: "the kernel's operations take",
    sentences: &["the kernel's operations take {p50} at the median"],
    ..MEDIAN
};
