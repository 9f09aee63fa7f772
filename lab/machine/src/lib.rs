#![doc = include_str!("../README.md")]
//!
//! Each family of machines is one module and one row of the table in `machines`.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod arrivals;
mod builder;
mod description;
mod determinism;
mod family;
mod firmware;
mod given;
pub mod host;
mod images;
mod lock;
mod machines;
pub mod marks;
pub mod observe;
mod permission;
mod processes;
pub mod profile;
mod qemu;
mod request;
mod rtl;
mod scratch;
pub mod serial;
mod setup;
mod stream;
pub mod vm;
pub mod watch;

use std::{collections::BTreeMap, sync::atomic::AtomicBool};

use anyhow::{Result, bail};
use thiserror::Error;

pub use self::stream::{Interval, samples as samples_of};
pub use self::{
    builder::is_installed,
    description::{Description, Properties},
    machines::Machines,
    request::Request,
};
use crate::profile::Retirement;
use chronoscope_child::Limit;
use chronoscope_run::names::HOST;

/// The parameter of a soak: its length in seconds. See [`Properties::offers_soaks`].
pub const SOAK: &str = "soak_s";

/// The parameter of a case of `period` on Linux that ends at the first start later than this, in µs.
pub const BREAK: &str = "break_us";

/// The parameter of `noise` with the number of bytes that each turn of its loop copies.
pub const WORKLOAD: &str = "workload_bytes";

/// The provenance of a machine's figures.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// Everything that determines the figures, by name: versions, hashes, options.
    pub identity: BTreeMap<String, String>,
    /// How to read the figures, as a sentence; empty if there is nothing to say.
    pub remark: String,
}

/// The recordings of the machine's own instruments during one repetition.
#[derive(Debug, Default)]
pub struct Recording {
    /// The edges of the pins, as a value change dump.
    pub capture: Option<Vec<u8>>,
    /// The retired instructions, on a machine that observes each.
    pub retirement: Option<Retirement>,
}

impl Recording {
    /// No recordings.
    pub fn new() -> Self {
        Self::default()
    }
}

/// A request for a machine, and the conditions that end it early.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// The experiment and its parameters.
    pub request: &'a Request,
    /// The longest time, wall or processor, that the repetition may take.
    pub limit: Limit,
    /// Ends the run when it becomes true.
    pub stop: &'a AtomicBool,
}

/// A machine that runs a port's image, or watches a program, and yields a stream of records.
pub trait Machine: Send {
    /// The machine's properties, as in its [`Description`].
    fn properties(&self) -> Properties {
        Properties::default()
    }

    /// Prepares the image and the programs that [`run`](Self::run) starts, and returns their
    /// provenance. Called before each repetition; downloads and builds are done once.
    ///
    /// # Errors
    /// Something needed is missing; the message says how to get it.
    fn prepare(&self, _request: &Request, _stop: &AtomicBool) -> Result<Provenance> {
        Ok(Provenance::default())
    }

    /// Makes programs of the host available to [`run_program`](Self::run_program), if the machine
    /// does not have them anyway.
    fn include(&mut self, _programs: &[&str]) {}

    /// Runs one repetition of a case: starts the port and passes its bytes to `sink` as they
    /// arrive, until it ends. Ends early if `sink` fails, or as `start` says. Returns the
    /// recordings of the machine's instruments, if it has any besides the port's own marks.
    ///
    /// # Errors
    /// The port or the machine failed; the message includes the port's own, if it left one.
    /// [`SetUpFailed`] if the recordings could not be kept.
    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording>;

    /// Runs another program once, under the load that the request asks for; otherwise like
    /// [`run`](Self::run).
    ///
    /// # Errors
    /// The program or the machine failed; the message includes the program's own, if it left one.
    fn run_program(
        &self,
        program: &Program<'_>,
        _start: &Start<'_>,
        _sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        bail!("{} cannot run here: other programs run on {HOST} and in Linux guests", program.name)
    }

    /// The round that the experiment `worst` tries, by function.
    ///
    /// # Errors
    /// The machine does not see instructions, or the round cannot be found.
    fn round(&self, _start: &Start<'_>) -> Result<Round> {
        bail!("this machine does not show the instructions of a round: name emulated targets")
    }
}

/// The instructions of one round of an experiment, which a kernel repeats in its steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The instruction set: `arm`, `riscv32` or `riscv64`.
    pub architecture: &'static str,
    /// The functions in the order of execution, each with its number of instructions in a row.
    pub runs: Vec<(String, u64)>,
}

/// A program that is no port.
pub struct Program<'a> {
    /// The program's name in messages.
    pub name: &'a str,
    /// The program, by its name in PATH or its path, and its arguments.
    pub command: &'a [String],
}

/// The error of a target that failed while it was prepared, as a guest that does not boot. All other
/// errors of [`Machine::prepare`] belong to the set-up: a program is missing, or a build or a
/// download failed.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct TargetFailed(pub String);

/// The error of a repetition whose recordings could not be kept, since the temporary folder is
/// missing or full. The error belongs to the set-up; all other errors of [`Machine::run`] belong to
/// the target.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct SetUpFailed(pub String);
