//! The observer: writes the events of an unmodified image to a file, each with the number of
//! instructions executed before it.
//!
//! An event is a record of three little-endian words of 64 bits: kind, instructions, value
//! (module [`kind`]). The last record is [`kind::END`]. The lab computes all figures from them.
//!
//! QEMU's interface of version 1 has no call for registers. The observer reads them as a debugger
//! does, and only at the beginning of a block, where they are current. Each instruction that it
//! watches for a register ends its block, so the register is read at the start of the next one.

use std::{
    ffi::{c_uint, c_void},
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use crate::{
    api::{self, Block, Id, Info, RawBlock},
    emulator::{Emulator, Processor},
    give_up,
};

/// The kinds of events.
mod kind {
    /// The last event. The value is the reason: see [`super::Reason`].
    pub const END: u64 = 0;
    /// A write of the address space's register (`satp`) or of the stack pointer of tasks (PSP). The
    /// value is the one written.
    pub const SPACE: u64 = 1;
    /// The first instruction of a handler in supervisor mode that `ecall` has entered. The value is
    /// register a7.
    pub const SYSTEM_CALL: u64 = 2;
    /// The same in machine mode.
    pub const MACHINE_CALL: u64 = 3;
    /// The first instruction of a handler in supervisor mode entered otherwise: by an interrupt or
    /// a fault.
    pub const SUPERVISOR_TRAP: u64 = 4;
    /// The same in machine mode.
    pub const MACHINE_TRAP: u64 = 5;
    /// The instruction after `sret`.
    pub const SUPERVISOR_RETURN: u64 = 6;
    /// The instruction after `mret`.
    pub const MACHINE_RETURN: u64 = 7;
    /// A watched address begins to execute. The value is its index among the options `at`.
    pub const HIT: u64 = 8;
}

/// The reason for the end of an observation.
#[derive(Clone, Copy)]
enum Reason {
    ImageEnded = 0,
    InstructionLimit = 1,
    EventLimit = 2,
}

const TAKES: &str = "observe=FILE, limit=INSTRUCTIONS, events=COUNT and at=ADDRESS";

/// The number of executed instructions. Incremented by QEMU's generated code.
static EXECUTED: AtomicU64 = AtomicU64::new(0);
/// The number of instructions after which the observation ends.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// The packed [`Special`] executed last, until the next block begins; 0 for none.
static PENDING: AtomicU64 = AtomicU64::new(0);
/// The number of instructions at the latest trap. A vectored entry is one jump, which may lead to
/// another address of the table: that is no second trap.
static TRAPPED: AtomicU64 = AtomicU64::new(NOWHERE);
/// The handlers' addresses in supervisor and machine mode, as written to `stvec` and `mtvec`.
static SUPERVISOR_HANDLER: AtomicU64 = AtomicU64::new(NOWHERE);
static MACHINE_HANDLER: AtomicU64 = AtomicU64::new(NOWHERE);
const NOWHERE: u64 = u64::MAX;

static OBSERVER: Mutex<Option<Observer>> = Mutex::new(None);

struct Observer {
    emulator: Emulator,
    is_arm: bool,
    processor: Option<Processor>,
    /// The watched addresses.
    at: Vec<u64>,
    events: BufWriter<File>,
    left: u64,
}

/// The plugin's options in this mode.
struct Settings {
    out: PathBuf,
    limit: u64,
    events: u64,
    at: Vec<u64>,
}

impl Settings {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let (mut out, mut limit, mut events, mut at) = (None, u64::MAX, 1_000_000, Vec::new());
        for argument in arguments {
            let wrong = || format!("`{argument}`: it takes {TAKES}");
            let (name, value) = argument.split_once('=').ok_or_else(wrong)?;
            let number = || value.parse::<u64>().ok().filter(|number| *number > 0);
            match name {
                "observe" if !value.is_empty() => out = Some(PathBuf::from(value)),
                "limit" => limit = number().ok_or_else(wrong)?,
                "events" => events = number().ok_or_else(wrong)?,
                "at" => {
                    let digits = value.strip_prefix("0x").ok_or_else(wrong)?;
                    at.push(u64::from_str_radix(digits, 16).map_err(|_| wrong())?);
                }
                _ => return Err(wrong()),
            }
        }
        let out = out.ok_or("say where the events go: observe=FILE")?;
        Ok(Self { out, limit, events, at })
    }
}

/// Returns `true` if the options ask for an observation.
pub fn is_asked(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument.starts_with("observe="))
}

