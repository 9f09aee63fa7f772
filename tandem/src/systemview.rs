//! Traces for SEGGER SystemView: the records of a [`Ring`] as the bytes of its protocol.
//!
//! The bytes go to a function of the program's: a serial port, an RTT channel, or a file. A file that
//! SystemView opens (`.SVDat`) begins with [`HEADER`]. A host's commands are not read: the program
//! starts the recording, and sends the names of tasks.
//!
//! ```ignore
//! let system = System { name: "pump", device: "STM32F405", clock_hertz: 1_000_000, core_hertz: 168_000_000 };
//! let mut view = SystemView::start(|bytes| port.write(bytes), &system, clock());
//! view.task(PUMP.info()); // each task that has been spawned before the oldest record
//! loop {
//!     view.drain(&RING);
//!     // wait
//! }
//! ```
//!
//! # Format
//! A packet is a number, a payload, and the ticks since the packet before. A packet with a number from
//! 24 on has the length of its payload behind its number. Numbers are 32-bit words in groups of seven
//! bits, the lowest first, with the highest bit set in all but the last group. A text is its length in
//! a byte, and its bytes. A recording begins with ten bytes of 0.

use crate::{
    records::{Info, KERNEL},
    trace::{Event, Record, Ring},
};

/// The text at the beginning of a file for SystemView.
pub const HEADER: &str = ";\n; Version     SEGGER SystemViewer V3.30\n; Author      tandem\n;\n";

/// The numbers of packets.
mod packet {
    pub const OVERFLOW: u8 = 1;
    pub const ISR_ENTER: u8 = 2;
    pub const ISR_EXIT: u8 = 3;
    pub const TASK_START_EXEC: u8 = 4;
    pub const TASK_STOP_EXEC: u8 = 5;
    pub const TASK_START_READY: u8 = 6;
    pub const TASK_STOP_READY: u8 = 7;
    pub const TASK_CREATE: u8 = 8;
    pub const TASK_INFO: u8 = 9;
    pub const TRACE_START: u8 = 10;
    pub const SYSDESC: u8 = 14;
    pub const IDLE: u8 = 17;
    pub const INIT: u8 = 24;
    pub const NUMMODULES: u8 = 27;
    pub const TASK_TERMINATE: u8 = 29;
}

/// The first number of packets that have a length.
const WITH_LENGTH: u8 = 24;

/// The number of every handler: records do not have it.
const HANDLER: u32 = 1;

/// The longest text in bytes; the rest is left out.
const TEXT: usize = 64;

/// A description of the system that is recorded.
#[derive(Clone, Copy, Debug)]
pub struct System<'a> {
    /// The name of the program. Of this and the next text, 60 bytes are shown.
    pub name: &'a str,
    /// The name of the chip.
    pub device: &'a str,
    /// The ticks per second of [`Record::clock`].
    pub clock_hertz: u32,
    /// The processor's clock, in hertz.
    pub core_hertz: u32,
}

/// A recording: writes packets to `S`, a function that takes bytes. Each call of it has one packet.
pub struct SystemView<S> {
    sink: S,
    /// The clock at the latest packet.
    last: u32,
    /// The identifier of the task that runs by the records.
    running: Option<u32>,
}

/// A payload.
struct Payload {
    bytes: [u8; TEXT + 21],
    len: usize,
}

impl Payload {
    const fn new() -> Self {
        Self { bytes: [0; TEXT + 21], len: 0 }
    }

    fn with_words(words: &[u32]) -> Self {
        let mut payload = Self::new();
        words.iter().for_each(|word| payload.word(*word));
        payload
    }

    fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn word(&mut self, mut word: u32) {
        while word >= 0x80 {
            self.byte(word as u8 | 0x80);
            word >>= 7;
        }
        self.byte(word as u8);
    }

    /// Appends a text of several parts, as much of it as fits.
    fn text(&mut self, parts: &[&str]) {
        let place = self.len;
        self.byte(0);
        for character in parts.iter().flat_map(|part| part.chars()) {
            let mut bytes = [0; 4];
            let bytes = character.encode_utf8(&mut bytes).as_bytes();
            if self.len - place - 1 + bytes.len() > TEXT {
                break;
            }
            bytes.iter().for_each(|byte| self.byte(*byte));
        }
        self.bytes[place] = (self.len - place - 1) as u8;
    }
}

