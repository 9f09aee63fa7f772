//! Output to the user: results on standard output, remarks on standard error.

use std::{
    io::{self, BufWriter, ErrorKind, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result};

use crate::units::OneLine;

/// Prints to standard output. A reader that stops early, such as `head`, causes no error.
///
/// # Errors
/// If standard output cannot be written.
pub fn print(text: &str) -> Result<()> {
    print_with(|output| output.write_all(text.as_bytes()))
}

/// Prints to standard output as [`print()`] does, piece by piece.
///
/// # Errors
/// If standard output cannot be written.
pub fn print_with(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    match content(&mut output).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot write to standard output"),
    }
}

/// True while notes are suppressed.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses all later [`note`]s.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints a remark about progress, unless [`be_quiet`] was called.
pub fn note(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        remark(text);
    }
}

/// Prints one line to standard error; control characters are replaced.
pub fn remark(text: &str) {
    // A failure to write to standard error cannot be reported.
    let _ = writeln!(io::stderr(), "chronoscope: {}", OneLine::from(text));
}
