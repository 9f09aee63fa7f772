//! The observer of cycles: gives each executed instruction of a Cortex-M to the model of its core,
//! and writes the sums at each load from a device. The clock that marks read is one of them; the lab
//! finds the marks among the loads by their times (`lab/machine/src/qemu/modelled.rs`).
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
//!
//! QEMU calls nothing when an instruction reads a device. But it translates an instruction that
//! accesses a device anew, as a block of its own, when the block that it is in first reaches it. From
//! then on the instruction is known as such a one.

use std::{
    collections::HashMap,
    ffi::{c_uint, c_void},
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::PathBuf,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed},
    vec::IntoIter,
};

use chronoscope_cycles::{
    Access as Data, Class, Core, Cost, Flash, Instruction, Model, Next, Step, Sum,
};

use crate::{
    api::{self, Access, Block, Id, Info, RawBlock},
    clock::{self, Clock},
    emulator::{Emulator, Processor},
    exceptions::{LINK, goes_on, running},
    give_up,
    observe::{About, exit, start},
    settings,
};

/// Most records; a case reads its clock much less often.
const MOST: usize = 2_000_000;

const TAKES: &str = "cycles=FILE, marks=loads or stores, times=FILE, core=NAME, origin=ADDRESS, kib=, waits=, read=, \
     line=, lines= and data=NUMBER";

/// The observer; null before the plugin is installed and after QEMU's end. A lock would take as long
/// as the model's step.
static OBSERVER: AtomicPtr<Observer> = AtomicPtr::new(ptr::null_mut());

/// An instruction of the image, kept for as long as QEMU runs.
struct Row {
    at: u32,
    /// `None` for code that no Armv7-M has; it may follow the last instruction of a function.
    instruction: Option<Instruction>,
    /// QEMU reports its accesses to memory.
    is_watched: bool,
    /// Accesses a device in the way that is noted.
    is_noted: AtomicBool,
}

struct Observer {
    emulator: Emulator,
    guest: Option<(Processor, Clock)>,
    notes_stores: bool,
    /// The times that are asked for and still to come; `None` if accesses are noted.
    times: Option<IntoIter<u64>>,
    model: Model,
    rows: HashMap<(u32, u32, bool), &'static Row>,
    /// The instruction that executes, with its access to data.
    current: Option<(&'static Row, Data)>,
    /// The exception that has begun or ended after it.
    way: Option<Next>,
    /// The active exceptions, each with whether its frame has room for floating-point registers.
    active: Vec<(u32, bool)>,
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
    if !info.has_one_processor() || info.target() != "arm" {
        return Err("cycles are for a Cortex-M alone".to_owned());
    }
    let options = Options::parse(arguments)?;
    let emulator = Emulator::find(info.target())?;
    let create = |out: PathBuf| {
        let file = File::create(&out).map(BufWriter::new);
        file.map_err(|error| format!("{} cannot be written: {error}", out.display()))
    };
    let observer = Box::new(Observer {
        emulator,
        guest: None,
        notes_stores: options.notes_stores,
        times: options.times.map(Vec::into_iter),
        model: Model::new(options.core, options.flash),
        rows: HashMap::new(),
        current: None,
        way: None,
        active: Vec::new(),
        file: options.out.map(create).transpose()?,
        left: MOST,
    });
    OBSERVER.store(Box::into_raw(observer), Relaxed);
    Ok(())
}

/// The cost of an entry into a handler; `None` without a model.
pub fn entry() -> Option<Cost> {
    observer().map(|observer| observer.model.core().entry)
}

/// The sums before the instruction that is about to execute; `None` without a model.
pub fn sum() -> Option<Sum> {
    observer().map(|observer| *observer.model.sum())
}

struct Options {
    out: Option<PathBuf>,
    notes_stores: bool,
    times: Option<Vec<u64>>,
    core: &'static Core,
    flash: Flash,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
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
        let (core, marks) = (value("core")?, value("marks")?);
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
            core: Core::find(core).ok_or_else(|| wrong(core))?,
            flash,
        })
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
    let Some(observer) = observer() else { return };
    let emulator = observer.emulator;
    let (processor, _) = observer.guest.get_or_insert_with(|| start(emulator));
    block.on_execution(on_begin, About::new(processor, block).packed());
    let mut conditional = 0_u8;
    for instruction in block.instructions() {
        let row = observer.row(instruction.address() as u32, instruction.word(), conditional > 0);
        conditional = match row.instruction {
            Some(Instruction { class: Class::IfThen { instructions }, .. }) => instructions,
            _ => conditional.saturating_sub(1),
        };
        if row.is_watched {
            instruction.on_access(on_access, 0);
        }
        if block.len() == 1 {
            observer.alone(row);
        }
        instruction.on_execution(on_instruction, ptr::from_ref(row).expose_provenance());
        clock::count(instruction);
    }
}

