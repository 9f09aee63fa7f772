//! The observer of a RISC-V processor: its instructions of interest, and a model of its privilege.
//!
//! The model follows `mstatus` from reset on through writes, traps and returns, since the
//! debugger's registers do not include it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::events::{Events, Masked, kind};
use crate::{clock::Clock, clock::executed, emulator::Processor};

/// The address of a handler that no image has set yet.
const NOWHERE: u64 = u64::MAX;

/// The handlers' addresses in supervisor and machine mode, as written to `stvec` and `mtvec`.
static SUPERVISOR_HANDLER: AtomicU64 = AtomicU64::new(NOWHERE);
static MACHINE_HANDLER: AtomicU64 = AtomicU64::new(NOWHERE);
/// The number of instructions at the latest trap. A vectored entry is one jump, which may lead to
/// another address of the table: that is no second trap.
static TRAPPED: AtomicU64 = AtomicU64::new(NOWHERE);

/// The core-local interruptor of QEMU's `virt`: the software interrupt and the timer of the first
/// processor. The timer counts at 10 MHz.
const SOFTWARE_INTERRUPT: u64 = 0x0200_0000;
const TIMER: u64 = 0x0200_4000;
const NS_PER_TICK: u64 = 100;

/// The numbers of control registers.
mod csr {
    pub const SSTATUS: u64 = 0x100;
    pub const STVEC: u64 = 0x105;
    pub const SCAUSE: u64 = 0x142;
    pub const SIP: u64 = 0x144;
    pub const STIMECMP: u64 = 0x14d;
    pub const SATP: u64 = 0x180;
    pub const MSTATUS: u64 = 0x300;
    pub const MTVEC: u64 = 0x305;
    pub const MCAUSE: u64 = 0x342;
    pub const MIP: u64 = 0x344;
}

/// Bits of `mstatus`.
mod status {
    pub const SIE: u64 = 1 << 1;
    pub const MIE: u64 = 1 << 3;
    pub const SPIE: u64 = 1 << 5;
    pub const MPIE: u64 = 1 << 7;
    pub const SPP: u64 = 1 << 8;
    pub const MPP: u64 = 3 << 11;
    /// The bits that exist in `sstatus`.
    pub const OF_SUPERVISOR: u64 = SIE | SPIE | SPP;
    pub const ALL: u64 = OF_SUPERVISOR | MIE | MPIE | MPP;
}

/// The interrupts that an image can set pending: bits of `mip`.
const SOFTWARE_OF_MACHINE: u64 = 3;
const PENDABLE: [u64; 3] = [1, 5, 9];

/// An instruction after which the observer looks at the processor's registers.
#[derive(Clone, Copy)]
enum Special {
    Call,
    SupervisorReturn,
    MachineReturn,
    /// A write of a control register.
    Write {
        csr: u64,
        operation: Operation,
        operand: Operand,
    },
    /// A read of `scause` or `mcause` into this register.
    Cause {
        csr: u64,
        register: u64,
    },
    /// A swap of `stvec` or `mtvec` with a register that has the old value afterwards, so that the
    /// new one is not known.
    Swap {
        csr: u64,
    },
}

#[derive(Clone, Copy, PartialEq)]
enum Operation {
    Write,
    Set,
    Clear,
}

#[derive(Clone, Copy)]
enum Operand {
    Register(u64),
    Immediate(u64),
}

/// Returns the instruction's word if the observer looks at registers after it.
pub fn special(word: u32) -> Option<u64> {
    decode(word.into()).map(|_| word.into())
}

