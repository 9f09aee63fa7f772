//! A pin's samples once more, as a slower analyser reads them: one that looks at the pins so many times a second, and whose
//! readings are whole numbers of its samples. A study asks for it: `analyser = { rate = "2MHz", phase = 0.25 }`.

use anyhow::{Error, Result};
use serde::Deserialize;

use super::{Observation, Series, by_pin, pins};
use crate::{
    capture::{self, Capture},
    units::{parse_hertz, show},
};

/// The role of the series that it makes.
pub(crate) const ROLE: &str = "pin-analyser";

/// An analyser that looks at all pins at once, at a fixed rate.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Text")]
pub struct Analyser {
    hertz: u64,
    phase: f64,
    looks: capture::Analyser,
}

/// As a study writes it.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "write { rate = \"2MHz\" }, and a phase if it is to be another than 0"
)]
struct Text {
    rate: String,
    /// When it looks first, in periods after the capture's start: from 0 to below 1.
    #[serde(default)]
    phase: f64,
}

impl TryFrom<Text> for Analyser {
    type Error = Error;

    fn try_from(Text { rate, phase }: Text) -> Result<Self> {
        let hertz = parse_hertz(&rate)?;
        Ok(Self { hertz, phase, looks: capture::Analyser::new(hertz, phase)? })
    }
}

impl Analyser {
    /// What the samples of a series are called that it reads: `switch by pin at 2 MS/s`.
    fn name(self, of: &str) -> String {
        let (scale, unit) = if self.hertz < 1_000_000 { (1e3, "kS/s") } else { (1e6, "MS/s") };
        format!("{}{} {unit}", readings_of(of), self.hertz as f64 / scale)
    }

    fn remark(self) -> String {
        let period = show(1e9 / self.hertz as f64, "ns");
        format!(
            "a reading by the analyser is a whole number of its samples, {period} apart; the first is {} of that after the start",
            self.phase
        )
    }
}

/// What the names of all readings of a series begin with.
pub(crate) fn readings_of(name: &str) -> String {
    format!("{} at ", by_pin(name))
}

impl Observation {
    /// Takes in what the case's analyser, if it has one, read of the repetition that has just ended. It proves nothing: what comes
    /// and goes between two of its samples it does not see.
    pub(super) fn read_slowly(&mut self, capture: &Capture, shown: &[pins::Shown]) -> Result<()> {
        let Some(analyser) = self.analyser else { return Ok(()) };
        let hertz = match &self.clock {
            Some(clock) if clock.domain != "instructions" => clock.hertz,
            _ => {
                self.remark_once(
                    "a clock of instructions has no seconds: the analyser reads nothing here"
                        .to_owned(),
                );
                return Ok(());
            }
        };
        let seen = capture.resample(analyser.looks)?;
        self.remark_once(analyser.remark());
        for &pins::Shown { index, pin, samples } in shown {
            let of = &self.series[index];
            if of.role != "measured" {
                continue;
            }
            let readings = pins::seen(&seen, pin)?;
            let unseen = samples.saturating_sub(readings.len() as u64);
            let remark = format!(
                "{unseen} of {samples} samples of {} are too short for the analyser",
                of.name
            );
            // Whole durations: a reading may be shorter than the nominal part, by less than a sample.
            let ticks = pins::in_ticks(&readings, 0, seen.tick, hertz)?;
            let beside = Series::beside(of, analyser.name(&of.name), ROLE, 0);
            if unseen > 0 {
                self.remark_once(remark);
            }
            self.add_beside(beside, &ticks)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Analyser, String> {
        #[derive(Deserialize)]
        struct Case {
            analyser: Analyser,
        }
        crate::toml_text::from_toml::<Case>(text)
            .map(|case| case.analyser)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn it_is_named_by_its_rate() {
        let name = |text| read(text).unwrap().name("switch");
        assert_eq!(name("analyser = { rate = \"2MHz\" }"), "switch by pin at 2 MS/s");
        assert_eq!(
            name("analyser = { rate = \"62.5kHz\", phase = 0.5 }"),
            "switch by pin at 62.5 kS/s"
        );
        let remark = read("analyser = { rate = \"2MHz\", phase = 0.25 }").unwrap().remark();
        assert!(remark.contains("500 ns apart") && remark.contains("0.25 of that"), "{remark}");
    }

    #[test]
    fn what_is_no_analyser_is_told_in_one_line() {
        for (text, why) in [
            ("analyser = { rate = \"fast\" }", "line 1: `fast` is not a rate"),
            ("analyser = { rate = \"0Hz\" }", "from 1"),
            ("analyser = { rate = \"2MHz\", phase = 1 }", "a phase of 1 is none"),
            ("analyser = { rate = \"2MHz\", phase = nan }", "a phase of NaN is none"),
            ("analyser = { rate = \"2MHz\", phases = 0 }", "unknown field `phases`"),
            ("analyser = { phase = 0 }", "missing field `rate`"),
            ("analyser = \"2MHz\"", "write { rate = \"2MHz\" }"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(why) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
