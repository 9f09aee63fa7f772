//! The lab's request to a target: one line of text, `switch pair=thread-thread tasks=2 loops=1000`.
//!
//! Text passes unchanged through a command line, a firmware mailbox or a serial console, and can be
//! typed by hand. This module checks the experiment's keys. All other keys belong to the port,
//! which must refuse those that it does not know.

use super::{Spec, VARY};
use crate::{
    random::Random,
    refusal::{Reason, Refusal},
};

/// The maximum length of a request, in bytes.
pub const MAX_REQUEST: usize = 480;

/// A request whose experiment and parameters are checked.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    spec: &'static Spec,
    text: &'a str,
    /// The value of [`VARY`].
    vary: u32,
}

impl<'a> Request<'a> {
    /// Checks the words of `text`, a request for the experiment `spec`, behind the first.
    ///
    /// # Errors
    /// [`Reason::Invalid`] for a word that is not `key=value`, or a value out of range.
    pub(crate) fn new(spec: &'static Spec, text: &'a str) -> Result<Self, Refusal> {
        let mut vary = 0;
        for word in text.split_ascii_whitespace().skip(1) {
            let (key, value) =
                word.split_once('=').ok_or(invalid("a parameter is not key=value"))?;
            let known = spec.parameters.iter().chain([&VARY]).find(|p| p.name == key);
            if known.is_some_and(|parameter| !parameter.values.contain(value)) {
                return Err(invalid(
                    "a parameter's value is out of range, or not offered by this port",
                ));
            }
            if key == VARY.name {
                // The range has been checked.
                vary = value.parse().unwrap_or(0);
            }
        }
        Ok(Self { spec, text, vary })
    }

    /// The experiment.
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// The text of the request: the experiment's name and the parameters.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns `true` for a key of the experiment or of every experiment. All other keys are the
    /// port's.
    pub fn knows(&self, key: &str) -> bool {
        key == VARY.name || self.spec.parameters.iter().any(|parameter| parameter.name == key)
    }

    /// Returns the generator that chooses the start state; `None` if the request does not vary it.
    pub fn start_state(&self) -> Option<Random> {
        (self.vary != 0).then(|| Random::new(self.vary.into()))
    }

    /// Returns all `key=value` pairs in the order of the request, the port's included.
    pub fn pairs(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.text.split_ascii_whitespace().filter_map(|word| word.split_once('='))
    }

    /// Returns the value of a key, the experiment's or the port's, if the request has it.
    pub fn given(&self, key: &str) -> Option<&'a str> {
        self.pairs().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// Returns the value of an experiment's parameter, or its default. Panics if the experiment has
    /// no such parameter.
    pub fn word(&self, name: &str) -> &'a str {
        let parameter = self.spec.parameters.iter().find(|p| p.name == name);
        let parameter = parameter.expect("the parameter is in the experiment's table");
        self.given(name).unwrap_or(parameter.default)
    }

    /// Returns the kind of task, or the pair of kinds; empty for an experiment without such a
    /// parameter.
    pub fn tasks(&self) -> &'a str {
        let choice = self.spec.parameters.iter().find(|p| matches!(p.name, "kind" | "pair"));
        choice.map_or("", |parameter| self.word(parameter.name))
    }

    /// Returns the value of a numeric parameter. Panics if the experiment has no such parameter.
    pub fn number(&self, name: &str) -> u64 {
        self.word(name).parse().expect("parse() has checked that it is a number")
    }

    /// Returns the value of a numeric parameter as a `usize`, saturated on 32-bit targets.
    pub fn count(&self, name: &str) -> usize {
        usize::try_from(self.number(name)).unwrap_or(usize::MAX)
    }
}

/// The refusal of a request that cannot be read.
pub(crate) const fn invalid(what: &'static str) -> Refusal {
    Refusal::new(
        Reason::Invalid,
        what,
        "if it should be, the lab and the port must be of one version",
    )
}