fn decode(word: u64) -> Option<Special> {
    match word {
        0x0000_0073 => return Some(Special::Call),
        0x1020_0073 => return Some(Special::SupervisorReturn),
        0x3020_0073 => return Some(Special::MachineReturn),
        _ => {}
    }
    if word & 0x7f != 0x73 {
        return None;
    }
    let (destination, source, csr) = (word >> 7 & 0x1f, word >> 15 & 0x1f, word >> 20);
    let function = word >> 12 & 7;
    if function == 2 && source == 0 {
        let is_cause = matches!(csr, csr::SCAUSE | csr::MCAUSE) && destination != 0;
        return is_cause.then_some(Special::Cause { csr, register: destination });
    }
    let operation = match function & 3 {
        1 => Operation::Write,
        2 => Operation::Set,
        3 => Operation::Clear,
        _ => return None,
    };
    if operation != Operation::Write && source == 0 {
        return None;
    }
    let operand = match function & 4 {
        0 if destination == source && source != 0 => {
            let is_handler = matches!(csr, csr::STVEC | csr::MTVEC);
            return is_handler.then_some(Special::Swap { csr });
        }
        0 => Operand::Register(source),
        _ => Operand::Immediate(source),
    };
    let is_watched = match csr {
        csr::SSTATUS | csr::MSTATUS | csr::SIP | csr::MIP => true,
        csr::STVEC | csr::MTVEC | csr::SATP | csr::STIMECMP => operation == Operation::Write,
        _ => false,
    };
    is_watched.then_some(Special::Write { csr, operation, operand })
}

/// Returns `true` if a store to `address` may set a timer or an interrupt.
pub fn is_watched(address: u64) -> bool {
    address == SOFTWARE_INTERRUPT || address.wrapping_sub(TIMER) < 8
}

/// A mode's handler whose address a block begins at.
#[derive(Clone, Copy)]
pub struct Entered {
    /// The interrupt's number from the entry of a vector table, or 0.
    supervisor: Option<u64>,
    machine: Option<u64>,
}

impl Entered {
    /// Compares the block's address with both handlers.
    pub fn at(address: u64) -> Self {
        let of = |handler: &AtomicU64| enters(handler.load(Relaxed), address);
        Self { supervisor: of(&SUPERVISOR_HANDLER), machine: of(&MACHINE_HANDLER) }
    }

    pub fn is_none(self) -> bool {
        self.supervisor.is_none() && self.machine.is_none()
    }
}

/// Returns a number if a block at `address` is a handler: the register's value, or one of the table
/// behind it in vectored mode. The number is the entry's in the table.
fn enters(handler: u64, address: u64) -> Option<u64> {
    // The architecture's own causes.
    const VECTORS: u64 = 16;
    let offset = address.wrapping_sub(handler & !3);
    let is_vectored = handler & 3 == 1;
    let is_entry = offset == 0 || (is_vectored && offset < 4 * VECTORS && offset.is_multiple_of(4));
    (handler != NOWHERE && is_entry).then_some(offset / 4)
}

#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Mode {
    User = 0,
    Supervisor = 1,
    Machine = 3,
}

impl Mode {
    fn from_bits(bits: u64) -> Self {
        match bits & 3 {
            0 => Self::User,
            3 => Self::Machine,
            _ => Self::Supervisor,
        }
    }
}

/// The modelled state of the processor.
pub struct Riscv {
    mode: Mode,
    /// `mstatus`, of which only the bits in [`status::ALL`] are kept.
    status: u64,
    machine: Masked,
    supervisor: Masked,
    /// The handler's address is not known, after a [`Special::Swap`].
    is_machine_swapped: bool,
    is_supervisor_swapped: bool,
    has_timer: bool,
    /// The value of the latest event [`kind::AHEAD`].
    ahead: u64,
}

impl Riscv {
    /// The state after a reset: machine mode with interrupts disabled. The time until they are
    /// first enabled does not count as masked.
    pub fn new() -> Self {
        Self {
            mode: Mode::Machine,
            status: 0,
            machine: Masked::from_reset(),
            supervisor: Masked::from_reset(),
            is_machine_swapped: false,
            is_supervisor_swapped: false,
            has_timer: false,
            ahead: 0,
        }
    }

