//! Puts runs together: the header of a journal, and the results of its cases and peers.

use super::Outcome;
use crate::journal::Header;
use chronoscope_base::digest;
use chronoscope_run::{Context, Run, SCHEMA};
use chronoscope_units::OneLine;

/// The runs of an outcome, one for each title of the header. `seconds` is the duration of the runs.
pub fn runs(header: &Header, seconds: f64, outcome: Outcome) -> Vec<Run> {
    let mut context = Context {
        seconds,
        case_seconds: Some(outcome.spent.as_secs_f64()),
        interrupted: outcome.interrupted,
        ..header.context.clone()
    };
    if let Some(shard) = &mut context.shard {
        retain(&mut shard.cases, &outcome.results);
        retain(&mut shard.peers, &outcome.peers);
    }
    let run = |(index, title): (usize, &OneLine)| Run {
        schema: SCHEMA,
        context: Context { uuid: uuid(&context, index), ..context.clone() },
        study: header.study.clone(),
        title: title.clone(),
        notes: header.notes.clone(),
        answering: header.answering.clone(),
        cases: Vec::new(),
        peers: Vec::new(),
    };
    let mut runs: Vec<Run> = header.titles.iter().enumerate().map(run).collect();
    let count = runs.len().max(1);
    for (place, result) in outcome.results.into_iter().enumerate() {
        if let Some(run) = runs.get_mut(place % count) {
            run.cases.extend(result);
        }
    }
    if let Some(first) = runs.first_mut() {
        first.peers = outcome.peers.into_iter().flatten().collect();
    }
    runs
}

/// The UUID of the run at `index`: the context's for the first, and one made from it for others, so
/// that a journal gives the same ones whenever it is read.
fn uuid(context: &Context, index: usize) -> OneLine {
    if index == 0 || context.uuid.is_empty() {
        return context.uuid.clone();
    }
    digest::uuid(format!("{} {index}", context.uuid).as_bytes()).into()
}

/// Keeps the places of the cases, or peers, that have a result.
fn retain<T>(places: &mut Vec<usize>, results: &[Option<T>]) {
    let mut results = results.iter();
    places.retain(|_| results.next().is_some_and(Option::is_some));
}
