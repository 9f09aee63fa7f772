//! Watches a board by the stream of marks that its program sends: on a serial line, over TCP, or in
//! a file. The image names the marks; nothing runs it here.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use super::terms::{self, Room, Terms};
use crate::{
    Machine, Properties, Provenance, Recording, Request, Start,
    marks::{Counts, Intake, Kind, Mark, is_control},
    observe::{self, image::Image, image::Sizes},
    serial::{
        BAUD, device_and_rate,
        line::{self, Address, Line},
    },
    stream::{StreamBuilder, samples},
};
use chronoscope_run::Target;
use chronoscope_suite::wire::{Clock, Domain, Record, Series};
use chronoscope_units::printable;

/// The time without a byte after which a line that has sent nothing is given up.
const SILENCE: Duration = Duration::from_secs(30);

/// The image and the place of its stream.
pub struct Question<'a> {
    /// The image that the board runs.
    pub image: &'a Path,
    /// `/dev/ttyUSB0`, `/dev/ttyUSB0:921600`, `tcp://HOST:PORT`, `rfc2217://HOST:PORT` or a file.
    pub stream: &'a str,
    /// The time after which the watch ends; `None` for the stream's end.
    pub duration: Option<Duration>,
}

/// A board under watch.
pub struct Board {
    image: Image,
    marks: Vec<Mark>,
    place: Place,
    terms: Terms,
}

/// The place of a stream.
enum Place {
    File(PathBuf),
    Line(Address, u32),
}

impl Place {
    fn new(text: &str) -> Result<Self> {
        if text.contains("://") {
            return Ok(Self::Line(text.parse()?, BAUD));
        }
        if Path::new(text).is_file() {
            return Ok(Self::File(text.into()));
        }
        if !text.starts_with('/') {
            bail!(
                "`{}` is no stream of marks: name a file that is there, a serial line, as \
                 /dev/ttyUSB0:921600, or a server, as tcp://localhost:9090",
                printable(text)
            );
        }
        let (device, baud) = device_and_rate(text)?;
        Ok(Self::Line(Address::Device(device.into()), baud))
    }

    fn shown(&self) -> String {
        match self {
            Self::File(path) => printable(&path.display().to_string()),
            Self::Line(address, _) => printable(&address.to_string()),
        }
    }
}

/// An open stream.
enum Source {
    File(File),
    Line(Box<dyn Line>),
}

impl Board {
    /// Reads the marks of the image.
    ///
    /// # Errors
    /// There is no such image or no such place, or the image has no marks.
    pub fn new(question: &Question<'_>) -> Result<Self> {
        let image = Image::read(question.image)?;
        let marks = image.marks()?;
        if marks.is_empty() {
            bail!(
                "{} has no marks: name the image that the board runs, built with \
                 CHRONO_MARK_BOARD or the crate's feature `board`",
                printable(&question.image.display().to_string())
            );
        }
        Ok(Self {
            image,
            marks,
            place: Place::new(question.stream)?,
            terms: Terms::new(question.duration),
        })
    }

    /// The target that the watch's case names.
    pub fn target(&self) -> Target {
        terms::target(&self.image.path, "stream")
    }

    /// The names and values of the parameters of the watch's case.
    pub fn settings(&self) -> Vec<(String, String)> {
        self.terms.setting().into_iter().collect()
    }

    /// The names of the series that may arise, and their kinds.
    pub fn marks(&self) -> BTreeMap<&str, Kind> {
        self.image.series(&self.marks)
    }

    /// Sets the longest lengths that are allowed, by the name of the series, in ns: the live view
    /// counts the intervals above.
    pub fn with_bounds(self, bounds: BTreeMap<String, f64>) -> Self {
        Self { terms: self.terms.with_bounds(bounds), ..self }
    }

