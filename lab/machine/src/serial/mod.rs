//! The machine `KERNEL@serial:DEVICE[:BAUD]`: any board on a serial line. A case is a request line
//! and the stream that answers it; the board then restarts by itself and waits for the next. This
//! module knows requests and frames, not the meaning of a record.
//!
//! A line may carry a boot loader's messages, lose a byte, or stay silent. The request is therefore
//! repeated until a stream answers that names it, and everything before is skipped.
//! `docs/machines/serial.md` describes how to bring up a board.

pub mod boards;
mod flash;
mod frames;
pub mod labgrid;
pub(crate) mod line;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use chronoscope_suite::{
    request::MAX_REQUEST,
    wire::{self, MAX_FRAME, Record},
};

use self::{
    frames::{Frames, Piece},
    line::{Address, Line},
};
use super::{
    Description, Machine, Properties, Provenance, Recording, Request, Start, description::Defaults,
    family::Family, firmware, given::GivenImage, images::Images,
};
use chronoscope_base::console;
use chronoscope_child::Limit;
use chronoscope_run::Target;
use chronoscope_units::printable;

pub use flash::flash;

/// The prefix of the machine's name.
pub const PREFIX: &str = "serial:";

/// The kernel's name that accepts any kernel on the board.
pub const ANY: &str = "board";

/// The rate of a line that is named without one.
pub(crate) const BAUD: u32 = 115_200;

/// The accepted baud rates.
const BAUDS: std::ops::RangeInclusive<u32> = 300..=50_000_000;

/// The time that a board has to restart. A request that comes too early is repeated only seconds
/// later.
const RESTART: Duration = Duration::from_millis(100);

/// The prefix of a board's error messages, as in `ports/firmware/common/src/serial.rs`.
const COMPLAINT: &str = "chronoscope: ";

/// The most bytes of a repetition's stream: about 25 minutes at the default rate.
const MAX_STREAM: u64 = 16 << 20;

/// A board on a serial line.
#[derive(Debug)]
struct Serial {
    kernel: String,
    /// The image that the user has written into the board, which may hold any kernel.
    given: Option<GivenImage>,
    line: Address,
    baud: u32,
}

/// The board of a target; `None` if the target's machine is no serial line.
///
/// # Errors
/// The rest of the machine's name after [`PREFIX`] is no device and rate, or the image is missing.
fn look_up(target: &Target) -> Result<Option<Serial>> {
    let Some(place) = target.machine.strip_prefix(PREFIX) else { return Ok(None) };
    let given = GivenImage::for_a_board(target)?;
    Ok(Some(Serial { given, ..board(&target.kernel, place)? }))
}

/// The description of any board on a serial line.
fn description(images: &Images, target: &Target) -> Description {
    let kind = images.kind(&target.kernel).map(str::to_owned);
    Description { kind, ..Description::new(DEFAULTS, Properties::default()) }
}

/// Boards have the defaults of emulated microcontrollers, so that their figures are comparable.
const DEFAULTS: &[&Defaults] = &[firmware::DEFAULTS];

/// The family of boards on serial lines that targets name by their devices.
#[derive(Default)]
pub(super) struct Lines;

impl Family for Lines {
    fn describe(&self, images: &Images, target: &Target) -> Result<Option<Description>> {
        Ok(look_up(target)?.map(|_| description(images, target)))
    }

    fn open<'m>(&'m self, _: &'m Images, target: &Target) -> Result<Option<Box<dyn Machine + 'm>>> {
        Ok(look_up(target)?.map(|serial| Box::new(serial) as Box<dyn Machine>))
    }

    fn form(&self) -> Option<(&'static str, &'static str)> {
        Some((
            "KERNEL@serial:DEVICE[:BAUD]",
            "a board on a serial line; board@…: with whatever kernel",
        ))
    }

    fn takes_images(&self) -> bool {
        true
    }

    fn defaults(&self) -> &'static [&'static Defaults] {
        DEFAULTS
    }
}

/// Parses `DEVICE` or `DEVICE:BAUD`.
///
/// # Errors
/// If the rate is out of range.
pub(crate) fn device_and_rate(place: &str) -> Result<(&str, u32)> {
    // A device's name may contain colons, as in /dev/serial/by-path; the part after its last colon
    // is then not alphanumeric.
    let word = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric());
    Ok(match place.rsplit_once(':') {
        Some((device, rate)) if word(rate) => match rate.parse() {
            Ok(baud) if BAUDS.contains(&baud) => (device, baud),
            _ => bail!(
                "`{rate}` is no baud rate: write a number from {} to {}",
                BAUDS.start(),
                BAUDS.end()
            ),
        },
        _ => (place, BAUD),
    })
}

