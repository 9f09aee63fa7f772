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
//! and is written by [`report`], or laid out on a [`timeline`], and kept in the [`store`]. Two of them meet in a
//! [`comparison`]; what is kept of one to hold later ones against is a [`baseline`].

#![forbid(unsafe_code)]

pub use chronoscope_capture as capture;
pub use chronoscope_statistics as statistics;
pub use chronoscope_units as units;

pub mod baseline;
pub mod cache;
pub mod case;
mod cause;
mod child;
pub mod cli;
pub mod command;
pub mod comparison;
pub mod console;
mod digest;
pub mod doctor;
pub mod machine;
pub mod observation;
pub mod peer;
pub mod profile;
pub mod reference;
pub mod report;
pub mod run;
pub mod runner;
pub mod store;
pub mod stream;
pub mod study;
pub mod timeline;
mod toml_text;
pub mod variant;
pub mod verdict;
