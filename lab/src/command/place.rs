//! `chronoscope place`: gives back the places of labgrid's that killed runs hold.

use anyhow::Result;

use crate::{console, machine::serial::labgrid};

pub fn release() -> Result<u8> {
    match labgrid::give_back_lost()?.len() {
        0 => console::remark("no killed run holds a place"),
        1 => console::remark("1 place was given back"),
        several => console::remark(&format!("{several} places were given back")),
    }
    Ok(0)
}
