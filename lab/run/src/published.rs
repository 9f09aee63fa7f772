//! Published figures, which reports show next to measured ones. The module finds no counterpart.

use std::collections::BTreeMap;

use chronoscope_units::{OneLine, Text};
use serde::{Deserialize, Serialize};

use crate::words::Role;

/// A figure from a public report, shown next to the measured one.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Published {
    /// The identifier of the source, such as `P1.switch.timer`.
    pub source: OneLine,
    /// The hardware of the measurement.
    pub on: OneLine,
    /// The statistic's name, as in a [`Limit`](crate::Limit).
    pub statistic: OneLine,
    /// The series to compare with the figure; the first measured one if `None`.
    pub series: Option<OneLine>,
    /// The instrument of the measurement.
    #[serde(default, skip_serializing_if = "Instrument::is_timer")]
    pub instrument: Instrument,
    /// The value; in ns if it is a time.
    pub value: f64,
    /// The unit of a count, such as `instructions`; empty for times and plain numbers.
    #[serde(default)]
    pub unit: OneLine,
    /// `true` if the value is a time by the clock of the case, so that measured ticks can be
    /// converted to time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_clock: bool,
    /// The parameters of the cases to which the figure applies.
    pub when: BTreeMap<OneLine, OneLine>,
    /// A note for the reader.
    pub note: Text,
}

/// The instrument of a figure.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Instrument {
    /// The target's own clock.
    #[default]
    Timer,
    /// A logic analyser on the target's pins.
    Pin,
    /// The case's slower analyser, whose readings are whole numbers of samples.
    Analyser,
}

impl Instrument {
    // Serde passes a reference.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_timer(&self) -> bool {
        *self == Self::Timer
    }

    /// The role of the instrument's series.
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Timer => Role::Measured,
            Self::Pin => Role::Pin,
            Self::Analyser => Role::PinAnalyser,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    /// A run file names the instrument only where it is not the target's clock.
    #[test]
    fn the_timer_is_not_written() {
        let written = json!({
            "source": "P1", "on": "a chip", "statistic": "p50", "series": null, "value": 1.0,
            "unit": "", "when": {}, "note": "",
        });
        let mut published: Published = from_value(written.clone()).unwrap();
        assert_eq!(published.instrument, Instrument::Timer);
        assert_eq!(to_value(&published).unwrap(), written);
        for (instrument, name) in [(Instrument::Pin, "pin"), (Instrument::Analyser, "analyser")] {
            published.instrument = instrument;
            assert_eq!(to_value(&published).unwrap()["instrument"], name);
        }
    }
}
