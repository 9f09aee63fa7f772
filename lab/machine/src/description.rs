//! Descriptions of machines: the parameters and properties of a target from which a run is planned.
//! A description neither starts nor prepares a machine.

use std::sync::Arc;

use anyhow::Result;
use chronoscope_suite::{Parameter, Spec, Values};

use super::{Request, permission::Fallback};

/// The properties of a machine that a plan and a runner allow for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// A case of `period` can last for hours in one process, which sends its samples while it
    /// measures. See [`SOAK`](crate::SOAK).
    pub offers_soaks: bool,
    /// A case executes the same number of instructions or cycles however busy the host is. Its
    /// watchdog then counts the emulator's processor time instead of wall time.
    pub is_emulated: bool,
    /// Repetitions of several cases may run at the same time: each has its own processes, and its
    /// figures do not depend on the load of the host.
    pub shares_the_host: bool,
    /// The duration of a case here as a multiple of its duration on a current processor.
    pub slowness: u32,
}

impl Default for Properties {
    fn default() -> Self {
        Self { offers_soaks: false, is_emulated: false, shares_the_host: false, slowness: 1 }
    }
}

/// Rows of experiment, parameter, value.
pub(super) type Defaults = [(&'static str, &'static str, &'static str)];

/// A check of a request.
pub(super) type Check = Arc<dyn Fn(&Request) -> Result<()> + Send + Sync>;

/// The description of a target's machine.
#[derive(Clone)]
pub struct Description {
    /// The parameters of a request that belong to the port on this machine, with their defaults
    /// here. Each parameter has its unit and its values.
    pub parameters: Vec<(&'static Parameter, String)>,
    /// The properties that a plan and a runner allow for.
    pub properties: Properties,
    /// Tables of defaults of experiments' parameters, where they differ from the experiments' own.
    /// The first table with a row for a parameter decides.
    pub(super) defaults: &'static [&'static Defaults],
    /// The only kind of task that the kernel has or is measured with; `None` for any kind.
    pub(super) kind: Option<String>,
    /// The processors that a case may be placed on, in ascending order; none where the port places no tasks.
    pub processors: fn() -> Vec<usize>,
    /// Values in the place of defaults of the port's that this account may not have.
    pub fallbacks: Vec<Fallback>,
    /// Checks a request for combinations that cannot be run.
    pub(super) check: Check,
}

impl Description {
    /// A description without parameters of the port.
    pub(super) fn new(defaults: &'static [&'static Defaults], properties: Properties) -> Self {
        let accept = |_: &Request| Ok(());
        Self {
            parameters: Vec::new(),
            properties,
            defaults,
            kind: None,
            processors: Vec::new,
            fallbacks: Vec::new(),
            check: Arc::new(accept),
        }
    }

    /// The default of an experiment's parameter on this target, if it differs from the experiment's
    /// own: a kernel without threads is measured with the kind of task that it has.
    pub fn default(&self, spec: &Spec, parameter: &Parameter) -> Option<&'static str> {
        match (parameter.name, &parameter.values) {
            ("kind" | "pair", Values::Word(_)) => {
                self.kind.as_deref().and_then(|kind| word_of_kind(parameter, kind))
            }
            _ => {
                let mut rows = self.defaults.iter().copied().flatten();
                rows.find(|(experiment, name, _)| {
                    (*experiment, *name) == (spec.name, parameter.name)
                })
                .map(|(_, _, value)| *value)
            }
        }
    }

    /// Checks a request whose values are valid one by one for combinations that cannot be run.
    ///
    /// # Errors
    /// Names the parameters that exclude each other.
    pub fn check(&self, request: &Request) -> Result<()> {
        (self.check)(request)
    }
}

/// The value of the parameter `kind` or `pair` with this kind of task alone; `None` for another parameter,
/// or without such a value.
pub(super) fn word_of_kind(parameter: &Parameter, kind: &str) -> Option<&'static str> {
    let fits = |word: &&&str| word.split('-').all(|one| one == kind);
    match (parameter.name, &parameter.values) {
        ("kind" | "pair", Values::Word(words)) => words.iter().find(fits).copied(),
        _ => None,
    }
}
