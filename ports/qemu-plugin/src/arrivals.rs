//! The worst case by exhaustion: makes an exception of a Cortex-M pending while instruction k of a
//! round executes, for each k, a round each. The image is not changed.
//!
//! ```text
//! -plugin libchronoscope_qemu_plugin.so,loads=FILE
//! -singlestep -plugin libchronoscope_qemu_plugin.so,arrivals=FILE,mark=0x08001234,skip=20
//! ```
//!
//! With `loads=`, it writes a line for each load from a device, `TIME ADDRESS`: the time in ticks of an
//! instruction's length, and the address of the instruction. The lab finds an experiment's marks among
//! them.
//!
//! With `arrivals=`, a round begins where the instruction at `mark` executes. After `skip` rounds, two
//! rounds in a row must take the same instructions. Then, in each further round, an exception becomes
//! pending at the next instruction, from `first=` on or from the mark, and the plugin counts the instructions until the first one of its
//! handler. A round in which the code took another path before the arrival is tried again. The lines:
//!
//! | line | meaning |
//! |---|---|
//! | `enabled NUMBER ADDRESS` | an exception that the image has enabled, and its handler |
//! | `exception NUMBER` | the one that is made pending: `exception=`, else SysTick, else the first |
//! | `path ADDRESS` | the next instruction of a round |
//! | `arrival K WAIT LENGTH TRIES LEAST HALVES MOST` | instructions to the handler, and of the round with it; cycles to the handler |
//! | `missed K` | every try took another path |
//!
//! With the options of the module `cycles` but for `cycles=`, the last three are the least number of
//! cycles, twice the estimate and the greatest number, from the beginning of the instruction of the
//! arrival to the first one of the handler, its entry included; without, they are 0.
//!
//! The exception is made pending by the function that QEMU's own devices call
//! (`armv7m_nvic_set_pending`). With `-singlestep`, each instruction is a block of its own, so that it
//! is taken before the next one.

