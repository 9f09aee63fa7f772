//! What the user reads while the program runs: text on standard output, remarks on standard error.

use std::{
    io::{self, BufWriter, ErrorKind, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result};

use crate::units::printable;

/// Prints to standard output. A reader that has seen enough, as `head`, is no error.
///
/// # Errors
/// When it cannot be written.
pub fn print(text: &str) -> Result<()> {
    print_with(|output| output.write_all(text.as_bytes()))
}

/// As [`print`], piece by piece.
///
/// # Errors
/// When it cannot be written.
pub fn print_with(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    match content(&mut output).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot write to standard output"),
    }
}

/// Whether the user wants to hear nothing but errors.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on, no more [`note`]s.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// As [`remark`], about work that goes on by itself: not for who asked for quiet.
pub fn note(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        remark(text);
    }
}

/// Says something to the user on standard error, in one line whatever it holds.
pub fn remark(text: &str) {
    // When that fails, there is nobody left to tell.
    let _ = writeln!(io::stderr(), "chronoscope: {}", printable(text));
}