    /// Records the events of a block that begins: `special` is the word of the instruction before
    /// it, or 0.
    pub fn step(
        &mut self,
        special: u64,
        entered: Entered,
        processor: &Processor,
        clock: &mut Clock,
        events: &mut Events,
    ) {
        let before = (self.mode, self.status);
        let special = decode(special);
        match special {
            Some(Special::Write { csr, operation, operand }) => {
                let value = match operand {
                    Operand::Register(number) => processor.wide(number as usize),
                    Operand::Immediate(value) => value,
                };
                self.written(csr, operation, value, clock, events);
            }
            Some(Special::Cause { csr, register }) => {
                let kind =
                    if csr == csr::SCAUSE { kind::SUPERVISOR_CAUSE } else { kind::MACHINE_CAUSE };
                events.record(kind, processor.wide(register as usize));
            }
            Some(Special::SupervisorReturn) => {
                events.record(kind::SUPERVISOR_RETURN, 0);
                self.supervisor_return();
            }
            Some(Special::MachineReturn) => {
                events.record(kind::MACHINE_RETURN, 0);
                self.machine_return();
            }
            Some(Special::Swap { csr: csr::MTVEC }) => {
                MACHINE_HANDLER.store(NOWHERE, Relaxed);
                self.is_machine_swapped = true;
            }
            Some(Special::Swap { .. }) => {
                SUPERVISOR_HANDLER.store(NOWHERE, Relaxed);
                self.is_supervisor_swapped = true;
            }
            Some(Special::Call) | None => {}
        }
        let is_call = matches!(special, Some(Special::Call));
        let sets_handler =
            matches!(special, Some(Special::Write { csr: csr::STVEC | csr::MTVEC, .. }));
        let now = executed();
        let entered = self.possible(entered);
        let is_jump = TRAPPED.load(Relaxed).checked_add(1) == Some(now);
        if !entered.is_none() && !sets_handler && (is_call || !is_jump) {
            TRAPPED.store(now, Relaxed);
            // A firmware that forwards a trap returns to the supervisor's handler, and has set
            // `mstatus` itself.
            let is_forwarded = matches!(special, Some(Special::MachineReturn))
                && self.mode == Mode::Supervisor
                && self.status & status::SIE == 0;
            self.trap(is_call, entered, is_forwarded, processor, clock, events);
        }
        if before != (self.mode, self.status) {
            self.note_masks(events);
        }
    }

    /// Leaves out the entries of vector tables that no trap leads to, since their interrupts are
    /// disabled: the image's own code is there, or it jumps from one entry to another.
    fn possible(&self, entered: Entered) -> Entered {
        let is_on = |mode, enabled| self.mode < mode || self.status & enabled != 0;
        let of = |vector: Option<u64>, is_on: bool| vector.filter(|number| *number == 0 || is_on);
        Entered {
            supervisor: of(entered.supervisor, is_on(Mode::Supervisor, status::SIE)),
            machine: of(entered.machine, is_on(Mode::Machine, status::MIE)),
        }
    }

    fn trap(
        &mut self,
        is_call: bool,
        entered: Entered,
        is_forwarded: bool,
        processor: &Processor,
        clock: &mut Clock,
        events: &mut Events,
    ) {
        /// The debugger's number of register a7.
        const NUMBER: usize = 17;
        let is_supervisor = entered.supervisor.is_some();
        if is_call {
            let kind = if is_supervisor { kind::SYSTEM_CALL } else { kind::MACHINE_CALL };
            events.record(kind, processor.wide(NUMBER));
        } else {
            if self.has_timer {
                let ahead = clock.now().wrapping_sub(executed());
                self.ahead(ahead, events);
            }
            match (entered.supervisor, entered.machine) {
                (Some(vector), _) => events.record(kind::SUPERVISOR_TRAP, vector),
                (None, vector) => events.record(kind::MACHINE_TRAP, vector.unwrap_or(0)),
            }
        }
        match is_supervisor {
            true if is_forwarded => {}
            true => self.enter_supervisor(),
            false => self.enter_machine(),
        }
    }

    fn enter_supervisor(&mut self) {
        let enabled = self.status & status::SIE != 0;
        self.put(status::SPIE, enabled);
        self.put(status::SPP, self.mode != Mode::User);
        self.put(status::SIE, false);
        self.mode = Mode::Supervisor;
    }

    fn enter_machine(&mut self) {
        let enabled = self.status & status::MIE != 0;
        self.put(status::MPIE, enabled);
        self.put(status::MIE, false);
        self.status = self.status & !status::MPP | (self.mode as u64) << 11;
        self.mode = Mode::Machine;
    }

