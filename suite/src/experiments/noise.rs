//! `noise`: the gaps that a loop which never waits sees in its own time.
//!
//! The most urgent task reads the clock in a loop. Everything else that runs on its processor, and
//! everything that stops the processor, makes a turn of the loop longer: interrupts, other tasks,
//! non-maskable interrupts, the firmware, a hypervisor. The tools oslat and hwnoise measure the
//! same. The task sleeps between its windows, because kernels limit the time of real-time tasks.
//! The experiment reads a system's clock in user mode, so the port to Linux implements it.
//!
//! - **Start**: the clock read before the gap.
//! - **End**: the next clock read.
//! - **Sample**: one turn of the loop that took longer than `threshold_ns`; of a window without
//!   one, its longest turn. Figures: the share of the watched time in such turns, and their number
//!   in a second.
//! - **Control**: marks one straight after the other.
//! - **Evidence**: the loop never waited within a window; all gaps were kept; ten times, in turns
//!   that are not measured, a signal's handler takes the processor from the loop for a known time,
//!   and the loop sees a gap that holds all of it.
//! - **`by=hwlat`**: the kernel's tracer of that name looks in place of the loop. A sample is the largest
//!   gap of a processor, and the evidence that the tracer had it for as long as asked.
//! - **Source**: oslat (rt-tests), rtla hwnoise.
//!
//! How it differs from the sources: oslat rounds gaps to whole µs and keeps their histogram; here
//! each gap is kept with its time, so that a trace of the kernel shows the cause of each. hwnoise
//! switches interrupts off, and so sees only the gaps that no interrupt of the kernel's explains;
//! here the lab takes those apart afterwards, by the trace (`trace=yes`).

use crate::spec::{Parameter, Reading, Spec, THREAD, Values, WORST};

/// The description of `noise`.
pub static SPEC: Spec = Spec {
    name: "noise",
    summary: "the gaps in a loop that never waits: the time that others take from a processor",
    start: "the last clock read before the gap",
    end: "the next clock read of the loop",
    statistic: "one turn of the loop above the threshold, or else a window's longest; their share \
                of the time, and their number in a second",
    control: "marks set one straight after the other",
    evidence: "the loop never waited; every gap was kept; ten pauses of a known length were seen, \
               each as one gap",
    pin: "",
    source: "oslat; rtla hwnoise",
    parameters: &[
        THREAD,
        Parameter {
            name: "loops",
            unit: "",
            default: "10",
            values: Values::Number(1, 100_000),
            help: "windows of watching",
        },
        Parameter {
            name: "window_us",
            unit: "us",
            default: "90000",
            values: Values::Number(100, 900_000),
            help: "how long the loop watches at a time",
        },
        Parameter {
            name: "rest_us",
            unit: "us",
            default: "10000",
            values: Values::Number(0, 1_000_000),
            help: "the task sleeps as long before each window; less than a twentieth of all time \
                   meets Linux's limit on real-time tasks, which shows as gaps of 50 ms",
        },
        Parameter {
            name: "threshold_ns",
            unit: "ns",
            default: "1000",
            values: Values::Number(1, 1_000_000_000),
            help: "longer turns are gaps",
        },
        Parameter {
            name: "by",
            unit: "",
            default: "loop",
            values: Values::Extra(&["loop", "hwlat"]),
            help: "hwlat: the kernel's tracer looks with interrupts off, half of each second, so that only \
                   hardware, firmware and hypervisor are seen; the largest gap of each processor, 0 for \
                   none over 10 µs",
        },
    ],
    duration_us: |request| {
        let window = request.number("window_us") + request.number("rest_us");
        20_000 + request.number("loops") * window
    },
};

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long is the processor taken away at worst?",
    compared: "others take the processor for at most",
    sentences: &["others take the processor for {max} at worst, {p50} at the median"],
    ..WORST
};
