//! The stored runs before a run: the scatter between runs and the prediction of the next one are
//! learned from them.

use std::collections::BTreeSet;

use anyhow::Result;

use chronoscope_report::comparison::History;
use chronoscope_run::{CaseResult, Context, Run};
use chronoscope_store::Store;

/// The number of newest stored runs, of all machines, among which earlier runs of the same machine are.
const LISTED: u32 = 10_000;

/// The most runs of the same machine that are read.
const SEARCHED: usize = 100;

/// The largest number of earlier runs from which the scatter between runs is learned.
const LEARNED: usize = 12;

/// The most earlier runs that predict the next one: with the run itself nineteen, of which the next
/// is outside with 10 %.
const PREDICTING: usize = 18;

/// The scatter between runs, learned from the newest stored runs on the same machine that share a
/// case with the last of `runs`. The runs of `runs` themselves, and runs that cannot be read, are
/// left out.
pub(super) fn scatter(store: &Store, runs: &[&Run]) -> Result<History> {
    let mut history = History::default();
    for run in earlier_runs(store, runs, LEARNED, None)? {
        history.add(&run);
    }
    Ok(history)
}

/// The newest stored runs on the machine of the last of `runs` that share a case with it, at most
/// `most`. The runs of `runs` themselves, runs that began at the date `before` or after it, and runs that
/// cannot be read, are left out.
fn earlier_runs(
    store: &Store,
    runs: &[&Run],
    most: usize,
    before: Option<&str>,
) -> Result<Vec<Run>> {
    let mut earlier = Vec::new();
    let Some(newest) = runs.last() else { return Ok(earlier) };
    let is_compared = |context: &Context| {
        runs.iter()
            .any(|run| (&run.context.date, run.context.seconds) == (&context.date, context.seconds))
    };
    let keys: BTreeSet<String> = newest.cases.iter().map(CaseResult::key).collect();
    let listed = store.complete_runs(&newest.context.host, LISTED)?;
    let is_earlier = |started: &str| before.is_none_or(|before| started < before);
    for (number, _) in listed.iter().filter(|(_, started)| is_earlier(started)).take(SEARCHED) {
        let Ok(run) = store.run(*number) else { continue };
        let shares_case = || run.cases.iter().any(|case| keys.contains(&case.key()));
        if !is_compared(&run.context)
            && run.context.processor == newest.context.processor
            && shares_case()
        {
            earlier.push(run);
        }
        if earlier.len() == most {
            break;
        }
    }
    Ok(earlier)
}

/// Predicts the next run of each case of a stored run, from the runs in the store that started
/// before it.
///
/// # Errors
/// If the store cannot be read.
pub(super) fn predict(store: &Store, run: &mut Run) -> Result<()> {
    if run.cases.iter().all(CaseResult::is_deterministic) {
        return Ok(());
    }
    let earlier = earlier_runs(store, &[run], PREDICTING, Some(&run.context.date))?;
    run.predict(&earlier);
    Ok(())
}
