//! The guest's clock: a tick per instruction, plus the time for which the processor sleeps. A tick is
//! the time of an instruction, which is 1 ns unless `-icount`'s shift makes it longer.
//!
//! During an access to a device, QEMU gives the time by the function that the guest's timers use.
//! Between two such accesses it gives the processor's thread no time. There, the time is the count
//! of executed instructions, made by QEMU's generated code, plus the offset found at the last
//! device access. The offset grows when the processor sleeps, and only another thread can then read
//! it.

use std::{
    sync::{
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use crate::{api::Instruction, emulator::Emulator, give_up};

/// The number of executed instructions. Incremented by QEMU's generated code.
static EXECUTED: AtomicU64 = AtomicU64::new(0);
/// The number of executed instructions that may put the processor to sleep.
static SLEEPS: AtomicU64 = AtomicU64::new(0);

/// `wfi` on Arm, narrow and wide, and on RISC-V.
const SLEEP: [u32; 3] = [0xbf30, 0x8003_f3af, 0x1050_0073];

pub struct Clock {
    emulator: Emulator,
    /// The time of an instruction, in ns.
    tick: i64,
    /// The offset: the time less the time of the executed instructions, in ns.
    ahead: i64,
    /// The part of the time that was slept, in ns, when [`SLEEPS`] was `sleeps`.
    slept: i64,
    sleeps: u64,
    question: SyncSender<()>,
    answer: Receiver<i64>,
}

impl Clock {
    pub fn new(emulator: Emulator) -> Self {
        let (question, questions) = sync_channel::<()>(0);
        let (answers, answer) = sync_channel(0);
        let ask = move || questions.into_iter().all(|()| answers.send(emulator.slept()).is_ok());
        if let Err(error) = thread::Builder::new().name("guest's clock".to_owned()).spawn(ask) {
            give_up(&format!("cannot start a thread: {error}"));
        }
        let tick = emulator.tick().unwrap_or(1);
        Self { emulator, tick, ahead: 0, slept: 0, sleeps: 0, question, answer }
    }

    /// Returns the time of the running callback's device access, the current instruction included.
    pub fn at_device(&mut self) -> u64 {
        let now = self.emulator.time();
        self.ahead = now - self.tick * EXECUTED.load(Relaxed).cast_signed();
        self.slept = self.emulator.slept();
        self.sleeps = SLEEPS.load(Relaxed);
        (now / self.tick).cast_unsigned()
    }

    /// Returns the time before the block that begins to execute. All instructions must be counted.
    pub fn now(&mut self) -> u64 {
        let sleeps = SLEEPS.load(Relaxed);
        if self.sleeps != sleeps {
            self.sleeps = sleeps;
            // The processor's thread waits here for the answer, so the value does not change
            // meanwhile.
            let asked = self.question.send(()).ok().and_then(|()| self.answer.recv().ok());
            let slept = asked
                .unwrap_or_else(|| give_up("the thread that reads the guest's clock has ended"));
            self.ahead += slept - self.slept;
            self.slept = slept;
        }
        EXECUTED.load(Relaxed).wrapping_add_signed(self.ahead / self.tick)
    }
}

/// Returns the number of executed instructions, without the current one at the beginning of a block,
/// and with it during a store.
pub fn executed() -> u64 {
    EXECUTED.load(Relaxed)
}

/// Returns the number of executed instructions that may have put the processor to sleep.
pub fn sleeps() -> u64 {
    SLEEPS.load(Relaxed)
}

/// Has the count include what QEMU's clock counts too much: a block goes on after `wfi` of a RISC-V, and
/// its last `rest` instructions are counted before the sleep, and again when they execute.
pub fn count_after_sleep(instruction: Instruction, rest: usize) {
    if rest > 0 && SLEEP.contains(&instruction.word()) {
        instruction.add(&EXECUTED, rest as u64);
    }
}

/// Makes QEMU count the executions of this instruction.
pub fn count(instruction: Instruction) {
    instruction.add(&EXECUTED, 1);
    if SLEEP.contains(&instruction.word()) {
        instruction.add(&SLEEPS, 1);
    }
}
