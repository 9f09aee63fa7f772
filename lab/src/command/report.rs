//! `chronoscope report`: a stored run, shown again.

use anyhow::{Result, bail};

use super::{demo, run::duration, team};
use chronoscope_engine::study;

use crate::cli;
use chronoscope_report as report;
use chronoscope_store::{Store, reference::Reference};
use chronoscope_units::printable;

pub fn execute(arguments: &cli::Report) -> Result<u8> {
    if let Some(folder) = &arguments.demo {
        return demo::execute(folder);
    }
    let filter = &arguments.filter;
    if arguments.history {
        return team::write(arguments);
    }
    if [&filter.study, &filter.machine, &filter.label].iter().any(|flag| flag.is_some()) {
        bail!("--study, --machine and --label choose runs for --history: add it, or name a run");
    }
    let mut runs = Vec::new();
    for word in &arguments.runs {
        let reference = Reference::try_from(word.as_os_str())?;
        let (found, mut run) = reference.load(|| Store::open(&arguments.store.place()?))?;
        study::complete(&mut run);
        runs.push((found, run));
    }
    let (format, file) = (arguments.output.format(), arguments.output.output.as_deref());
    if let Some(horizon) = &arguments.extrapolate {
        let [(_, run)] = runs.as_slice() else { bail!("--extrapolate is for one run") };
        let (words, seconds) = self::horizon(horizon)?;
        report::write_extrapolated(run, seconds, words, format, file)?;
    } else if let [(found, run)] = runs.as_slice() {
        report::write(run, format, file, Some(&found.word()))?;
    } else {
        let runs: Vec<_> = runs.iter().map(|(found, run)| (found.to_string(), run)).collect();
        report::write_several(&runs, format, file)?;
    }
    Ok(0)
}

/// The named horizons: the word, the text that stands for it, and the seconds.
const HORIZONS: [(&str, &str, f64); 3] =
    [("hour", "an hour", 3600.0), ("day", "a day", 86_400.0), ("week", "a week", 604_800.0)];

/// Reads a horizon: its words, and its length in seconds.
///
/// # Errors
/// If it is neither a known word nor a time.
fn horizon(text: &str) -> Result<(&str, f64)> {
    match HORIZONS.iter().find(|(word, ..)| *word == text) {
        Some((_, words, seconds)) => Ok((words, *seconds)),
        None => match duration("--extrapolate", text) {
            Ok(time) => Ok((text, time.as_secs_f64())),
            Err(_) => bail!(
                "`--extrapolate {}`: write hour, day, week, or a number and s, m, h or d",
                printable(text)
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn horizons_are_words_or_times() {
        assert_eq!(horizon("day").unwrap(), ("a day", 86_400.0));
        assert_eq!(horizon("90m").unwrap(), ("90m", 5_400.0));
        for wrong in ["", "year", "0", "-1h", "5x"] {
            assert!(horizon(wrong).unwrap_err().to_string().contains("hour, day, week"));
        }
    }
}
