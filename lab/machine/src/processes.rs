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

/// Takes `asid` out of a request. Returns whether the request asks for processes, which need an
/// image of their own, and the rest for the image.
///
/// # Errors
/// The request asks for a parameter of processes without one.
pub(super) fn split(request: &Request) -> Result<(bool, Request)> {
    let asks_for_processes = ASKING.iter().any(|(name, value)| request.has(name, value));
    let rest = request.without(ASID.name);
    match request.get(ASID.name) {
        Some("off") if asks_for_processes => Ok((true, rest.with(ASID.name, "off"))),
        Some("off") => {
            bail!("`asid=off` is for processes: add `kind=process` or `pair=process-process`")
        }
        _ => Ok((asks_for_processes, rest)),
    }
}