/// The identifier of a task in packets.
fn id(task: Info) -> u32 {
    task.id() as u32
}

impl<S: FnMut(&[u8])> SystemView<S> {
    /// Begins a recording at `clock`, a reading of the clock that records have.
    pub fn start(mut sink: S, system: &System, clock: u32) -> Self {
        sink(&[0; 10]);
        let mut this = Self { sink, last: clock, running: None };
        this.send(packet::TRACE_START, &Payload::new(), clock);
        // The last two: an offset of the identifiers, and the bits that they are shifted by.
        let init = Payload::with_words(&[system.clock_hertz, system.core_hertz, 0, 0]);
        this.send(packet::INIT, &init, clock);
        let texts =
            [["N=", system.name], ["D=", system.device], ["O=tandem", ""], ["I#1=handlers", ""]];
        for text in texts {
            let mut payload = Payload::new();
            payload.text(&text);
            this.send(packet::SYSDESC, &payload, clock);
        }
        this.send(packet::NUMMODULES, &Payload::with_words(&[0]), clock);
        this
    }

    fn send(&mut self, number: u8, payload: &Payload, clock: u32) {
        // A handler may interrupt another one between its reading of the clock and its record.
        let passed = clock.wrapping_sub(self.last);
        let passed = if passed.cast_signed() < 0 { 0 } else { passed };
        self.last = self.last.wrapping_add(passed);
        let mut packet = Payload::new();
        packet.byte(number);
        if number >= WITH_LENGTH {
            packet.word(payload.len as u32);
        }
        payload.bytes[..payload.len].iter().for_each(|byte| packet.byte(*byte));
        packet.word(passed);
        (self.sink)(&packet.bytes[..packet.len]);
    }

    /// Sends a task's name and priority. For tasks that were spawned before the oldest record: a
    /// record of a spawn does it, too.
    pub fn task(&mut self, task: Info) {
        let priority = task.priority().map_or(0, |priority| priority.value());
        let mut payload = Payload::with_words(&[id(task), priority.into()]);
        payload.text(&[task.name()]);
        self.send(packet::TASK_INFO, &payload, self.last);
    }

    /// Sends a record. Locks, priorities and timers have no packet.
    pub fn record(&mut self, record: Record) {
        let Record { clock, event, task } = record;
        let is_idle = task == Info(KERNEL.nobody());
        let task_id = id(task);
        let (number, payload) = match event {
            Event::Created => (packet::TASK_CREATE, Payload::with_words(&[task_id])),
            Event::Ready => (packet::TASK_START_READY, Payload::with_words(&[task_id])),
            Event::Run if is_idle => (packet::IDLE, Payload::new()),
            Event::Run => (packet::TASK_START_EXEC, Payload::with_words(&[task_id])),
            // The last word: a cause, which the records do not have.
            Event::Blocked => (packet::TASK_STOP_READY, Payload::with_words(&[task_id, 0])),
            Event::Ended => {
                if self.running == Some(task_id) {
                    self.send(packet::TASK_STOP_EXEC, &Payload::new(), clock);
                }
                (packet::TASK_TERMINATE, Payload::with_words(&[task_id]))
            }
            Event::InterruptIn => (packet::ISR_ENTER, Payload::with_words(&[HANDLER])),
            Event::InterruptOut => (packet::ISR_EXIT, Payload::new()),
            Event::Lock
            | Event::Unlock
            | Event::Priority
            | Event::TimerSet
            | Event::TimerExpired => return,
        };
        match event {
            Event::Run => self.running = Some(task_id),
            Event::Blocked | Event::Ended if self.running == Some(task_id) => self.running = None,
            _ => {}
        }
        self.send(number, &payload, clock);
        if event == Event::Created {
            self.task(task);
        }
    }

    /// Sends all records of a ring, which they leave, and a packet where some were lost. Returns the
    /// number of records.
    pub fn drain<const N: usize>(&mut self, ring: &Ring<N>) -> usize {
        let mut records = 0;
        while let Some((lost, record)) = ring.pop() {
            if lost > 0 {
                self.running = None;
                self.send(packet::OVERFLOW, &Payload::with_words(&[lost]), record.clock);
            }
            self.record(record);
            records += 1;
        }
        records
    }
}
