//! Start states: how many there are, and which one a repetition starts from.

use std::{fmt, str::FromStr};

use anyhow::{Error, Result, anyhow};
use chronoscope_suite::{VARY, random::Random};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use chronoscope_base::toml_text::word;
use chronoscope_machine::Request;
use chronoscope_units::OneLine;

/// The start states of a case's repetitions: `16`, or with a seed of their own `16:7`.
///
/// Repetition r starts from state r modulo the number of states. With one state, the port's own start
/// leaves that state, and requests have no seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vary {
    states: u16,
    seed: u32,
}

/// The maximum number of states.
const MAX_STATES: u16 = 1000;

/// The seed of states that are given without one.
const SEED: u32 = 1;

impl Default for Vary {
    fn default() -> Self {
        Self { states: 1, seed: SEED }
    }
}

impl Vary {
    /// The number of states, at least 1.
    pub fn states(self) -> usize {
        self.states.into()
    }

    /// `true` if repetitions differ in their start.
    pub fn varies(self) -> bool {
        self.states > 1
    }

    /// The first states, as many as there are repetitions: others would never be started from.
    #[must_use]
    pub fn within(self, repetitions: usize) -> Self {
        let states = self.states().min(repetitions.max(1));
        // It is not above `self.states`.
        Self { states: states as u16, ..self }
    }

    /// The number of repetitions, at least `wanted`, that start from each state equally often.
    pub fn repetitions(self, wanted: usize) -> usize {
        wanted.next_multiple_of(self.states())
    }

    /// The parameter by which a varied case differs from one that is not, or has other states.
    pub fn parameter(self) -> Option<(OneLine, OneLine)> {
        self.varies().then(|| (VARY.name.into(), self.to_string().into()))
    }

    /// A line about the figures of a varied case.
    pub fn remark(self) -> Option<String> {
        let Self { states, seed } = self;
        self.varies().then(|| {
            format!(
                "the repetitions start from {states} states (seed {seed}): what ran before, the phase of \
                 the tick, the order in which tasks are created"
            )
        })
    }

    /// The request of a repetition, counted from 0: `request` with the seed of the start state, or
    /// unchanged with one state.
    pub fn applied_to(self, request: Request, repetition: usize) -> Request {
        if !self.varies() {
            return request;
        }
        let state = (repetition % self.states()) as u64;
        let mut random = Random::new(u64::from(self.seed) << 32 | state);
        // A seed of 0 would be no state.
        request.with(VARY.name, (random.draw() >> 32).max(1))
    }
}

impl FromStr for Vary {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (states, seed) = text.split_once(':').map_or((text, None), |(s, seed)| (s, Some(seed)));
        let number = |text: &str| text.parse().ok().filter(|_| !text.starts_with('+'));
        let states = number(states).and_then(|states: u32| u16::try_from(states).ok());
        let states = states.filter(|states| (1..=MAX_STATES).contains(states));
        let seed = seed.map_or(Some(SEED), number);
        states.zip(seed).map(|(states, seed)| Self { states, seed }).ok_or_else(|| {
            anyhow!(
                "`{text}` start states: write their number from 1 to {MAX_STATES}, and a seed behind \
                 a colon if they are to be others, as 16 or 16:7"
            )
        })
    }
}

impl fmt::Display for Vary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seed {
            SEED => write!(f, "{}", self.states),
            seed => write!(f, "{}:{seed}", self.states),
        }
    }
}

impl Serialize for Vary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Vary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A number, or a string.
        let value = toml::Value::deserialize(deserializer)?;
        word(&value).parse().map_err(|error| serde::de::Error::custom(format!("vary: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn vary(text: &str) -> Vary {
        text.parse().unwrap()
    }

    /// The words that a repetition's request has besides the case's.
    fn words(vary: Vary, repetition: usize) -> String {
        vary.applied_to(Request::new(""), repetition).to_string()
    }

    #[test]
    fn states_are_read_and_written() {
        for text in ["1", "16", "1000", "16:7", "2:0", "2:4294967295"] {
            assert_eq!(vary(text).to_string(), text);
        }
        assert_eq!(vary("16:1").to_string(), "16");
        for wrong in ["", "0", "1001", "-1", "+3", "x", "16:", ":7", "16:x", "16:4294967296", "1 "]
        {
            let error = wrong.parse::<Vary>().unwrap_err().to_string();
            assert!(error.contains("from 1 to 1000") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_state_is_the_same_in_every_round_and_unlike_the_others() {
        assert_eq!(words(Vary::default(), 3), "");
        assert_eq!(words(vary("1:9"), 0), "");
        let all: Vec<String> = (0..2000).map(|place| words(vary("1000"), place)).collect();
        assert_eq!(all[..1000], all[1000..]);
        assert_eq!(all[..1000].iter().collect::<BTreeSet<_>>().len(), 1000);
        assert_ne!(words(vary("16"), 0), words(vary("16:2"), 0));
        // States do not depend on how many there are.
        assert_eq!(words(vary("16"), 3), words(vary("4"), 3));
        // Published figures depend on the seeds, so the seeds must not change.
        assert_eq!(words(vary("2"), 0), " vary=3291240986");
    }

    #[test]
    fn there_are_no_more_states_than_repetitions() {
        assert_eq!(vary("16:7").within(5), vary("5:7"));
        assert_eq!(vary("16").within(20), vary("16"));
        assert_eq!(vary("16").within(1), Vary::default());
        assert_eq!(vary("16").repetitions(5), 16);
        assert_eq!(vary("16").repetitions(17), 32);
        assert_eq!(Vary::default().repetitions(5), 5);
    }
}
