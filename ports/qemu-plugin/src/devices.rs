//! Registers and devices of a chip that QEMU's machine does not have. The crate
//! `chronoscope-peripherals` has their behaviour and their options; here they get their addresses in the
//! machine, the guest's time, and lines to its interrupt controller.
//!
//! A further option, `console=FILE`, has the bytes that serial ports send: of each the port's number,
//! then the byte.
//!
//! The types of QEMU's functions are of QEMU 7.2. Before the first instruction each region, the timer and
//! the lines are tried, so that a QEMU in which they differ is refused.

use std::{
    collections::BTreeMap,
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    fs,
    path::PathBuf,
    ptr,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed},
    },
};

use chronoscope_peripherals::{self as peripherals, Peripherals, Request, Sent};

use crate::{
    api::{self, Id},
    emulator::{Device, Processor, device, function},
    give_up,
};

/// Space for QEMU's `MemoryRegion`, which has 272 bytes in QEMU 7.2.
const REGION: usize = 4096;
/// Space for QEMU's `QEMUTimer`, which has 64 bytes.
const TIMER: usize = 512;
/// The priority of a region over those that the machine has.
const ABOVE: c_int = 10;
const LITTLE_ENDIAN: c_int = 2;
/// QEMU's numbers of the virtual clock, and of nanoseconds.
const VIRTUAL: c_int = 1;
const NANOSECONDS: c_int = 1;

/// The option of the file with what serial ports send.
const CONSOLE: &str = "console=";

static CHIP: Mutex<Option<Peripherals>> = Mutex::new(None);
static ON_REQUEST: OnceLock<OnRequest> = OnceLock::new();
static CONSOLE_FILE: OnceLock<PathBuf> = OnceLock::new();
static QEMU: OnceLock<Qemu> = OnceLock::new();
/// Regions read [`echo`] in place of their registers.
static IS_TRIED: AtomicBool = AtomicBool::new(false);
/// The levels of the lines as the interrupt controller has them.
static LEVELS: Mutex<BTreeMap<u32, bool>> = Mutex::new(BTreeMap::new());

/// Called with a request of the timer whose phases are tried, and the guest's time in ns.
pub type OnRequest = fn(Request, u64);

/// Has the requests of the timer whose phases are tried passed on, once.
pub fn on_request(call: OnRequest) {
    ON_REQUEST.get_or_init(|| call);
}

fn chip() -> MutexGuard<'static, Option<Peripherals>> {
    CHIP.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether an option is of this module.
pub fn is_option(argument: &str) -> bool {
    argument.starts_with(CONSOLE) || peripherals::is_option(argument)
}

/// Reads the options, and has QEMU map the registers when the machine exists.
pub fn install(id: Id, arguments: &[String]) -> Result<(), String> {
    let parsed = Peripherals::parse(arguments.iter().map(String::as_str))?;
    if let Some(file) = arguments.iter().find_map(|argument| argument.strip_prefix(CONSOLE)) {
        CONSOLE_FILE.get_or_init(|| file.into());
    }
    if !parsed.is_empty() {
        *chip() = Some(parsed);
        api::on_processor(id, map);
    }
    Ok(())
}

/// QEMU's `MemoryRegionOps`.
#[repr(C)]
struct Operations {
    read: extern "C" fn(*mut c_void, u64, c_uint) -> u64,
    write: extern "C" fn(*mut c_void, u64, u64, c_uint),
    read_with_attributes: *const c_void,
    write_with_attributes: *const c_void,
    endianness: c_int,
    valid: Valid,
    implemented: Implemented,
}

#[repr(C)]
struct Valid {
    least: c_uint,
    most: c_uint,
    is_unaligned: bool,
    accepts: *const c_void,
}

#[repr(C)]
struct Implemented {
    least: c_uint,
    most: c_uint,
    is_unaligned: bool,
}

// SAFETY: all pointers are null, or of functions.
unsafe impl Sync for Operations {}

static OPERATIONS: Operations = Operations {
    read: on_read,
    write: on_write,
    read_with_attributes: ptr::null(),
    write_with_attributes: ptr::null(),
    endianness: LITTLE_ENDIAN,
    valid: Valid { least: 1, most: 4, is_unaligned: false, accepts: ptr::null() },
    implemented: Implemented { least: 1, most: 4, is_unaligned: false },
};

/// The word that a region reads while it is tried: different for each of them.
fn echo(region: usize, offset: u64) -> u32 {
    0x5a00_0000 ^ (region as u32) << 16 ^ offset as u32
}