/// Parses the rest of a target after [`PREFIX`].
///
/// # Errors
/// If it is not an absolute path of a device, or the rate is out of range.
fn board(kernel: &str, place: &str) -> Result<Serial> {
    let (device, baud) = device_and_rate(place)?;
    if !device.starts_with('/') {
        bail!("`{device}` is no serial line: write its device, as {kernel}@serial:/dev/ttyUSB0");
    }
    let line = Address::Device(device.into());
    Ok(Serial { kernel: kernel.to_owned(), given: None, line, baud })
}

impl Machine for Serial {
    fn prepare(&self, _request: &Request, _stop: &AtomicBool) -> Result<Provenance> {
        Ok(self.given.as_ref().map(GivenImage::provenance).unwrap_or_default())
    }

    /// Runs a case. The limit bounds the silence between frames; the duration of the stream depends
    /// on the line and is not bounded by it.
    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        self.run_over(&mut *line::open(&self.line, self.baud)?, start, sink)?;
        Ok(Recording::new())
    }
}

impl Serial {
    /// Runs a case over the open line.
    fn run_over(
        &self,
        line: &mut dyn Line,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let request = start.request.to_string();
        let mut answer = Answer::new(&request, self);
        let mut frames = Frames::default();
        let mut buffer = vec![0; 1 << 12];
        let mut asked: Option<Instant> = None;
        let mut heard = Instant::now();
        while !answer.ended {
            if start.stop.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            if heard.elapsed() >= start.limit.wall {
                frames.rest(&mut |piece| answer.take(piece, sink))?;
                bail!("{}", answer.missing(start.limit));
            }
            if answer.bytes == 0 && asked.is_none_or(|asked| asked.elapsed() >= self.patience()) {
                // The line break ends the remains of the previous request.
                let end = if asked.is_some() { "\n" } else { "" };
                line.send(format!("{end}{request}\n").as_bytes())?;
                asked = Some(Instant::now());
            }
            let length = line.receive(&mut buffer)?;
            let before = answer.bytes;
            frames.feed(&buffer[..length], &mut |piece| answer.take(piece, sink))?;
            if answer.bytes > before {
                heard = Instant::now();
            }
        }
        answer.tell_noise();
        thread::sleep(RESTART);
        Ok(())
    }

    /// The time to wait for a hello before the request is repeated: the time of both on the line,
    /// and two seconds to start.
    fn patience(&self) -> Duration {
        const BITS: u32 = 10;
        let bytes = u32::try_from(MAX_REQUEST + MAX_FRAME).unwrap_or(u32::MAX);
        Duration::from_secs(2) + Duration::from_secs((bytes * BITS / self.baud).into())
    }
}

/// The state of the stream that answers a request.
struct Answer<'a> {
    request: &'a str,
    board: &'a Serial,
    /// The number of bytes of the stream, from its hello on.
    bytes: u64,
    ended: bool,
    /// The numbers of bytes that were not part of the stream: before its start, and since.
    before: u64,
    amid: u64,
    /// The last text among those bytes.
    said: String,
}

impl<'a> Answer<'a> {
    fn new(request: &'a str, board: &'a Serial) -> Self {
        Self { request, board, bytes: 0, ended: false, before: 0, amid: 0, said: String::new() }
    }

