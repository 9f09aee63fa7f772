//! The request of a case, as a value. The text in which ports receive it is written here and nowhere
//! else; the meaning of a parameter is the port's and the machines' business.

use std::fmt;

/// An experiment and the values of its parameters, in the order in which the port receives them.
///
/// [`Display`](fmt::Display) writes the text on the wire: the experiment's name, then `NAME=VALUE`
/// after single spaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    experiment: String,
    parameters: Vec<(String, String)>,
}

impl Request {
    /// The request of an experiment without parameters.
    pub fn new(experiment: impl Into<String>) -> Self {
        Self { experiment: experiment.into(), parameters: Vec::new() }
    }

    /// Appends a parameter. Neither name nor value may contain white space.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.parameters.push((name.into(), value.to_string()));
        self
    }

    /// The request without the parameter `name`, which only the machine reads.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        let rest = self.parameters.iter().filter(|(known, _)| known != name);
        Self { experiment: self.experiment.clone(), parameters: rest.cloned().collect() }
    }

    /// The name of the experiment.
    pub fn experiment(&self) -> &str {
        &self.experiment
    }

    /// The value of the parameter `name`, if the request has it.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether the parameter `name` has this value in the request.
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.get(name) == Some(value)
    }

    /// The words of the text on the wire, for a port that receives them one by one.
    pub fn words(&self) -> impl Iterator<Item = String> {
        let parameters = self.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        [self.experiment.clone()].into_iter().chain(parameters)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.experiment)?;
        self.parameters.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// Parses a text on the wire, which tests write more shortly than the value.
#[cfg(test)]
pub(crate) fn request(text: &str) -> Request {
    let mut words = text.split(' ');
    let first = Request::new(words.next().unwrap());
    words
        .map(|word| word.split_once('=').unwrap())
        .fold(first, |request, (name, value)| request.with(name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_machine_s_business_is_taken_out() {
        let asked = request("switch cpu=0 mode=kvm loops=3");
        assert_eq!(asked.get("mode"), Some("kvm"));
        assert_eq!(asked.without("mode").to_string(), "switch cpu=0 loops=3");
        let asked = request("switch modes=2");
        assert_eq!((asked.get("mode"), asked.without("mode")), (None, asked.clone()));
    }

    #[test]
    fn the_words_are_those_of_the_text() {
        let asked = Request::new("period").with("cpu", 0).with("policy", "deadline:1/2/3");
        assert_eq!(asked.to_string(), "period cpu=0 policy=deadline:1/2/3");
        assert_eq!(asked.words().collect::<Vec<_>>().join(" "), asked.to_string());
        assert_eq!(asked.experiment(), "period");
        assert!(asked.has("cpu", "0") && !asked.has("cpu", "1") && !asked.has("loops", ""));
    }
}