    fn supervisor_return(&mut self) {
        // The trap into a handler of an unknown address, which a firmware or a kernel sets to
        // expect a fault of its own, has not been seen.
        if self.is_supervisor_swapped && self.mode == Mode::Supervisor {
            self.enter_supervisor();
        }
        let enabled = self.status & status::SPIE != 0;
        self.mode = if self.status & status::SPP != 0 { Mode::Supervisor } else { Mode::User };
        self.put(status::SIE, enabled);
        self.put(status::SPIE, true);
        self.put(status::SPP, false);
    }

    fn machine_return(&mut self) {
        if self.is_machine_swapped && self.mode == Mode::Machine {
            self.enter_machine();
        }
        let enabled = self.status & status::MPIE != 0;
        self.mode = Mode::from_bits(self.status >> 11);
        self.put(status::MIE, enabled);
        self.put(status::MPIE, true);
        self.status &= !status::MPP;
    }

    fn put(&mut self, bit: u64, value: bool) {
        self.status = if value { self.status | bit } else { self.status & !bit };
    }

    /// Takes in a write of a control register.
    fn written(
        &mut self,
        csr: u64,
        operation: Operation,
        value: u64,
        clock: &mut Clock,
        events: &mut Events,
    ) {
        match csr {
            csr::STVEC => {
                SUPERVISOR_HANDLER.store(value, Relaxed);
                self.is_supervisor_swapped = false;
            }
            csr::MTVEC => {
                MACHINE_HANDLER.store(value, Relaxed);
                self.is_machine_swapped = false;
            }
            csr::SATP => events.record(kind::SPACE, value),
            csr::STIMECMP => {
                let ahead = clock.now().wrapping_sub(executed());
                self.set_timer(kind::SUPERVISOR_TIMER, value, ahead, events);
            }
            csr::SSTATUS | csr::MSTATUS => {
                let exist = if csr == csr::SSTATUS { status::OF_SUPERVISOR } else { status::ALL };
                let kept = self.status & !exist;
                self.status = kept
                    | exist
                        & match operation {
                            Operation::Write => value,
                            Operation::Set => self.status | value,
                            Operation::Clear => self.status & !value,
                        };
            }
            _ => {
                for number in PENDABLE {
                    let names = value >> number & 1 == 1;
                    match operation {
                        Operation::Write | Operation::Set if names => {
                            events.record(kind::PENDED, number);
                        }
                        Operation::Clear if names => events.record(kind::UNPENDED, number),
                        Operation::Write => events.record(kind::UNPENDED, number),
                        _ => {}
                    }
                }
            }
        }
    }

    /// Takes in a store to an address of [`is_watched`], during the store.
    pub fn stored(
        &mut self,
        address: u64,
        processor: &Processor,
        clock: &mut Clock,
        events: &mut Events,
    ) {
        let ahead = clock.at_device().wrapping_sub(executed());
        if address == SOFTWARE_INTERRUPT {
            let [bit] = processor.words(SOFTWARE_INTERRUPT);
            let kind = if bit & 1 == 1 { kind::PENDED } else { kind::UNPENDED };
            return events.record(kind, SOFTWARE_OF_MACHINE);
        }
        let [low, high] = processor.words(TIMER);
        let due = u64::from(high) << 32 | u64::from(low);
        self.set_timer(kind::MACHINE_TIMER, due, ahead, events);
    }

    fn set_timer(&mut self, kind: u64, due: u64, ahead: u64, events: &mut Events) {
        self.has_timer = true;
        self.ahead(ahead, events);
        events.record(kind, due.saturating_mul(NS_PER_TICK));
    }

    fn ahead(&mut self, ahead: u64, events: &mut Events) {
        if self.ahead != ahead {
            self.ahead = ahead;
            events.record(kind::AHEAD, ahead);
        }
    }

    fn note_masks(&mut self, events: &mut Events) {
        let is_on = |bit| self.status & bit != 0;
        let machine = self.mode == Mode::Machine && !is_on(status::MIE);
        let supervisor =
            self.mode == Mode::Machine || (self.mode == Mode::Supervisor && !is_on(status::SIE));
        self.machine.set(machine, kind::MASKED, events);
        self.supervisor.set(supervisor, kind::SUPERVISOR_MASKED, events);
    }
}
