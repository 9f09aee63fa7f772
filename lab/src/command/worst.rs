//! `chronoscope worst`: the experiment `worst`, of the round of the experiment that is named.

use std::mem;

use anyhow::{Result, bail};

use super::run;
use crate::cli;

/// The targets, unless some are named.
const TARGETS: [&str; 2] = ["tandem@cortex-m4", "freertos@cortex-m4"];

/// The experiment whose round is tried, unless one is named.
const SWITCH: &str = "switch";

pub fn execute(worst: cli::Worst) -> Result<u8> {
    let cli::Worst { nested, run: mut arguments } = worst;
    if arguments.study.is_some() {
        bail!("`worst` tries the round of an experiment: leave out --study");
    }
    if arguments.on.is_some() {
        bail!("`--on` divides a run: leave it out, `worst` runs here");
    }
    let of = match mem::take(&mut arguments.experiments).as_slice() {
        [] => SWITCH.to_owned(),
        [one] => one.to_owned(),
        _ => bail!("`worst` tries the rounds of one experiment at a time"),
    };
    arguments.experiments.push("worst".to_owned());
    arguments.set.push(format!("of={of}"));
    arguments.set.extend(nested.map(|number| format!("nested={number}")));
    if arguments.target.is_empty() {
        arguments.target = TARGETS.map(str::to_owned).to_vec();
    }
    // A repeat gives the same, and the picture needs each arrival.
    arguments.repeat.get_or_insert(1);
    arguments.samples = true;
    run::execute(&arguments)
}
