//! `chronoscope report`: a stored run, shown again.

use anyhow::Result;

use crate::{cli, reference::Reference, report, store::Store};

pub fn execute(arguments: &cli::Report) -> Result<u8> {
    let reference: Reference = arguments.run.parse()?;
    let (_, run) = reference.load(|| Store::open(&arguments.store.path()?))?;
    report::write(&run, &arguments.output)?;
    Ok(0)
}
