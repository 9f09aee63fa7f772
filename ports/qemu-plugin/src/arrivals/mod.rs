//! The worst case by exhaustion: makes an interrupt of a Cortex-M or a RISC-V pending while instruction
//! k of a round executes, for each k, a round each. The image is not changed.
//!
//! ```text
//! -plugin libchronoscope_qemu_plugin.so,loads=FILE
//! -singlestep -plugin libchronoscope_qemu_plugin.so,arrivals=FILE,mark=0x08001234,skip=20
//! ```
//!
//! With `loads=`, it writes a line for each load from a device, on a RISC-V for each read of the
//! processor's counter, `TIME ADDRESS`: the time in ticks of an instruction's length, and the address of
//! the instruction. The lab finds an experiment's marks among them.
//!
//! With `arrivals=`, a round begins where the instruction at `mark` executes. After `skip` rounds, two
//! rounds in a row must take the same instructions; if none do, a round is from a mark to the second one
//! after it, and so on. Then, in each further round, an exception becomes pending at the next
//! instruction, from `first=` on or from the mark, and the plugin counts the instructions until the first
//! one of its handler. A round in which the code took another path before the arrival is tried again, by
//! another start of the image if need be: only the first arrival of a start is missed. The lines:
//!
//! | line | meaning |
//! |---|---|
//! | `enabled NUMBER ADDRESS` | an exception that the image has enabled, and its handler |
//! | `exception NUMBER` | the one that is made pending: `exception=`, else the processor's own timer, else the first; with `exception=urgent`, the most urgent one |
//! | `path ADDRESS` | the next instruction of a round |
//! | `arrival K WAIT LENGTH TRIES LEAST HALVES MOST` | instructions to the handler, and of the round with it; cycles to the handler |
//! | `missed K` | every try took another path |
//!
//! With `together=N`, on a Cortex-M, the handler is no part of the round, because it leaves the kernel as it is, and
//! comes back to the instruction before which it began. Then N arrivals are tried in each round, equally
//! far apart (module `aside`).
//!
//! With `nested=NUMBER`, on a Cortex-M, this other exception becomes pending, too, at every instruction
//! before and after (module `nested`). An arrival's line has the longest wait of all these pairs, and the last
//! line is `pairs COUNT`.
//!
//! With `until=ADDRESS`, a wait goes on to the next execution of that instruction.
//!
//! With the options of the module `cycles` but for `cycles=`, the last three are the least number of
//! cycles, twice the estimate and the greatest number, from the beginning of the instruction of the
//! arrival to the first one of the handler, its entry included, or to `until`; without, they are 0.
//!
//! The exception is made pending as QEMU's own devices do it (modules `arm` and `riscv`). With
//! `-singlestep`, each instruction is a block of its own, so that it is taken before the next one.

mod arm;
mod aside;
mod nested;
mod riscv;

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

use chronoscope_cycles::{Cause, Sum};

use self::{
    arm::Arm,
    aside::{Aside, Outcome},
    nested::{Nested, Now},
    riscv::Riscv,
};
use crate::{
    api::{self, Block, Id, Info, RawBlock},
    clock::{self, Clock},
    cycles,
    emulator::{Emulator, Processor, Worker},
    give_up,
    observe::{exit, start},
    settings,
};

/// The longest round, in instructions.
const LONGEST: usize = 100_000;
/// The marks after which two rounds in a row must be equal.
const PATIENCE: u32 = 200;
/// Most marks of a round, for a path that repeats only after several.
const MOST_MARKS: u32 = 8;
/// How often an arrival is tried.
const TRIES: u32 = 20;
/// How often, in rounds for many arrivals, the first one that was not tried is tried.
const TRIES_OF_MANY: u32 = 1000;
/// Most lines of `loads=`.
const MOST_LOADS: usize = 2_000_000;

/// An interrupt that the image has enabled.
#[derive(Clone, Copy, Default)]
struct Interrupt {
    number: u32,
    /// The number that the processor knows it by while its handler runs.
    cause: u32,
    /// The handler's first instruction.
    handler: u32,
    /// The priority: the least number is the most urgent one.
    priority: u32,
}

/// The interrupt that is to arrive.
#[derive(Clone, Copy)]
enum Choice {
    /// The first one that the image has enabled.
    First,
    /// The most urgent one, the first of equal ones.
    Urgent,
    Number(u32),
}

impl Choice {
    fn from(enabled: &[Interrupt], choice: Self) -> Option<Interrupt> {
        let mut all = enabled.iter().copied();
        match choice {
            Self::First => all.next(),
            Self::Urgent => all.min_by_key(|interrupt| interrupt.priority),
            Self::Number(number) => all.find(|interrupt| interrupt.number == number),
        }
    }
}

