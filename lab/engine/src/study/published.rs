//! Published figures, as a study writes them.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde::{Deserialize, Deserializer};

use chronoscope_base::{toml_text::list, toml_text::word, toml_text::words};
use chronoscope_run::{Instrument, Published, Quantity, limit::statistic};
use chronoscope_units::{OneLine, Text};

/// Published figures as a study writes them: one figure, or a row of figures over the values of a
/// parameter or over series.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PublishedRow {
    source: OneLine,
    on: OneLine,
    #[serde(deserialize_with = "statistic")]
    statistic: OneLine,
    series: Option<OneLine>,
    #[serde(default)]
    instrument: Instrument,
    #[serde(default)]
    unit: OneLine,
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
    note: Text,
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
        let when: BTreeMap<OneLine, OneLine> =
            self.when.iter().map(|(name, value)| (name.into(), word(value).into())).collect();
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
                Some("series") => figure.series = Some(self.at[index].clone().into()),
                Some(parameter) => {
                    drop(figure.when.insert(parameter.into(), self.at[index].clone().into()))
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
