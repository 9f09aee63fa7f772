//! What an experiment says of itself: one plain table, from which the lab makes `list`, checks
//! parameters, lays out reports and writes the documentation.

pub mod request;

use self::request::Request;

/// One experiment.
pub struct Spec {
    pub name: &'static str,
    /// One line for `list`.
    pub summary: &'static str,
    /// The event that a sample starts at.
    pub start: &'static str,
    /// The event that a sample ends at.
    pub end: &'static str,
    /// What one sample is, and what is told of the samples besides the usual statistics.
    pub statistic: &'static str,
    /// How the instrument's own cost is measured.
    pub control: &'static str,
    /// What proves that the named mechanism happened.
    pub evidence: &'static str,
    /// What pins show of it to a logic analyser, where they are driven; empty for nothing.
    pub pin: &'static str,
    /// Where the procedure comes from.
    pub source: &'static str,
    pub parameters: &'static [Parameter],
    /// How long one repetition takes, in microseconds, on a machine as fast as a laptop: for progress
    /// bars and watchdogs, so an estimate that is right within a factor of three is good.
    pub duration_us: fn(&Request<'_>) -> u64,
}

/// One parameter of an experiment.
pub struct Parameter {
    pub name: &'static str,
    /// `us`, `ms`, `ns`, or empty for plain counts and words.
    pub unit: &'static str,
    pub default: &'static str,
    pub values: Values,
    pub help: &'static str,
}

/// What a parameter may be.
pub enum Values {
    /// A whole number, both ends included.
    Number(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A word that the machine reads itself, of the kind that is told here: `a rate, as 84MHz`.
    Text(&'static str),
}

impl Values {
    /// Whether `text` is one of the values.
    pub fn contain(&self, text: &str) -> bool {
        match self {
            Values::Number(low, high) => {
                text.bytes().all(|byte| byte.is_ascii_digit())
                    && text.parse().is_ok_and(|number: u64| (*low..=*high).contains(&number))
            }
            Values::Word(words) => words.contains(&text),
            Values::Text(_) => !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()),
        }
    }
}

/// `kind=…`, for experiments with one kind of task.
pub const KIND: Parameter = Parameter {
    name: "kind",
    unit: "",
    default: "thread",
    values: Values::Word(&["thread", "coroutine", "process"]),
    help: "the kind of task",
};
