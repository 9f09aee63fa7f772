#![doc = include_str!("../README.md")]
//!
//! Machines run the images of targets. A machine starts a port with a request and passes on the
//! bytes of its stream without reading them. Each is one file and one row of `FAMILIES`.

#![forbid(unsafe_code)]

mod builder;
mod determinism;
mod family;
pub mod firmware;
pub mod host;
mod images;
pub mod observe;
mod own;
mod processes;
pub mod profile;
pub mod qemu;
pub mod rtl;
mod scratch;
pub mod serial;
mod setup;
mod stream;
pub mod vm;

use std::{collections::BTreeMap, fmt, sync::atomic::AtomicBool};

use anyhow::{Result, bail};
use chronoscope_suite::{Parameter, Spec};

pub use self::builder::{install_peer, is_installed};
use self::family::{Family, Targets};
use crate::profile::Retirement;
use chronoscope_child::Limit;
use chronoscope_run::{Target, names::HOST};
use chronoscope_units::words;

/// The parameter of a soak: its length in seconds. See [`Machine::offers_soaks`].
pub const SOAK: &str = "soak_s";

/// The families of machines, in the order in which their targets are listed.
static FAMILIES: &[&Family] = &[
    &host::FAMILY,
    &vm::FAMILY,
    &qemu::FAMILY,
    &rtl::FAMILY,
    &serial::FAMILY,
    &serial::boards::FAMILY,
];

/// The provenance of a machine's figures.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Everything that determines the figures, by name: versions, hashes, options.
    pub identity: BTreeMap<String, String>,
    /// How to read the figures, as a sentence; empty if there is nothing to say.
    pub remark: &'static str,
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
    pub fn new() -> Self {
        Self::default()
    }
}

/// A request for a machine, and the conditions that end it early.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// The experiment and its parameters, as `NAME=VALUE` after spaces.
    pub request: &'a str,
    pub limit: Limit,
    /// Ends the run when it becomes true.
    pub stop: &'a AtomicBool,
}

/// A machine that runs a port's image.
pub trait Machine: Send {
    /// The request's keys that belong to the port on this machine, with their defaults here.
    fn parameters(&self) -> Vec<(&'static Parameter, String)>;

    /// The default of a parameter for an experiment on this target, if that of the tables does not
    /// suit it: a kernel without threads is measured with the kind of task that it has.
    fn default(&self, _spec: &Spec, _parameter: &'static Parameter) -> Option<&'static str> {
        None
    }

    /// Checks a request whose values are valid one by one for combinations that cannot be run.
    ///
    /// # Errors
    /// Names the parameters that exclude each other.
    fn check(&self, _request: &str) -> Result<()> {
        Ok(())
    }

    /// Prepares the image and the programs that [`run`](Self::run) starts, and returns their
    /// provenance. Called before each repetition; downloads and builds are done once.
    ///
    /// # Errors
    /// Something needed is missing; the message says how to get it.
    fn prepare(&self, _request: &str, _stop: &AtomicBool) -> Result<Made> {
        Ok(Made::default())
    }

    /// Returns whether a case of `period` can last for hours in one process, that sends its samples
    /// while it measures.
    fn offers_soaks(&self) -> bool {
        false
    }

    /// Returns whether a case executes the same number of instructions or cycles however busy the
    /// host is. Its watchdog then counts the emulator's processor time instead of wall time.
    fn is_emulated(&self) -> bool {
        false
    }

    /// Returns whether repetitions may run at the same time as those of other cases: each has its own
    /// processes, and its figures do not depend on the load of the host.
    fn shares_the_host(&self) -> bool {
        false
    }

    /// The duration of a case here as a multiple of that on a current processor.
    fn slowness(&self) -> u32 {
        1
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
        bail!("{} cannot run here: peers run on {HOST} and in Linux guests", program.name)
    }
}

/// A program that is no port.
pub struct Program<'a> {
    /// The program's name in messages.
    pub name: &'a str,
    pub command: &'a [String],
}

/// Finds the machine of a target and makes these programs of the host available on it.
///
/// # Errors
/// As [`find`].
pub fn with_programs(target: &Target, programs: &[&str]) -> Result<Box<dyn Machine>> {
    let mut machine = find(target)?;
    machine.include(programs);
    Ok(machine)
}

/// Splits a request into the value of `key`, which only the machine uses, and the rest, which the
/// port is given.
fn take<'a>(request: &'a str, key: &str) -> (Option<&'a str>, String) {
    let value = |word: &'a str| word.strip_prefix(key)?.strip_prefix('=');
    let rest = request.split(' ').filter(|word| value(word).is_none());
    (request.split(' ').find_map(value), rest.collect::<Vec<_>>().join(" "))
}

