//! The task that files timers anew.
//!
//! The task has the priority of the most urgent one whose timer is unfiled, and lets its equals run
//! after each timer. So a more urgent task waits for the filing of one timer, and an equal one for as
//! much at each of its turns. A less urgent one waits for all: its priority falls only once no timer is
//! unfiled.
//!
//! That priority is the task's own, and not a lent one: the end of a ceiling, which a handler may use above
//! the task, returns it to that. Where a handler raises the task, and has woken another before, the
//! most urgent of both is sought anew ([`lock::raise_filer`]). A task that inherits a priority while it
//! waits raises this one, or the slots whose timers may be its own ([`lock::raise_timers`]).

use super::{TIMERS, UNFILED, wake};
use crate::{
    LEAST_STACK, Me, Thread,
    arch::{self, Mask},
    clock::set_alarm,
    kernel, lock,
    paths::tasks,
    records::{KERNEL, Level, Priority, Task},
    shared::{Masked, Shared},
};

/// The bytes of stack for the frames of the filing, of the board's [`arm`](super::Driver::arm), and of a
/// foreign waker. Of the 80 words, the filing and the `arm` of the boards here take 20 at most.
const FRAMES: usize =
    if cfg!(any(debug_assertions, events)) { 1024 } else { 80 * size_of::<usize>() };

static FILER: Thread<{ (LEAST_STACK + FRAMES).next_multiple_of(8) }> = Thread::new();

/// The state of the task.
static STATE: Shared<State> = Shared::new(State::New);

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum State {
    /// The task has not been created.
    New = 0,
    Waits = 1,
    /// The task is ready.
    Files = 2,
}

/// Has the task file the timers that are unfiled. The first call creates the task.
#[inline(always)]
pub(super) fn begin(m: Masked, mask: Mask) {
    if STATE.get(m) != State::Waits {
        return begin_rarely(m, mask);
    }
    let level = level(m);
    STATE.set(m, State::Files);
    FILER.header.set_base(m, level);
    FILER.header.set_level(m, level);
    tasks::wake_and_preempt(m, mask, &FILER.header);
}

/// The level of the most urgent task whose timer is unfiled. Priority 0 where all have ended, as where
/// a future of one task is in another.
#[inline(always)]
fn level(m: Masked) -> Level {
    arch::leading_zeros(TIMERS.levels[UNFILED].get(m) | 1)
}

/// Creates the task, or raises it to the level of the most urgent one whose timer is unfiled.
#[cold]
#[inline(never)]
fn begin_rarely(m: Masked, mask: Mask) {
    let (task, level): (Task, _) = (&FILER.header, level(m));
    if STATE.get(m) == State::New {
        STATE.set(m, State::Files);
        TIMERS.filer.set(m, Some(task));
        // No error: the task does not exist yet.
        let _ = FILER.spawn(Priority::of_level(level), "timers", file);
    } else {
        lock::raise_filer(m, task, level);
    }
    kernel::reschedule_if_started(m, mask);
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
                STATE.set(m, State::Waits);
                tasks::block(m, KERNEL.current(m));
                arch::unmask(m);
            }
        }
    }
}
