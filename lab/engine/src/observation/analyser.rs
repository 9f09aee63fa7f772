//! A pin's samples as a slower sampling analyser reads them: in whole numbers of its sample
//! periods.

use anyhow::Result;

use super::{Observation, Series, pins};
use chronoscope_capture::Capture;
use chronoscope_run::{Domain, Role};

impl Observation {
    /// Takes in the readings of the case's analyser, if it has one, of the repetition that has just
    /// ended. They are no evidence: the analyser misses pulses that lie between two of its samples.
    pub(super) fn read_slowly(
        &mut self,
        capture: &Capture,
        shown: &[pins::PinnedSeries],
    ) -> Result<()> {
        let Some(analyser) = self.analyser else { return Ok(()) };
        let hertz = match &self.clock {
            Some(clock) if clock.domain != Domain::Instructions => clock.hertz,
            _ => {
                self.remark_once(
                    "a clock of instructions has no seconds: the analyser reads nothing here"
                        .to_owned(),
                );
                return Ok(());
            }
        };
        let seen = capture.resample(analyser.looks())?;
        self.remark_once(analyser.remark());
        for &pins::PinnedSeries { index, pin, samples } in shown {
            let of = &self.series[index];
            if of.role != Role::Measured {
                continue;
            }
            let readings = pins::seen(&seen, pin)?;
            let unseen = samples.saturating_sub(readings.len() as u64);
            let remark = format!(
                "{unseen} of {samples} samples of {} are too short for the analyser",
                of.name
            );
            // Whole durations, with the nominal part: a reading may be up to a sample shorter than
            // it.
            let ticks = pins::in_ticks(&readings, 0, seen.tick, hertz)?;
            let beside = Series::beside(of, analyser.name(&of.name), Role::PinAnalyser, 0);
            if unseen > 0 {
                self.remark_once(remark);
            }
            self.add_beside(beside, &ticks)?;
        }
        Ok(())
    }
}
