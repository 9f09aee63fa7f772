//! Writing an image into a board's flash, by the program `probe-rs`, which knows most chips and debug probes.

use std::{path::Path, process::Command, sync::atomic::AtomicBool, time::Duration};

use anyhow::{Result, anyhow, bail};

use crate::child;

/// Writes `image` into the flash of `chip`, and starts it.
///
/// # Errors
/// What is missing, and what probe-rs has to say.
pub fn flash(image: &Path, chip: &str, stop: &AtomicBool) -> Result<()> {
    if !image.is_file() {
        bail!("{} is not there: build the image first (docs/machines/serial.md)", image.display());
    }
    probe(Command::new("probe-rs").args(["download", "--chip", chip]).arg(image), stop)?;
    probe(Command::new("probe-rs").args(["reset", "--chip", chip]), stop)
}

fn probe(command: &mut Command, stop: &AtomicBool) -> Result<()> {
    // A megabyte takes half a minute over a slow probe.
    let limit = Duration::from_secs(300);
    child::run(command, "probe-rs", limit, stop, &mut |_| Ok(())).map_err(|error| {
        match error.downcast_ref::<std::io::Error>() {
            Some(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                anyhow!("probe-rs is not installed: `cargo install probe-rs-tools`, or see https://probe.rs")
            }
            _ => error,
        }
    })
}