extern "C" fn on_read(region: *mut c_void, offset: u64, size: c_uint) -> u64 {
    if IS_TRIED.load(Relaxed) {
        return echo(region.addr(), offset).into();
    }
    let Some(qemu) = QEMU.get() else { return 0 };
    let now = qemu.now();
    // No level changes by a read, and the timer comes for those that change by the time.
    match chip().as_mut() {
        Some(chip) => chip.read(region.addr(), offset as u32, size, now).into(),
        None => 0,
    }
}

extern "C" fn on_write(region: *mut c_void, offset: u64, value: u64, size: c_uint) {
    let Some(qemu) = QEMU.get() else { return };
    let now = qemu.now();
    if let Some(chip) = chip().as_mut() {
        chip.write(region.addr(), offset as u32, size, value as u32, now);
    }
    qemu.follow();
    pass_on(now);
}

/// Called by QEMU at the time that a device has asked for.
extern "C" fn on_time(_: *mut c_void) {
    let Some(qemu) = QEMU.get() else { return };
    let now = qemu.now();
    if let Some(chip) = chip().as_mut() {
        chip.pass(now);
    }
    qemu.follow();
    pass_on(now);
}

/// Passes on a request that has come by now. The chip is not locked: the observer may end QEMU, and writes
/// what serial ports have sent.
fn pass_on(now: u64) {
    let Some(call) = ON_REQUEST.get() else { return };
    let request = chip().as_mut().and_then(Peripherals::take_request);
    if let Some(request) = request {
        call(request, now);
    }
}

type Init = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *const Operations,
    *mut c_void,
    *const c_char,
    u64,
);
type Add = unsafe extern "C" fn(*mut c_void, u64, *mut c_void, c_int);
type SystemMemory = unsafe extern "C" fn() -> *mut c_void;
type InitTimer = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    extern "C" fn(*mut c_void),
    *mut c_void,
);
type Line = AtomicPtr<c_void>;

/// QEMU's functions, its timer that calls [`on_time`], and the lines to the interrupt controller.
struct Qemu {
    get_time: unsafe extern "C" fn(c_int) -> i64,
    set_timer: unsafe extern "C" fn(*mut c_void, i64),
    delete_timer: unsafe extern "C" fn(*mut c_void),
    expiry: unsafe extern "C" fn(*mut c_void) -> u64,
    set_line: unsafe extern "C" fn(*mut c_void, c_int),
    timer: Device,
    lines: BTreeMap<u32, Line>,
}

impl Qemu {
    /// Finds the functions, makes the timer, and takes the lines of these interrupts.
    fn find(interrupts: impl Iterator<Item = u32>) -> Result<Self, String> {
        // SAFETY: the functions have these types in QEMU 7.2 (include/qemu/timer.h,
        // include/hw/qdev-core.h, include/hw/irq.h). The timer is of zeroed memory that is never freed,
        // larger than QEMU's type; null is the machine's own list of timers. The controller is the
        // machine's, and QEMU returns null for a line that it does not have.
        unsafe {
            let init: InitTimer = function(c"timer_init_full")?;
            let line: unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void =
                function(c"qdev_get_gpio_in")?;
            let timer = Box::leak(Box::new([0_u64; TIMER / 8])).as_mut_ptr().cast();
            init(timer, ptr::null_mut(), VIRTUAL, NANOSECONDS, 0, on_time, ptr::null_mut());
            let mut lines = BTreeMap::new();
            let mut interrupts = interrupts.peekable();
            if interrupts.peek().is_some() {
                let controller = device(c"armv7m")?;
                for interrupt in interrupts {
                    let line = line(controller.load(Relaxed), interrupt as c_int);
                    lines.insert(interrupt, AtomicPtr::new(line));
                }
            }
            Ok(Self {
                get_time: function(c"qemu_clock_get_ns")?,
                set_timer: function(c"timer_mod_ns")?,
                delete_timer: function(c"timer_del")?,
                expiry: function(c"timer_expire_time_ns")?,
                set_line: function(c"qemu_set_irq")?,
                timer: AtomicPtr::new(timer),
                lines,
            })
        }
    }

    /// The guest's time in ns. Call it during an access to a device or a call of the timer.
    fn now(&self) -> u64 {
        // SAFETY: takes a number of a clock.
        let now = unsafe { (self.get_time)(VIRTUAL) };
        u64::try_from(now).unwrap_or(0)
    }

