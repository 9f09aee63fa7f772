//! The description of an experiment as data. The lab makes `list`, the parameter checks, the layout
//! of reports and the documentation from it.

pub mod request;

use self::request::Request;

/// The description of an experiment.
pub struct Spec {
    /// The name on the command line and in JSON.
    pub name: &'static str,
    /// The line in `list`.
    pub summary: &'static str,
    /// The event that a sample starts at.
    pub start: &'static str,
    /// The event that a sample ends at.
    pub end: &'static str,
    /// The meaning of a sample, and the figures derived from the samples besides the usual
    /// statistics.
    pub statistic: &'static str,
    /// The measurement of the instrument's own cost.
    pub control: &'static str,
    /// The proof that the named mechanism happened.
    pub evidence: &'static str,
    /// The signals on the pins in an image that drives pins; empty for none.
    pub pin: &'static str,
    /// The source of the procedure.
    pub source: &'static str,
    /// The parameters, in the order of cases' labels.
    pub parameters: &'static [Parameter],
    /// Estimates the duration of one repetition, in microseconds, on a machine as fast as a laptop.
    /// Progress bars and watchdogs use it; a factor of three is good enough.
    pub duration_us: fn(&Request<'_>) -> u64,
}

/// A parameter of an experiment.
pub struct Parameter {
    /// The name on the command line and in JSON.
    pub name: &'static str,
    /// `us`, `ms`, `ns`, or empty for plain counts and words.
    pub unit: &'static str,
    /// The value of a case that gives none.
    pub default: &'static str,
    /// The allowed values.
    pub values: Values,
    /// The meaning, as a phrase for `list`.
    pub help: &'static str,
}

/// The values that a parameter accepts.
pub enum Values {
    /// A whole number in a closed range.
    Number(u64, u64),
    /// A word of the list.
    Word(&'static [&'static str]),
    /// A word of the list. A case names the parameter only if its value is not the default, so that
    /// older cases of an experiment keep their names.
    Extra(&'static [&'static str]),
    /// A word that the machine parses, described by the text: `a rate, as 84MHz`.
    Text(&'static str),
}

impl Values {
    /// Returns `true` if `text` is an accepted value.
    pub fn contain(&self, text: &str) -> bool {
        match self {
            Values::Number(low, high) => {
                text.bytes().all(|byte| byte.is_ascii_digit())
                    && text.parse().is_ok_and(|number: u64| (*low..=*high).contains(&number))
            }
            Values::Word(words) | Values::Extra(words) => words.contains(&text),
            Values::Text(_) => !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()),
        }
    }
}

/// The parameter of every experiment that chooses the start state: see [`vary`](crate::vary). The
/// lab sends it only to repetitions that differ in their start.
pub const VARY: Parameter = Parameter {
    name: "vary",
    unit: "",
    default: "0",
    values: Values::Number(0, u32::MAX as u64),
    help: "the seed of the start state; 0: the state after the port's own start",
};

/// The parameter `kind` of experiments with one kind of task.
pub const KIND: Parameter = Parameter {
    name: "kind",
    unit: "",
    default: "thread",
    values: Values::Word(&["thread", "coroutine", "process"]),
    help: "the kind of task",
};

/// The kind of an experiment whose tasks are threads.
pub const THREAD: Parameter = Parameter {
    name: "kind",
    unit: "",
    default: "thread",
    values: Values::Word(&["thread"]),
    help: "the kind of task",
};

/// The reading of an experiment's result, for people. The lab alone uses it: no image has it,
/// because nothing that runs on a target names it.
pub struct Reading {
    /// The question that the experiment answers.
    pub question: &'static str,
    /// The words before the answers of several targets, as in `interrupts stay off at most: A 79`.
    pub compared: &'static str,
    /// The usual figure of a case.
    pub typical: Figure,
    /// The figure that nothing exceeded; `None` where the experiment has no such figure.
    pub worst: Option<Figure>,
    /// The figure that answers the question. It ranks targets, and titles name it.
    pub decides: Decides,
    /// The direction in which the figures are better.
    pub better: Better,
    /// Further figures that compare targets, each with its words.
    pub also: &'static [(&'static str, Figure)],
    /// The sentences, without the first capital: the first one whose figures the result has is
    /// written. `{p50}` stands for a statistic of the first measured series (of `operations`, of
    /// all), `{last p50}` for a statistic of the last one, `{NAME p50}` for a statistic of the
    /// series `NAME`, and another name for a figure; each over all cases with evidence.
    pub sentences: &'static [&'static str],
}

/// The figure of an experiment that answers its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decides {
    /// The usual one.
    Typical,
    /// The one that nothing exceeded.
    Worst,
}

/// A figure of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// A statistic of the first measured series.
    First(&'static str),
    /// A statistic of the last measured series.
    Last(&'static str),
    /// A statistic of the series of this name.
    Of(&'static str, &'static str),
    /// The figure of this name.
    Named(&'static str),
}

/// A reading by the median of the first series, with its maximum beside it.
pub const MEDIAN: Reading = Reading {
    question: "",
    compared: "",
    typical: Figure::First("p50"),
    worst: Some(Figure::First("max")),
    decides: Decides::Typical,
    better: Better::Less,
    also: &[],
    sentences: &[],
};

/// A reading by the maximum of the first series, with its median beside it.
pub const WORST: Reading = Reading { decides: Decides::Worst, ..MEDIAN };

/// The direction in which a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// A smaller figure is better.
    Less,
    /// A greater figure is better.
    More,
}
