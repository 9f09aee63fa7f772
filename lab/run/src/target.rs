//! Targets: a kernel on a machine.

use std::{fmt, str::FromStr};

use anyhow::{Result, bail};

/// A target, written `kernel@machine`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    pub kernel: String,
    pub machine: String,
}

impl FromStr for Target {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once('@') {
            Some((kernel, machine)) if !kernel.is_empty() && !machine.is_empty() => {
                Ok(Self { kernel: kernel.to_owned(), machine: machine.to_owned() })
            }
            _ => bail!("`{text}` is not a target: write kernel@machine, as linux@host"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.kernel, self.machine)
    }
}
