//! Parts that the commands in the words of other tools share: the length and the processors of a run, the
//! device that keeps processors awake, and files.

use std::{
    env,
    ffi::OsString,
    fs::{File, OpenOptions},
    io::Write as _,
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::run;
use crate::revision::REVISION;
use chronoscope_base::{console, signals::INTERRUPTED};
use chronoscope_engine::{
    case::{self, Case, Plan, Settings},
    runner::context,
};
use chronoscope_machine::{Machines, host};
use chronoscope_report as report;
use chronoscope_run::{CaseResult, Status, names::HOST};
use chronoscope_units::{printable, word_without_passwords};

/// The most starts of a thread whose samples are kept one by one; more are a soak.
const KEPT: u64 = 1_000_000;

/// The highest priority of a measured thread.
const HIGHEST: u64 = 91;

/// The length of a run without an end: the longest soak.
pub(super) const ENDLESS: &str = "365d";

/// The file that holds processors out of deep sleep while it is open.
pub(super) const DMA_LATENCY: &str = "/dev/cpu_dma_latency";

/// The length of a run: starts of each thread, or a time, which is a soak.
pub(super) enum Length {
    Loops(u64),
    Time(Duration),
}

impl Length {
    /// The length of a run whose threads start every `interval` µs, by the time of `flag` or by a number
    /// of starts; without either the run has no end of its own.
    ///
    /// # Errors
    /// The text is no time.
    pub(super) fn new(
        (flag, duration): (&str, Option<&str>),
        loops: u64,
        interval: u64,
    ) -> Result<Self> {
        let text = match (duration, loops) {
            (None, 0) => ENDLESS,
            (None, loops @ 1..=KEPT) => return Ok(Self::Loops(loops)),
            (None, loops) => {
                let seconds = loops.saturating_mul(interval).div_ceil(1_000_000);
                return Ok(Self::Time(run::duration("-l", &format!("{seconds}s"))?));
            }
            (Some(text), _) => text,
        };
        let time = run::duration(flag, text)?;
        let loops = u64::try_from(time.as_micros())?.div_ceil(interval);
        Ok(if loops <= KEPT { Self::Loops(loops) } else { Self::Time(time) })
    }
}

/// The only case of an experiment on this machine with these settings, measured once.
///
/// # Errors
/// A setting has a wrong value.
pub(super) fn case(machines: &Machines, experiment: &str, settings: &Settings) -> Result<Case> {
    let plan = Plan { repeat: 1, ..Plan::default() };
    let spec = case::experiment(experiment)?;
    let mut cases = case::expand(machines, spec, &HOST.parse()?, settings, &plan)?;
    cases.pop().context("the settings make one case")
}

/// # Errors
/// The priority is one of those that the lab keeps for itself.
pub(super) fn check_priority(flag: &str, priority: u64) -> Result<()> {
    if priority > HIGHEST {
        bail!("`{flag}{priority}`: write {HIGHEST} or less: the lab keeps those above");
    }
    Ok(())
}

/// The processors of a list, as 0,2-3 or all.
///
/// # Errors
/// The text has another form.
pub(super) fn processors(flag: &str, list: &str) -> Result<Vec<usize>> {
    host::processors(&list.replace(',', "+"))
        .with_context(|| format!("`{flag} {}`: write processors as 2, 0-3 or 0,2", printable(list)))
}

/// Holds processors out of sleep states that take longer to leave, while the file is open.
///
/// # Errors
/// The value is beyond 32 bits.
pub(super) fn keep_awake(flag: &str, us: u64) -> Result<Option<File>> {
    let value = i32::try_from(us).with_context(|| format!("`{flag}={us}` is too long"))?;
    let open = || {
        let mut file = OpenOptions::new().write(true).open(DMA_LATENCY)?;
        file.write_all(&value.to_ne_bytes())?;
        Ok::<File, std::io::Error>(file)
    };
    Ok(open().inspect_err(|error| console::remark(&format!("WARN: {DMA_LATENCY}: {error}"))).ok())
}

/// # Errors
/// Nothing was measured; the reason is the case's own.
pub(super) fn refuse(case: &CaseResult) -> Result<()> {
    let has_samples = case.series.iter().any(|series| series.summary.count > 0);
    if case.verdict.status == Status::Error || !has_samples {
        let reasons: Vec<&str> = case.verdict.reasons.iter().map(|reason| &**reason).collect();
        bail!("nothing was measured: {}", reasons.join("; "));
    }
    Ok(())
}

/// The exit status of a run that a signal ended before its case was measured.
///
/// # Errors
/// The run could not be stored.
pub(super) fn without_samples<T>(stored: Result<T>) -> Result<u8> {
    stored?;
    console::remark("interrupted: nothing was measured");
    Ok(INTERRUPTED)
}

/// The command line without passwords, and the time as [`Context::date`](chronoscope_run::Context).
pub(super) fn command_and_time() -> [String; 2] {
    [command(env::args_os().skip(1)), context::now(REVISION).date.to_string()]
}

fn command(words: impl Iterator<Item = OsString>) -> String {
    let words = words.map(|word| word_without_passwords(&word.display().to_string()));
    words.collect::<Vec<_>>().join(" ")
}

/// # Errors
/// The file cannot be written.
pub(super) fn write_json(file: &Path, json: &Value) -> Result<()> {
    write(file, &format!("{}\n", serde_json::to_string_pretty(json)?))
}

/// # Errors
/// The file cannot be written.
pub(super) fn write(file: &Path, text: &str) -> Result<()> {
    Ok(report::emit(text, Some(file))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_has_no_password() {
        let words = ["cyclictest", "--store", "postgres://ann:s3 cret@db/lab", "-l", "100"];
        let shown = command(words.iter().map(OsString::from));
        assert_eq!(shown, "cyclictest --store postgres://ann:***@db/lab -l 100");
    }
}