/// An instruction that an image may read a clock by.
#[derive(Clone, Copy, PartialEq)]
enum Read {
    /// A load of a word, which may be of memory or of a device.
    Word,
    /// A read of the processor's own counter.
    Counter,
}

/// The addresses of the instruction that is about to execute, and of the one before it.
#[derive(Clone, Copy)]
struct Step {
    before: u32,
    at: u32,
}

/// The interrupts of a family of processors.
trait Interrupts: Send {
    /// Returns how an instruction reads a clock; `None` if it cannot.
    fn read(&self, word: u32) -> Option<Read>;

    /// Returns the interrupts that the image has enabled. The one that is likely to be the kernel's
    /// timer is first.
    fn enabled(&self, processor: &Processor) -> Vec<Interrupt>;

    /// Makes an interrupt pending after the instruction that executes.
    fn pend(&self, interrupt: Interrupt);

    /// Returns whether the handler of a pending interrupt has begun.
    fn has_begun(&self, processor: &Processor, interrupt: Interrupt, step: Step) -> bool;

    /// Called when the handler has begun.
    fn began(&self, _: Interrupt) {}

    /// Returns whether a handler that had begun before has taken a pending interrupt.
    fn is_taken(&self, _: &Processor, _: Interrupt) -> bool {
        false
    }
}

