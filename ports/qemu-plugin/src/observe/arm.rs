//! The observer of a Cortex-M processor: exceptions, masks of interrupts, and pending bits that the
//! image sets.

use super::{
    events::{Events, Masked, kind},
    systick::SysTick,
};
use crate::{
    api::Block,
    clock::Clock,
    emulator::Processor,
    exceptions::{self, LINK, running},
};

/// The addresses of the registers that set interrupts pending: ICSR, the words of NVIC_ISPR, STIR.
const CONTROL_AND_STATE: u64 = 0xe000_ed04;
const SET_PENDING: std::ops::Range<u64> = 0xe000_e200..0xe000_e240;
const TRIGGER: u64 = 0xe000_ef00;

const SVCALL: u32 = 11;
const SYSTICK: u32 = 15;

/// An instruction after which the observer looks at the processor's registers.
#[derive(Clone, Copy)]
enum Special {
    /// `svc` with this number.
    Call(u64),
    /// `cpsid` or `cpsie`.
    Switch { disables: bool, primask: bool, faultmask: bool },
    /// `msr` to a special register from a general one.
    Write { special: u64, register: u64 },
}

/// The numbers of special registers in `msr`.
mod sysm {
    pub const PSP: u64 = 9;
    pub const PRIMASK: u64 = 16;
    pub const BASEPRI: u64 = 17;
    pub const BASEPRI_MAX: u64 = 18;
    pub const FAULTMASK: u64 = 19;
    pub const CONTROL: u64 = 20;
}

/// The bit beside an instruction's word that says that it is one of thread mode.
const THREAD: u64 = 1 << 32;

/// Returns the packed instruction if the observer looks at registers after it.
pub fn special(word: u32, in_handler: bool) -> Option<u64> {
    decode(word.into()).map(|_| u64::from(word) | if in_handler { 0 } else { THREAD })
}

fn decode(word: u64) -> Option<Special> {
    let (first, second) = (word & 0xffff, word >> 16);
    match (first, second) {
        (0xdf00..=0xdfff, 0) => Some(Special::Call(first & 0xff)),
        (0xb660..=0xb67f, 0) if first & 8 == 0 => Some(Special::Switch {
            disables: first & 0x10 != 0,
            primask: first & 2 != 0,
            faultmask: first & 1 != 0,
        }),
        (0xf380..=0xf38f, 0x8800..=0x88ff) => {
            let special = second & 0xff;
            let is_watched =
                special == sysm::PSP || (sysm::PRIMASK..=sysm::CONTROL).contains(&special);
            is_watched.then_some(Special::Write { special, register: first & 0xf })
        }
        _ => None,
    }
}

/// Returns the register that a store instruction of a word stores, plus 1; 0 for instructions of
/// which that is not known.
pub fn source(word: u32) -> usize {
    let (first, second) = (word & 0xffff, word >> 16);
    let register = match first {
        // `str` with an immediate or a register, and relative to the stack pointer.
        0x6000..=0x67ff | 0x5000..=0x51ff => first & 7,
        0x9000..=0x97ff => first >> 8 & 7,
        0xf840..=0xf84f | 0xf8c0..=0xf8cf => second >> 12,
        _ => return 0,
    };
    register as usize + 1
}

/// Returns `true` if a store to `address` may set an interrupt pending, or a timer.
pub fn is_watched(address: u64) -> bool {
    // All these registers are in the system's own pages; no other store gets past this line.
    address >> 13 == CONTROL_AND_STATE >> 13
        && (SET_PENDING.contains(&address)
            || address == CONTROL_AND_STATE
            || address == TRIGGER
            || SysTick::is_watched(address))
}

/// The observer's data about a block.
#[derive(Clone, Copy)]
pub struct About {
    pub in_handler: bool,
    /// The block begins at an address of the vector table.
    pub is_vector: bool,
}

impl About {
    /// Describes a block in translation.
    pub fn new(processor: &Processor, block: Block) -> Self {
        let in_handler = running(processor) != 0;
        let is_vector = in_handler && exceptions::is_vector(processor, block.address());
        Self { in_handler, is_vector }
    }

    pub fn packed(self) -> usize {
        usize::from(self.in_handler) | usize::from(self.is_vector) << 1
    }

    pub fn unpacked(packed: usize) -> Self {
        Self { in_handler: packed & 1 == 1, is_vector: packed >> 1 & 1 == 1 }
    }

    /// Returns `true` if an exception may have begun or ended before this block. `active` is the
    /// number of active exceptions.
    pub fn is_notable(self, active: u64) -> bool {
        if self.in_handler { self.is_vector || active != 1 } else { active > 0 }
    }
}

/// The state of the processor, as far as it has been detected.
pub struct Arm {
    /// The stack of active exceptions: the running one is last.
    active: Vec<u32>,
    /// The number in the `svc` that was executed last, until its handler begins.
    called: u64,
    primask: bool,
    faultmask: bool,
    basepri: u64,
    /// Thread mode is unprivileged: writes of masks have no effect in it.
    is_unprivileged: bool,
    masked: Masked,
    /// `None` if the processor's clock is not known.
    systick: Option<SysTick>,
}

