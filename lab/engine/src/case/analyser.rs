//! A logic analyser that samples the pins at a given rate, as a study sets it: `analyser = { rate =
//! "2MHz", phase = 0.25 }`.

use anyhow::{Error, Result};
use serde::{Deserialize, Serialize};

use chronoscope_capture as capture;
use chronoscope_run::names::readings_of;
use chronoscope_units::{parse_hertz, show};

/// An analyser that looks at all pins at once, at a fixed rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "Text")]
pub struct Analyser {
    hertz: u64,
    phase: f64,
    looks: capture::Analyser,
}

/// The analyser in a study's TOML.
#[derive(Serialize, Deserialize)]
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

impl From<Analyser> for Text {
    fn from(Analyser { hertz, phase, .. }: Analyser) -> Self {
        Self { rate: format!("{hertz}Hz"), phase }
    }
}

impl Analyser {
    /// The analyser as captures know it.
    pub fn looks(self) -> capture::Analyser {
        self.looks
    }

    /// The name of the analyser's readings of a series: `switch by pin at 2 MS/s`.
    pub fn name(self, of: &str) -> String {
        let (scale, unit) = if self.hertz < 1_000_000 { (1e3, "kS/s") } else { (1e6, "MS/s") };
        format!("{}{} {unit}", readings_of(of), self.hertz as f64 / scale)
    }

    /// How to read its readings.
    pub fn remark(self) -> String {
        let period = show(1e9 / self.hertz as f64, "ns");
        format!(
            "a reading by the analyser is a whole number of its samples, {period} apart; the first is {} of that after the start",
            self.phase
        )
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
        chronoscope_base::toml_text::from_toml::<Case>(text)
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
