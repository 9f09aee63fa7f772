//! `image`: what a kernel takes of the chip's memory.
//!
//! Nothing is timed. For each kernel there is a program as small as its users can write one (`ports/firmware/smallest`): two
//! tasks that show a letter, yield, and do so for ever; no suite, no log, no counting of switches, and the release build of
//! the other images. The lab builds it, and again with a third task, reads how large they are, and runs both. So the suite
//! holds only what the experiment says of itself.
//!
//! - **Sample**: one image. The series are bytes of `text` (executable sections), of `read-only data` (vectors, constants, and what
//!   variables start with), of `memory` (variables and the tasks' stacks; without the stack of the main program and of handlers,
//!   which has what is left over), and of `a task`: the memory of a third one, without its stack.
//!   Where tasks lie on the main program's stack, as lilos's users have them, the last is left out, and a line says so.
//! - **Control**: none: bytes are counted, not measured. The letter takes four instructions and is in all images alike.
//! - **Evidence**: in both images all tasks had the same number of turns, one more or less, by the letters that came.
//! - **Source**: the text of the peers' smallest images, beside which `studies/microcontrollers.toml` sets it.

use crate::spec::Spec;

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
