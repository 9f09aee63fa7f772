//! TraceX's recordings (`.trx`): the memory of ThreadX' trace, as a debugger saves it. A head, the
//! registry of objects with their names, and a ring of events of 32 bytes. A case with a series for
//! each thread's wait until it may run, for each handler, and for each thread's time in a row on the
//! processor. Layout: *Azure RTOS TraceX user guide*, chapter 11.

use anyhow::{Context as _, Result, bail, ensure};

use super::{
    Recording,
    scheduling::{Scheduling, Words, called},
};

/// The mark at the beginning, in the target's byte order.
const MARK: [u8; 4] = *b"TXTB";

/// The bytes of the head.
const HEAD: usize = 48;

/// The bytes of an object of the registry without its name.
const OBJECT: usize = 16;

/// The bytes of an event.
const EVENT: usize = 32;

/// The sort of an object that is a thread.
const THREAD: u8 = 1;

/// The thread of an event in a handler, and of one before the kernel's start.
const CONTEXTS: [u32; 2] = [HANDLER, 0xf0f0_f0f0];
const HANDLER: u32 = 0xffff_ffff;

/// The numbers of the scheduler's and the interrupts' events.
mod event {
    pub const RESUME: u32 = 1;
    pub const SUSPEND: u32 = 2;
    pub const ISR_ENTER: u32 = 3;
    pub const ISR_EXIT: u32 = 4;
    pub const TIME_SLICE: u32 = 5;
}

const WORDS: Words = Words {
    wait: ", ready to chosen",
    mend: "record with the scheduler's and the interrupts' events enabled",
    task: |names, task| called(names, "task", task),
};

/// Returns whether a file begins as a recording does.
pub fn is_its(head: &[u8]) -> bool {
    let reversed = [MARK[3], MARK[2], MARK[1], MARK[0]];
    head.starts_with(&MARK) || head.starts_with(&reversed)
}

/// Reads a recording whose clock has `hertz` ticks a second.
///
/// # Errors
/// It is cut, damaged, or has no event; or the rate is missing.
pub fn read(bytes: &[u8], hertz: Option<u64>) -> Result<Recording> {
    let words = Memory { bytes, is_big: bytes.starts_with(&MARK) };
    let hertz = hertz.context(
        "its times are ticks of a clock whose rate is not in the file: give it, as --clock 168MHz",
    )?;
    let head = Head::read(&words)?;
    let mut scheduling = Scheduling::default();
    for place in 0..head.objects {
        let at = HEAD + place * head.object;
        let name = words.part(at + OBJECT, head.object - OBJECT)?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        if words.part(at + 1, 1)? == [THREAD] {
            let thread = words.word(at + 4)?;
            scheduling.name(thread.into(), &String::from_utf8_lossy(&name[..end]))?;
        }
    }
    let mut last = None;
    let mut time = 0_u64;
    let mut chosen = None;
    // The place that the next event would have overwritten has the oldest one.
    let (older, newer) = (head.next..head.events, 0..head.next);
    for place in older.chain(newer) {
        let event = Event::read(&words, head.first_event() + place * EVENT)?;
        if event.number == 0 {
            continue;
        }
        let ticks = event.ticks & head.mask;
        // The clock wraps; between two events it does so at most once.
        time += u64::from(ticks.wrapping_sub(last.unwrap_or(ticks)) & head.mask);
        last = Some(ticks);
        event.take_into(&mut scheduling, time, &mut chosen)?;
    }
    let mut measured = scheduling.measured(hertz, &WORDS)?;
    measured.log.push(
        "the ring keeps its last events: what was before them was overwritten; a clock that wraps \
         twice between two events is not seen"
            .into(),
    );
    let mut recording = Recording::new("tracex");
    recording.add(measured)?;
    Ok(recording)
}

/// A recording's memory.
struct Memory<'a> {
    bytes: &'a [u8],
    is_big: bool,
}

