//! Machines: what a target runs on. Each starts a port with a request and passes on the bytes of its stream.

mod agreement;
mod builder;
pub(crate) mod firmware;
pub mod host;
mod images;
pub mod qemu;
pub mod rtl;
pub mod serial;
pub mod vm;

use std::{collections::BTreeMap, iter, sync::atomic::AtomicBool};

use anyhow::{Result, bail};
use chronoscope_suite::{Parameter, Spec};

use crate::{child::Limit, profile::Retirement, run::Target, run::names::HOST};

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

/// A machine that runs a port's image.
pub trait Machine {
    /// The request's keys that belong to the port on this machine, with their defaults here.
    fn parameters(&self) -> Vec<(&'static Parameter, String)>;

    /// The default of an experiment's own parameter on this target, if the table's default does not
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

    /// Returns whether a case executes the same number of instructions or cycles however busy the
    /// host is. Its watchdog then counts the emulator's processor time instead of wall time.
    fn is_emulated(&self) -> bool {
        false
    }

    /// How many times longer a case may take here than on a processor of today.
    fn slowness(&self) -> u32 {
        1
    }

    /// Runs one case once: starts the port with `request` and hands its bytes to `sink` as they come, until it ends.
    /// Ends early when `sink` fails, when `limit` is over, or when `stop` becomes true. Returns what instruments besides
    /// the port's own marks have seen, where the machine has any.
    ///
    /// # Errors
    /// What went wrong, with what the port had to say about it.
    fn run(
        &self,
        request: &str,
        limit: Limit,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording>;

    /// Runs another program there, once, beside the load that `request` asks for; the rest is as for [`run`](Self::run).
    ///
    /// # Errors
    /// What went wrong, with what the program had to say about it.
    fn run_program(
        &self,
        program: &Program<'_>,
        _request: &str,
        _limit: Limit,
        _stop: &AtomicBool,
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

/// As [`find`]; a machine without a disk is given these programs of the host.
///
/// # Errors
/// As [`find`].
pub fn with_programs(target: &Target, programs: &[&str]) -> Result<Box<dyn Machine>> {
    match vm::find(&target.kernel).filter(|_| target.machine == "vm") {
        Some(vm) => Ok(Box::new(vm.with_programs(programs))),
        None => find(target),
    }
}

/// A machine's own defaults of experiments' parameters: experiment, parameter, value.
type Defaults = [(&'static str, &'static str, &'static str)];

fn default_in(defaults: &Defaults, spec: &Spec, parameter: &Parameter) -> Option<&'static str> {
    let found = defaults
        .iter()
        .find(|(experiment, name, _)| (*experiment, *name) == (spec.name, parameter.name));
    found.map(|(_, _, value)| *value)
}

/// Splits a request into the value of `key`, which only the machine uses, and the rest, which the
/// port is given.
fn take<'a>(request: &'a str, key: &str) -> (Option<&'a str>, String) {
    let value = |word: &'a str| word.strip_prefix(key)?.strip_prefix('=');
    let rest = request.split(' ').filter(|word| value(word).is_none());
    (request.split(' ').find_map(value), rest.collect::<Vec<_>>().join(" "))
}

/// The machine that a target names.
///
/// # Errors
/// When there is no such machine, or it does not run that kernel.
pub fn find(target: &Target) -> Result<Box<dyn Machine>> {
    if target.to_string() == HOST {
        return Ok(Box::new(host::Host));
    }
    if target.machine == "vm"
        && let Some(vm) = vm::find(&target.kernel)
    {
        return Ok(Box::new(vm));
    }
    if let Some(place) = target.machine.strip_prefix(serial::PREFIX) {
        return Ok(Box::new(serial::find(&target.kernel, place)?));
    }
    if let Some(rtl) = rtl::find(&target.kernel, &target.machine)? {
        return Ok(Box::new(rtl));
    }
    match qemu::find(&target.kernel, &target.machine)? {
        Some(qemu) => Ok(Box::new(qemu)),
        None => {
            let known: Vec<String> = targets().chain([serial::FORM.to_owned()]).collect();
            bail!("unknown target `{target}`: there is {}", known.join(", "))
        }
    }
}

/// All targets, as `list` shows them, but for boards: those are yours.
pub fn targets() -> impl Iterator<Item = String> {
    iter::once(HOST.to_owned()).chain(vm::targets()).chain(qemu::targets()).chain(rtl::targets())
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
        for (experiment, parameter, value) in
            firmware::DEFAULTS.iter().chain(&rtl::DEFAULTS).chain(&vm::DEFAULTS)
        {
            let spec = experiments::find(experiment).unwrap();
            let parameter = spec.parameters.iter().find(|known| known.name == *parameter).unwrap();
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
