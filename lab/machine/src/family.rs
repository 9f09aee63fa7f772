//! Families of machines: the rows of the table in [`super`]. A row names functions and data of one
//! machine's file; this module knows none of them.

use anyhow::Result;
use chronoscope_suite::{Parameter, Spec, Values};

use super::{Description, Machine, Machines};
use chronoscope_run::Target;

/// Machines of one construction, such as all emulated chips.
pub struct Family {
    pub(super) describe: Describe,
    pub(super) open: Open,
    pub(super) targets: Targets,
    /// Whether the machines run images of the user's: [`Target::image`].
    pub(super) takes_images: bool,
    /// Tables of defaults of experiments' parameters, where they differ from the experiments' own.
    /// The first table with a row for a parameter decides.
    pub(super) defaults: &'static [&'static Defaults],
}

/// Describes the machine of a target; `None` if the target is not of the family.
type Describe = fn(&Machines, &Target) -> Result<Option<Description>>;

/// Opens the machine of a target; `None` if the target is not of the family.
type Open = for<'m> fn(&'m Machines, &Target) -> Result<Option<Box<dyn Machine + 'm>>>;

/// The targets of a family.
pub(super) enum Targets {
    /// All of them, as `kernel@machine`.
    Listed(fn(&Machines) -> Vec<String>),
    /// The user's own hardware: the form of a target, and a phrase that explains it.
    Form { form: &'static str, help: &'static str },
}

/// Rows of experiment, parameter, value.
pub(super) type Defaults = [(&'static str, &'static str, &'static str)];

impl Family {
    /// The family's default of an experiment's parameter, if it has one. A kernel that has one
    /// `kind` of task is measured with that kind.
    pub(super) fn default(
        &self,
        kind: Option<&str>,
        spec: &Spec,
        parameter: &Parameter,
    ) -> Option<&'static str> {
        let fits = |word: &&&str| kind.is_some_and(|kind| word.split('-').all(|word| word == kind));
        match (parameter.name, &parameter.values) {
            ("kind" | "pair", Values::Word(words)) => words.iter().find(fits).copied(),
            _ => {
                let mut rows = self.defaults.iter().copied().flatten();
                rows.find(|(experiment, name, _)| {
                    (*experiment, *name) == (spec.name, parameter.name)
                })
                .map(|(_, _, value)| *value)
            }
        }
    }
}
