//! SEGGER SystemView's recordings (`.SVDat`): a case with series of each task's waits from ready to
//! running, of each handler, and of each task's time in a row on the processor.
//!
//! A packet is a number, from 24 on the length of its payload, the payload, and the ticks since the
//! packet before. Numbers are in groups of seven bits, the lowest first, with the highest bit set in
//! all but the last group. A recording begins with packets of 0, which mean nothing.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail, ensure};
use chronoscope_units::printable;

use super::{Interval, Measured, Recording, scheduling::called};

/// The most intervals of all series together.
const MOST_INTERVALS: usize = 8_000_000;

/// The most tasks, and the most handlers.
const MOST_NAMES: usize = 4096;

/// Returns whether the file begins as a recording does: with a header of comments, or with packets of
/// 0, of which each recording has ten.
pub fn is_its(head: &[u8]) -> bool {
    head.starts_with(b";") || head.starts_with(&[0; 10])
}

/// Reads a recording.
///
/// # Errors
/// It is cut within a packet, has no clock, or a packet has another form.
pub fn read(bytes: &[u8]) -> Result<Recording> {
    let mut recording = Recording::new("systemview");
    let header = header(bytes)?;
    let mut reader = Reader { bytes, at: header };
    let mut trace = Trace::default();
    while reader.at < bytes.len() {
        let place = reader.at;
        trace.packet(&mut reader).with_context(|| format!("byte {place}"))?;
    }
    recording.add(trace.measured()?)?;
    Ok(recording)
}

/// The length of the comments at the beginning.
fn header(bytes: &[u8]) -> Result<usize> {
    let mut at = 0;
    // Some programs write an empty line behind the comments.
    while matches!(bytes.get(at), Some(b';' | b'\n')) {
        let end = bytes[at..].iter().position(|byte| *byte == b'\n');
        at += 1 + end.context("its header has no end: it is cut off")?;
    }
    let text = String::from_utf8_lossy(&bytes[..at]);
    ensure!(at == 0 || text.contains("SystemView"), "its header does not name SystemView");
    ensure!(
        !text.contains("ESP_Extension"),
        "its header has `ESP_Extension`: packets of several processors are in it; save each \
         processor's in a file of its own"
    );
    let is_begun = bytes.get(at..at + 10).is_some_and(|begin| begin == [0; 10]);
    ensure!(
        is_begun,
        "byte {at}: no recording begins here: it has ten bytes of 0 in the beginning"
    );
    Ok(at)
}

/// The numbers of packets.
mod packet {
    pub const OVERFLOW: u32 = 1;
    pub const ISR_ENTER: u32 = 2;
    pub const ISR_EXIT: u32 = 3;
    pub const TASK_START_EXEC: u32 = 4;
    pub const TASK_STOP_EXEC: u32 = 5;
    pub const TASK_START_READY: u32 = 6;
    pub const TASK_STOP_READY: u32 = 7;
    pub const TASK_INFO: u32 = 9;
    pub const TRACE_STOP: u32 = 11;
    pub const SYSDESC: u32 = 14;
    pub const IDLE: u32 = 17;
    pub const ISR_TO_SCHEDULER: u32 = 18;
    pub const INIT: u32 = 24;
    pub const TASK_TERMINATE: u32 = 29;
    /// The first number of packets that have a length.
    pub const WITH_LENGTH: u32 = 24;
}

