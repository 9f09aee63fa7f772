//! Writes an image into a board's flash with the program `probe-rs`, which supports most chips and
//! debug probes.

use std::{path::Path, process::Command, sync::atomic::AtomicBool, time::Duration};

use anyhow::{Result, anyhow, bail};

use chronoscope_child as child;

/// Writes `image` into the flash of `chip` and resets it. Takes at most ten minutes.
///
/// # Errors
/// If the image or probe-rs is missing, or probe-rs fails.
pub fn flash(image: &Path, chip: &str, stop: &AtomicBool) -> Result<()> {
    if !image.is_file() {
        bail!("{} is not there: build the image first (docs/machines/serial.md)", image.display());
    }
    probe(Command::new("probe-rs").args(["download", "--chip", chip]).arg(image), stop)?;
    probe(Command::new("probe-rs").args(["reset", "--chip", chip]), stop)
}

fn probe(command: &mut Command, stop: &AtomicBool) -> Result<()> {
    // A megabyte takes half a minute over a slow probe.
    let limit = Duration::from_secs(300).into();
    child::run(command, "probe-rs", limit, stop, &mut |_| Ok(())).map_err(|error: child::Error| {
        match error.is_missing() {
            true => anyhow!(
                "probe-rs is not installed: `cargo install probe-rs-tools`, or see https://probe.rs"
            ),
            false => error.into(),
        }
    })
}