/// Returns the interrupts of a family by QEMU's name.
fn interrupts(target: &str) -> Result<Box<dyn Interrupts>, String> {
    Ok(match target {
        "arm" => Box::new(Arm(Worker::find()?)),
        _ => Box::new(Riscv::find()?),
    })
}

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
    if !info.has_one_processor() {
        return Err("the machine must have one processor".to_owned());
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
    let interrupts = interrupts(info.target())?;
    if let Some(path) = value("loads") {
        let (rows, file, left) = (HashMap::new(), create(path)?, MOST_LOADS);
        let (clock, current) = (None, None);
        *lock(&LOADS) = Some(Loads { emulator, interrupts, clock, rows, current, file, left });
        api::register(id, on_block_with_loads, on_exit);
        return Ok(());
    }
    let Some(mark) = number("mark")? else { return Err("`mark=ADDRESS` is missing".to_owned()) };
    if value("core").is_some() {
        cycles::prepare(info, arguments)?;
    }
    let first = number("first")?.unwrap_or(0) as usize;
    let choice = match value("exception") {
        Some("urgent") => Choice::Urgent,
        _ => number("exception")?.map_or(Choice::First, Choice::Number),
    };
    let aside = number("together")?.map(|together| Aside::new(together as usize, first));
    if aside.is_some() && info.target() != "arm" {
        return Err("only a Cortex-M says which handler runs: leave out `together`".to_owned());
    }
    let nested = number("nested")?.map(Nested::new);
    if nested.is_some() && (info.target() != "arm" || aside.is_some()) {
        return Err(
            "pairs of arrivals are for a Cortex-M, one in a round: leave out `nested`".to_owned()
        );
    }
    let sweep = Sweep {
        emulator,
        interrupts,
        processor: None,
        mark,
        marks: 1,
        passed: 0,
        choice,
        interrupt: Interrupt::default(),
        before: 0,
        phase: Phase::Skip(number("skip")?.unwrap_or(0)),
        path: Vec::new(),
        position: 0,
        follows: true,
        arrival: first,
        first,
        tries: 0,
        wait: Wait::ToCome,
        aside,
        nested,
        until: number("until")?,
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

/// An instruction of the image that may read a clock.
struct Row {
    at: u32,
    is_of_a_device: AtomicBool,
}

/// The loads from devices. QEMU translates such an instruction anew as a block of its own, when the
/// block that it is in first reaches it.
struct Loads {
    emulator: Emulator,
    interrupts: Box<dyn Interrupts>,
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
    for (index, instruction) in block.instructions().enumerate() {
        if let Some(read) = loads.interrupts.read(instruction.word()) {
            let at = instruction.address() as u32;
            let row = *loads.rows.entry(at).or_insert_with(|| {
                let is_of_a_device = AtomicBool::new(read == Read::Counter);
                Box::leak(Box::new(Row { at, is_of_a_device }))
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
        clock::count_after_sleep(instruction, block.len() - index - 1);
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
    interrupts: Box<dyn Interrupts>,
    processor: Option<Processor>,
    mark: u32,
    /// The marks of a round, and those that the current one has had, but for its first.
    marks: u32,
    passed: u32,
    choice: Choice,
    /// The interrupt that arrives.
    interrupt: Interrupt,
    /// The instruction that executed last.
    before: u32,
    phase: Phase,
    /// The instructions of a round, the mark first.
    path: Vec<u32>,
    /// The place in the round of the instruction that executes.
    position: usize,
    /// The round has taken the path so far.
    follows: bool,
    /// The instruction of the path during which the exception becomes pending.
    arrival: usize,
    /// The first one of this start.
    first: usize,
    tries: u32,
    wait: Wait,
    /// The handler as no part of the round.
    aside: Option<Aside>,
    /// The other interrupt of a pair.
    nested: Option<Nested>,
    /// The instruction at which a wait ends, if it is not the handler's first.
    until: Option<u32>,
    file: BufWriter<File>,
}

impl Sweep {
    /// Takes in the instruction that is about to execute.
    fn step(&mut self, at: u32) {
        if let Wait::Pending(waited, since) = self.wait {
            let has_begun = self.has_begun(at);
            self.wait = match self.until {
                Some(until) if at == until => {
                    Wait::Over(waited, cycles::sum().unwrap_or_default() - since)
                }
                None if has_begun => Wait::Over(waited, self.cycles(since, at)),
                None if self.is_taken() => Wait::Over(0, Sum::default()),
                _ => Wait::Pending(waited + 1, since),
            };
        }
        let is_aside = self.is_aside(at);
        self.before = at;
        if is_aside {
            return;
        }
        self.come_back();
        self.passed += u32::from(at == self.mark);
        if self.passed == self.marks {
            self.passed = 0;
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
            Phase::Sweep => {
                self.second();
                self.approach(at);
            }
        }
    }

    /// Makes the second interrupt of a pair pending if its instruction executes now.
    fn second(&mut self) {
        let is_pending = matches!(self.wait, Wait::Pending(..));
        let now = self.nested.as_mut().map(|nested| nested.step(is_pending));
        self.pend(now.unwrap_or_default());
    }

    fn pend(&mut self, now: Now) {
        if now.measured {
            self.wait = Wait::Pending(0, cycles::sum().unwrap_or_default());
            self.interrupts.pend(self.interrupt);
        }
        if let Some(nested) = self.nested.as_ref().filter(|_| now.other) {
            self.interrupts.pend(nested.other);
        }
    }

    /// Returns whether the handler has begun, with the instruction that is about to execute.
    fn has_begun(&self, at: u32) -> bool {
        let step = Step { before: self.before, at };
        let begins = |processor| self.interrupts.has_begun(processor, self.interrupt, step);
        let has_begun = self.processor.as_ref().is_some_and(begins);
        if has_begun {
            self.interrupts.began(self.interrupt);
        }
        has_begun
    }

    fn is_taken(&self) -> bool {
        let is_taken = |processor| self.interrupts.is_taken(processor, self.interrupt);
        self.processor.as_ref().is_some_and(is_taken)
    }

    /// Returns whether the instruction is of the handler, and that is no part of the round.
    fn is_aside(&mut self, at: u32) -> bool {
        let step = Step { before: self.before, at };
        let (Some(aside), Some(processor)) = (&mut self.aside, &self.processor) else {
            return false;
        };
        // The interrupt is not chosen yet.
        if self.interrupt.handler == 0 {
            return false;
        }
        aside.step(self.interrupts.has_begun(processor, self.interrupt, step))
    }

    /// Notes the arrival whose handler has ended, if the handler is no part of the round.
    fn come_back(&mut self) {
        let (Some(aside), Wait::Over(wait, cycles)) = (&mut self.aside, self.wait) else { return };
        let tries = self.tries + 1;
        let length = self.path.len() + aside.handled();
        aside.note(self.arrival, Outcome::Tried { wait, length, tries, cycles });
        self.arrival = aside.next(self.arrival, self.position);
        (self.tries, self.wait) = (0, Wait::ToCome);
    }

    /// The cycles since then, at the instruction of the handler that is seen first. If that is not the
    /// handler's first one, the model has not seen the entry either.
    fn cycles(&self, since: Sum, at: u32) -> Sum {
        let mut cycles = cycles::sum().unwrap_or_default() - since;
        if at != self.interrupt.handler
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
            Phase::Skip(0) => {
                // The path leaves its handler out. One interrupt comes more than the image expects
                // before any round counts: from then on, its count of them is too high in every round.
                if self.aside.is_some() {
                    self.choose();
                    self.interrupts.pend(self.interrupt);
                }
                Phase::Record(PATIENCE)
            }
            Phase::Record(left) => Phase::Compare(left),
            Phase::Compare(_) if self.follows && length == self.path.len() => {
                if self.aside.is_none() {
                    self.choose();
                }
                self.begin();
                Phase::Sweep
            }
            Phase::Compare(0) if self.marks == MOST_MARKS => {
                give_up(&format!("the round does not repeat: of {PATIENCE}, no two are equal"))
            }
            Phase::Compare(0) => {
                self.marks += 1;
                self.path.clear();
                Phase::Record(PATIENCE / self.marks)
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
            _ if self.aside.is_some() => return self.next_round_of_many(),
            wait if self.nested.as_ref().is_some_and(Nested::has_begun) => {
                if !self.end_of_pair(wait, length) {
                    return;
                }
            }
            Wait::Over(wait, cycles) => {
                let tries = self.tries + 1;
                let outcome = Outcome::Tried { wait, length, tries, cycles };
                written(outcome.write(arrival, &mut self.file));
            }
            Wait::ToCome if self.tries + 1 < TRIES => {
                self.tries += 1;
                return;
            }
            Wait::ToCome if arrival == self.first => {
                written(Outcome::Missed.write(arrival, &mut self.file));
                self.nested.iter_mut().for_each(Nested::give_up);
            }
            Wait::ToCome => self.end(),
        }
        (self.arrival, self.tries, self.wait) = (arrival + 1, 0, Wait::ToCome);
        if self.arrival == self.path.len() {
            self.end();
        }
    }

    /// Notes the wait of a pair, and chooses the next one. Returns whether all pairs of the arrival have been
    /// tried.
    fn end_of_pair(&mut self, wait: Wait, length: usize) -> bool {
        let tries = std::mem::take(&mut self.tries) + 1;
        self.wait = Wait::ToCome;
        let Some(nested) = &mut self.nested else { return true };
        let wait = match wait {
            Wait::Over(wait, cycles) => Some((wait, cycles)),
            _ => None,
        };
        let outcome = nested.end(wait, length, tries);
        if let Some(outcome) = outcome {
            written(outcome.write(self.arrival, &mut self.file));
        }
        outcome.is_some()
    }

    /// Begins a round for several arrivals with the first one that was not tried, unless no round comes
    /// to that one.
    fn next_round_of_many(&mut self) {
        let Some(aside) = &mut self.aside else { return };
        let is_the_same = aside.first() == Some(self.arrival);
        self.tries = if is_the_same { self.tries + 1 } else { 0 };
        if self.tries == TRIES_OF_MANY {
            aside.note(self.arrival, Outcome::Missed);
            self.tries = 0;
        }
        match aside.first() {
            Some(first) => self.arrival = first,
            None => self.end(),
        }
    }

    /// Ends the start of the image.
    fn end(&mut self) -> ! {
        self.finish();
        exit();
    }

    /// Writes the rest of the arrivals.
    fn finish(&mut self) {
        if let Some(aside) = &self.aside {
            written(aside.write(&mut self.file));
        }
        if let Some(nested) = &self.nested {
            written(writeln!(self.file, "pairs {}", nested.pairs));
        }
        written(self.file.flush());
    }

    /// Makes the exception pending if its instruction executes now, and the round has come there by
    /// the path.
    fn approach(&mut self, at: u32) {
        let has_begun = self.nested.as_ref().is_some_and(Nested::has_begun);
        let is_to_come = self.wait == Wait::ToCome && !has_begun;
        if !self.follows || !is_to_come && self.aside.is_none() {
            return;
        }
        self.follows = self.path.get(self.position) == Some(&at);
        if self.follows && is_to_come && self.position == self.arrival {
            let alone = Now { measured: true, other: false };
            let now = self.nested.as_mut().map_or(alone, Nested::arrive);
            self.pend(now);
        }
    }

    /// Chooses the exception.
    fn choose(&mut self) {
        let Some(processor) = &self.processor else { return };
        let enabled = self.interrupts.enabled(processor);
        for Interrupt { number, handler, .. } in &enabled {
            written(writeln!(self.file, "enabled {number} {handler:#x}"));
        }
        let find = |choice| {
            Choice::from(&enabled, choice).unwrap_or_else(|| {
                let known: Vec<String> =
                    enabled.iter().map(|interrupt| interrupt.number.to_string()).collect();
                if known.is_empty() {
                    give_up("the image has no interrupt enabled when the round begins");
                }
                give_up(&format!(
                    "the image has not enabled that exception, but: {}",
                    known.join(", ")
                ))
            })
        };
        let interrupt = find(self.choice);
        if let Some(nested) = &mut self.nested {
            nested.other = find(Choice::Number(nested.number));
            if nested.other.number == interrupt.number {
                give_up("an exception is no pair with itself: name another one");
            }
        }
        self.interrupt = interrupt;
        let number = interrupt.number;
        written(writeln!(self.file, "exception {number}"));
    }

    /// Writes the path, from which on arrivals are tried.
    fn begin(&mut self) {
        for at in &self.path {
            written(writeln!(self.file, "path {at:#x}"));
        }
        if let Some(aside) = &mut self.aside {
            aside.begin(self.path.len());
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
        sweep.finish();
    }
}

fn written(outcome: std::io::Result<()>) {
    if let Err(error) = outcome {
        give_up(&format!("the arrivals cannot be written: {error}"));
    }
}
