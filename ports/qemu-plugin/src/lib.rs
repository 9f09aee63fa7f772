//! A logic analyser for microcontrollers emulated by QEMU: a plugin that writes the levels of
//! virtual pins, and the runs of interrupts, as a waveform exact to the instruction.
//!
//! ```text
//! qemu-system-arm -machine netduinoplus2 -icount shift=0,sleep=off … \
//!     -plugin libchronoscope_qemu_plugin.so,out=FILE,pins=0x42400300
//! ```
//!
//! - `out=FILE`: the file of the waveform, a Value Change Dump; `FILE.part` exists while QEMU runs.
//! - `pins=ADDRESS`: 32 words; a store to word n < 8 sets pin n, to word 16 + n clears it
//!   (module `pins`).
//! - `set=ADDRESS,clear=ADDRESS` instead: two registers, by the bits of the stored value. RISC-V
//!   only.
//! - `exceptions=on`: also a wire for each exception of an Armv7-M processor that occurs
//!   (module `exceptions`). QEMU then counts every instruction; otherwise only stores are
//!   instrumented.
//! - `scope=NAME`: the module in the waveform that the wires are in.
//!
//! With `observe=FILE`, the plugin is an observer of an unmodified image instead: it writes no
//! waveform but events (module `observe`).
//!
//! With `cycles=FILE`, it gives the cycles of a Cortex-M by the model of its core (module `cycles`).
//!
//! With `arrivals=FILE`, it makes an interrupt pending at each instruction of a round (module
//! `arrivals`).
//!
//! Every one of them takes registers that the machine lacks (module `devices`).
//!
//! The plugin ends QEMU, with one line on standard error, if it cannot give a correct waveform.

mod api;
mod arrivals;
mod clock;
mod cycles;
mod devices;
mod emulator;
mod exceptions;
mod observe;
mod pins;
mod settings;
mod state;
mod vcd;

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    io,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use api::{Access, Block, Id, Info, RawBlock};
use clock::Clock;
use emulator::{Emulator, Processor};
use exceptions::Exceptions;
use pins::{PINS, Pins};
use settings::Settings;
use vcd::{Vcd, Wire};

/// The pins' addresses, outside the lock because every store of the guest is compared with them.
static WINDOW: OnceLock<Pins> = OnceLock::new();
static ANALYSER: Mutex<Option<Analyser>> = Mutex::new(None);

struct Analyser {
    emulator: Emulator,
    vcd: Vcd,
    watches_exceptions: bool,
    /// The guest's state; `None` until the guest runs.
    guest: Option<Guest>,
}

struct Guest {
    processor: Processor,
    clock: Clock,
    exceptions: Exceptions,
}

/// Ends QEMU, because the waveform would be wrong. Skips the exit handlers, one of which is this
/// plugin's.
fn give_up(why: &str) -> ! {
    eprintln!("chronoscope: {why}");
    // SAFETY: ends the process and does not return.
    unsafe { libc::_exit(1) }
}

fn written(outcome: io::Result<()>) {
    if let Err(error) = outcome {
        give_up(&format!("the waveform cannot be written: {error}"));
    }
}

/// The plugin's entry, called by QEMU when it loads the plugin. A result other than 0 ends QEMU.
///
/// # Safety
/// `info` and the `count` strings at `arguments` are valid as QEMU's documentation specifies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    info: *const Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: the caller's promise. QEMU keeps them until this function returns.
    let (info, arguments) = unsafe {
        let count = usize::try_from(count).unwrap_or(0);
        let arguments = (0..count)
            .map(|index| CStr::from_ptr(*arguments.add(index)).to_string_lossy().into_owned());
        (&*info, arguments.collect::<Vec<_>>())
    };
    if let Err(error) = devices::install(id, &arguments) {
        eprintln!("chronoscope's devices: {error}");
        return 1;
    }
    let arguments: Vec<String> =
        arguments.into_iter().filter(|argument| !devices::is_option(argument)).collect();
    let (name, outcome) = if observe::is_asked(&arguments) {
        ("observer", observe::install(id, info, &arguments))
    } else if arrivals::is_asked(&arguments) {
        ("arrivals", arrivals::install(id, info, &arguments))
    } else if cycles::is_asked(&arguments) {
        ("cycles", cycles::install(id, info, &arguments))
    } else {
        ("pins", install(id, info, &arguments))
    };
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("chronoscope's {name}: {error}");
            1
        }
    }
}

