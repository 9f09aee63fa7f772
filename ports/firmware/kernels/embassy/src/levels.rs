//! The suite's priorities as embassy's executors: one for each on Cortex-M, or the main program's
//! alone.

#[cfg_attr(all(target_arch = "arm", not(feature = "thread")), path = "levels/interrupts.rs")]
#[cfg_attr(any(target_arch = "riscv32", feature = "thread"), path = "levels/main_program.rs")]
mod arch;

pub use arch::{LEVELS, active, run};
use chronoscope_suite::Priority;
use embassy_executor::SendSpawner;

/// The spawner of each level, from the least urgent: `Ordinary`, then `Urgent(1)` to `Urgent(8)`,
/// as far as there are levels. `Idle` tasks share the level of `Ordinary`, since only sleep is
/// below it.
pub type Spawners = [SendSpawner; LEVELS];

pub fn level(priority: Priority) -> usize {
    match priority {
        Priority::Urgent(urgency) => arch::urgent(urgency),
        Priority::Ordinary | Priority::Idle => 0,
    }
}
