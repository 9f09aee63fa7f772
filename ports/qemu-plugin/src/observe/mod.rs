//! The observer: writes the events of an unmodified image to a file (module [`events`]). The lab
//! computes all figures from them.
//!
//! QEMU's interface of version 1 has no call for registers. The observer reads them as a debugger
//! does, and only at the beginning of a block, where they are current. Each instruction that it
//! watches for a register ends its block, so the register is read at the start of the next one.

mod arm;
mod events;
mod riscv;
mod settings;
mod systick;
mod words;

use std::{
    collections::HashMap,
    ffi::{c_uint, c_void},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use chronoscope_peripherals::Request;

pub use self::{arm::About, events::exit, settings::is_asked};
use self::{
    arm::Arm,
    events::{Events, Reason, kind},
    riscv::{Entered, Riscv},
    settings::Settings,
    words::{Memory, Words},
};
use crate::{
    api::{self, Access, Block, Id, Info, Instruction, RawBlock},
    clock::{self, Clock, executed},
    devices,
    emulator::{Emulator, Processor},
    give_up,
};

/// The number of instructions after which the observation ends.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// The packed instruction of interest executed last, until the next block begins; 0 for none.
static PENDING: AtomicU64 = AtomicU64::new(0);
/// The number of active exceptions of a Cortex-M.
static ACTIVE: AtomicU64 = AtomicU64::new(0);
/// The address of the variable that holds the running task.
static TASK: AtomicU64 = AtomicU64::new(u64::MAX);

static OBSERVER: Mutex<Option<Observer>> = Mutex::new(None);

struct Observer {
    emulator: Emulator,
    family: Family,
    /// The guest's processor and its clock; `None` until the guest runs.
    guest: Option<(Processor, Clock)>,
    /// The watched addresses, each with the register that is read there.
    at: Vec<(u64, Option<usize>)>,
    task: Option<u64>,
    has_wide_words: bool,
    /// The watched fields of tasks.
    words: Words,
    /// The part of the memory that is written at the end.
    memory: Option<Memory>,
    /// The instructions that may have put the processor to sleep before the last hit.
    sleeps: u64,
    /// The request with which the observation ends.
    requests: u64,
    /// The executed instructions of each block, by its address.
    busy: HashMap<u64, &'static AtomicU64>,
    events: Events,
}

/// The number of blocks that are reported.
const BUSIEST: usize = 16;

/// The processor's family, with its state.
enum Family {
    Arm(Arm),
    Riscv(Riscv),
}

/// Starts the observation of the machine that QEMU is about to run.
pub fn install(id: Id, info: &Info, arguments: &[String]) -> Result<(), String> {
    let settings = Settings::parse(arguments)?;
    if !info.has_one_processor() {
        return Err("the machine must have one processor".to_owned());
    }
    let has_wide_words = info.target() == "riscv64";
    let target = info.target();
    let emulator = Emulator::find(target)?;
    let events = Events::create(&settings.out, settings.events)
        .map_err(|error| format!("{} cannot be written: {error}", settings.out.display()))?;
    let family = match target {
        "arm" => Family::Arm(Arm::new(settings.hertz, settings.reference)),
        _ => Family::Riscv(Riscv::new()),
    };
    LIMIT.store(settings.limit, Relaxed);
    TASK.store(settings.task, Relaxed);
    let (at, task, guest) = (settings.at, None, None);
    let (words, memory) = (Words::new(settings.fields, &settings.words), settings.memory);
    let busy = HashMap::new();
    *observer() = Some(Observer {
        emulator,
        family,
        guest,
        at,
        task,
        has_wide_words,
        words,
        memory,
        sleeps: 0,
        requests: settings.requests,
        busy,
        events,
    });
    devices::on_request(on_request);
    api::register(id, on_block, on_exit);
    Ok(())
}

fn observer() -> MutexGuard<'static, Option<Observer>> {
    OBSERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Called by QEMU when it translates a block: registers the callbacks of the block.
extern "C" fn on_block(_: Id, block: *mut RawBlock) {
    let mut observer = observer();
    let Some(observer) = observer.as_mut() else { return };
    let emulator = observer.emulator;
    let (processor, _) = observer.guest.get_or_insert_with(|| start_in_ns(emulator));
    // SAFETY: QEMU passed the block to this callback, and it is not kept.
    let block = unsafe { Block::new(block) };
    let about = match observer.family {
        Family::Arm(_) => {
            let about = About::new(processor, block);
            block.on_execution(on_arm_block, about.packed());
            Some(about)
        }
        Family::Riscv(_) => {
            block.on_execution(on_riscv_block, block.address() as usize);
            None
        }
    };
    let counter = || &*Box::leak(Box::new(AtomicU64::new(0)));
    let counter = *observer.busy.entry(block.address()).or_insert_with(counter);
    if let Some(first) = block.instructions().next() {
        first.add(counter, block.len() as u64);
    }
    for instruction in block.instructions() {
        observer.watch(instruction, about);
        clock::count(instruction);
    }
}

/// Returns the processor and the clock of a guest in which an instruction takes a nanosecond.
pub fn start_in_ns(emulator: Emulator) -> (Processor, Clock) {
    if !emulator.counts_instructions() {
        give_up("QEMU must run with -icount shift=0,sleep=off");
    }
    start(emulator)
}

/// Returns the guest's processor and clock, whatever the time of an instruction. The guest must run.
pub fn start(emulator: Emulator) -> (Processor, Clock) {
    if emulator.tick().is_none() {
        give_up("QEMU must run with -icount shift=0,sleep=off");
    }
    let Some(processor) = Processor::new(emulator) else {
        give_up("QEMU does not give its processor")
    };
    devices::check(&processor);
    (processor, Clock::new(emulator))
}

impl Observer {
    /// Registers the callbacks of an instruction, but for its count. `about` is of a block of a
    /// Cortex-M.
    fn watch(&self, instruction: Instruction, about: Option<About>) {
        let address = instruction.address();
        // Two options may name one address.
        for (index, _) in self.at.iter().enumerate().filter(|(_, (at, _))| *at == address) {
            instruction.on_execution(on_hit, index);
        }
        let word = instruction.word();
        let special = match about {
            Some(about) => {
                instruction.on_store(on_arm_store, arm::source(word));
                arm::special(word, about.in_handler)
            }
            None => {
                instruction.on_store(on_riscv_store, 0);
                riscv::special(word)
            }
        };
        if let Some(special) = special {
            instruction.on_execution(on_special, special as usize);
        }
    }

    /// Records the blocks with the most instructions, and the registers.
    fn report_busiest(&mut self) {
        let mut busy: Vec<(u64, u64)> =
            self.busy.iter().map(|(at, count)| (count.load(Relaxed), *at)).collect();
        busy.sort_unstable_by(|one, other| other.cmp(one));
        self.events.add(kind::BUSY, busy.iter().map(|(count, _)| count).sum());
        for (count, at) in busy.into_iter().take(BUSIEST) {
            self.events.add(kind::BUSY_AT, at);
            self.events.add(kind::BUSY, count);
        }
        if let (Family::Arm(_), Some((processor, _))) = (&self.family, &self.guest) {
            (0..13).for_each(|number| {
                self.events.add(kind::REGISTER, processor.register(number).into());
            });
        }
    }

    /// Records the variable of the running task if its value has changed.
    fn note_task(&mut self, address: u64) {
        let Some((processor, _)) = &self.guest else { return };
        let task = words::read(address, self.has_wide_words, processor);
        if self.task.replace(task) != Some(task) {
            self.events.record(kind::TASK, task);
            self.words.add(task, self.has_wide_words, processor, &mut self.events);
        }
    }

    /// Records a watched field of a task that a store has changed.
    fn note_word(&mut self, address: u64) {
        let Some((processor, _)) = &self.guest else { return };
        self.words.stored(address, self.has_wide_words, processor, &mut self.events);
    }
}

extern "C" fn on_special(_: c_uint, special: *mut c_void) {
    PENDING.store(special.addr() as u64, Relaxed);
}

extern "C" fn on_hit(_: c_uint, index: *mut c_void) {
    let mut observer = observer();
    let Some(Observer { at, guest, events, sleeps, .. }) = observer.as_mut() else { return };
    let index = index.addr();
    if std::mem::replace(sleeps, clock::sleeps()) != *sleeps {
        events.record(kind::SLEPT, *sleeps);
    }
    if let (Some((_, Some(register))), Some((processor, _))) = (at.get(index), guest) {
        events.record(kind::ARGUMENT, processor.wide(*register));
    }
    events.record(kind::HIT, index as u64);
}

/// Called when the timer whose phases are tried has raised its interrupt.
fn on_request(request: Request, now: u64) {
    let ends = {
        let mut observer = observer();
        let Some(Observer { events, requests, .. }) = observer.as_mut() else { return };
        let late = (now - request.due).min(u32::MAX.into());
        events.record(kind::REQUEST_AT, request.due);
        events.record(kind::REQUEST, request.number << 32 | late);
        request.number >= *requests
    };
    if ends {
        finish(Reason::Requests);
        exit();
    }
}

/// Called when a block of a RISC-V processor begins to execute. Most blocks return at the first
/// comparison.
extern "C" fn on_riscv_block(_: c_uint, address: *mut c_void) {
    let entered = Entered::at(address.addr() as u64);
    let special = PENDING.load(Relaxed);
    if special != 0 || !entered.is_none() {
        PENDING.store(0, Relaxed);
        if let Some(Observer { family: Family::Riscv(riscv), guest: Some(guest), events, .. }) =
            observer().as_mut()
        {
            riscv.step(special, entered, &guest.0, &mut guest.1, events);
        }
    }
    end_at_limit();
}

/// Called when a block of a Cortex-M begins to execute. Most blocks return at the first comparison.
extern "C" fn on_arm_block(_: c_uint, about: *mut c_void) {
    let about = About::unpacked(about.addr());
    let special = PENDING.load(Relaxed);
    if special != 0 || about.is_notable(ACTIVE.load(Relaxed)) {
        PENDING.store(0, Relaxed);
        if let Some(Observer { family: Family::Arm(arm), guest: Some(guest), events, .. }) =
            observer().as_mut()
        {
            arm.step(special, about, &guest.0, &mut guest.1, events);
            ACTIVE.store(arm.active(), Relaxed);
        }
    }
    end_at_limit();
}

/// Called after each store of a RISC-V processor.
extern "C" fn on_riscv_store(_: c_uint, access: Access, address: u64, _: *mut c_void) {
    let is_task = address == TASK.load(Relaxed);
    let may_be_word = words::may_be_watched(address);
    if !is_task && !may_be_word && !riscv::is_watched(address) {
        return;
    }
    let mut observer = observer();
    let Some(observer) = observer.as_mut() else { return };
    if may_be_word {
        observer.note_word(address);
    }
    if is_task {
        observer.note_task(address);
    } else if riscv::is_watched(address)
        && api::is_device(access, address)
        && let Observer { family: Family::Riscv(riscv), guest: Some(guest), events, .. } = observer
    {
        riscv.stored(address, &guest.0, &mut guest.1, events);
    }
}

/// Called after each store of a Cortex-M. `source` is the number of the stored register plus 1, or
/// 0.
extern "C" fn on_arm_store(_: c_uint, access: Access, address: u64, source: *mut c_void) {
    let is_task = address == TASK.load(Relaxed);
    let may_be_word = words::may_be_watched(address);
    if !is_task && !may_be_word && !arm::is_watched(address) {
        return;
    }
    let mut observer = observer();
    let Some(observer) = observer.as_mut() else { return };
    if may_be_word {
        observer.note_word(address);
    }
    if is_task {
        observer.note_task(address);
    } else if arm::is_watched(address)
        && let Some(register) = source.addr().checked_sub(1)
        && api::is_device(access, address)
        && let Observer { family: Family::Arm(arm), guest: Some(guest), events, .. } = observer
    {
        let value = guest.0.register(register);
        arm.stored(address, value, &mut guest.1, events);
    }
}

/// Ends the observation, and QEMU with it, after the last instruction that was asked for.
fn end_at_limit() {
    if executed() >= LIMIT.load(Relaxed) {
        finish(Reason::InstructionLimit);
        exit();
    }
}

/// Writes the last records.
fn finish(reason: Reason) {
    if let Some(mut observer) = observer().take() {
        if let Observer { memory: Some(memory), guest: Some((processor, _)), .. } = &observer {
            memory.write(processor);
        }
        observer.report_busiest();
        observer.events.finish(reason);
    }
}

extern "C" fn on_exit(_: Id, _: *mut c_void) {
    finish(Reason::ImageEnded);
}
