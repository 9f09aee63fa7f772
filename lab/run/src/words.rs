//! The closed vocabularies of a run: roles of series, units of their values, domains of clocks.
//! JSON and CSV have them as words; an unknown word in a run is an error that lists all known ones.

use std::fmt;

use chronoscope_suite::wire;
use serde::{Deserialize, Serialize};

/// The role of a series in its case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The subject of the experiment: shown and judged.
    Measured,
    /// The measured path without the measured operation: the cost of the instrument.
    Control,
    /// An auxiliary series: shown, not judged.
    Auxiliary,
    /// A measured series as its pin shows it.
    Pin,
    /// A control as its pin shows it.
    PinControl,
    /// An auxiliary series as its pin shows it.
    PinAuxiliary,
    /// A measured series as a slower analyser reads its pin.
    PinAnalyser,
}

impl Role {
    /// The word in JSON and CSV.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Control => "control",
            Self::Auxiliary => "auxiliary",
            Self::Pin => "pin",
            Self::PinControl => "pin-control",
            Self::PinAuxiliary => "pin-auxiliary",
            Self::PinAnalyser => "pin-analyser",
        }
    }

    /// The role of the same samples as a pin shows them.
    pub const fn by_pin(self) -> Self {
        match self {
            Self::Measured => Self::Pin,
            Self::Control => Self::PinControl,
            _ => Self::PinAuxiliary,
        }
    }

    /// The role of the control of a series with this role; `None` if it has none.
    pub const fn control(self) -> Option<Self> {
        match self {
            Self::Measured => Some(Self::Control),
            Self::Pin => Some(Self::PinControl),
            _ => None,
        }
    }

    /// Returns whether a series with this role is a control, by either instrument.
    pub const fn is_control(self) -> bool {
        matches!(self, Self::Control | Self::PinControl)
    }

    /// Returns whether a series with this role is auxiliary, by either instrument.
    pub const fn is_auxiliary(self) -> bool {
        matches!(self, Self::Auxiliary | Self::PinAuxiliary)
    }

    /// Returns whether a series with this role was taken from a pin.
    pub const fn is_from_pin(self) -> bool {
        matches!(self, Self::Pin | Self::PinControl | Self::PinAuxiliary | Self::PinAnalyser)
    }
}

impl From<wire::Role> for Role {
    fn from(role: wire::Role) -> Self {
        match role {
            wire::Role::Measured => Self::Measured,
            wire::Role::Control => Self::Control,
            wire::Role::Auxiliary => Self::Auxiliary,
        }
    }
}

/// The unit of a series' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Time in ns.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Executed instructions.
    Instructions,
    /// Cycles of the core's clock.
    Cycles,
    /// A plain count.
    Count,
}

impl Unit {
    /// The word in JSON and CSV, which [`chronoscope_units::show`] takes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::Count => "count",
        }
    }

    /// Returns whether values in this unit are ticks of a clock that does not count time.
    pub const fn is_ticks(self) -> bool {
        matches!(self, Self::Instructions | Self::Cycles)
    }
}

/// The domain of a clock. Values of different domains are never ranked against each other.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// Time of a wall clock.
    Wall,
    /// Instructions executed by an emulator: exact, but not time.
    Instructions,
    /// Cycles of the core's clock.
    Cycles,
    /// Time by a model of a core, from exact instructions: no chip has run.
    Modelled,
}

impl Domain {
    /// The word in JSON and CSV.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::Modelled => "modelled",
        }
    }

    /// The unit of durations by a clock of this domain.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Wall | Self::Modelled => Unit::Nanoseconds,
            Self::Instructions => Unit::Instructions,
            Self::Cycles => Unit::Cycles,
        }
    }
}

impl From<wire::Domain> for Domain {
    fn from(domain: wire::Domain) -> Self {
        match domain {
            wire::Domain::Wall => Self::Wall,
            wire::Domain::Instructions => Self::Instructions,
            wire::Domain::Cycles => Self::Cycles,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;

    /// Every word is written by serde as [`fmt::Display`] shows it, and read back.
    fn agree<T: Serialize + DeserializeOwned + fmt::Display + PartialEq>(words: &[T]) {
        for word in words {
            let json = serde_json::to_string(word).unwrap();
            assert_eq!(json, format!("\"{word}\""));
            assert!(serde_json::from_str::<T>(&json).unwrap() == *word);
        }
    }

    #[test]
    fn words_are_written_and_read_alike() {
        use Role::{Auxiliary, Control, Measured, Pin, PinAnalyser, PinAuxiliary, PinControl};
        agree(&[Measured, Control, Auxiliary, Pin, PinControl, PinAuxiliary, PinAnalyser]);
        agree(&[Unit::Nanoseconds, Unit::Instructions, Unit::Cycles, Unit::Count]);
        agree(&[Domain::Wall, Domain::Instructions, Domain::Cycles, Domain::Modelled]);
    }

    #[test]
    fn an_unknown_word_is_refused_in_one_line() {
        for error in [
            serde_json::from_str::<Role>("\"observed\"").unwrap_err(),
            serde_json::from_str::<Unit>("\"seconds\"").unwrap_err(),
            serde_json::from_str::<Domain>("\"lunar\"").unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(text.starts_with("unknown variant `") && !text.contains('\n'), "{text}");
        }
    }
}
