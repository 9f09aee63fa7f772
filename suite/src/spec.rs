//! What an experiment says of itself: one plain table, from which the lab makes `list`, checks
//! parameters, lays out reports and writes the documentation.

use crate::request::Request;

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

/// Collects the `SPEC`s of the table's rows.
#[doc(hidden)]
#[macro_export]
macro_rules! specs {
    ($($module:ident: $choice:ident $needs:tt;)*) => { &[$(&$crate::experiments::$module::SPEC),*] };
}

/// All experiments, in the order in which they are listed and run.
pub static EXPERIMENTS: &[&Spec] = crate::experiments! { specs! {} };

/// The experiment of that name.
pub fn find(name: &str) -> Option<&'static Spec> {
    EXPERIMENTS.iter().copied().find(|spec| spec.name == name)
}

/// Collects the names in the table's rows.
#[cfg(test)]
#[macro_export]
macro_rules! names {
    ($($module:ident: $choice:ident $needs:tt;)*) => { [$(stringify!($module)),*] };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_has_the_name_of_its_module() {
        let rows = crate::experiments! { names! {} };
        assert!(EXPERIMENTS.iter().map(|spec| spec.name).eq(rows));
    }
}
