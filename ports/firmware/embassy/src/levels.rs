//! Priorities: an interrupt executor for each, on a line of its own.

use board::lines::{Line, set_urgency};
use chronoscope_suite::Priority;
use embassy_executor::{InterruptExecutor, SendSpawner};

/// From the least urgent: `Ordinary`, then `Urgent(1)` to `Urgent(8)`. What is `Idle` takes turns with `Ordinary`, since
/// nothing but sleep is below it.
pub const LEVELS: usize = 9;

/// Where tasks of each level are spawned.
pub type Spawners = [SendSpawner; LEVELS];

/// The first level's interrupt, as the processor counts: exceptions come before interrupts.
pub const FIRST_EXCEPTION: u32 = 16 + Line::Spare0 as u32;

const LINES: [Line; LEVELS] = [
    Line::Spare0,
    Line::Spare1,
    Line::Spare2,
    Line::Spare3,
    Line::Spare4,
    Line::Spare5,
    Line::Spare6,
    Line::Spare7,
    Line::Spare8,
];

static EXECUTORS: [InterruptExecutor; LEVELS] = [const { InterruptExecutor::new() }; LEVELS];

/// Starts all executors. More urgent than they are the experiments' interrupts, at 0, and the kernel's alarm, at 1.
pub fn start() -> Spawners {
    core::array::from_fn(|level| {
        set_urgency(LINES[level], 2 + (LEVELS - 1 - level) as u8);
        EXECUTORS[level].start(LINES[level])
    })
}

pub fn level(priority: Priority) -> usize {
    match priority {
        Priority::Urgent(urgency) => usize::from(urgency).clamp(1, LEVELS - 1),
        Priority::Ordinary | Priority::Idle => 0,
    }
}

macro_rules! handlers {
    ($($name:ident $level:literal),*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            // SAFETY: this is the handler of the line that start() has given to this executor.
            unsafe { EXECUTORS[$level].on_interrupt() }
        }
    )*};
}

handlers!(LINE_0 0, LINE_1 1, LINE_2 2, LINE_3 3, LINE_4 4, LINE_5 5, LINE_6 6, LINE_7 7, LINE_8 8);
