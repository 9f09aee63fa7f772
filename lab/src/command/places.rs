//! The places of labgrid's that a run uses, and the boards among which its cases are spread.

use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};

use crate::cli;
use chronoscope_engine::{case::Case, runner::boards, study::Peer};
use chronoscope_machine::{
    Machines,
    serial::boards::{Holding, PREFIX},
    serial::labgrid::Place,
};

/// Reserves and locks the places of `--place`: one, or up to `--places`.
///
/// # Errors
/// If no place can be had, or `stop` becomes true. Nothing is held then.
pub fn held<'m>(
    machines: &'m Machines,
    arguments: &cli::Run,
    stop: &AtomicBool,
) -> Result<Vec<Holding<'m>>> {
    if arguments.place.is_empty() {
        return Ok(Vec::new());
    }
    let most = usize::try_from(arguments.places.unwrap_or(1))?;
    let places = Place::get(&arguments.place, most, stop)?;
    places.into_iter().map(|place| machines.hold(place, stop)).collect()
}

/// The names of the boards among which the cases are spread; empty with less than two places.
///
/// # Errors
/// If a case or a peer does not run on the boards.
pub fn spread(places: &[Holding<'_>], cases: &[Case], peers: &[Peer]) -> Result<Vec<String>> {
    let [first, _, ..] = places else { return Ok(Vec::new()) };
    let board = format!("{PREFIX}{}", first.name);
    if let Some(case) = cases.iter().find(|case| case.target.machine != board) {
        bail!("`--places` spreads cases over boards, and {} is none: leave it out", case.target);
    }
    if !peers.is_empty() {
        bail!("`--places` spreads cases over boards, and the study has peers: leave out --places");
    }
    Ok(places.iter().map(|place| place.name.clone()).collect())
}

/// Each case on each of the boards.
pub fn on_each(cases: &[Case], boards: &[String]) -> Vec<Case> {
    let machines: Vec<String> = boards.iter().map(|board| format!("{PREFIX}{board}")).collect();
    boards::on_each(cases, &machines)
}
