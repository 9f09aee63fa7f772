//! `chronoscope cache`: lists or removes cached kernels and virtual machines.

use std::fmt::Write;

use anyhow::Result;

use crate::cli;
use chronoscope_base::{cache::Cache, cache::LIMIT, cache::remove, console};
use chronoscope_units::printable;

/// Lists the cache's entries, or removes them; returns the exit status.
///
/// # Errors
/// The cache cannot be read or written.
pub fn execute(arguments: &cli::Cache) -> Result<u8> {
    let cache = Cache::for_user()?;
    let entries = cache.entries()?;
    let bytes = megabytes(entries.iter().map(|entry| entry.bytes).sum());
    if arguments.clear {
        entries.iter().try_for_each(remove)?;
        console::remark(&format!("{bytes} freed in {}", cache.folder().display()));
        return Ok(0);
    }
    let mut text = format!(
        "{}: {bytes} of {} at most\n",
        printable(&cache.folder().display().to_string()),
        megabytes(LIMIT)
    );
    for entry in &entries {
        writeln!(text, "  {:>8}  {}", megabytes(entry.bytes), printable(&entry.name))?;
    }
    console::print(&text)?;
    Ok(0)
}

/// A size in MB, rounded up.
fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}
