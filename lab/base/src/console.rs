//! Output to the user: results on standard output, remarks on standard error, above the progress
//! bar if there is one. The module knows lines and bytes, not their meaning.

use std::{
    io::{self, BufWriter, ErrorKind, Write},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use indicatif::ProgressBar;

use chronoscope_units::{OneLine, file::within};

/// Prints to standard output. A reader that stops early, such as `head`, causes no error.
///
/// # Errors
/// If standard output cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    print_with(|output| output.write_all(text.as_bytes()))
}

/// Prints to standard output as [`print()`] does, piece by piece.
///
/// # Errors
/// If standard output cannot be written, or was [closed](refuse_output).
pub fn print_with(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::other("cannot write to standard output, which is closed"));
    }
    let mut output = BufWriter::new(io::stdout().lock());
    match content(&mut output).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.map_err(within("cannot write to standard output")),
    }
}

/// True if standard output was closed when the program was started.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Makes each later print fail, because standard output was closed at the start: the standard library
/// opens `/dev/null` in its place, where the text would be lost. May be called before `main`.
pub fn refuse_output() {
    CLOSED.store(true, Ordering::Relaxed);
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

/// Prints one line to standard error, after the program's name; control characters are replaced, and
/// the numbers of the system's errors, as `(os error 2)`, are left out.
pub fn remark(text: &str) {
    line(&format!("chronoscope: {}", in_words(text)));
}

/// An error's text without the system's numbers, as `(os error 2)`.
fn in_words(error: &str) -> String {
    let mut parts = error.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once(')').map_or(part, |(_, after)| after));
    rest.fold(first, |text, part| text + part)
}

/// Prints one line to standard error, above the bar if one is shown; control characters are
/// replaced.
pub fn line(text: &str) {
    let line = format!("{}\n", OneLine::from(text));
    // A failure to write to standard error cannot be reported, and must not end a run.
    let write = || drop(io::stderr().write_all(line.as_bytes()));
    match &*bar() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// The progress bar on the terminal's last line, if there is one.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn bar() -> MutexGuard<'static, Option<ProgressBar>> {
    BAR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the bar at the bottom of the terminal, above which lines are printed; `None` removes it.
pub fn set_bar(shown: Option<ProgressBar>) {
    *bar() = shown;
}

/// Shows a message in the bar, in place of the name of the running case. Returns `false` if there
/// is no bar.
pub fn show_in_bar(text: &str) -> bool {
    let bar = bar();
    if let Some(bar) = &*bar {
        bar.set_message(OneLine::from(text).to_string());
    }
    bar.is_some()
}

/// Shows lines in place of the bar, redrawn where they stand. Returns `false` if there is no bar.
pub fn show_lines_in_bar(lines: &[String]) -> bool {
    let bar = bar();
    if let Some(bar) = &*bar {
        let lines: Vec<String> =
            lines.iter().map(|line| OneLine::from(&**line).to_string()).collect();
        bar.set_message(lines.join("\n"));
    }
    bar.is_some()
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn errors_of_the_system_are_words() {
        let text = "cannot read a.toml: No such file or directory (os error 2): write it";
        assert_eq!(in_words(text), "cannot read a.toml: No such file or directory: write it");
        assert_eq!(in_words("a (os error 13)"), "a");
        assert_eq!(in_words("a (os error"), "a (os error");
    }
}
