//! Another program in place of a case: it runs beside the load of the request, and its output is
//! the stream.

use std::{
    io,
    process::{Command, Stdio},
};

use chronoscope_suite::Request;

use super::refused;
use crate::{load::Load, settings::Settings};

/// Runs `command`, words separated by spaces, and returns its standard output.
///
/// # Errors
/// A message with the last line of the program's standard error.
pub fn run(request: &str, command: &str) -> io::Result<Vec<u8>> {
    let settings = Request::parse(request)
        .and_then(|request| Settings::from_request(&request))
        .map_err(refused)?;
    let load = Load::start(settings.load).map_err(refused)?;
    let mut words = command.split(' ');
    let name = words.next().unwrap_or_default();
    let output = Command::new(name).args(words).env("LC_ALL", "C").stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| io::Error::other(format!("{name} cannot be started: {error}")))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let complaint = text.lines().next_back().unwrap_or_default();
        return Err(io::Error::other(format!("{name} failed ({}): {complaint}", output.status)));
    }
    if load.is_some_and(|load| load.done() == 0) {
        return Err(io::Error::other(format!("no load ran beside {name}")));
    }
    Ok(output.stdout)
}