    /// Takes in the stream until its end, or the time is over or `stop` becomes true. Returns the
    /// remarks too.
    fn receive(&self, stop: &AtomicBool) -> Result<(Intake, Vec<String>)> {
        let mut source = match &self.place {
            Place::File(path) => Source::File(
                File::open(path).with_context(|| format!("cannot read {}", self.place.shown()))?,
            ),
            Place::Line(address, baud) => Source::Line(line::open(address, *baud)?),
        };
        let mut intake = Intake::new(&self.marks);
        let (mut live, mut remarks) = (self.terms.live(), Vec::new());
        let begun = Instant::now();
        let mut buffer = [0; 1 << 12];
        let mut bytes = 0;
        while !stop.load(Relaxed) && !self.terms.is_over(begun) {
            let received = match &mut source {
                Source::File(file) => match file.read(&mut buffer)? {
                    0 => break,
                    length => Ok(length),
                },
                Source::Line(line) => line.receive(&mut buffer),
            };
            match received {
                Ok(length) => {
                    bytes += length;
                    intake.feed(&buffer[..length])?;
                }
                // A server or a board that goes away ends the stream.
                Err(error) if intake.counts().records > 0 => {
                    remarks.push(format!("{error:#}"));
                    break;
                }
                Err(error) => return Err(error),
            }
            if bytes == 0 && begun.elapsed() > SILENCE {
                bail!(
                    "{} sent nothing in {} s: does the program call chrono_drain?",
                    self.place.shown(),
                    SILENCE.as_secs()
                );
            }
            if !terms::has_room(intake.pairing().count()) {
                remarks.push(terms::full());
                break;
            }
            if let Some(counter) = intake.counter() {
                live.show(intake.pairing(), 1e9 / f64::from(counter.hertz));
            }
        }
        self.check(&intake, bytes)?;
        Ok((intake, remarks))
    }

    /// # Errors
    /// The stream has no marks of the image; the message has the mend.
    fn check(&self, intake: &Intake, bytes: usize) -> Result<()> {
        let (place, counts) = (self.place.shown(), intake.counts());
        if counts.records == 0 {
            bail!(
                "{place}: no mark is in its {bytes} bytes: is the rate right, the image built with \
                 CHRONO_MARK_BOARD or the feature `board`, and chrono_start_… called?"
            );
        }
        if counts.unknown == counts.records {
            bail!(
                "{place}: its {} marks are of another build than {}: name the image that the board \
                 runs",
                counts.records,
                printable(&self.image.path.display().to_string())
            );
        }
        Ok(())
    }
}

/// The sentences on everything in a stream that is no interval.
fn remarks(counts: &Counts) -> Vec<String> {
    let Counts { pauses, restarts, garbage, .. } = *counts;
    let mut lines = Vec::new();
    if pauses > 0 {
        lines.push(format!(
            "{pauses} times the clock may have begun anew unseen: call chrono_drain at least once in \
             half of its period"
        ));
    }
    if restarts > 0 {
        lines.push(format!("the board began anew {restarts} times"));
    }
    if garbage > 0 {
        lines.push(format!("{garbage} bytes of the stream are of no mark, and were skipped"));
    }
    lines
}

impl Machine for Board {
    fn properties(&self) -> Properties {
        Properties::default()
    }

    fn prepare(&self, _request: &Request, _stop: &AtomicBool) -> Result<Provenance> {
        let identity = BTreeMap::from([self.image.fact()]);
        let remark =
            "the program's own clock; a mark's cost is part of each interval: see the control";
        Ok(Provenance { identity, remark: remark.to_owned() })
    }

    fn run(
        &self,
        start: &Start<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Recording> {
        let mut stream = StreamBuilder::begin(&observe::name(&self.image.path), start.request)?;
        let (intake, lines) = self.receive(start.stop)?;
        let counts = intake.counts();
        let hertz = intake.counter().map_or(1, |counter| counter.hertz);
        stream.send(&Record::Clock(Clock {
            domain: Domain::Wall,
            hertz: hertz.into(),
            resolution: 1,
        }))?;
        for (name, value, low, high) in [
            ("marks", counts.records, 1.0, f64::INFINITY),
            ("lost marks", counts.lost, 0.0, 0.0),
            ("marks of another image", counts.unknown, 0.0, 0.0),
            ("pauses of an unknown length", counts.pauses, 0.0, 0.0),
        ] {
            stream.evidence(name, value as f64, low, high)?;
        }
        let (all, tasks_left_out) = intake.finish();
        let marks = all.iter().filter(|series| !is_control(series));
        let mut room = Room::new(&mut stream, marks, 1 + Sizes::SERIES)?;
        for series in &all {
            if is_control(series) {
                stream.series(Series::control("mark to mark"), samples(&series.intervals))?;
                continue;
            }
            room.send(&mut stream, series)?;
        }
        self.image.sizes().send(&mut stream, &self.marks)?;
        if tasks_left_out > 0 {
            let tasks =
                if tasks_left_out == 1 { "1 task" } else { &format!("{tasks_left_out} tasks") };
            stream.send(&Record::Log(&format!("left out: {tasks} with the largest ids")))?;
        }
        for line in remarks(&counts).iter().chain(&lines) {
            stream.send(&Record::Log(line))?;
        }
        sink(&stream.end()?)?;
        Ok(Recording::new())
    }
}
