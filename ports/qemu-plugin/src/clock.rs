//! The guest's clock: one tick an instruction, and what the processor sleeps through.
//!
//! At a device QEMU tells the time, by the same function that the guest's timers use. Between two
//! devices it tells the processor's thread nothing. There, the time is the count of executed
//! instructions, which QEMU's code counts itself, and its distance from the time at the last
//! device. That distance grows when the processor sleeps, and then another thread has to ask.

use std::{
    sync::{
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use crate::{api::Instruction, emulator::Emulator, give_up};

/// Executed instructions, the one that executes not included. QEMU's code adds to it.
static EXECUTED: AtomicU64 = AtomicU64::new(0);
/// How many of them were to put the processor to sleep.
static SLEEPS: AtomicU64 = AtomicU64::new(0);

/// `wfi` on Arm, narrow and wide, and on RISC-V.
const SLEEP: [u32; 3] = [0xbf30, 0x8003_f3af, 0x1050_0073];

pub struct Clock {
    emulator: Emulator,
    /// Time, less executed instructions.
    ahead: i64,
    /// How much of the time was slept, when [`SLEEPS`] was `sleeps`.
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
        Self { emulator, ahead: 0, slept: 0, sleeps: 0, question, answer }
    }

    /// The time at the device access of which the running callback tells, the instruction included.
    pub fn at_device(&mut self) -> u64 {
        let now = self.emulator.time();
        self.ahead = now - EXECUTED.load(Relaxed).cast_signed();
        self.slept = self.emulator.slept();
        self.sleeps = SLEEPS.load(Relaxed);
        now.cast_unsigned()
    }

    /// The time anywhere, if all instructions are counted: before the block that begins to execute.
    pub fn now(&mut self) -> u64 {
        let sleeps = SLEEPS.load(Relaxed);
        if self.sleeps != sleeps {
            self.sleeps = sleeps;
            // The processor waits here for the answer, so nothing changes meanwhile.
            let asked = self.question.send(()).ok().and_then(|()| self.answer.recv().ok());
            let slept = asked
                .unwrap_or_else(|| give_up("the thread that reads the guest's clock has ended"));
            self.ahead += slept - self.slept;
            self.slept = slept;
        }
        EXECUTED.load(Relaxed).wrapping_add_signed(self.ahead)
    }
}

/// Has QEMU count this instruction.
pub fn count(instruction: Instruction) {
    instruction.count(&EXECUTED);
    if SLEEP.contains(&instruction.word()) {
        instruction.count(&SLEEPS);
    }
}
