//! `fault`: the first touch of a page.
//!
//! A task of the most urgent class touches one page after the other of memory that is mapped and not
//! there yet. Each touch ends in the kernel, which finds or makes the page. A program that has not locked
//! its memory pays that in the middle of its work. The experiment needs a system with virtual memory, so
//! the port to Linux implements it.
//!
//! - **Start**: immediately before the page is touched.
//! - **End**: immediately after the touch has returned.
//! - **Sample**: one page. `page=anonymous`: the first write to new memory, for which the kernel clears
//!   a page. `page=shared`: the first write to a page that another mapping has filled. `page=copied`: the
//!   first write to a private page that was read before, which the kernel copies.
//! - **Control**: the same pages, touched a second time.
//! - **Evidence**: the kernel counted a minor fault for each page, and none in the control.
//! - **Source**: lmbench `lat_pagefault`.
//!
//! How it differs from the source: lmbench reads the pages of a file in turn and gives a mean; here each
//! page has a sample. The case's memory is locked as in all cases (`mlock`), but for these pages.

use crate::spec::{MEDIAN, Parameter, Reading, Spec, THREAD, Values};

/// The description of `fault`.
pub static SPEC: Spec = Spec {
    name: "fault",
    summary: "the first touch of a page that is mapped and not there yet",
    start: "immediately before the page is touched",
    end: "immediately after the touch",
    statistic: "one page",
    control: "the same pages, touched a second time",
    evidence: "the kernel counted a minor fault for each page, and none in the control",
    pin: "",
    source: "lmbench lat_pagefault",
    parameters: &[
        THREAD,
        Parameter {
            name: "page",
            unit: "",
            default: "anonymous",
            values: Values::Word(&["anonymous", "shared", "copied"]),
            help: "anonymous: new memory, cleared; shared: there already, in another mapping; copied: \
                   private, read before it is written",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "2000",
            values: Values::Number(10, 100_000),
            help: "pages",
        },
    ],
    duration_us: |request| 10_000 + 5 * request.number("loops"),
};

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "what does the first touch of a page cost?",
    compared: "the first touch of a page takes",
    sentences: &[
        "the first touch of a page takes {p50} at the median, {p99} at p99, {max} at worst",
        "the first touch of a page takes {p50} at the median, {max} at worst",
    ],
    ..MEDIAN
};
