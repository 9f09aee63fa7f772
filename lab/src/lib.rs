//! The lab: everything that happens before and after a case runs on its target.
//!
//! ```text
//! study ─► cases ─► machine starts the port's image ─► stream of records
//!                                                            │
//! report ◄─ verdicts ◄─ statistics ◄─ run (stored) ◄─────────┘
//! ```
//!
//! [`study`] and [`case`](mod@case) say what to run; [`machine`] runs a port and yields its bytes; [`stream`] decodes them;
//! [`observation`] collects the samples of all repetitions; [`verdict`] judges; [`run`] is what remains,
//! and is written by [`report`].

#![forbid(unsafe_code)]

pub mod case;
mod child;
pub mod cli;
pub mod command;
pub mod doctor;
pub mod machine;
pub mod observation;
pub mod peer;
pub mod report;
pub mod run;
pub mod runner;
pub mod statistics;
pub mod stream;
pub mod study;
pub mod units;
pub mod verdict;
