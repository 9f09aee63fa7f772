//! The exceptions of a Cortex-M.
//!
//! They are made pending by the function that QEMU's own devices call (`armv7m_nvic_set_pending`).

use std::{
    ffi::{c_int, c_void},
    sync::{OnceLock, atomic::Ordering::Relaxed},
};

use chronoscope_cycles::{Class, Instruction};

use super::{Interrupt, Interrupts, Read, Step};
use crate::{
    emulator::{Device, Processor, Worker, device, function},
    exceptions::{VECTOR_TABLE_OFFSET, running},
    give_up,
};

const SYSTICK_CONTROL: u64 = 0xe000_e010;
const ENABLED_INTERRUPTS: u64 = 0xe000_e100;
const SYSTICK: u32 = 15;
/// The priorities of the exceptions 12 to 15, a byte each, and of the lines.
const SYSTEM_PRIORITIES: u64 = 0xe000_ed20;
const PRIORITIES: u64 = 0xe000_e400;

pub struct Arm(pub Worker);

impl Interrupts for Arm {
    /// QEMU's timers are devices.
    fn read(&self, word: u32) -> Option<Read> {
        let decoded = Instruction::decode(word);
        let is_load = decoded.is_ok_and(|decoded| matches!(decoded.class, Class::Load { .. }));
        is_load.then_some(Read::Word)
    }

    fn enabled(&self, processor: &Processor) -> Vec<Interrupt> {
        let [table] = processor.words(VECTOR_TABLE_OFFSET);
        let vectors: [u32; 256] = processor.words(table.into());
        let [control] = processor.words(SYSTICK_CONTROL);
        let lines: [u32; 7] = processor.words(ENABLED_INTERRUPTS);
        let has_line = |line: &u32| lines[*line as usize / 32] >> (line % 32) & 1 != 0;
        let systick = (control & 2 != 0).then_some(SYSTICK);
        let all = systick.into_iter().chain((0..224).filter(has_line).map(|line| 16 + line));
        let [of_the_system] = processor.words(SYSTEM_PRIORITIES);
        let of_lines: [u32; 56] = processor.words(PRIORITIES);
        let interrupt = |number: u32| {
            let handler = vectors[number as usize] & !1;
            let priority = match number.checked_sub(16) {
                None => of_the_system >> 24,
                Some(line) => of_lines[line as usize / 4] >> (8 * (line % 4)) & 0xff,
            };
            Interrupt { number, cause: number, handler, priority }
        };
        all.map(interrupt).collect()
    }

    fn pend(&self, interrupt: Interrupt) {
        self.0.run(pend, interrupt.number as usize);
    }

    /// After an instruction that accesses a device, QEMU does not call the plugin for the first one of
    /// the handler: the processor's state says that it runs.
    fn has_begun(&self, processor: &Processor, interrupt: Interrupt, _: Step) -> bool {
        running(processor) == interrupt.cause
    }
}

type SetPending = unsafe extern "C" fn(*mut c_void, c_int, bool);

/// The interrupt controller's function and its object, found when the machine runs.
static CONTROLLER: OnceLock<(SetPending, Device)> = OnceLock::new();

extern "C" fn pend(_: *mut c_void, exception: usize) {
    let (set_pending, controller) =
        CONTROLLER.get_or_init(|| controller().unwrap_or_else(|error| give_up(&error)));
    // SAFETY: the object is the controller of the machine's only processor, which lives as long as
    // QEMU; an exception's number is below 256. The second state, of TrustZone, is not asked for.
    unsafe { set_pending(controller.load(Relaxed), exception as c_int, false) }
}

fn controller() -> Result<(SetPending, Device), String> {
    // SAFETY: the function has this type in QEMU 7.2 (include/hw/intc/armv7m_nvic.h).
    Ok((unsafe { function(c"armv7m_nvic_set_pending")? }, device(c"armv7m_nvic")?))
}
