//! `chronoscope report`: a stored run, shown again.

use anyhow::{Result, bail};

use crate::{
    cli::{self},
    reference::Reference,
    report::{self, format::Format},
    store::Store,
};

pub fn execute(arguments: &cli::Report) -> Result<u8> {
    let mut runs = Vec::new();
    for text in &arguments.runs {
        let reference: Reference = text.parse()?;
        let (found, run) = reference.load(|| Store::open(&arguments.store.path()?))?;
        runs.push((found.to_string(), run));
    }
    match (runs.as_slice(), arguments.output.format()) {
        ([(_, run)], _) => {
            report::write(run, arguments.output.format(), arguments.output.output.as_deref())?
        }
        (_, Format::Html) => {
            let runs: Vec<_> = runs.iter().map(|(name, run)| (name.clone(), run)).collect();
            report::emit(&report::html::render(&runs), arguments.output.output.as_deref())?;
        }
        _ => bail!("several runs are shown in a page only: write `-o FILE.html`, or name one run"),
    }
    Ok(0)
}
