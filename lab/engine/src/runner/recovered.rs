//! The runs of a lab that is dead, judged from its journal.

use std::time::Duration;

use anyhow::Result;

use super::{Outcome, assembly::runs, pair_tally::PairTally, tally::Tally};
use crate::journal::Unfinished;
use chronoscope_run::Run;

/// Judges a journal's results, as the lab that wrote it would have done at its end. The runs are
/// marked as interrupted unless all their repetitions are complete; a run may be without any case.
///
/// # Errors
/// If the journal cannot be read, or names something unknown to this program.
pub fn recovered(journal: &Unfinished) -> Result<Vec<Run>> {
    let header = &journal.header;
    let mut complete = 0;
    let mut refused = true;
    let mut spent = Duration::ZERO;
    let mut elapsed = journal.elapsed;
    let mut results = Vec::new();
    // One case at a time, so that memory holds the samples of one.
    for (place, case) in header.cases()?.iter().enumerate() {
        if let Some(soak) = journal.checkpoint(place)? {
            complete += usize::from(soak.is_whole && soak.result.repetitions >= case.repeat);
            spent = spent.saturating_add(soak.spent);
            elapsed = elapsed.max(soak.elapsed);
            refused = false;
            results.push(Some(soak.result));
            continue;
        }
        let tally = Tally::replayed(case, place, journal)?;
        complete += usize::from(!tally.needs_more());
        spent = spent.saturating_add(tally.spent);
        refused &= tally.observation.is_refused_at_set_up();
        results.push(tally.finish());
    }
    let mut peers: Vec<PairTally> = header.peers.iter().map(PairTally::new).collect();
    for pair in journal.pairs()? {
        if let Some(peer) = peers.get_mut(pair.peer) {
            peer.add(pair);
        }
    }
    refused &= peers.is_empty();
    complete += peers.iter().filter(|peer| !peer.needs_more()).count();
    let interrupted = complete < journal.cases();
    let peers = peers.into_iter().map(PairTally::finish).collect();
    // A run that could not be stored has come to its end, which its lab has noted.
    let ended = journal.stored.as_ref().map(|stored| stored.seconds);
    let seconds = ended.unwrap_or(elapsed.as_secs_f64());
    Ok(runs(header, seconds, Outcome { results, peers, complete, spent, interrupted, refused }))
}