impl<'a> Memory<'a> {
    fn part(&self, at: usize, length: usize) -> Result<&'a [u8]> {
        let part = self.bytes.get(at..).and_then(|rest| rest.get(..length));
        part.with_context(|| format!("byte {at}: it is cut off"))
    }

    fn word(&self, at: usize) -> Result<u32> {
        let bytes = self.part(at, 4)?.try_into()?;
        Ok(if self.is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn half(&self, at: usize) -> Result<u16> {
        let bytes = self.part(at, 2)?.try_into()?;
        Ok(if self.is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }
}

/// The head, as far as it is used.
struct Head {
    /// The bits of a time that count.
    mask: u32,
    /// The bytes of an object with its name.
    object: usize,
    objects: usize,
    events: usize,
    /// The place of the next event.
    next: usize,
}

impl Head {
    fn read(words: &Memory<'_>) -> Result<Self> {
        let mask = words.word(4)?;
        ensure!(
            mask > 0 && mask & mask.wrapping_add(1) == 0,
            "byte 4: {mask:#x} is no mask of a clock"
        );
        let object = OBJECT + usize::from(words.half(18)?);
        let [registry, registry_end] = [words.word(12)?, words.word(20)?];
        let [first, end, next] = [words.word(24)?, words.word(28)?, words.word(32)?];
        let count = |what: &str, from: u32, to: u32, size: usize| {
            let length = to.checked_sub(from).map(|length| length as usize);
            match length {
                Some(length) if length % size == 0 => Ok(length / size),
                _ => bail!("the {what} from {from:#x} to {to:#x} are no {what} of {size} bytes"),
            }
        };
        let head = Self {
            mask,
            object,
            objects: count("objects", registry, registry_end, object)?,
            events: count("events", first, end, EVENT)?,
            next: count("events", first, next, EVENT)?,
        };
        ensure!(head.next <= head.events, "the next event is behind the ring's end");
        // All of it has to be there before any of it is believed.
        words.part(head.first_event(), head.events * EVENT)?;
        Ok(head)
    }

    fn first_event(&self) -> usize {
        HEAD + self.objects * self.object
    }
}

/// An event of the ring.
struct Event {
    thread: u32,
    number: u32,
    ticks: u32,
    more: [u32; 4],
}

impl Event {
    fn read(words: &Memory<'_>, at: usize) -> Result<Self> {
        let word = |place: usize| words.word(at + 4 * place);
        let more = [word(4)?, word(5)?, word(6)?, word(7)?];
        Ok(Self { thread: word(0)?, number: word(2)?, ticks: word(3)?, more })
    }

    /// Takes in the event. `chosen` is the thread that runs once the outermost handler has ended, or 0
    /// for none: while handlers run, the kernel only chooses.
    fn take_into(
        &self,
        scheduling: &mut Scheduling,
        time: u64,
        chosen: &mut Option<u32>,
    ) -> Result<()> {
        let mut moment = scheduling.at(0, time)?;
        let [first, second, _, next] = self.more;
        if !CONTEXTS.contains(&self.thread) {
            moment.forget_handlers();
            *chosen = None;
            moment.switch(Some(self.thread.into()));
        }
        let next = match self.number {
            event::RESUME => {
                moment.ready(first.into())?;
                Some(next)
            }
            event::SUSPEND => Some(next),
            event::TIME_SLICE => Some(first),
            event::ISR_ENTER => {
                moment.enter(&format!("interrupt {second}"))?;
                None
            }
            event::ISR_EXIT => {
                moment.exit()?;
                chosen.take()
            }
            _ => {
                moment.other();
                return Ok(());
            }
        };
        match next {
            Some(next) if moment.is_in_handler() => *chosen = Some(next),
            Some(0) => moment.switch(None),
            Some(next) => moment.switch(Some(next.into())),
            None => {}
        }
        Ok(())
    }
}