impl Arm {
    /// The state after a reset. `hertz` is the processor's clock; 0 if it is not known. SysTick's
    /// `reference` clock is slower by that ratio.
    pub fn new(hertz: u64, reference: u64) -> Self {
        Self {
            active: Vec::new(),
            called: 0,
            primask: false,
            faultmask: false,
            basepri: 0,
            is_unprivileged: false,
            masked: Masked::default(),
            systick: (hertz > 0).then(|| SysTick::new(hertz, reference)),
        }
    }

    /// Returns the number of active exceptions.
    pub fn active(&self) -> u64 {
        self.active.len() as u64
    }

    /// Records the events of a block that begins. `special` is the packed instruction before it, or
    /// 0.
    pub fn step(
        &mut self,
        special: u64,
        about: About,
        processor: &Processor,
        clock: &mut Clock,
        events: &mut Events,
    ) {
        let is_privileged = special & THREAD == 0 || !self.is_unprivileged;
        match decode(special & !THREAD) {
            Some(Special::Call(number)) => self.called = number,
            Some(Special::Switch { disables, primask, faultmask }) if is_privileged => {
                self.primask = if primask { disables } else { self.primask };
                self.faultmask = if faultmask { disables } else { self.faultmask };
            }
            Some(Special::Write { special, register }) if is_privileged => {
                self.written(special, processor.register(register as usize).into(), events);
            }
            Some(_) | None => {}
        }
        self.note_exceptions(about, processor, clock, events);
        let masked = self.primask || self.faultmask || self.basepri != 0;
        self.masked.set(masked, kind::MASKED, events);
    }

    fn written(&mut self, special: u64, value: u64, events: &mut Events) {
        let priority = value & 0xff;
        match special {
            sysm::PSP => events.record(kind::SPACE, value),
            sysm::PRIMASK => self.primask = value & 1 == 1,
            sysm::FAULTMASK => self.faultmask = value & 1 == 1,
            sysm::BASEPRI => self.basepri = priority,
            sysm::BASEPRI_MAX => {
                if priority != 0 && (self.basepri == 0 || priority < self.basepri) {
                    self.basepri = priority;
                }
            }
            _ => self.is_unprivileged = value & 1 == 1,
        }
    }

    fn note_exceptions(
        &mut self,
        about: About,
        processor: &Processor,
        clock: &mut Clock,
        events: &mut Events,
    ) {
        if !about.in_handler {
            while !self.active.is_empty() {
                self.leave(events);
            }
            return;
        }
        let link = processor.register(LINK);
        if about.is_vector && link >> 24 == 0xff {
            self.enter(link, processor, clock, events);
        } else if self.active.len() > 1 {
            let running = running(processor);
            while self.active.last().is_some_and(|last| *last != running) {
                self.leave(events);
            }
        }
    }

    fn enter(&mut self, link: u32, processor: &Processor, clock: &mut Clock, events: &mut Events) {
        let exception = running(processor);
        while let Some(last) = self.active.last() {
            if exceptions::goes_on(processor, *last, self.active.len(), exception, link) {
                break;
            }
            self.leave(events);
        }
        self.active.push(exception);
        let number = if exception == SVCALL { self.called } else { 0 };
        events.record(kind::EXCEPTION, u64::from(exception) | number << 16);
        if exception == SYSTICK
            && let Some(systick) = &mut self.systick
        {
            let now = clock.now();
            if let Some(due) = systick.skip(now) {
                events.record(kind::SYSTICK, now - due);
            }
        }
    }

    fn leave(&mut self, events: &mut Events) {
        const NMI: u32 = 2;
        if let Some(exception) = self.active.pop() {
            events.record(kind::EXCEPTION_RETURN, exception.into());
            self.faultmask &= exception == NMI;
        }
    }

    /// Takes in a store of `value` to an address of [`is_watched`], after the store.
    pub fn stored(&mut self, address: u64, value: u32, clock: &mut Clock, events: &mut Events) {
        const FIRST_INTERRUPT: u64 = 16;
        if SysTick::is_watched(address) {
            let now = clock.at_device();
            if let Some(systick) = &mut self.systick {
                systick.stored(address, value, now);
            }
            return;
        }
        match address {
            CONTROL_AND_STATE => {
                let bits = [(31, kind::PENDED, 2), (28, kind::PENDED, 14), (26, kind::PENDED, 15)];
                let clears = [(27, kind::UNPENDED, 14), (25, kind::UNPENDED, 15)];
                for (bit, kind, exception) in bits.into_iter().chain(clears) {
                    if value >> bit & 1 == 1 {
                        events.record(kind, exception);
                    }
                }
            }
            TRIGGER => events.record(kind::PENDED, FIRST_INTERRUPT + u64::from(value & 0x1ff)),
            _ => {
                let first = FIRST_INTERRUPT + (address - SET_PENDING.start) / 4 * 32;
                (0..32).filter(|bit| value >> bit & 1 == 1).for_each(|bit| {
                    events.record(kind::PENDED, first + bit);
                });
            }
        }
    }
}
