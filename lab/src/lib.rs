//! The lab: everything that happens before and after a case runs on its target.
//!
//! ```text
//! study ─► cases ─► machine starts the port's image ─► stream of records
//!                                                            │
//! report ◄─ verdicts ◄─ statistics ◄─ run (stored) ◄─────────┘
//! ```
//!
//! [`study`] and [`case`](mod@case) say what to run; [`machine`] runs a port and yields its bytes;
//! [`stream`] decodes them; [`observation`] collects the samples of all repetitions; [`judge`]
//! gives the verdict; [`run`] is the form that is stored. A [`report`] writes a run, or lays it out
//! on a [`timeline`]; the [`store`] keeps it. A [`comparison`] compares two runs, and a
//! [`baseline`] keeps the figures of one for later comparisons.
//!
//! Each room imports only rooms on floors below its own; `tests/quick/floors.rs` has the table.

#![forbid(unsafe_code)]

pub use chronoscope_capture as capture;
pub use chronoscope_child as child;
pub use chronoscope_run as run;
pub use chronoscope_statistics as statistics;
pub use chronoscope_units as units;

pub mod baseline;
pub mod cache;
pub mod case;
mod cause;
pub mod cli;
pub mod command;
pub mod comparison;
pub mod console;
mod digest;
pub mod doctor;
pub mod fleet;
mod folders;
pub mod http;
pub mod journal;
pub mod judge;
pub mod judged;
pub mod machine;
pub mod observation;
pub mod observe;
pub mod peer;
pub mod profile;
pub mod reference;
pub mod report;
pub mod runner;
pub mod signals;
pub mod store;
pub mod stream;
pub mod study;
pub mod timeline;
mod toml_text;
pub mod variant;
