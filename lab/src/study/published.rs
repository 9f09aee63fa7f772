//! Published figures, as a study writes them and as a run keeps them.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde::{Deserialize, Deserializer, Serialize};

use super::limit::{Quantity, chosen, statistic, statistics_by};
use crate::{
    case::Case,
    observation::READINGS,
    run::{CaseResult, SeriesResult},
    toml_text::{list, word, words},
};

/// A figure from a public report, shown beside the measured one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Published {
    /// As in `P1.switch.timer`.
    pub source: String,
    /// What it was measured on.
    pub on: String,
    /// The statistic that it is: as in a [`Limit`].
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
    pub(super) fn role(self) -> &'static str {
        match self {
            Self::Timer => "measured",
            Self::Pin => "pin",
            Self::Analyser => READINGS,
        }
    }

    /// The instrument to stand beside: where there are no pins, as on Linux, the timer is the only one.
    fn of(self, series: &[SeriesResult]) -> Self {
        let is_there = series.iter().any(|one| one.role == self.role());
        if self == Self::Pin && !is_there { Self::Timer } else { self }
    }
}

impl Published {
    /// The figure's sister in the case: series, value with the nominal part, unit.
    pub fn sister(&self, case: &CaseResult) -> Option<(String, f64, String)> {
        statistics_by(
            case,
            &self.statistic,
            self.series.as_deref(),
            self.instrument.of(&case.series),
        )
        .into_iter()
        .next()
    }

    /// Whether it is of this series.
    pub fn is_of(&self, case: &CaseResult, series: &SeriesResult) -> bool {
        let first =
            || chosen(case, self.series.as_deref(), self.instrument.of(&case.series)).next();
        first().is_some_and(|first| first.name == series.name)
    }

    /// Whether there is anything to stand beside: few cases have an analyser of their own.
    pub fn is_readable(&self, series: &[SeriesResult]) -> bool {
        self.instrument != Instrument::Analyser || series.iter().any(|one| one.role == READINGS)
    }

    /// Whether the figure belongs to the case.
    pub fn fits(&self, case: &Case) -> bool {
        self.when.iter().all(|(name, value)| case.parameter(name) == Some(value))
    }
}

/// Published figures as a study writes them: one, or a row of them over the values of a parameter (or over series).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PublishedRow {
    source: String,
    on: String,
    #[serde(deserialize_with = "statistic")]
    statistic: String,
    series: Option<String>,
    #[serde(default)]
    instrument: Instrument,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    same_clock: bool,
    /// The parameter, or `series`, that the row runs over.
    by: Option<String>,
    #[serde(default, deserialize_with = "words")]
    at: Vec<String>,
    #[serde(deserialize_with = "quantities")]
    value: Vec<Quantity>,
    #[serde(default)]
    when: BTreeMap<String, toml::Value>,
    #[serde(default)]
    note: String,
}

impl PublishedRow {
    pub(super) fn figures(&self) -> Result<Vec<Published>> {
        let expected = if self.by.is_some() { self.at.len() } else { 1 };
        if self.value.len() != expected {
            let at = if self.by.is_some() {
                "places in `at`"
            } else {
                "place: a row of them needs `by` and `at`"
            };
            bail!("`{}` has {} values for {expected} {at}", self.source, self.value.len());
        }
        let when: BTreeMap<String, String> =
            self.when.iter().map(|(name, value)| (name.clone(), word(value))).collect();
        let figures = self.value.iter().enumerate().map(|(index, value)| {
            let mut figure = Published {
                source: self.source.clone(),
                on: self.on.clone(),
                statistic: self.statistic.clone(),
                series: self.series.clone(),
                instrument: self.instrument,
                value: value.0,
                unit: self.unit.clone(),
                same_clock: self.same_clock,
                when: when.clone(),
                note: self.note.clone(),
            };
            match self.by.as_deref() {
                Some("series") => figure.series = Some(self.at[index].clone()),
                Some(parameter) => {
                    drop(figure.when.insert(parameter.to_owned(), self.at[index].clone()))
                }
                None => {}
            }
            figure
        });
        Ok(figures.collect())
    }
}

fn quantities<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Quantity>, D::Error> {
    let values = list(toml::Value::deserialize(deserializer)?);
    values.into_iter().map(|value| value.try_into().map_err(serde::de::Error::custom)).collect()
}
