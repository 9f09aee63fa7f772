//! A client of QEMU's machine protocol (QMP): commands and answers are lines of JSON, over a socket
//! that is QEMU's standard input. The client knows the protocol, not the purpose of a command.

use std::{
    io::{BufRead, BufReader, ErrorKind, Write},
    os::unix::net::UnixStream,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// The lab's end of the conversation. Every call fails once the conversation's deadline has passed
/// or `stop` is set.
pub struct Qmp<'a> {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    /// The bytes of an incomplete line.
    line: Vec<u8>,
    deadline: Instant,
    stop: &'a AtomicBool,
}

/// The options that make standard input QEMU's monitor.
pub const ARGUMENTS: [&str; 4] =
    ["-chardev", "socket,id=monitor,fd=0", "-mon", "chardev=monitor,mode=control"];

impl<'a> Qmp<'a> {
    /// Creates a client and the socket for QEMU's standard input. `limit` bounds the whole
    /// conversation.
    ///
    /// # Errors
    /// If the system cannot make a socket pair.
    pub fn pair(limit: Duration, stop: &'a AtomicBool) -> Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        // The longest delay until `stop` is noticed.
        ours.set_read_timeout(Some(Duration::from_millis(100)))?;
        let (reader, line) = (BufReader::new(ours.try_clone()?), Vec::new());
        Ok((Self { reader, writer: ours, line, deadline: Instant::now() + limit, stop }, theirs))
    }

    /// Waits for the greeting and enters command mode.
    ///
    /// # Errors
    /// If QEMU does not answer.
    pub fn greet(&mut self) -> Result<()> {
        self.until(|message| message.get("QMP").is_some())?;
        self.command("qmp_capabilities", &json!({})).map(|_| ())
    }

    /// Sends a command and returns its answer.
    ///
    /// # Errors
    /// If QEMU reports an error, has ended or does not answer.
    pub fn command(&mut self, name: &str, arguments: &Value) -> Result<Value> {
        // Command and line break are one write: QEMU obeys at the last brace, and may have ended
        // before a second write.
        let line = format!("{}\n", json!({ "execute": name, "arguments": arguments }));
        self.writer.write_all(line.as_bytes()).context("QEMU has gone")?;
        let mut answer = self
            .until(|message| message.get("return").is_some() || message.get("error").is_some())?;
        if let Some(error) = answer.get("error") {
            bail!("QEMU: {name}: {}", error["desc"].as_str().unwrap_or_default());
        }
        Ok(answer["return"].take())
    }

    /// Repeats the query `name` every 5 ms until `done` accepts an answer, and returns that answer.
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

    /// Reads messages until `wanted` accepts one, and returns it. The messages before it are
    /// events, and are dropped.
    ///
    /// # Errors
    /// If QEMU has ended, does not answer, or sends no JSON.
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
                // The bytes read so far stay in `line`.
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    continue;
                }
                Err(error) => return Err(error).context("QEMU has gone"),
            }
            let message: Value =
                serde_json::from_slice(&self.line).context("QEMU's answer is not JSON")?;
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
