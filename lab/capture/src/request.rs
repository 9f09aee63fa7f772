//! What may be asked of a capture: measures of channels, and the time from one edge to another.

use std::{fmt, str::FromStr};

use anyhow::{Result, anyhow, bail, ensure};

/// What is measured of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// How long it is high.
    Width,
    /// How long it is low.
    Low,
    /// From one rising edge to the next.
    Period,
    /// How much a period is longer or shorter than the one before.
    Jitter,
    /// The part of a period in which it is high.
    Duty,
    /// From each edge to the next.
    Edges,
}

impl Measure {
    pub const ALL: [Self; 6] =
        [Self::Width, Self::Low, Self::Period, Self::Jitter, Self::Duty, Self::Edges];

    pub fn name(self) -> &'static str {
        match self {
            Self::Width => "width",
            Self::Low => "low",
            Self::Period => "period",
            Self::Jitter => "jitter",
            Self::Duty => "duty",
            Self::Edges => "edges",
        }
    }

    pub fn unit(self) -> &'static str {
        if self == Self::Duty { "%" } else { "ns" }
    }

    pub(super) fn place(self) -> usize {
        self as usize
    }
}

/// Edges of a channel, as `rise:D0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Both edges, where there is none.
    pub level: Option<bool>,
    pub channel: String,
}

impl FromStr for Trigger {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let level = match text.split_once(':') {
            Some(("rise", _)) => Some(true),
            Some(("fall", _)) => Some(false),
            Some(("edge", _)) => None,
            _ => bail!("write rise:, fall: or edge: and a channel, as rise:D0"),
        };
        let channel = text.split_once(':').map_or("", |(_, channel)| channel);
        ensure!(!channel.is_empty(), "name a channel, as rise:D0");
        Ok(Self { level, channel: channel.to_owned() })
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edge = self.level.map_or("edge", |level| if level { "rise" } else { "fall" });
        write!(f, "{edge}:{}", self.channel)
    }
}

/// What the user asks for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Channels to measure; all, where none is named and no latency is asked for.
    pub channels: Vec<String>,
    pub measures: Vec<Measure>,
    /// From which edge to which.
    pub latency: Option<(Trigger, Trigger)>,
    /// The rate of sampling in hertz, for files that do not tell theirs.
    pub sampled: Option<u64>,
}

/// Names of measures, for the command line.
impl FromStr for Measure {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|measure| measure.name() == text)
            .ok_or_else(|| anyhow!("there is {}", names()))
    }
}
