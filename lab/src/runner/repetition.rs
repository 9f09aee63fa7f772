//! One repetition of a case on its machine, and how progress is reported.

use std::{sync::atomic::AtomicBool, time::Duration};

use anyhow::Result;

use crate::{
    case::Case,
    child::Limit,
    machine::{Machine, Start},
    observation::Observation,
    stream::Decoder,
};

/// Receives progress updates; implemented by the progress bar.
pub trait Progress {
    /// Reports that a repetition of `case` is about to run. `done` is the expected time of the
    /// repetitions so far, `total` that of all.
    fn step(&mut self, case: &Case, done: Duration, total: Duration);
    fn finish(&mut self);
}

/// Runs one repetition of the case and adds its stream to `observation`.
///
/// # Errors
/// The target failed, or its stream is damaged.
pub fn repetition(
    machine: &dyn Machine,
    case: &Case,
    observation: &mut Observation,
    stop: &AtomicBool,
) -> Result<()> {
    let mut decoder = Decoder::default();
    let request = case.request();
    let start = Start { request: &request, limit: patience(case, machine), stop };
    let recording = machine
        .run(&start, &mut |bytes| decoder.feed(bytes, &mut |record| observation.take(record)))?;
    decoder.finish()?;
    observation.record(recording)
}

/// The limit for one repetition: the user's, in wall time, or a multiple of the expected time. On
/// an emulated machine the latter is the emulator's processor time, so that a busy host makes no
/// exact case inconclusive.
pub fn patience(case: &Case, machine: &dyn Machine) -> Limit {
    if let Some(watchdog) = case.watchdog {
        return watchdog.into();
    }
    let patience = Duration::from_secs(10)
        .saturating_add(case.expected().saturating_mul(10))
        .saturating_mul(machine.slowness());
    if machine.is_emulated() { Limit::of_work(patience) } else { patience.into() }
}
