//! Machines: what a target runs on. Each starts a port with a request and passes on the bytes of its stream.

pub mod host;
pub mod qemu;
pub mod vm;

use std::{collections::BTreeMap, sync::atomic::AtomicBool, time::Duration};

use anyhow::{Result, bail};
use chronoscope_suite::{Parameter, Spec};

use crate::case::Target;

/// What the figures of a machine are made with.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// All that they follow from, by name: versions, hashes, options.
    pub identity: BTreeMap<String, String>,
    /// How to read them; empty where there is nothing to say.
    pub remark: &'static str,
}

/// What a target runs on.
pub trait Machine {
    /// The request's keys that belong to the port on this machine, with their defaults here.
    fn parameters(&self) -> Vec<(&'static Parameter, String)>;

    /// The default of an experiment's own parameter, where the one in its table is not for this target: a kernel without
    /// threads is measured with the kind of task that it has.
    fn default(&self, _spec: &Spec, _parameter: &'static Parameter) -> Option<&'static str> {
        None
    }

    /// Makes ready what [`run`](Self::run) starts, and tells what that is. Called before each run; what takes long is done
    /// once.
    ///
    /// # Errors
    /// What is missing, with the mend.
    fn prepare(&self, _request: &str, _stop: &AtomicBool) -> Result<Made> {
        Ok(Made::default())
    }

    /// How many times longer a case may take here than on a processor of today.
    fn slowness(&self) -> u32 {
        1
    }

    /// Runs one case once: starts the port with `request` and hands its bytes to `sink` as they come, until it ends.
    /// Ends early when `sink` fails, when `limit` is over, or when `stop` becomes true.
    ///
    /// # Errors
    /// What went wrong, with what the port had to say about it.
    fn run(
        &self,
        request: &str,
        limit: Duration,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()>;
}

/// The machine that a target names.
///
/// # Errors
/// When there is no such machine, or it does not run that kernel.
pub fn find(target: &Target) -> Result<Box<dyn Machine>> {
    if (target.kernel.as_str(), target.machine.as_str()) == ("linux", "host") {
        return Ok(Box::new(host::Host));
    }
    if target.machine == "vm"
        && let Some(vm) = vm::find(&target.kernel)
    {
        return Ok(Box::new(vm));
    }
    match qemu::find(&target.kernel, &target.machine) {
        Some(qemu) => Ok(Box::new(qemu)),
        None => bail!("unknown target `{target}`: there is {}", TARGETS.join(", ")),
    }
}

/// All targets, as `list` shows them.
pub const TARGETS: &[&str] = &[
    "linux@host",
    "linux-none@vm",
    "linux-voluntary@vm",
    "linux-full@vm",
    "linux-rt@vm",
    "linux-none-6.12@vm",
    "linux-voluntary-6.12@vm",
    "linux-full-6.12@vm",
    "linux-rt-6.12@vm",
    "linux@vm",
    "tandem@cortex-m4",
    "embassy@cortex-m4",
    "bare@cortex-m4",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_found() {
        for target in TARGETS {
            assert!(find(&target.parse().unwrap()).is_ok(), "{target}");
        }
        assert!(find(&"embassy@host".parse().unwrap()).is_err());
        assert!(find(&"linux@cortex-m4".parse().unwrap()).is_err());
    }
}
