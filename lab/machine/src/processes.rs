//! Processes on machines with address spaces: their parameter there, and the requests that ask for
//! processes.

use anyhow::{Result, bail};
use chronoscope_suite::{Parameter, Values};

use super::Request;

/// The parameter of address spaces; only kernels with an image for processes have it.
pub(super) static ASID: Parameter = Parameter {
    name: "asid",
    unit: "",
    default: "on",
    values: Values::Word(&["on", "off"]),
    help: "kind=process: each address space has an identifier of its own, so that a switch keeps the translations of others; off: a fence at each switch",
};

/// The parameters, with their values, that ask for processes.
const ASKING: [(&str, &str); 3] =
    [("kind", "process"), ("pair", "process-process"), ("handler", "process")];

/// The identifiers of address spaces that a core's `satp` keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identifiers {
    Kept,
    /// Each change of the address space needs a fence.
    Absent,
}

impl Identifiers {
    /// The default of [`ASID`].
    pub(super) fn default(self) -> &'static str {
        match self {
            Self::Kept => ASID.default,
            Self::Absent => "off",
        }
    }
}

/// Takes `asid` out of a request. Returns whether the request asks for processes, which need an
/// image of their own, and the rest for the image.
///
/// # Errors
/// The request asks for a parameter of processes without one, or for identifiers that are absent.
pub(super) fn split(request: &Request, identifiers: Identifiers) -> Result<(bool, Request)> {
    let asks_for_processes = ASKING.iter().any(|(name, value)| request.has(name, value));
    let rest = request.without(ASID.name);
    match request.get(ASID.name).unwrap_or(identifiers.default()) {
        "on" if identifiers == Identifiers::Absent => {
            bail!(
                "`asid=on`: this core keeps no identifiers of address spaces: leave asid out, or set asid=off"
            )
        }
        "off" if asks_for_processes => Ok((true, rest.with(ASID.name, "off"))),
        "off" if identifiers == Identifiers::Kept => {
            bail!("`asid=off` is for processes: add `kind=process` or `pair=process-process`")
        }
        _ => Ok((asks_for_processes, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::request;

    #[test]
    fn a_core_without_identifiers_has_fences_and_refuses_identifiers() {
        let split = |text, identifiers| super::split(&request(text), identifiers);
        let image = |text| request(text);
        for text in ["ticks kind=process", "ticks kind=process asid=off"] {
            let asked = split(text, Identifiers::Absent).unwrap();
            assert_eq!(asked, (true, image("ticks kind=process asid=off")), "{text}");
        }
        for text in ["ticks kind=thread", "ticks kind=thread asid=off"] {
            let asked = split(text, Identifiers::Absent).unwrap();
            assert_eq!(asked, (false, image("ticks kind=thread")), "{text}");
        }
        let refused = split("ticks kind=process asid=on", Identifiers::Absent).unwrap_err();
        assert!(refused.to_string().contains("set asid=off"), "{refused}");
        assert!(split("ticks kind=thread asid=off", Identifiers::Kept).is_err());
        let asked = split("ticks kind=process", Identifiers::Kept).unwrap();
        assert_eq!(asked, (true, image("ticks kind=process")));
    }
}