/// Starts the observation of the machine that QEMU is about to run.
pub fn install(id: Id, info: &Info, arguments: &[String]) -> Result<(), String> {
    let Settings { out, limit, events, at } = Settings::parse(arguments)?;
    if !info.has_one_processor() {
        return Err("the machine must have one processor".to_owned());
    }
    // Both of QEMU's RISC-V programs export the same functions.
    let target = if info.target() == "riscv64" { "riscv32" } else { info.target() };
    let emulator = Emulator::find(target)?;
    let file = File::create(&out)
        .map_err(|error| format!("{} cannot be written: {error}", out.display()))?;
    let is_arm = target == "arm";
    LIMIT.store(limit, Relaxed);
    *observer() = Some(Observer {
        emulator,
        is_arm,
        processor: None,
        at,
        events: BufWriter::new(file),
        left: events,
    });
    api::register(id, on_block, on_exit);
    Ok(())
}

fn observer() -> MutexGuard<'static, Option<Observer>> {
    OBSERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An instruction after which the observer looks at the processor's state.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Special {
    /// A write of a control register from this register of the processor.
    Space(u64),
    SupervisorHandler(u64),
    MachineHandler(u64),
    Call,
    SupervisorReturn,
    MachineReturn,
}

impl Special {
    fn of_riscv(word: u32) -> Option<Self> {
        match word {
            0x0000_0073 => return Some(Self::Call),
            0x1020_0073 => return Some(Self::SupervisorReturn),
            0x3020_0073 => return Some(Self::MachineReturn),
            _ => {}
        }
        // `csrrw`. One that swaps a register with itself leaves no register with the new value.
        let (destination, source) = (word >> 7 & 0x1f, word >> 15 & 0x1f);
        if word & 0x707f != 0x1073 || (destination == source && source != 0) {
            return None;
        }
        let source = u64::from(source);
        match word >> 20 {
            0x180 => Some(Self::Space(source)),
            0x105 => Some(Self::SupervisorHandler(source)),
            0x305 => Some(Self::MachineHandler(source)),
            _ => None,
        }
    }

    /// `msr psp, rN`.
    fn of_arm(word: u32) -> Option<Self> {
        (word & 0xffff_fff0 == 0x8809_f380).then_some(Self::Space(u64::from(word & 0xf)))
    }

    fn packed(self) -> u64 {
        match self {
            Self::Space(register) => 1 | register << 8,
            Self::SupervisorHandler(register) => 2 | register << 8,
            Self::MachineHandler(register) => 3 | register << 8,
            Self::Call => 4,
            Self::SupervisorReturn => 5,
            Self::MachineReturn => 6,
        }
    }

    fn unpacked(packed: u64) -> Option<Self> {
        let register = packed >> 8;
        match packed & 0xff {
            1 => Some(Self::Space(register)),
            2 => Some(Self::SupervisorHandler(register)),
            3 => Some(Self::MachineHandler(register)),
            4 => Some(Self::Call),
            5 => Some(Self::SupervisorReturn),
            6 => Some(Self::MachineReturn),
            _ => None,
        }
    }
}

/// Called by QEMU when it translates a block: registers the callbacks of the block.
extern "C" fn on_block(_: Id, block: *mut RawBlock) {
    let mut observer = observer();
    let Some(observer) = observer.as_mut() else { return };
    if observer.processor.is_none() {
        if !observer.emulator.counts_instructions() {
            give_up("QEMU must run with -icount shift=0,sleep=off");
        }
        observer.processor = Processor::new(observer.emulator);
    }
    // SAFETY: QEMU passed the block to this callback, and it is not kept.
    let block = unsafe { Block::new(block) };
    block.on_execution(on_start, block.address() as usize);
    for instruction in block.instructions() {
        let address = instruction.address();
        // Two options may name one address.
        for (index, _) in observer.at.iter().enumerate().filter(|(_, at)| **at == address) {
            instruction.on_execution(on_hit, index);
        }
        let word = instruction.word();
        let special = if observer.is_arm { Special::of_arm(word) } else { Special::of_riscv(word) };
        if let Some(special) = special {
            instruction.on_execution(on_special, special.packed() as usize);
        }
        instruction.count(&EXECUTED);
    }
}

extern "C" fn on_special(_: c_uint, special: *mut c_void) {
    PENDING.store(special.addr() as u64, Relaxed);
}

extern "C" fn on_hit(_: c_uint, index: *mut c_void) {
    let now = EXECUTED.load(Relaxed);
    if let Some(observer) = observer().as_mut() {
        observer.record(kind::HIT, now, index.addr() as u64);
    }
}

