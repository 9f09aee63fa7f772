//! The way to the host: the system call `print`.

use core::fmt;

use chronoscope_suite::trial::Sink;
use tandem_user as user;

pub struct Output;

impl Sink for Output {
    fn write(&mut self, bytes: &[u8]) {
        // Bytes of a slice are the process's to read, so the kernel does not refuse.
        let _ = user::print(bytes);
    }
}

impl fmt::Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}

/// Writes a line.
pub fn line(text: fmt::Arguments<'_>) {
    // Writing cannot fail.
    let _ = fmt::write(&mut Output, format_args!("{text}\n"));
}
