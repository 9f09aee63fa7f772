//! A serial line behind a terminal server, as ser2net or labgrid's exporter offers it.

use std::{
    io::{ErrorKind, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};

use super::{Line, MOMENT, rfc2217};

/// How long a server may take to accept a connection, or to set the rate.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection to a terminal server.
pub struct Network {
    stream: TcpStream,
    host: String,
    /// `None` if the connection carries the line's bytes alone.
    protocol: Option<rfc2217::Client>,
    /// Bytes of the line that were received with others, and not yet asked for.
    received: Vec<u8>,
}

impl Network {
    /// Connects to the server at `host`, `HOST:PORT`, sets the line's rate unless the connection
    /// is raw, and discards bytes received so far.
    ///
    /// # Errors
    /// If there is no such server, it speaks another protocol, or the line cannot do the rate.
    pub fn open(host: &str, is_raw: bool, baud: u32) -> Result<Self> {
        let unreachable = || format!("no terminal server answers at {host}: is it running?");
        let stream = connect(host).with_context(unreachable)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(MOMENT))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let protocol = (!is_raw).then(rfc2217::Client::default);
        let mut line = Self { stream, host: host.to_owned(), protocol, received: Vec::new() };
        if !is_raw {
            line.set_up(baud)?;
        }
        Ok(line)
    }

    fn set_up(&mut self, baud: u32) -> Result<()> {
        self.write(&rfc2217::opening(baud))?;
        let asked = Instant::now();
        let done = loop {
            self.take()?;
            match self.protocol.as_ref().and_then(|protocol| protocol.baud) {
                Some(done) => break done,
                None if asked.elapsed() >= PATIENCE => bail!(
                    "{} speaks no RFC 2217: is it a terminal server, and is its connection not \
                     raw (tcp://{0})?",
                    self.host
                ),
                None => {}
            }
        };
        // The server purges the line, and then answers.
        self.received.clear();
        if done.abs_diff(baud) > baud / 50 {
            bail!(
                "{} does not take {baud} baud: it can do {done}: choose another rate, on the \
                 board too",
                self.host
            );
        }
        Ok(())
    }

    /// Receives once, for [`MOMENT`] at most.
    fn take(&mut self) -> Result<()> {
        let mut buffer = [0; 1 << 12];
        let length = match self.stream.read(&mut buffer) {
            Ok(0) => return Err(self.gone()),
            Ok(length) => length,
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => 0,
                _ => return Err(self.gone()),
            },
        };
        let Some(protocol) = &mut self.protocol else {
            self.received.extend_from_slice(&buffer[..length]);
            return Ok(());
        };
        let mut reply = Vec::new();
        protocol.feed(&buffer[..length], &mut self.received, &mut reply);
        if reply.is_empty() { Ok(()) } else { self.write(&reply) }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).map_err(|_| self.gone())
    }

    fn gone(&self) -> anyhow::Error {
        anyhow!(
            "the terminal server at {} went away: was it stopped, or the board unplugged?",
            self.host
        )
    }
}

impl Line for Network {
    /// Sends all bytes; a server that takes none for 5 s is gone.
    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        match self.protocol {
            Some(_) => self.write(&rfc2217::escaped(bytes)),
            None => self.write(bytes),
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.received.is_empty() {
            self.take()?;
        }
        let length = self.received.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.received[..length]);
        self.received.drain(..length);
        Ok(length)
    }
}

/// Connects to the first address of the host that answers.
fn connect(host: &str) -> Result<TcpStream> {
    let mut refused = anyhow!("the name has no address");
    for address in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => refused = error.into(),
        }
    }
    Err(refused)
}