/// Called when a block begins to execute. Most blocks return at the first comparison.
extern "C" fn on_start(_: c_uint, address: *mut c_void) {
    let (address, now) = (address.addr() as u64, EXECUTED.load(Relaxed));
    let pending = PENDING.load(Relaxed);
    let supervisor = enters(SUPERVISOR_HANDLER.load(Relaxed), address);
    let machine = enters(MACHINE_HANDLER.load(Relaxed), address);
    let is_over = now >= LIMIT.load(Relaxed);
    if pending == 0 && !supervisor && !machine && !is_over {
        return;
    }
    PENDING.store(0, Relaxed);
    let mut guard = observer();
    let Some(observer) = guard.as_mut() else { return };
    observer.step(Special::unpacked(pending), now, supervisor, machine);
    if is_over {
        end(guard.take(), Reason::InstructionLimit);
    }
}

/// Returns `true` if a block at `address` is a handler: that of the register's value, or one of the
/// table behind it in vectored mode.
fn enters(handler: u64, address: u64) -> bool {
    // The architecture's own causes.
    const VECTORS: u64 = 16;
    let base = handler & !3;
    let is_vectored = handler & 3 == 1;
    handler != NOWHERE
        && (address == base
            || (is_vectored
                && address.wrapping_sub(base) < 4 * VECTORS
                && address.wrapping_sub(base).is_multiple_of(4)))
}

impl Observer {
    /// Records the events of a block that begins.
    fn step(&mut self, special: Option<Special>, now: u64, supervisor: bool, machine: bool) {
        let register = |number: u64| {
            let processor = self.processor.as_ref();
            processor.map_or(0, |processor| processor.wide(number as usize))
        };
        match special {
            Some(Special::Space(number)) => {
                let value = register(number);
                self.record(kind::SPACE, now, value);
            }
            Some(Special::SupervisorHandler(number)) => {
                SUPERVISOR_HANDLER.store(register(number), Relaxed);
                return;
            }
            Some(Special::MachineHandler(number)) => {
                MACHINE_HANDLER.store(register(number), Relaxed);
                return;
            }
            Some(Special::Call) if supervisor || machine => {
                const NUMBER: u64 = 17;
                let kind = if supervisor { kind::SYSTEM_CALL } else { kind::MACHINE_CALL };
                let value = register(NUMBER);
                return self.record(kind, now, value);
            }
            Some(Special::SupervisorReturn) => self.record(kind::SUPERVISOR_RETURN, now, 0),
            Some(Special::MachineReturn) => self.record(kind::MACHINE_RETURN, now, 0),
            Some(Special::Call) | None => {}
        }
        let is_jump = TRAPPED.load(Relaxed).checked_add(1) == Some(now);
        if is_jump || !(supervisor || machine) {
            return;
        }
        TRAPPED.store(now, Relaxed);
        if supervisor {
            self.record(kind::SUPERVISOR_TRAP, now, 0);
        } else {
            self.record(kind::MACHINE_TRAP, now, 0);
        }
    }

    fn record(&mut self, kind: u64, now: u64, value: u64) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        written(self.write(kind, now, value));
        if left == 0 {
            written(self.write(kind::END, now, Reason::EventLimit as u64));
            written(self.events.flush());
            exit();
        }
    }

    fn write(&mut self, kind: u64, now: u64, value: u64) -> io::Result<()> {
        [kind, now, value].iter().try_for_each(|word| self.events.write_all(&word.to_le_bytes()))
    }
}

/// Writes the last record.
fn finish(observer: Option<Observer>, reason: Reason) {
    if let Some(mut observer) = observer {
        let now = EXECUTED.load(Relaxed);
        written(observer.write(kind::END, now, reason as u64));
        written(observer.events.flush());
    }
}

/// Ends the observation, and QEMU with it.
fn end(observer: Option<Observer>, reason: Reason) -> ! {
    finish(observer, reason);
    exit()
}

/// Ends QEMU without its exit handlers, after the image's output so far.
fn exit() -> ! {
    // SAFETY: ends the process and does not return.
    unsafe { libc::_exit(0) }
}

fn written(outcome: io::Result<()>) {
    if let Err(error) = outcome {
        give_up(&format!("the events cannot be written: {error}"));
    }
}

extern "C" fn on_exit(_: Id, _: *mut c_void) {
    finish(observer().take(), Reason::ImageEnded);
}