/// The words in the payload of each packet without a length, and whether a text follows them. The form
/// of the last number is unknown.
const FORMS: [(usize, bool); packet::WITH_LENGTH as usize - 1] = [
    (0, false),
    (1, false),
    (1, false),
    (0, false),
    (1, false),
    (0, false),
    (1, false),
    (2, false),
    (1, false),
    (2, true),
    (0, false),
    (0, false),
    (1, false),
    (2, false),
    (0, true),
    (1, false),
    (1, false),
    (0, false),
    (0, false),
    (1, false),
    (0, false),
    (4, false),
    (2, true),
];

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).context("the recording is cut in a packet")?;
        self.at += 1;
        Ok(byte)
    }

    /// A number of at most 32 bits.
    fn word(&mut self) -> Result<u32> {
        let mut value = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).context("a number has more than 32 bits");
            }
        }
        bail!("a number has no end: the file is damaged")
    }

    /// The next bytes.
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len());
        let end = end.context("the recording is cut in a packet")?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// A text behind its length, which is a byte, or 255 and two bytes.
    fn text(&mut self) -> Result<&'a [u8]> {
        let length = match self.byte()? {
            255 => usize::from(self.byte()?) | usize::from(self.byte()?) << 8,
            length => usize::from(length),
        };
        self.take(length)
    }
}

/// The state of the recorded system, and the intervals so far. Times are in ticks since the first
/// packet.
#[derive(Default)]
struct Trace {
    now: u64,
    hertz: Option<u32>,
    packets: u64,
    lost: u64,
    names: BTreeMap<u32, String>,
    handler_names: BTreeMap<u32, String>,
    /// The texts on the system: name, device and operating system.
    about: BTreeSet<String>,
    /// The task that runs, and since when.
    running: Option<(u32, u64)>,
    /// The handlers that have begun, the inner ones last.
    handlers: Vec<(u32, u64)>,
    /// The tasks that became ready and have not run since.
    ready: BTreeMap<u32, u64>,
    waits: BTreeMap<u32, Vec<Interval>>,
    runs: BTreeMap<u32, Vec<Interval>>,
    in_handlers: BTreeMap<u32, Vec<Interval>>,
    intervals: usize,
}

impl Trace {
    /// Takes in the next packet.
    fn packet(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let number = reader.word()?;
        // A packet with fewer words has zeros in their place.
        let (mut words, mut text) = ([0; 4], &[][..]);
        if number < packet::WITH_LENGTH {
            let form = FORMS.get(number as usize);
            let (count, has_text) = *form.with_context(|| {
                format!("packet {number} is of a later version: save the recording without it")
            })?;
            for word in &mut words[..count] {
                *word = reader.word()?;
            }
            if has_text {
                text = reader.text()?;
            }
        } else {
            let length = reader.word()? as usize;
            let mut payload = Reader { bytes: reader.take(length)?, at: 0 };
            let count = match number {
                packet::INIT => 4,
                packet::TASK_TERMINATE => 1,
                _ => 0,
            };
            for word in &mut words[..count] {
                *word = payload.word()?;
            }
        }
        self.now += u64::from(reader.word()?);
        self.packets += u64::from(number > 0);
        ensure!(
            self.intervals < MOST_INTERVALS,
            "more than {MOST_INTERVALS} intervals: cut the recording"
        );
        self.event(number, words, text)
    }

    /// Takes in an event at the present time.
    fn event(&mut self, number: u32, words: [u32; 4], text: &[u8]) -> Result<()> {
        let [first, ..] = words;
        match number {
            packet::OVERFLOW => {
                self.lost += u64::from(first).max(1);
                self.forget();
            }
            packet::ISR_ENTER => {
                ensure!(self.handlers.len() < MOST_NAMES, "too many handlers within each other");
                self.handlers.push((first, self.now));
            }
            packet::ISR_EXIT | packet::ISR_TO_SCHEDULER => {
                if let Some((handler, since)) = self.handlers.pop() {
                    self.intervals += add(&mut self.in_handlers, handler, since, self.now)?;
                }
            }
            packet::TASK_START_EXEC => {
                if self.running.is_none_or(|(task, _)| task != first) {
                    self.stop()?;
                    self.running = Some((first, self.now));
                }
                if let Some(since) = self.ready.remove(&first) {
                    self.intervals += add(&mut self.waits, first, since, self.now)?;
                }
            }
            packet::TASK_STOP_EXEC | packet::IDLE => self.stop()?,
            packet::TASK_START_READY => {
                let is_running = self.running.is_some_and(|(task, _)| task == first);
                ensure!(self.ready.len() < MOST_NAMES, "more than {MOST_NAMES} tasks");
                if !is_running {
                    self.ready.entry(first).or_insert(self.now);
                }
            }
            packet::TASK_STOP_READY | packet::TASK_TERMINATE => {
                self.ready.remove(&first);
                if self.running.is_some_and(|(task, _)| task == first) {
                    self.stop()?;
                }
            }
            packet::TASK_INFO => name(&mut self.names, first, text)?,
            packet::SYSDESC => self.describe(text)?,
            packet::INIT => {
                ensure!(first > 0, "its clock does not tick");
                let known = *self.hertz.get_or_insert(first);
                ensure!(known == first, "its clock changes from {known} to {first} Hz");
            }
            packet::TRACE_STOP => self.forget(),
            _ => {}
        }
        Ok(())
    }

