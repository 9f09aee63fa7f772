//! The observer of cycles: gives each executed instruction to the model of its core (modules `arm` and
//! `riscv`), and writes the sums at each load from a device of a Cortex-M. The clock that marks read is
//! one of them; the lab finds the marks among the loads by their times
//! (`lab/machine/src/qemu/modelled.rs`). The clock of a RISC-V is a control register: the sums are
//! written at each read of it.
//!
//! ```text
//! -plugin libchronoscope_qemu_plugin.so,cycles=FILE,core=Cortex-M4,origin=0x08000000,kib=1024,…
//! ```
//!
//! With `marks=stores`, it writes them at each store to a device instead, for marks that capture a
//! timer's count by a store and read it later.
//!
//! With `times=FILE`, it writes them at these times instead, and ends QEMU after the last one. The file
//! has a little-endian word of 64 bits for each, in ascending order, in executed instructions, and so
//! has the record.
//!
//! A record is twelve little-endian words of 64 bits: the time, a tick for each instruction; the number
//! of instructions that may have put the processor to sleep; the number of instructions; the least
//! number of cycles, twice the estimate, the greatest number; and the six parts of the distance of the
//! bounds, in the order of [`chronoscope_cycles::Cause::ALL`]. All count from the reset.

mod arm;
mod riscv;

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::PathBuf,
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
    vec::IntoIter,
};

use chronoscope_cycles::{Core, Cost, Flash, Model, Sum, riscv as model};

use self::{arm::Arm, riscv::Riscv};
use crate::{
    api::{self, Block, Id, Info, RawBlock},
    clock::{self, Clock},
    emulator::{Emulator, Processor},
    give_up,
    observe::{exit, start},
    settings,
};

/// Most records; a case reads its clock much less often.
const MOST: usize = 2_000_000;

const TAKES: &str = "cycles=FILE, marks=loads or stores, times=FILE, core=NAME, origin=ADDRESS, kib=, waits=, read=, \
     line=, lines= and data=NUMBER";

/// The observer; null before the plugin is installed and after QEMU's end. A lock would take as long
/// as the model's step.
static OBSERVER: AtomicPtr<Observer> = AtomicPtr::new(ptr::null_mut());

struct Observer {
    family: Family,
    log: Log,
}

/// The processor's family, with its model.
enum Family {
    Arm(Box<Arm>),
    Riscv(Riscv),
}

/// The file of sums, with the times that are asked for.
struct Log {
    emulator: Emulator,
    guest: Option<(Processor, Clock)>,
    /// The times that are asked for and still to come; `None` if accesses are noted.
    times: Option<IntoIter<u64>>,
    /// `None` if another observer reads the sums.
    file: Option<BufWriter<File>>,
    left: usize,
}

/// Returns `true` if the options ask for cycles.
pub fn is_asked(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument.starts_with("cycles="))
}

/// Starts the observation of the machine that QEMU is about to run.
pub fn install(id: Id, info: &Info, arguments: &[String]) -> Result<(), String> {
    prepare(info, arguments)?;
    api::register(id, on_block, on_exit);
    Ok(())
}

/// Makes the model. Its observer then takes in each block by [`watch`].
pub fn prepare(info: &Info, arguments: &[String]) -> Result<(), String> {
    if !info.has_one_processor() {
        return Err("the machine must have one processor".to_owned());
    }
    let options = Options::parse(arguments)?;
    let family = options.family(info.target())?;
    let create = |out: PathBuf| {
        let file = File::create(&out).map(BufWriter::new);
        file.map_err(|error| format!("{} cannot be written: {error}", out.display()))
    };
    let log = Log {
        emulator: Emulator::find(info.target())?,
        guest: None,
        times: options.times.map(Vec::into_iter),
        file: options.out.map(create).transpose()?,
        left: MOST,
    };
    OBSERVER.store(Box::into_raw(Box::new(Observer { family, log })), Relaxed);
    Ok(())
}

/// The cost of an entry into a handler; `None` without a model.
pub fn entry() -> Option<Cost> {
    observer().map(|observer| match &observer.family {
        Family::Arm(arm) => arm.model.core().entry,
        Family::Riscv(riscv) => riscv.model.core().entry,
    })
}

/// The sums before the instruction that is about to execute; `None` without a model.
pub fn sum() -> Option<Sum> {
    observer().map(|observer| match &observer.family {
        Family::Arm(arm) => *arm.model.sum(),
        Family::Riscv(riscv) => *riscv.model.sum(),
    })
}

struct Options<'a> {
    out: Option<PathBuf>,
    notes_stores: bool,
    times: Option<Vec<u64>>,
    core: &'a str,
    flash: Flash,
}

