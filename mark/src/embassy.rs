//! The hooks of embassy's executors: a task's times on the processor and its waits from ready to running
//! are series of `chronoscope watch`. The program enables the feature `trace` of `embassy-executor`, and
//! gives names by `Board::name` of the feature `board`:
//!
//! ```ignore
//! let token = control().unwrap();
//! board.name(token.id(), "control");
//! spawner.spawn(token);
//! ```
//!
//! Two marks a poll and one a wake-up. Several executors may run, an interrupt's within the others.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// The greatest number of executors within each other, one a priority of interrupts and the thread's.
const DEEPEST: usize = 17;

/// The tasks that run within each other: the last one has the processor. An executor of an interrupt
/// takes its task away again before the interrupted code goes on, so plain loads and stores are enough.
static RUNNING: [AtomicU32; DEEPEST + 1] = [const { AtomicU32::new(0) }; DEEPEST + 1];
static DEPTH: AtomicUsize = AtomicUsize::new(0);

/// A task begins to run.
fn begins(task: u32) {
    let depth = (DEPTH.load(Relaxed) + 1).min(DEEPEST);
    RUNNING[depth].store(task, Relaxed);
    DEPTH.store(depth, Relaxed);
    crate::value!(task_runs, task as usize);
}

/// The task that began last no longer runs: the one before it goes on, or none, which is number 0.
fn ends() {
    let depth = DEPTH.load(Relaxed).saturating_sub(1);
    DEPTH.store(depth, Relaxed);
    crate::value!(task_runs, RUNNING[depth].load(Relaxed) as usize);
}

// SAFETY (of each function below): embassy-executor declares it with this signature, and nothing else
// in a program has its name.
#[unsafe(no_mangle)]
extern "Rust" fn _embassy_trace_poll_start(_executor: u32) {}

#[unsafe(no_mangle)]
extern "Rust" fn _embassy_trace_task_new(_executor: u32, _task: u32) {}

#[unsafe(no_mangle)]
extern "Rust" fn _embassy_trace_task_end(_executor: u32, _task: u32) {}

#[unsafe(no_mangle)]
extern "Rust" fn _embassy_trace_task_exec_begin(_executor: u32, task: u32) {
    begins(task);
}

#[unsafe(no_mangle)]
extern "Rust" fn _embassy_trace_task_exec_end(_executor: u32, _task: u32) {
    ends();
}

#[unsafe(no_mangle)]
extern "Rust" fn _embassy_trace_task_ready_begin(_executor: u32, task: u32) {
    crate::value!(task_ready, task as usize);
}

#[unsafe(no_mangle)]
extern "Rust" fn _embassy_trace_executor_idle(_executor: u32) {}