impl Observer {
    fn row(&mut self, at: u32, word: u32, is_conditional: bool) -> &'static Row {
        let needs_addresses = self.model.needs_addresses();
        self.rows.entry((at, word, is_conditional)).or_insert_with(|| {
            let instruction = Instruction::decode(word).ok();
            let is_load = instruction
                .is_some_and(|instruction| matches!(instruction.class, Class::Load { .. }));
            let accesses = instruction.is_some_and(|instruction| instruction.accesses_memory());
            Box::leak(Box::new(Row {
                at,
                instruction,
                is_watched: accesses && is_conditional || is_load && needs_addresses,
                is_noted: AtomicBool::new(false),
            }))
        })
    }

    /// Takes in an instruction that QEMU translates as a block of its own.
    fn alone(&mut self, row: &'static Row) {
        let may_be = row.instruction.is_some_and(|instruction| match instruction.class {
            Class::Load { .. } => !self.notes_stores,
            Class::Store { .. } => self.notes_stores,
            _ => false,
        });
        if !may_be || row.is_noted.swap(true, Relaxed) {
            return;
        }
        for other in self.rows.values().filter(|other| other.at == row.at) {
            other.is_noted.store(true, Relaxed);
        }
        if self.current.is_some_and(|(current, _)| current.at == row.at) {
            // QEMU executes it now.
            self.record(true);
        }
    }

    /// Finds out whether an exception has begun or ended before a block.
    fn note_exceptions(&mut self, about: About) {
        let Some((processor, _)) = &self.guest else { return };
        if !about.in_handler {
            if let Some((_, has_float)) = self.active.first().copied() {
                self.active.clear();
                self.way = Some(Next::Return { has_float });
            }
            return;
        }
        let link = processor.register(LINK);
        if about.is_vector && link >> 24 == 0xff {
            let exception = running(processor);
            let mut has_left = false;
            while let Some((last, _)) = self.active.last() {
                if goes_on(processor, *last, self.active.len(), exception, link) {
                    break;
                }
                self.active.pop();
                has_left = true;
            }
            let has_float = link & 0x10 == 0;
            self.active.push((exception, has_float));
            self.way = Some(if has_left { Next::Chain } else { Next::Entry { has_float } });
        } else if self.active.len() > 1 {
            let running = running(processor);
            while let Some((_, has_float)) = self.active.pop_if(|(last, _)| *last != running) {
                self.way = Some(Next::Return { has_float });
            }
        }
    }

    /// Ends the current instruction, and begins the next one.
    fn begin(&mut self, next: &'static Row) {
        let way = self.way.take();
        if let Some((row, access)) = self.current.take() {
            let Some(instruction) = row.instruction else {
                give_up(&format!("the instruction at {:#x} is none of Armv7-M", row.at));
            };
            let is_wide = next.instruction.is_some_and(|instruction| instruction.is_wide);
            self.model.step(&Step {
                at: row.at,
                instruction,
                access,
                next: way.unwrap_or(Next::At(next.at)),
                straddles: is_wide && next.at & 2 != 0,
            });
        }
        if self.times.is_some() {
            self.note_times();
        }
        let is_noted = next.is_noted.load(Relaxed);
        let access = if next.is_watched && !is_noted { Data::None } else { Data::Unknown };
        self.current = Some((next, access));
        if is_noted {
            self.record(false);
        }
    }

    /// Writes a record for each time that has come.
    fn note_times(&mut self) {
        let Some(times) = &mut self.times else { return };
        let now = clock::executed();
        while let Some(time) = times.as_slice().first().copied().filter(|time| *time <= now) {
            times.next();
            record(self.file.as_mut(), time, self.model.sum());
        }
        if times.as_slice().is_empty() {
            written(self.file.as_mut().map_or(Ok(()), BufWriter::flush));
            exit();
        }
    }

    /// Writes a record. `is_counted` says whether the current instruction is already counted.
    fn record(&mut self, is_counted: bool) {
        if self.times.is_some() || self.file.is_none() {
            return;
        }
        let Some((_, clock)) = &mut self.guest else { return };
        let Some(left) = self.left.checked_sub(1) else {
            give_up(&format!("the image accesses devices more than {MOST} times"));
        };
        self.left = left;
        let time = clock.now() - u64::from(is_counted);
        record(self.file.as_mut(), time, self.model.sum());
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

/// Called when a block begins to execute.
extern "C" fn on_begin(_: c_uint, about: *mut c_void) {
    let about = About::unpacked(about.addr());
    if let Some(observer) = observer()
        && about.is_notable(observer.active.len() as u64)
    {
        observer.note_exceptions(about);
    }
}

/// Called before each instruction.
extern "C" fn on_instruction(_: c_uint, row: *mut c_void) {
    // SAFETY: the pointer is of a row, which is never freed and changes by atomic operations only.
    let row = unsafe { &*ptr::with_exposed_provenance::<Row>(row.addr()) };
    if let Some(observer) = observer() {
        observer.begin(row);
    }
}

/// Called after each access to memory of a watched instruction.
extern "C" fn on_access(_: c_uint, _: Access, address: u64, _: *mut c_void) {
    if let Some(observer) = observer()
        && let Some((_, access)) = &mut observer.current
    {
        *access = Data::To(address as u32);
    }
}

extern "C" fn on_exit(_: Id, _: *mut c_void) {
    if let Some(observer) = observer() {
        written(observer.file.as_mut().map_or(Ok(()), BufWriter::flush));
    }
}
