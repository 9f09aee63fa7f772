//! `worst`: the longest wait of an interrupt, by trying every arrival.
//!
//! A sample of `interrupt` says how long an interrupt waited that came at one moment. Here it comes at
//! every moment: the image of another experiment runs unchanged on an emulated chip, whose steady state
//! is a round of always the same instructions. In round k the kernel's timer interrupt becomes pending
//! while instruction k of the round executes. So the figure is no sample of the worst case, but the
//! worst case of this round, this build and this state. The suite holds only the description of the
//! experiment; `ports/qemu-plugin/src/arrivals` makes the interrupt pending.
//!
//! - **Sample**: the instructions from the one during which the interrupt becomes pending, without it,
//!   to the first one of its handler. A sample for each instruction of the round, in its order; the
//!   first one is the mark, on which a round begins.
//! - **Control**: none: instructions are counted, and nothing is subtracted. An exception's entry takes
//!   no instruction.
//! - **Evidence**: every instruction of the round was tried, each in a round that took the path up to
//!   the arrival; `arrivals tried again` counts those before which another interrupt came first.
//! - **Source**: none.

use crate::spec::{Parameter, Reading, Spec, Values, WORST};

/// A parameter of the experiment whose round is tried.
const fn passed(name: &'static str, help: &'static str) -> Parameter {
    let values = Values::Text("a value that the experiment of the round accepts");
    Parameter { name, unit: "", default: "", values, help }
}

/// The description of `worst`.
pub static SPEC: Spec = Spec {
    name: "worst",
    summary: "an interrupt at every instruction of a round: the longest wait for its handler",
    start: "the instruction during which the interrupt becomes pending",
    end: "the first instruction of its handler",
    statistic: "one arrival, for each instruction of a round of another experiment, in instructions",
    control: "none",
    evidence: "every instruction of the round was tried",
    pin: "",
    source: "none",
    parameters: &[
        Parameter {
            name: "of",
            unit: "",
            default: "switch",
            values: Values::Word(&["switch", "wakeup", "message", "interrupt", "masked"]),
            help: "the experiment whose round is tried",
        },
        passed("pair", "the kinds of task of the round's experiment"),
        passed("kind", "the kind of task of the round's experiment"),
        passed("primitive", "the object of the round's experiment"),
        passed("shape", "the shape of the round's experiment"),
        passed("tasks", "the tasks of the round's experiment"),
        passed("nested", "the number of another exception, which comes at every instruction, too"),
        passed("interrupt", "the number of the exception; the kernel's timer unless it is given"),
    ],
    duration_us: |_| 2_000_000,
};

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long can an interrupt wait?",
    compared: "of all arrivals, an interrupt waits at most",
    sentences: &["of all arrivals, an interrupt waits at most {max}"],
    ..WORST
};
