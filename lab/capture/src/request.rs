//! The measures that can be requested of a capture: of a channel, or from one edge to another. The
//! module computes nothing.

use std::{fmt, str::FromStr};

use crate::error::{Result, bail, ensure, fault};

/// A quantity measured of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The duration of the high level.
    Width,
    /// The duration of the low level.
    Low,
    /// The time from a rising edge to the next.
    Period,
    /// The absolute difference between a period and the one before.
    Jitter,
    /// The share of a period at the high level, in percent.
    Duty,
    /// The time from an edge to the next, of either direction.
    Edges,
}

impl Measure {
    /// All measures, in the order of the help text.
    pub const ALL: [Self; 6] =
        [Self::Width, Self::Low, Self::Period, Self::Jitter, Self::Duty, Self::Edges];

    /// The name on the command line and in JSON.
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

    /// The unit of the figures: `%` for duty, otherwise `ns`.
    pub fn unit(self) -> &'static str {
        if self == Self::Duty { "%" } else { "ns" }
    }

    pub(super) fn place(self) -> usize {
        self as usize
    }
}

/// The edges of a channel that start or end a latency, written as `rise:D0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The level after the edge; `None` means either edge.
    pub level: Option<bool>,
    /// The name of the channel.
    pub channel: String,
}

impl FromStr for Trigger {
    type Err = crate::Error;

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

/// The measures that the user asks for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The channels to measure; if there are none and no latency, all channels.
    pub channels: Vec<String>,
    /// The measures of each channel.
    pub measures: Vec<Measure>,
    /// The latency to measure: its start and its end.
    pub latency: Option<(Trigger, Trigger)>,
    /// The sampling rate in hertz of files that state none.
    pub sampled: Option<u64>,
}

/// Parses the names of the command line.
impl FromStr for Measure {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|measure| measure.name() == text)
            .ok_or_else(|| fault!("there is {}", names()))
    }
}