impl<'a> Options<'a> {
    fn parse(arguments: &'a [String]) -> Result<Self, String> {
        let wrong = |argument: &str| format!("`{argument}`: it takes {TAKES}");
        let value = |name: &str| {
            let mut pairs = arguments.iter().filter_map(|argument| argument.split_once('='));
            let found = pairs.find(|(known, _)| *known == name).map(|(_, value)| value);
            found.ok_or_else(|| wrong(name))
        };
        let number = |name: &str| {
            let text = value(name)?;
            settings::number(text).ok_or_else(|| wrong(text))
        };
        let marks = value("marks")?;
        let flash = Flash {
            origin: number("origin")?,
            bytes: number("kib")?.saturating_mul(1024),
            wait_states: number("waits")?,
            read: number("read")?,
            line: number("line")?,
            instruction_lines: number("lines")? as usize,
            data_lines: number("data")? as usize,
        };
        Ok(Self {
            times: value("times").ok().map(times).transpose()?,
            out: value("cycles").ok().map(PathBuf::from),
            notes_stores: match marks {
                "loads" => false,
                "stores" => true,
                _ => return Err(wrong(marks)),
            },
            core: value("core")?,
            flash,
        })
    }

    /// The model of the core, which must be of the processor's family.
    fn family(&self, target: &str) -> Result<Family, String> {
        let name = self.core;
        let family = match target {
            "arm" => Core::find(name).map(|core| {
                let arm = Arm::new(Model::new(core, self.flash), self.notes_stores);
                Family::Arm(Box::new(arm))
            }),
            "riscv32" => model::Core::find(name)
                .map(|core| Family::Riscv(Riscv::new(model::Model::new(core)))),
            _ => None,
        };
        family.ok_or_else(|| format!("`core={name}`: no such core of QEMU's {target} has a model"))
    }
}

/// Reads the times of a file.
fn times(path: &str) -> Result<Vec<u64>, String> {
    let bytes = fs::read(path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    let (words, rest) = bytes.as_chunks::<8>();
    let times: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    match rest.is_empty() && times.is_sorted() {
        true => Ok(times),
        false => Err(format!("{path} has no times in ascending order")),
    }
}

/// The observer, for one callback.
fn observer<'call>() -> Option<&'call mut Observer> {
    // SAFETY: the pointer is null or of a box that is never freed. QEMU calls this module's callbacks
    // one after the other: the machine has one processor, checked at the start, its callbacks do not
    // nest, and the callback at the end comes when no more code executes. Each callback calls this
    // function once, so there is no second reference.
    unsafe { OBSERVER.load(Relaxed).as_mut() }
}

/// Called by QEMU when it translates a block.
extern "C" fn on_block(_: Id, block: *mut RawBlock) {
    // SAFETY: QEMU passed the block to this callback, and it is not kept.
    watch(unsafe { Block::new(block) });
}

/// Registers the callbacks of a block in translation.
pub fn watch(block: Block<'_>) {
    let Some(Observer { family, log }) = observer() else { return };
    let emulator = log.emulator;
    log.guest.get_or_insert_with(|| start(emulator));
    match family {
        Family::Arm(arm) => arm.watch(block, log),
        Family::Riscv(riscv) => riscv.watch(block),
    }
}

impl Log {
    /// Writes a record for each time that has come.
    fn note_times(&mut self, sum: &Sum) {
        let Some(times) = &mut self.times else { return };
        let now = clock::executed();
        while let Some(time) = times.as_slice().first().copied().filter(|time| *time <= now) {
            times.next();
            record(self.file.as_mut(), time, sum);
        }
        if times.as_slice().is_empty() {
            written(self.file.as_mut().map_or(Ok(()), BufWriter::flush));
            exit();
        }
    }

    /// Writes a record. `is_counted` says whether the current instruction is already counted.
    fn record(&mut self, sum: &Sum, is_counted: bool) {
        if self.times.is_some() || self.file.is_none() {
            return;
        }
        let Some((_, clock)) = &mut self.guest else { return };
        let Some(left) = self.left.checked_sub(1) else {
            give_up(&format!("the image reads its clock more than {MOST} times"));
        };
        self.left = left;
        let time = clock.now() - u64::from(is_counted);
        record(self.file.as_mut(), time, sum);
    }
}

fn record(file: Option<&mut BufWriter<File>>, time: u64, sum: &Sum) {
    let Some(file) = file else { return };
    let words = [time, clock::sleeps(), sum.instructions, sum.least, sum.estimate_halves, sum.most];
    for word in words.iter().chain(&sum.width) {
        written(file.write_all(&word.to_le_bytes()));
    }
}

fn written(outcome: io::Result<()>) {
    if let Err(error) = outcome {
        give_up(&format!("the cycles cannot be written: {error}"));
    }
}

extern "C" fn on_exit(_: Id, _: *mut std::ffi::c_void) {
    if let Some(observer) = observer() {
        written(observer.log.file.as_mut().map_or(Ok(()), BufWriter::flush));
    }
}