fn install(id: Id, info: &Info, arguments: &[String]) -> Result<(), String> {
    let settings = Settings::parse(arguments, info.target())?;
    if !info.has_one_processor() {
        return Err("the machine must have one processor".to_owned());
    }
    let emulator = Emulator::find(info.target())?;
    let vcd = Vcd::create(settings.out.clone(), settings.scope)
        .map_err(|error| format!("{} cannot be written: {error}", settings.out.display()))?;
    if WINDOW.set(settings.pins).is_err() {
        return Err("loaded twice into one QEMU".to_owned());
    }
    *analyser() =
        Some(Analyser { emulator, vcd, watches_exceptions: settings.exceptions, guest: None });
    api::register(id, on_block, on_exit);
    Ok(())
}

fn analyser() -> MutexGuard<'static, Option<Analyser>> {
    ANALYSER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Analyser {
    fn guest(&mut self) -> &mut Guest {
        let emulator = self.emulator;
        self.guest.get_or_insert_with(|| {
            let (processor, clock) = observe::start_in_ns(emulator);
            Guest { processor, clock, exceptions: Exceptions::default() }
        })
    }
}

/// Called by QEMU when it translates a block: registers the callbacks of the block.
extern "C" fn on_block(_: Id, block: *mut RawBlock) {
    let mut analyser = analyser();
    let Some(analyser) = analyser.as_mut() else { return };
    let watches_exceptions = analyser.watches_exceptions;
    let guest = analyser.guest();
    // SAFETY: QEMU passed the block to this callback, and it is not kept.
    let block = unsafe { Block::new(block) };
    for instruction in block.instructions() {
        let source = pins::source(instruction.word()).unwrap_or(0);
        instruction.on_store(on_store, source);
        if watches_exceptions {
            clock::count(instruction);
        }
    }
    if watches_exceptions && let Some(about) = exceptions::about(&guest.processor, block) {
        block.on_execution(on_handler, about);
    }
}

/// Called after a store by the guest.
extern "C" fn on_store(_: c_uint, access: Access, address: u64, source: *mut c_void) {
    let Some(window) = WINDOW.get() else { return };
    if !window.contains(address) {
        return;
    }
    let mut analyser = analyser();
    let Some(Analyser { vcd, guest: Some(guest), .. }) = analyser.as_mut() else { return };
    if !api::is_device(access, address) {
        give_up(&format!(
            "{address:#x} is memory, and only at a device does QEMU tell the guest's time"
        ));
    }
    let Some((high, low)) =
        window.driven(address, || pins::stored(&guest.processor, source.addr()))
    else {
        return;
    };
    let now = guest.clock.at_device();
    written(guest.exceptions.settle(now, &guest.processor, vcd));
    for pin in 0..PINS {
        if (high | low) >> pin & 1 == 1 {
            written(vcd.change(now, Wire::pin(pin), high >> pin & 1 == 1));
        }
    }
}

/// Called when a block of handler mode begins to execute.
extern "C" fn on_handler(_: c_uint, about: *mut c_void) {
    let mut analyser = analyser();
    let Some(Analyser { vcd, guest: Some(guest), .. }) = analyser.as_mut() else { return };
    let now = guest.clock.now();
    written(guest.exceptions.block(now, about.addr(), &guest.processor, vcd));
}

extern "C" fn on_exit(_: Id, _: *mut c_void) {
    let Some(Analyser { mut vcd, guest, .. }) = analyser().take() else { return };
    if let Some(Guest { processor, mut exceptions, .. }) = guest {
        // Records the last return, if no later block has revealed it.
        written(exceptions.settle(u64::MAX, &processor, &mut vcd));
    }
    written(vcd.finish());
}
