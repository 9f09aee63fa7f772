//! `image`: the memory that a kernel takes on the chip.
//!
//! Nothing is timed. For each kernel there is a program as small as its users can write one: two
//! tasks that show a letter and yield in an endless loop, without the suite, a log or a count of
//! switches, in the release build of the other images. The lab builds it, builds it again with a
//! third task, reads the sizes of the two images, and runs both. The suite holds only the
//! description of the experiment.
//!
//! - **Sample**: one image. The series are bytes of `text` (executable sections), of `read-only
//!   data` (vectors, constants, initial values of variables), of `memory` (variables and the tasks'
//!   stacks, without the main stack, which gets the remaining memory), and of `a task`: the memory
//!   of the third task, without its stack. If tasks are on the main program's stack, as is usual
//!   with lilos, the last series is left out, and a line of the log says so.
//! - **Control**: none: bytes are counted, not measured. Showing the letter takes four instructions
//!   in every image.
//! - **Evidence**: in both images all tasks had the same number of turns, one more or less, by the
//!   letters that came.
//! - **Source**: the text of the peers' smallest images, beside which
//!   `studies/tandem.toml` sets it.

use crate::spec::{Figure, MEDIAN, Reading, Spec};

/// The description of `image`.
pub static SPEC: Spec = Spec {
    name: "image",
    summary: "bytes of the smallest image, and of a task",
    start: "nothing is timed: bytes are counted in the image of two tasks that yield",
    end: "for `a task`, in the same image with three tasks, less the stack",
    statistic: "one image: bytes of text, of read-only data, of memory, and of a task",
    control: "none",
    evidence: "in both images, run, all tasks have the same number of turns",
    pin: "",
    source: "peers",
    parameters: &[],
    duration_us: |_| 1_000_000,
};

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how many bytes does the smallest image take?",
    compared: "the smallest image takes, in bytes of flash,",
    typical: Figure::Of("text", "max"),
    worst: None,
    also: &[("memory", Figure::Of("memory", "max"))],
    sentences: &[
        "the smallest image has {text max} bytes of text and {memory max} bytes of memory",
        "the smallest image has {text max} bytes of text",
    ],
    ..MEDIAN
};
