//! The task that files timers anew.
//!
//! The task has the priority of the most urgent one whose timer is unfiled, and lets its equals run
//! after each timer. So a more urgent task waits for the filing of one timer, and an equal one for as
//! much at each of its turns.

use super::{TIMERS, UNFILED, wake};
use crate::{
    LEAST_STACK, Me, Thread,
    arch::{self, Mask},
    clock::set_alarm,
    kernel,
    paths::tasks,
    records::{KERNEL, Life, Priority, Task},
    shared::Masked,
};

/// Frames of the filing, of the board's [`arm`](super::Driver::arm), and of a foreign waker.
const FRAMES: usize = if cfg!(any(debug_assertions, events)) { 1024 } else { 160 };

static FILER: Thread<{ (LEAST_STACK + FRAMES).next_multiple_of(8) }> = Thread::new();

/// Has the task file the timers that are unfiled. Restores interrupts to `mask` for a moment at the
/// first call, which creates the task.
pub(super) fn begin(m: Masked, mask: Mask) {
    let task: Task = &FILER.header;
    if task.life.get(m) == Life::Over {
        return create(m, mask);
    }
    let level = TIMERS.levels[UNFILED].get(m).leading_zeros();
    if !KERNEL.ready.contains(m, task) {
        task.set_level(m, level);
        tasks::wake_and_preempt(m, mask, task);
    } else if level < task.level.get(m) {
        KERNEL.ready.relevel(m, task, level, false);
        kernel::reschedule_if_started(m, mask);
    }
}

/// Creates the task, which begins by filing, as the most urgent one.
#[cold]
fn create(_: Masked, mask: Mask) {
    // Interrupts may be masked for the time being: the spawn restores them to this state.
    let _ = mask;
    // An error: the task exists.
    let _ = FILER.spawn(Priority::HIGHEST, "timers", file);
}

/// The body of the task.
fn file(me: &Me) {
    loop {
        let (mask, m) = Mask::set();
        if TIMERS.occupied.get(m).cast_signed() < 0 {
            if let Some(timer) = TIMERS.refile(m) {
                wake(m, mask, timer);
            }
            mask.restore();
            me.yield_now();
            continue;
        }
        // Their alarm has not been set while they were filed.
        match TIMERS.first(m, TIMERS.occupied.get(m)) {
            Some(due) if due < TIMERS.armed.get(m) => {
                set_alarm(m, due);
                mask.restore();
            }
            _ => {
                tasks::block(m, KERNEL.current(m));
                arch::unmask(m);
            }
        }
    }
}
