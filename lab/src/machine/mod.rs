//! Machines: what a target runs on. Each starts a port with a request and passes on the bytes of its stream.

pub mod host;

use std::{sync::atomic::AtomicBool, time::Duration};

use anyhow::{Result, bail};
use chronoscope_suite::Parameter;

use crate::case::Target;

/// What a target runs on.
pub trait Machine {
    /// The request's keys that belong to the port on this machine, with their defaults here.
    fn parameters(&self) -> Vec<(&'static Parameter, String)>;

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
    match (target.kernel.as_str(), target.machine.as_str()) {
        ("linux", "host") => Ok(Box::new(host::Host)),
        _ => bail!("unknown target `{target}`: there is {}", TARGETS.join(", ")),
    }
}

/// All targets, as `list` shows them.
pub const TARGETS: &[&str] = &["linux@host"];
