//! `chronoscope place`: gives back the places of labgrid's that killed runs hold.

use anyhow::{Result, bail};

use chronoscope_base::console;
use chronoscope_machine::serial::labgrid;

/// Gives back all of them that can be.
///
/// # Errors
/// If one cannot: the message names each.
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