use std::{
    collections::HashMap,
    ffi::{c_uint, c_void},
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    ptr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use chronoscope_cycles::{Cause, Class, Instruction, Sum};

use crate::{
    api::{self, Block, Id, Info, RawBlock},
    clock::{self, Clock},
    cycles,
    emulator::{Emulator, Interrupter, Processor},
    exceptions::{VECTOR_TABLE_OFFSET, running},
    give_up,
    observe::{exit, start},
    settings,
};

/// The longest round, in instructions.
const LONGEST: usize = 20_000;
/// The rounds in which two in a row must be equal.
const PATIENCE: u32 = 200;
/// How often an arrival is tried.
const TRIES: u32 = 20;
/// Most lines of `loads=`.
const MOST_LOADS: usize = 2_000_000;

const SYSTICK_CONTROL: u64 = 0xe000_e010;
const ENABLED_INTERRUPTS: u64 = 0xe000_e100;
const SYSTICK: u32 = 15;

static SWEEP: Mutex<Option<Sweep>> = Mutex::new(None);
static LOADS: Mutex<Option<Loads>> = Mutex::new(None);

fn lock<T>(value: &'static Mutex<T>) -> MutexGuard<'static, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns `true` if the options ask for arrivals, or for the loads among which marks are found.
pub fn is_asked(arguments: &[String]) -> bool {
    let asks = |name: &str| arguments.iter().any(|argument| argument.starts_with(name));
    asks("arrivals=") || asks("loads=")
}

/// Starts a sweep, or the search for loads, by the options.
pub fn install(id: Id, info: &Info, arguments: &[String]) -> Result<(), String> {
    if !info.has_one_processor() || info.target() != "arm" {
        return Err("arrivals are for a Cortex-M alone".to_owned());
    }
    let value = |name: &str| {
        let mut pairs = arguments.iter().filter_map(|argument| argument.split_once('='));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
    };
    let number = |name: &str| {
        let Some(text) = value(name) else { return Ok(None) };
        settings::number(text).map(Some).ok_or_else(|| format!("`{name}={text}` is no number"))
    };
    let emulator = Emulator::find(info.target())?;
    if let Some(path) = value("loads") {
        let (rows, file, left) = (HashMap::new(), create(path)?, MOST_LOADS);
        *lock(&LOADS) = Some(Loads { emulator, clock: None, rows, current: None, file, left });
        api::register(id, on_block_with_loads, on_exit);
        return Ok(());
    }
    let Some(mark) = number("mark")? else { return Err("`mark=ADDRESS` is missing".to_owned()) };
    if value("core").is_some() {
        cycles::prepare(info, arguments)?;
    }
    let sweep = Sweep {
        emulator,
        interrupter: Interrupter::find()?,
        processor: None,
        mark,
        exception: number("exception")?,
        handler: 0,
        phase: Phase::Skip(number("skip")?.unwrap_or(0)),
        path: Vec::new(),
        position: 0,
        follows: true,
        arrival: number("first")?.unwrap_or(0) as usize,
        tries: 0,
        wait: Wait::ToCome,
        file: create(value("arrivals").unwrap_or_default())?,
    };
    *lock(&SWEEP) = Some(sweep);
    api::register(id, on_block, on_exit);
    Ok(())
}

fn create(path: &str) -> Result<BufWriter<File>, String> {
    let file = File::create(Path::new(path));
    file.map(BufWriter::new).map_err(|error| format!("{path} cannot be written: {error}"))
}

/// An instruction of the image that loads one word.
struct Row {
    at: u32,
    is_of_a_device: AtomicBool,
}

/// The loads from devices. QEMU translates such an instruction anew as a block of its own, when the
/// block that it is in first reaches it.
struct Loads {
    emulator: Emulator,
    clock: Option<Clock>,
    rows: HashMap<u32, &'static Row>,
    current: Option<u32>,
    file: BufWriter<File>,
    left: usize,
}

impl Loads {
    /// Writes a load. `is_counted` says whether its instruction is already counted.
    fn note(&mut self, at: u32, is_counted: bool) {
        let Some(clock) = &mut self.clock else { return };
        let time = clock.now() - u64::from(is_counted);
        let Some(left) = self.left.checked_sub(1) else {
            give_up(&format!("the image loads from devices more than {MOST_LOADS} times"));
        };
        self.left = left;
        written(writeln!(self.file, "{time} {at:#x}"));
    }
}

extern "C" fn on_block_with_loads(_: Id, block: *mut RawBlock) {
    let mut loads = lock(&LOADS);
    let Some(loads) = loads.as_mut() else { return };
    if loads.clock.is_none() {
        loads.clock = Some(start(loads.emulator).1);
    }
    // SAFETY: QEMU passed the block to this callback, and it is not kept.
    let block = unsafe { Block::new(block) };
    for instruction in block.instructions() {
        let decoded = Instruction::decode(instruction.word());
        if decoded.is_ok_and(|decoded| matches!(decoded.class, Class::Load { .. })) {
            let at = instruction.address() as u32;
            let row = *loads.rows.entry(at).or_insert_with(|| {
                Box::leak(Box::new(Row { at, is_of_a_device: AtomicBool::new(false) }))
            });
            if block.len() == 1
                && !row.is_of_a_device.swap(true, Relaxed)
                && loads.current == Some(at)
            {
                // QEMU executes it now, and has counted it.
                loads.note(at, true);
            }
            instruction.on_execution(on_load, ptr::from_ref(row).expose_provenance());
        }
        clock::count(instruction);
    }
}

extern "C" fn on_load(_: c_uint, row: *mut c_void) {
    // SAFETY: the pointer is of a row, which is never freed and changes by atomic operations only.
    let row = unsafe { &*ptr::with_exposed_provenance::<Row>(row.addr()) };
    if let Some(loads) = lock(&LOADS).as_mut() {
        loads.current = Some(row.at);
        if row.is_of_a_device.load(Relaxed) {
            loads.note(row.at, false);
        }
    }
}

/// The state of the exception in the current round.
#[derive(Clone, Copy, PartialEq)]
enum Wait {
    /// The arrival has not come.
    ToCome,
    /// The exception is pending, for a number of instructions, since that sum of cycles.
    Pending(u32, Sum),
    /// The handler has begun, after a number of instructions and of cycles.
    Over(u32, Sum),
}

/// The purpose of a round.
enum Phase {
    /// To be left out, as a number of rounds after it.
    Skip(u32),
    /// To be recorded. A number of others may still be.
    Record(u32),
    /// To be compared with the recorded one. A number of others may still be recorded.
    Compare(u32),
    /// To have an exception arrive.
    Sweep,
}

struct Sweep {
    emulator: Emulator,
    interrupter: Interrupter,
    processor: Option<Processor>,
    mark: u32,
    exception: Option<u32>,
    /// The handler's first instruction.
    handler: u32,
    phase: Phase,
    /// The instructions of a round, the mark first.
    path: Vec<u32>,
    /// The place in the round of the instruction that executes.
    position: usize,
    /// The round has taken the path so far.
    follows: bool,
    /// The instruction of the path during which the exception becomes pending.
    arrival: usize,
    tries: u32,
    wait: Wait,
    file: BufWriter<File>,
}

impl Sweep {
    /// Takes in the instruction that is about to execute.
    fn step(&mut self, at: u32) {
        if let Wait::Pending(waited, since) = self.wait {
            // After an instruction that accesses a device, QEMU does not call the plugin for the first
            // one of the handler.
            let runs = self.processor.as_ref().map(running) == self.exception;
            self.wait = match runs {
                true => Wait::Over(waited, self.cycles(since, at)),
                false => Wait::Pending(waited + 1, since),
            };
        }
        if at == self.mark {
            self.turn();
        } else {
            self.position += 1;
        }
        match self.phase {
            Phase::Skip(_) => {}
            Phase::Record(_) => {
                if self.path.len() == LONGEST {
                    give_up(&format!("a round is longer than {LONGEST} instructions"));
                }
                self.path.push(at);
            }
            Phase::Compare(_) => self.follows &= self.path.get(self.position) == Some(&at),
            Phase::Sweep => self.approach(at),
        }
    }

    /// The cycles since then, at the instruction of the handler that is seen first. If that is not the
    /// handler's first one, the model has not seen the entry either.
    fn cycles(&self, since: Sum, at: u32) -> Sum {
        let mut cycles = cycles::sum().unwrap_or_default() - since;
        if at != self.handler
            && let Some(entry) = cycles::entry()
        {
            cycles.add(entry, Cause::Exception);
        }
        cycles
    }

    /// Ends a round, and begins the next one.
    fn turn(&mut self) {
        let length = self.position + 1;
        self.phase = match self.phase {
            Phase::Skip(left @ 1..) => Phase::Skip(left - 1),
            Phase::Skip(0) => Phase::Record(PATIENCE),
            Phase::Record(left) => Phase::Compare(left),
            Phase::Compare(_) if self.follows && length == self.path.len() => {
                self.choose();
                Phase::Sweep
            }
            Phase::Compare(0) => {
                give_up(&format!("the round does not repeat: of {PATIENCE}, no two are equal"))
            }
            Phase::Compare(left) => {
                self.path.clear();
                Phase::Record(left - 1)
            }
            Phase::Sweep => {
                self.end_of_round(length);
                Phase::Sweep
            }
        };
        (self.position, self.follows) = (0, true);
    }

    /// Writes the arrival of the round that ends, or has it tried again.
    fn end_of_round(&mut self, length: usize) {
        let arrival = self.arrival;
        match self.wait {
            // The handler comes in the next round.
            Wait::Pending(..) => return,
            Wait::Over(wait, Sum { least, estimate_halves, most, .. }) => {
                let tries = self.tries + 1;
                written(writeln!(
                    self.file,
                    "arrival {arrival} {wait} {length} {tries} {least} {estimate_halves} {most}"
                ));
            }
            Wait::ToCome if self.tries + 1 < TRIES => {
                self.tries += 1;
                return;
            }
            Wait::ToCome => written(writeln!(self.file, "missed {arrival}")),
        }
        (self.arrival, self.tries, self.wait) = (arrival + 1, 0, Wait::ToCome);
        if self.arrival == self.path.len() {
            written(self.file.flush());
            exit();
        }
    }

    /// Makes the exception pending if its instruction executes now, and the round has come there by
    /// the path.
    fn approach(&mut self, at: u32) {
        if self.wait != Wait::ToCome || !self.follows {
            return;
        }
        self.follows = self.path.get(self.position) == Some(&at);
        if self.follows && self.position == self.arrival {
            self.wait = Wait::Pending(0, cycles::sum().unwrap_or_default());
            self.interrupter.pend(self.exception.unwrap_or_default());
        }
    }

    /// Chooses the exception, and writes the path.
    fn choose(&mut self) {
        let Some(processor) = &self.processor else { return };
        let [table] = processor.words(VECTOR_TABLE_OFFSET);
        let vectors: [u32; 256] = processor.words(table.into());
        let [control] = processor.words(SYSTICK_CONTROL);
        let lines: [u32; 7] = processor.words(ENABLED_INTERRUPTS);
        let has_line = |line: u32| lines[line as usize / 32] >> (line % 32) & 1 != 0;
        let mut enabled: Vec<u32> =
            (0..224).filter(|line| has_line(*line)).map(|line| 16 + line).collect();
        if control & 2 != 0 {
            enabled.insert(0, SYSTICK);
        }
        for number in &enabled {
            written(writeln!(self.file, "enabled {number} {:#x}", vectors[*number as usize] & !1));
        }
        let asked = self.exception.or(enabled.first().copied());
        let Some(number) = asked.filter(|number| enabled.contains(number)) else {
            let known: Vec<String> = enabled.iter().map(u32::to_string).collect();
            give_up(&format!("the image has not enabled that exception, but: {}", known.join(", ")))
        };
        self.exception = Some(number);
        self.handler = vectors[number as usize] & !1;
        written(writeln!(self.file, "exception {number}"));
        for at in &self.path {
            written(writeln!(self.file, "path {at:#x}"));
        }
    }
}

extern "C" fn on_block(_: Id, block: *mut RawBlock) {
    let mut sweep = lock(&SWEEP);
    let Some(sweep) = sweep.as_mut() else { return };
    if sweep.processor.is_none() {
        sweep.processor = Some(start(sweep.emulator).0);
    }
    // SAFETY: QEMU passed the block to this callback, and it is not kept.
    let block = unsafe { Block::new(block) };
    if block.len() > 1 {
        give_up("QEMU must run with -singlestep");
    }
    // The model takes in an instruction before the sweep reads the sums.
    cycles::watch(block);
    for instruction in block.instructions() {
        instruction.on_execution(on_instruction, instruction.address() as usize);
    }
}

extern "C" fn on_instruction(_: c_uint, at: *mut c_void) {
    if let Some(sweep) = lock(&SWEEP).as_mut() {
        sweep.step(at.addr() as u32);
    }
}

extern "C" fn on_exit(_: Id, _: *mut c_void) {
    if let Some(loads) = lock(&LOADS).as_mut() {
        written(loads.file.flush());
    }
    if let Some(sweep) = lock(&SWEEP).as_mut() {
        written(sweep.file.flush());
    }
}

fn written(outcome: std::io::Result<()>) {
    if let Err(error) = outcome {
        give_up(&format!("the arrivals cannot be written: {error}"));
    }
}