    fn take(&mut self, piece: Piece<'_>, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match piece {
            // The board has restarted.
            _ if self.ended => {}
            Piece::Noise(bytes) => {
                self.skip(bytes);
                if let Some(text) = text(bytes) {
                    if let Some(complaint) = text.strip_prefix(COMPLAINT).filter(|_| self.bytes > 0)
                    {
                        bail!("the board failed: {complaint}");
                    }
                    self.said = text;
                }
            }
            Piece::Frame(bytes, Record::Hello { version, kernel, release, request })
                if self.bytes == 0 && (*request == self.request || *version != wire::VERSION) =>
            {
                self.bytes += bytes.len() as u64;
                return self.greet(bytes, *version, kernel, release, sink);
            }
            Piece::Frame(bytes, _) if self.bytes == 0 => self.skip(bytes),
            Piece::Frame(bytes, record) => {
                self.bytes += bytes.len() as u64;
                if self.bytes > MAX_STREAM {
                    bail!("the stream does not end: it is longer than {} MiB", MAX_STREAM >> 20);
                }
                self.ended = matches!(record, Record::End { .. } | Record::Refused { .. });
                return pass_on(bytes, sink).map_err(|error| match self.amid {
                    0 => error,
                    amid => error.context(format!(
                        "{amid} bytes amid the stream were none of it{}",
                        self.said()
                    )),
                });
            }
        }
        Ok(())
    }

    /// Checks the kernel in the board's hello against the target, and passes the hello on. For a
    /// target of [`ANY`] kernel, the release in the hello is prefixed with the kernel's name.
    fn greet(
        &self,
        bytes: &[u8],
        version: u16,
        kernel: &str,
        release: &str,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let named = self.board.kernel.as_str();
        if named == kernel || self.board.given.is_some() || version != wire::VERSION {
            return pass_on(bytes, sink);
        }
        if named != ANY {
            let kernel = printable(kernel);
            bail!(
                "the board runs `{kernel}` and not {named}: flash {named}, or name what is there, or say {ANY}@ for any"
            );
        }
        let release = format!("{kernel} {release}");
        let mut frame = [0; MAX_FRAME + 1];
        match wire::encode(
            &Record::Hello { version, kernel, release: &release, request: self.request },
            &mut frame,
        ) {
            Ok(length) => sink(&frame[..length]),
            // The kernel's name occurs twice in this frame, which may exceed the longest frame.
            Err(_) => pass_on(bytes, sink),
        }
    }

    fn skip(&mut self, bytes: &[u8]) {
        let count = if self.bytes == 0 { &mut self.before } else { &mut self.amid };
        *count += bytes.len() as u64;
    }

    fn said(&self) -> String {
        if self.said.is_empty() {
            String::new()
        } else {
            format!(" (the board said `{}`)", self.said)
        }
    }

    /// The message for an answer that is missing after `limit`, with the remedy.
    fn missing(&self, limit: Limit) -> String {
        let (device, baud, said) = (&self.board.line, self.board.baud, self.said());
        let seconds = limit.wall.as_secs_f64();
        if self.bytes > 0 {
            let bytes = self.bytes;
            return format!(
                "the stream over {device} stopped after {bytes} bytes, and for {seconds} s nothing came{said}: did the board hang, or lose its power?"
            );
        }
        match self.before {
            0 => format!(
                "nothing came over {device} at {baud} baud in {seconds} s: check that the board is powered, flashed with an image for a serial line, and that its TX is wired to the adapter's RX"
            ),
            before => format!(
                "{before} bytes came over {device} in {seconds} s, but no answer to the request{said}: is {baud} the board's baud rate, and its image of this tree?"
            ),
        }
    }

    fn tell_noise(&self) {
        let (device, said) = (&self.board.line, self.said());
        for (bytes, place) in [(self.before, "before"), (self.amid, "amid")] {
            if bytes > 0 {
                console::note(&format!(
                    "skipped {bytes} bytes on {device} {place} the stream{said}"
                ));
            }
        }
    }
}

fn pass_on(frame: &[u8], sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    sink(frame)?;
    sink(&[0])
}

/// The last line of bytes that are mostly text, at most 120 characters; `None` if they are not
/// text.
fn text(bytes: &[u8]) -> Option<String> {
    const MOST: usize = 120;
    let readable =
        bytes.iter().filter(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()).count();
    let text = String::from_utf8_lossy(bytes);
    let last = text.trim().lines().next_back().filter(|_| readable * 4 >= bytes.len() * 3)?;
    let excess = last.chars().count().saturating_sub(MOST);
    Some(printable(&last.chars().skip(excess).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_device_and_a_rate() {
        let found =
            |place: &str| board("tandem", place).map(|board| (board.line.to_string(), board.baud));
        assert_eq!(found("/dev/ttyUSB0").unwrap(), ("/dev/ttyUSB0".to_owned(), 115_200));
        assert_eq!(found("/dev/ttyUSB0:921600").unwrap(), ("/dev/ttyUSB0".to_owned(), 921_600));
        let by_path = "/dev/serial/by-path/pci-0000:00:14.0-usb-0:2:1.0-port0";
        assert_eq!(found(by_path).unwrap(), (by_path.to_owned(), 115_200));
        for wrong in [
            "",
            ":9600",
            "ttyUSB0",
            "/dev/ttyUSB0:",
            "/dev/ttyUSB0:fast",
            "/dev/ttyUSB0:0",
            "/dev/a:99999999999",
        ] {
            assert!(found(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn text_is_told_from_noise() {
        assert_eq!(text(b"U-Boot 2024.01\r\nbooting\r\n").as_deref(), Some("booting"));
        assert_eq!(text(&[0x80, 0xff, 0xf8, b'a']), None);
        assert_eq!(text(b"").as_deref(), None);
    }
}
