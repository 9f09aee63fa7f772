//! Processes on machines with address spaces: the parameter that they have there, and the cases that
//! are of them.

use anyhow::{Result, bail};
use chronoscope_suite::{Parameter, Values};

use super::take;

/// The parameter of address spaces; only kernels with an image for processes have it.
pub(super) static ASID: Parameter = Parameter {
    name: "asid",
    unit: "",
    default: "on",
    values: Values::Word(&["on", "off"]),
    help: "kind=process: each address space has an identifier of its own, so that a switch keeps the translations of others; off: a fence at each switch",
};

/// The words of a request that say so.
const WORDS: [&str; 3] = ["kind=process", "pair=process-process", "handler=process"];

/// Takes `asid` out of a request. Returns whether the request is of processes, which need an image
/// of their own, and the rest for the image.
///
/// # Errors
/// The request asks for a parameter of processes without one.
pub(super) fn split(request: &str) -> Result<(bool, String)> {
    let is_of_processes = request.split(' ').any(|word| WORDS.contains(&word));
    let (asid, rest) = take(request, ASID.name);
    match asid {
        Some("off") if is_of_processes => Ok((true, rest + " asid=off")),
        Some("off") => {
            bail!("`asid=off` is for processes: add `kind=process` or `pair=process-process`")
        }
        _ => Ok((is_of_processes, rest)),
    }
}
