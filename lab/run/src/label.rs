//! The label of a case: the parameters that distinguish it from other cases of its experiment.

use std::{fmt, ops::Deref};

use chronoscope_units::OneLine;
use serde::{Deserialize, Serialize};

/// A case's label, such as `tasks=10 pair=thread-thread`: parts in order, a blank between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Label(OneLine);

/// A part of a label, in most cases `NAME=VALUE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part<'a>(&'a str);

impl Label {
    /// The label of parameters, given by name and value.
    pub fn new<N: fmt::Display, V: fmt::Display>(
        parameters: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let parts = parameters.into_iter().map(|(name, value)| format!("{name}={value}"));
        parts.collect::<Vec<_>>().join(" ").into()
    }

    /// The parts in order.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.0.split(' ').filter(|part| !part.is_empty()).map(Part)
    }

    /// The names and values of the parts that have both.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts().filter_map(Part::parameter)
    }

    /// Returns whether the label has this part.
    pub fn has(&self, part: Part<'_>) -> bool {
        self.parts().any(|own| own == part)
    }

    /// The label without the parts that `keep` refuses.
    pub fn filtered(&self, keep: impl Fn(Part<'_>) -> bool) -> Self {
        let kept = self.parts().filter(|part| keep(*part));
        kept.map(Part::text).collect::<Vec<_>>().join(" ").into()
    }
}

impl<'a> Part<'a> {
    /// The whole part.
    pub fn text(self) -> &'a str {
        self.0
    }

    /// The name and the value; `None` if the part has no `=`.
    pub fn parameter(self) -> Option<(&'a str, &'a str)> {
        self.0.split_once('=')
    }

    /// The name of the part's parameter, if it has one.
    pub fn name(self) -> Option<&'a str> {
        self.parameter().map(|(name, _)| name)
    }
}

impl Deref for Label {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<String> for Label {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Label {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.0.into()
    }
}

impl PartialEq<&str> for Label {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_the_text_that_it_was_read_from() {
        for text in ["", "tasks=10 pair=thread-thread", "alone", " a=1  b=2 "] {
            let label = Label::from(text);
            assert_eq!(label.to_string(), text);
            let json = serde_json::to_string(&label).unwrap();
            assert_eq!(json, serde_json::to_string(text).unwrap());
            assert_eq!(serde_json::from_str::<Label>(&json).unwrap(), label);
        }
        assert_eq!(Label::new([("tasks", "10"), ("pair", "a-b")]), "tasks=10 pair=a-b");
    }

    #[test]
    fn parts_are_names_with_values_in_order() {
        let label = Label::from("tasks=10 alone append=a=b");
        let parameters: Vec<_> = label.parameters().collect();
        assert_eq!(parameters, [("tasks", "10"), ("append", "a=b")]);
        assert_eq!(
            label.parts().map(Part::text).collect::<Vec<_>>(),
            ["tasks=10", "alone", "append=a=b"]
        );
        assert!(label.has(Part("tasks=10")) && !label.has(Part("tasks=1")));
        assert_eq!(label.filtered(|part| part.name() != Some("tasks")), "alone append=a=b");
        assert_eq!(Label::from("").parts().count(), 0);
    }
}