    /// Sets the timer to the next change, and the lines to their levels.
    fn follow(&self) {
        let (due, levels) = match chip().as_ref() {
            Some(chip) => (chip.due(), chip.levels()),
            None => return,
        };
        let timer = self.timer.load(Relaxed);
        match due.and_then(|due| i64::try_from(due).ok()) {
            // SAFETY: the timer is initialised, and lives as long as QEMU. QEMU calls this with its lock
            // of devices held.
            Some(due) => unsafe { (self.set_timer)(timer, due) },
            // SAFETY: as above.
            None => unsafe { (self.delete_timer)(timer) },
        }
        let mut known = LEVELS.lock().unwrap_or_else(PoisonError::into_inner);
        for (interrupt, level) in levels {
            if known.insert(interrupt, level).unwrap_or(false) != level
                && let Some(line) = self.lines.get(&interrupt)
            {
                // SAFETY: the line is the controller's or null, which QEMU ignores; the lock of devices
                // is held. The controller takes the level, and calls nothing of this plugin.
                unsafe { (self.set_line)(line.load(Relaxed), level.into()) }
            }
        }
    }

    /// Tries the timer: it must have the time that it was set to.
    fn is_right(&self) -> bool {
        const FAR: i64 = 0x1234_5678_9abc_def0;
        let timer = self.timer.load(Relaxed);
        // SAFETY: as for `follow`.
        unsafe {
            (self.set_timer)(timer, FAR);
            let expiry = (self.expiry)(timer);
            (self.delete_timer)(timer);
            expiry == FAR as u64 && self.lines.values().all(|line| !line.load(Relaxed).is_null())
        }
    }
}

/// Called by QEMU when the processor exists: maps the regions, once.
extern "C" fn map(_: Id, _: c_uint) {
    static ONCE: OnceLock<()> = OnceLock::new();
    const NAME: &CStr = c"chronoscope";
    ONCE.get_or_init(|| {
        let regions = chip().as_ref().map(Peripherals::regions).unwrap_or_default();
        // SAFETY: the functions have these types in QEMU 7.2 (include/exec/memory.h). Each region is
        // of zeroed memory that is never freed, larger than QEMU's type; the operations are a static;
        // the number of the region stands for a pointer that QEMU hands back only. QEMU calls this on
        // the thread that builds the machine.
        let mapped: Result<(), String> = (|| unsafe {
            let init: Init = function(c"memory_region_init_io")?;
            let add: Add = function(c"memory_region_add_subregion_overlap")?;
            let memory: SystemMemory = function(c"get_system_memory")?;
            for (index, (origin, bytes)) in regions.into_iter().enumerate() {
                let region = Box::leak(Box::new([0_u64; REGION / 8])).as_mut_ptr().cast();
                let number = ptr::without_provenance_mut(index);
                let name = NAME.as_ptr();
                init(region, ptr::null_mut(), &raw const OPERATIONS, number, name, bytes.into());
                add(memory(), origin.into(), region, ABOVE);
            }
            Ok(())
        })();
        mapped.unwrap_or_else(|error| give_up(&error));
    });
}

/// Ends QEMU unless each region, the timer and the lines work. Call it before the first instruction.
pub fn check(processor: &Processor) {
    let chip = chip();
    let Some(chip) = chip.as_ref() else { return };
    IS_TRIED.store(true, Relaxed);
    let regions = chip.regions();
    for address in regions.iter().flat_map(|(origin, bytes)| [*origin, origin + bytes - 4]) {
        // A later region is above an earlier one: a word that is given is in a bank.
        let has = |(origin, bytes): &(u32, u32)| (*origin..origin + bytes).contains(&address);
        let Some(region) = regions.iter().rposition(has) else { continue };
        let [read] = processor.words(address.into());
        if read != echo(region, (address - regions[region].0).into()) {
            let name = chip.name(region).unwrap_or("a register");
            give_up(&format!(
                "{name} at {address:#x} is not where it was put: use Debian's QEMU 7.2"
            ));
        }
    }
    IS_TRIED.store(false, Relaxed);
    let qemu = Qemu::find(chip.levels().into_keys()).unwrap_or_else(|error| give_up(&error));
    if !qemu.is_right() {
        give_up("QEMU's timers or interrupts are others: use Debian's QEMU 7.2");
    }
    QEMU.get_or_init(|| qemu);
}

/// Writes what serial ports have sent. Call it when the guest has ended.
pub fn finish() {
    let (Some(file), Some(chip)) = (CONSOLE_FILE.get(), &mut *chip()) else { return };
    let bytes: Vec<u8> =
        chip.sent().iter().flat_map(|Sent { port, byte }| [*port, *byte]).collect();
    if let Err(error) = fs::write(file, bytes) {
        give_up(&format!("{} cannot be written: {error}", file.display()));
    }
}
