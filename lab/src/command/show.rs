//! `chronoscope show`: a picture to learn from, of a traced run. Each is a study, `show-NAME`.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::run;
use crate::cli;
use chronoscope_engine::study;
use chronoscope_units::words;

/// The begin of the names of the studies that draw pictures.
const PREFIX: &str = "show-";

pub fn execute(mut arguments: cli::Run) -> Result<u8> {
    let names: Vec<&str> = study::names().filter_map(|name| name.strip_prefix(PREFIX)).collect();
    let all = names.join(", ");
    if arguments.study.is_some() {
        bail!("`show` draws pictures of this version, and no --study: {all}");
    }
    if arguments.on.is_some() {
        bail!("`--on` divides a run: leave it out, `show` runs here");
    }
    let name = match arguments.experiments.as_slice() {
        [] => bail!("name a picture: {all}"),
        [one] => one,
        _ => bail!("`show` draws one picture at a time: {all}"),
    };
    if !names.contains(&&**name) {
        let hint = words::hint(name, names.iter().copied());
        bail!("there is no picture `{name}`{hint} the pictures are {all}");
    }
    arguments.study = Some(PathBuf::from(format!("{PREFIX}{name}")));
    arguments.experiments.clear();
    run::execute(&arguments)
}