    /// Ends the run of the task that runs.
    fn stop(&mut self) -> Result<()> {
        if let Some((task, since)) = self.running.take() {
            self.intervals += add(&mut self.runs, task, since, self.now)?;
        }
        Ok(())
    }

    /// Ends all intervals without a length: what happened meanwhile is unknown.
    fn forget(&mut self) {
        self.running = None;
        self.handlers.clear();
        self.ready.clear();
    }

    /// Takes in a description: parts with a letter, `=` and a text, behind commas.
    fn describe(&mut self, text: &[u8]) -> Result<()> {
        let text = String::from_utf8_lossy(text);
        for part in text.split(',') {
            match part.split_once('=') {
                Some((number, own)) if number.starts_with("I#") => {
                    if let Ok(number) = number[2..].parse() {
                        name(&mut self.handler_names, number, own.as_bytes())?;
                    }
                }
                Some(("N" | "D" | "O", own)) if self.about.len() < 16 => {
                    self.about.insert(printable(own));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The case of the recording.
    fn measured(self) -> Result<Measured> {
        let hertz = self.hertz.context(
            "it has no packet that names its clock (24): record from the program's start, or send the \
             description again",
        )?;
        let mut measured = Measured::new("recording", hertz.into());
        measured.evidence = vec![
            ("packets in the file", self.packets as f64, 1.0, f64::INFINITY),
            ("packets that were lost", self.lost as f64, 0.0, 0.0),
        ];
        let about: Vec<&str> = self.about.iter().map(String::as_str).collect();
        if !about.is_empty() {
            measured.log.push(format!("recorded on {}", about.join(", ")));
        }
        measured.log.push(
            "the recording's own instructions are in each interval: SystemView gives no control"
                .into(),
        );
        let task = |id: &u32| called(&self.names, "task", *id);
        measured.add_loads(&self.runs, self.now, &task);
        let sorts = [
            (self.waits, &self.names, "task", ", ready to running", true),
            (self.in_handlers, &self.handler_names, "handler", " (handler)", true),
            (self.runs, &self.names, "task", ", on the processor", false),
        ];
        for (intervals, names, what, ending, is_measured) in sorts {
            let named = |id: &u32| called(names, what, *id);
            measured.add_most(intervals, what, ending, is_measured, &named);
        }
        Ok(measured)
    }
}

/// Adds an interval. Returns the number of added ones.
fn add(all: &mut BTreeMap<u32, Vec<Interval>>, id: u32, start: u64, end: u64) -> Result<usize> {
    ensure!(all.len() < MOST_NAMES || all.contains_key(&id), "more than {MOST_NAMES} tasks");
    all.entry(id).or_default().push(Interval { start, length: end - start });
    Ok(1)
}

/// Names a task or a handler. A later name counts.
fn name(names: &mut BTreeMap<u32, String>, id: u32, text: &[u8]) -> Result<()> {
    ensure!(names.len() < MOST_NAMES || names.contains_key(&id), "more than {MOST_NAMES} names");
    names.insert(id, printable(&String::from_utf8_lossy(text)));
    Ok(())
}
