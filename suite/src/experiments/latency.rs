//! `latency`: the waiting times of a real-time and an ordinary caller for the same server, and
//! whether the server inherits their priority.
//!
//! Pairs of a client process and a service process; client n calls service n only. All clients
//! start together. In each round a new thread of the client, at `SCHED_FIFO` 99, makes one call and
//! ends; then the client's main thread, `SCHED_OTHER`, makes one. The service answers with its
//! policy, priority and processor while it serves. The experiment is about Linux's scheduling
//! classes, so the port to Linux implements it.
//!
//! - **Start**: the caller's mark, immediately before the call.
//! - **End**: the caller's mark, immediately after the call has returned.
//! - **Sample**: one call: `fifo`, or `other`.
//! - **Control**: marks one straight after the other.
//! - **Evidence**: each caller read back its own class; every call was answered by the intended
//!   process. Figures: calls that the service served at another real-time priority than its
//!   caller's (0: it inherits), and calls that both ends made on one processor.
//! - **Source**: P3, latency: `libhwbinder_latency`.
//!
//! How it differs from the source: the source creates its thread with the priority; here the thread
//! sets its class first. Neither is timed. With `work_us` the service works before it answers, and
//! `hogs` ordinary processes compete, to provoke priority inversion: an empty call shows none,
//! because fair schedulers favour tasks that have slept. `boost=yes`: the *client* gives the server
//! its own class before it calls, an emulation of inheritance without the driver.

use crate::spec::{MEDIAN, Parameter, Reading, Spec, Values};

/// The description of `latency`.
pub static SPEC: Spec = Spec {
    name: "latency",
    summary: "what a real-time and an ordinary caller wait for a server, and whether it takes \
              over their priority",
    start: "immediately before the caller calls",
    end: "immediately after the call has returned",
    statistic: "one call of a thread at SCHED_FIFO 99, or of one at SCHED_OTHER",
    control: "marks set one straight after the other",
    evidence: "each caller's class read back; every call answered by the service that was meant",
    pin: "",
    source: "P3, latency",
    parameters: &[
        Parameter {
            name: "kind",
            unit: "",
            default: "process",
            values: Values::Word(&["process"]),
            help: "the kind of task that clients and services are",
        },
        Parameter {
            name: "transport",
            unit: "",
            default: "unix",
            values: Values::Word(&[
                "binder",
                "hwbinder",
                "unix",
                "seqpacket",
                "pipe",
                "futex",
                "eventfd",
                "process_vm",
                "passthrough",
            ]),
            help: "what carries the call, as in transaction",
        },
        Parameter {
            name: "pairs",
            unit: "",
            default: "1",
            values: Values::Number(1, 32),
            help: "pairs of a client and its service; at most as many as processors, or they \
                   overload them",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "100",
            values: Values::Number(1, 1_000_000),
            help: "rounds of each pair: two calls each",
        },
        Parameter {
            name: "deadline_us",
            unit: "us",
            default: "2500",
            values: Values::Number(1, 10_000_000),
            help: "calls above it are misses",
        },
        Parameter {
            name: "work_us",
            unit: "us",
            default: "0",
            values: Values::Number(0, 1_000_000),
            help: "the service works so long before it answers",
        },
        Parameter {
            name: "hogs",
            unit: "",
            default: "0",
            values: Values::Number(0, 32),
            help: "ordinary processes that compete for the processor",
        },
        Parameter {
            name: "boost",
            unit: "",
            default: "no",
            values: Values::Word(&["no", "yes"]),
            help: "the client gives the service its class before it calls: an emulation of \
                   inheritance",
        },
        Parameter {
            name: "verbose",
            unit: "",
            default: "no",
            values: Values::Word(&["no", "yes"]),
            help: "tell who made and who served each call, where and at what priority",
        },
    ],
    duration_us: |request| {
        let pairs = request.number("pairs");
        let call = 40 + (1 + request.number("hogs")) * request.number("work_us");
        50_000 + request.number("loops") * pairs * (200 + 2 * call)
    },
};

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long does a call through binder take?",
    compared: "a call through binder takes",
    sentences: &["a call through binder takes {p50} at the median, {max} at worst"],
    ..MEDIAN
};
