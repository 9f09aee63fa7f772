//! `chronoscope trace`: a stored run as a timeline.

use std::ffi::OsStr;

use anyhow::{Result, bail};

use crate::cli;
use chronoscope_base::console;
use chronoscope_report::{self as report, timeline::Timeline};
use chronoscope_run::{CaseResult, Run};
use chronoscope_store::{Store, reference::Reference};
use chronoscope_units::{word_without_passwords, words::quoted};

/// Writes a run as a timeline; returns the exit status.
///
/// # Errors
/// The run cannot be read or has nothing to show, or the output cannot be written.
pub fn execute(arguments: &cli::Trace) -> Result<u8> {
    let reference = Reference::try_from(arguments.run.as_os_str())?;
    let (_, run) = reference.load(|| Store::open(&arguments.store.place()?))?;
    let cases = chosen(&run, arguments.case.as_deref())?;
    let mut timeline = Timeline::new(&cases);
    if timeline.is_empty() {
        let what = match timeline.remarks.first() {
            Some(remark) => remark.clone(),
            None => "no case of it has samples, or left a trace".to_owned(),
        };
        bail!(
            "there is nothing to show of the run: {what}; run it with --samples, or with --set trace=yes where the target can \
             record what it does"
        );
    }
    report::draw(&mut timeline, arguments.format, arguments.output.as_deref())?;
    if !arguments.quiet {
        timeline.remarks.iter().for_each(|remark| console::remark(remark));
    }
    Ok(0)
}

/// The command that shows `run` on a timeline, where `word` names it on the command line; `None` if
/// there is nothing to show.
pub(super) fn command(run: &Run, word: &OsStr, store: &cli::Store) -> Option<String> {
    let cases: Vec<&CaseResult> = run.cases.iter().collect();
    let store = store
        .store
        .as_deref()
        .map(|store| quoted(&word_without_passwords(&store.display().to_string())));
    let store = store.map(|store| format!(" --store {store}")).unwrap_or_default();
    let word = quoted(&word.to_string_lossy());
    (!Timeline::new(&cases).is_empty()).then(|| format!("chronoscope trace {word}{store}"))
}

/// The selected cases: all, the case of a number, or the cases that have every word.
fn chosen<'a>(run: &'a Run, which: Option<&str>) -> Result<Vec<&'a CaseResult>> {
    let Some(which) = which else { return Ok(run.cases.iter().collect()) };
    if let Ok(number) = which.parse::<usize>() {
        let case = number.checked_sub(1).and_then(|place| run.cases.get(place));
        return case.map(|case| vec![case]).ok_or_else(|| {
            anyhow::anyhow!(
                "`--case {number}`: the run has {}, counted from 1",
                cases(run.cases.len())
            )
        });
    }
    let has = |case: &CaseResult| which.split_whitespace().all(|word| case.is_called(word));
    let found: Vec<_> = run.cases.iter().filter(|case| has(case)).collect();
    if found.is_empty() {
        let known = run
            .cases
            .iter()
            .take(3)
            .map(|case| format!("`{} {} {}`", case.experiment, case.target, case.label));
        let known = known.collect::<Vec<_>>().join(", ");
        bail!(
            "`--case {which}`: none of the run's {} has these words: there is {known}",
            cases(run.cases.len())
        );
    }
    Ok(found)
}

/// A number of cases in words.
fn cases(count: usize) -> String {
    if count == 1 { "1 case".to_owned() } else { format!("{count} cases") }
}

#[cfg(test)]
mod tests {
    use chronoscope_run::sample;

    use super::*;

    #[test]
    fn a_printed_command_has_no_password() {
        let mut run = sample::run();
        run.cases = vec![sample::case("switch", "")];
        run.cases[0].series[0].samples = vec![(0.0, 1.0), (5.0, 2.0)];
        let store = cli::Store { store: Some("postgres://ann:s3cret@db/lab".into()) };
        let shown = command(&run, OsStr::new("3"), &store).unwrap();
        assert!(shown.starts_with("chronoscope trace 3 --store "), "{shown}");
        assert!(shown.contains("postgres://ann:***@db/lab"), "{shown}");
    }
}
