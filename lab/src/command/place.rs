//! `chronoscope place`: gives back the places of labgrid that killed runs hold.

use anyhow::{Result, bail};

use chronoscope_base::console;
use chronoscope_machine::serial::labgrid;

/// Gives back every such place that can be; returns the exit status.
///
/// # Errors
/// A place cannot be given back; the message names all of them.
pub fn release() -> Result<u8> {
    let lost = labgrid::give_back_lost()?;
    match lost.given_back {
        0 if !lost.kept.is_empty() => {}
        0 => console::remark("no killed run holds a place"),
        1 => console::remark("1 place was given back"),
        several => console::remark(&format!("{several} places were given back")),
    }
    if !lost.kept.is_empty() {
        bail!("{}", lost.kept.join("; "));
    }
    Ok(0)
}
