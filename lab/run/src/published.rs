//! Published figures, which are shown beside measured ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::words::Role;

/// A figure from a public report, shown beside the measured one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Published {
    /// As in `P1.switch.timer`.
    pub source: String,
    /// What it was measured on.
    pub on: String,
    /// The statistic that it is: as in a [`Limit`](crate::Limit).
    pub statistic: String,
    /// The series that it stands beside; the first measured one, unless given.
    pub series: Option<String>,
    /// The instrument that it was read with: `timer`, the target's own marks, unless it says `pin` or `analyser`.
    #[serde(default, skip_serializing_if = "Instrument::is_timer")]
    pub instrument: Instrument,
    /// In ns where it is a time.
    pub value: f64,
    /// What it counts, where that is told: `instructions`.
    #[serde(default)]
    pub unit: String,
    /// It is a time by the clock that the case is measured with, so that what is counted here may be told as a time beside it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_clock: bool,
    /// The parameters of the cases that it belongs to.
    pub when: BTreeMap<String, String>,
    /// What the reader must know of it.
    pub note: String,
}

/// What a figure is read with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Instrument {
    /// The target's own clock.
    #[default]
    Timer,
    /// A logic analyser on the target's pins.
    Pin,
    /// The slower one that the case has, which reads whole samples only.
    Analyser,
}

impl Instrument {
    // As serde calls it.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_timer(&self) -> bool {
        *self == Self::Timer
    }

    /// The role of the series that it makes.
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Timer => Role::Measured,
            Self::Pin => Role::Pin,
            Self::Analyser => Role::PinAnalyser,
        }
    }
}
