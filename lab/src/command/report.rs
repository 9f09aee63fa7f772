//! `chronoscope report`: a stored run, shown again.

use anyhow::Result;

use crate::{cli, reference::Reference, report, store::Store};

pub fn execute(arguments: &cli::Report) -> Result<u8> {
    let mut runs = Vec::new();
    for word in &arguments.runs {
        let reference = Reference::try_from(word.as_os_str())?;
        let (found, run) = reference.load(|| Store::open(&arguments.store.path()?))?;
        runs.push((found.to_string(), run));
    }
    let (format, file) = (arguments.output.format(), arguments.output.output.as_deref());
    if let [(_, run)] = runs.as_slice() {
        report::write(run, format, file)?;
    } else {
        let runs: Vec<_> = runs.iter().map(|(name, run)| (name.clone(), run)).collect();
        report::write_several(&runs, format, file)?;
    }
    Ok(0)
}
