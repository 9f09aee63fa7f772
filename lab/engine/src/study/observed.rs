//! The cases of a study that observe an image, which the command line gives for the variable of a target:
//! `experiment = "observe"`, `target = "app=$app@netduinoplus2"`.

use anyhow::{Result, bail};

use super::{Entry, Overrides, Study, deadline};
use crate::case::{Case, Settings, check_product};
use chronoscope_machine::{Machines, observe::Observed, observe::SETTINGS};
use chronoscope_run::compared::StatisticChoice;
use chronoscope_units::words;

impl Entry {
    /// The cases of this entry, whose settings are an observation's: the flags of `observe` that name no
    /// files.
    pub(super) fn observations(
        &self,
        machines: &Machines,
        study: &Study,
        overrides: &Overrides,
    ) -> Result<Vec<Case>> {
        if self.analyser.is_some() || !self.requires.is_empty() {
            bail!(
                "an observation has neither pins nor requirements: leave out `analyser` and `requires`"
            );
        }
        let own = self.deadline.as_deref().map(deadline).transpose()?;
        let deadline = overrides.deadline.or(own);
        self.limits.iter().try_for_each(|limit| limit.check(&self.experiment, deadline))?;
        let repeat = overrides.repeat.or(self.repeat).unwrap_or(1);
        if repeat == 0 {
            bail!("repeat is at least 1");
        }
        let judge = StatisticChoice::read(&self.judge)?.or(StatisticChoice::read(&study.judge)?);
        let published = self.published()?;
        let mut names = published.iter().flat_map(|published| published.when.keys());
        if let Some(name) = names.find(|name| !SETTINGS.contains(&name.as_str())) {
            bail!(
                "published: `observe` has no setting `{name}`{}",
                words::nearest(name, SETTINGS.into_iter())
            );
        }
        let mut settings = self.settings();
        let is_setting = |(name, _): &(String, _)| SETTINGS.contains(&name.as_str());
        settings.extend(overrides.settings.clone().into_iter().filter(is_setting));
        check_product(&self.experiment, &settings)?;
        let combinations = combinations(&settings);
        let mut cases = Vec::new();
        for target in self.targets(overrides)? {
            for settings in &combinations {
                let observed = Observed::by_settings(machines, &target, settings)?;
                cases.push(Case {
                    repeat,
                    deadline,
                    limits: self.limits.clone(),
                    judge: judge.clone(),
                    published: published.clone(),
                    ..Case::observation(target.clone(), observed.settings())
                });
            }
        }
        Ok(cases)
    }
}

/// Every combination of the settings' values; the first setting changes slowest.
fn combinations(settings: &Settings) -> Vec<Vec<(String, String)>> {
    settings.iter().fold(vec![Vec::new()], |combinations, (name, values)| {
        let with = |chosen: &Vec<(String, String)>, value: &String| {
            let mut chosen = chosen.clone();
            chosen.push((name.clone(), value.clone()));
            chosen
        };
        let all = combinations
            .iter()
            .flat_map(|chosen| values.iter().map(move |value| with(chosen, value)));
        all.collect()
    })
}
