//! QEMU's machine protocol: commands and answers, a line of JSON each, over QEMU's standard input, which is a socket.

use std::{
    io::{BufRead, BufReader, ErrorKind, Write},
    os::unix::net::UnixStream,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// The lab's end.
pub struct Qmp<'a> {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    line: Vec<u8>,
    deadline: Instant,
    stop: &'a AtomicBool,
}

/// Options that make standard input QEMU's monitor.
pub const ARGUMENTS: [&str; 4] =
    ["-chardev", "socket,id=monitor,fd=0", "-mon", "chardev=monitor,mode=control"];

impl<'a> Qmp<'a> {
    /// The lab's end, and the one for QEMU.
    ///
    /// # Errors
    /// The system's.
    pub fn pair(limit: Duration, stop: &'a AtomicBool) -> Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        // How long it takes until `stop` is seen.
        ours.set_read_timeout(Some(Duration::from_millis(100)))?;
        let (reader, line) = (BufReader::new(ours.try_clone()?), Vec::new());
        Ok((Self { reader, writer: ours, line, deadline: Instant::now() + limit, stop }, theirs))
    }

    /// # Errors
    /// When QEMU does not answer.
    pub fn greet(&mut self) -> Result<()> {
        self.until(|message| message.get("QMP").is_some())?;
        self.command("qmp_capabilities", &json!({})).map(|_| ())
    }

    /// # Errors
    /// What QEMU says, or that it has gone.
    pub fn command(&mut self, name: &str, arguments: &Value) -> Result<Value> {
        // At one go: QEMU obeys at the last brace, and may have ended before a line break that comes after it.
        let line = format!("{}\n", json!({ "execute": name, "arguments": arguments }));
        self.writer.write_all(line.as_bytes()).context("QEMU has gone")?;
        let mut answer = self
            .until(|message| message.get("return").is_some() || message.get("error").is_some())?;
        if let Some(error) = answer.get("error") {
            bail!("QEMU: {name}: {}", error["desc"].as_str().unwrap_or_default());
        }
        Ok(answer["return"].take())
    }

    /// Asks for what `name` tells until it is as `done` wants it.
    ///
    /// # Errors
    /// As [`command`](Self::command).
    pub fn ask_until(&mut self, name: &str, done: impl Fn(&Value) -> bool) -> Result<Value> {
        loop {
            let answer = self.command(name, &json!({}))?;
            if done(&answer) {
                return Ok(answer);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Reads on to the message that is wanted; others are events that nobody waits for.
    pub fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            if Instant::now() >= self.deadline {
                bail!("QEMU does not answer: the guest hangs, or the machine is very slow");
            }
            match self.reader.read_until(b'\n', &mut self.line) {
                Ok(0) => bail!("QEMU has gone"),
                Ok(_) => {}
                // What was read stays in `line`.
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    continue;
                }
                Err(error) => return Err(error).context("QEMU has gone"),
            }
            let message: Value =
                serde_json::from_slice(&self.line).context("QEMU speaks no JSON")?;
            self.line.clear();
            if wanted(&message) {
                return Ok(message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_command_is_sent_at_one_go() {
        let stop = AtomicBool::new(false);
        let (mut qmp, mut qemu) = Qmp::pair(Duration::from_secs(60), &stop).unwrap();
        let qemu = thread::spawn(move || {
            let mut request = [0; 4096];
            let length = qemu.read(&mut request).unwrap();
            qemu.write_all(b"{\"return\": {}}\n").unwrap();
            request[..length].to_vec()
        });
        qmp.command("cont", &json!({})).unwrap();
        assert!(qemu.join().unwrap().ends_with(b"}\n"));
        assert!(qmp.command("cont", &json!({})).is_err(), "it has gone");
    }
}