/// The error of a target that failed while it was prepared, as a guest that does not boot. All other
/// errors of [`Machine::prepare`] are those of the set-up: a program is missing, or a build or a
/// download failed.
#[derive(Debug)]
pub struct TargetFailed(pub String);

impl fmt::Display for TargetFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TargetFailed {}

/// The error of a repetition whose recordings could not be kept, since the temporary folder is
/// missing or full. It is one of the set-up; all other errors of [`Machine::run`] are the target's.
#[derive(Debug)]
pub struct SetUpFailed(pub String);

impl fmt::Display for SetUpFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetUpFailed {}

/// The machine that a target names.
///
/// # Errors
/// When there is no such machine, or it does not run that kernel.
pub fn find(target: &Target) -> Result<Box<dyn Machine>> {
    for family in FAMILIES {
        if let Some(machine) = (family.find)(target)? {
            if target.image.is_some() && !family.takes_images {
                bail!(
                    "`{target}` takes no image: an image runs on host, in a guest, on an emulated chip, \
                     or on a board (NAME=IMAGE@MACHINE)"
                );
            }
            return Ok(machine);
        }
    }
    let forms = forms().map(|(form, _)| form.to_owned());
    let known: Vec<String> = targets().chain(forms).collect();
    let near = words::nearest_three(&target.to_string(), known.iter().map(String::as_str));
    bail!("unknown target `{target}`: did you mean {near}? `chronoscope list` shows all")
}

/// All targets that can be listed.
pub fn targets() -> impl Iterator<Item = String> {
    FAMILIES.iter().flat_map(|family| match family.targets {
        Targets::Listed(targets) => targets(),
        Targets::Form { .. } => Vec::new(),
    })
}

/// The forms of targets on the user's own hardware, each with a phrase that explains it.
pub fn forms() -> impl Iterator<Item = (&'static str, &'static str)> {
    FAMILIES.iter().filter_map(|family| match family.targets {
        Targets::Listed(_) => None,
        Targets::Form { form, help } => Some((form, help)),
    })
}

#[cfg(test)]
mod tests {
    use chronoscope_suite::experiments;

    use super::*;

    #[test]
    fn what_is_the_machine_s_business_is_taken_out() {
        assert_eq!(
            take("switch cpu=0 mode=kvm loops=3", "mode"),
            (Some("kvm"), "switch cpu=0 loops=3".to_owned())
        );
        assert_eq!(take("switch modes=2", "mode"), (None, "switch modes=2".to_owned()));
    }

    #[test]
    fn defaults_are_values_of_known_parameters() {
        // The host's defaults may be of its own parameters.
        let host = find(&"linux@host".parse().unwrap()).unwrap().parameters();
        let tables = FAMILIES.iter().flat_map(|family| family.defaults);
        for (experiment, parameter, value) in tables.copied().flatten() {
            let spec = experiments::find(experiment).unwrap();
            let mut known = spec.parameters.iter().chain(host.iter().map(|(known, _)| *known));
            let parameter = known.find(|known| known.name == *parameter).unwrap();
            assert!(parameter.values.contain(value), "{experiment} {}", parameter.name);
        }
    }

    #[test]
    fn every_target_is_found() {
        for target in targets() {
            assert!(find(&target.parse().unwrap()).is_ok(), "{target}");
        }
        assert!(find(&"embassy@host".parse().unwrap()).is_err());
        assert!(find(&"linux@cortex-m4".parse().unwrap()).is_err());
    }
}
