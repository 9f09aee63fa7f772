//! The list of all living tasks, for a shell, a monitor or a supervisor. With the feature `tasks`.
//!
//! Each storage of a task enters the list when it is spawned for the first time, and stays there:
//! storage is static. So a walk needs no lock, and tasks may end and be spawned meanwhile.
//!
//! ```ignore
//! for task in tandem::tasks::all() {
//!     println!("{} {:?} {:?} {:?}", task.name, task.kind, task.priority, task.state);
//! }
//! ```

use crate::{
    arch::masked,
    control::unused_bytes,
    records::{Info, KERNEL, Life, Priority, TASKS, Task},
    shared::Masked,
};
use core::iter::FusedIterator;

/// The kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A [`Thread`](crate::Thread), or on RV64 a process.
    Thread,
    /// A [`Coroutine`](crate::Coroutine).
    Coroutine,
}

/// The state of a living task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The task runs; in a handler, it is the interrupted one.
    Running,
    /// The task can run, and another one that is more urgent or came before it does.
    Ready,
    /// The task waits for an object, a time, or the end of a task.
    Waiting,
}

/// A task at one moment: all fields are read in one masked window.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// The handle, for [`stack_unused`](Info::stack_unused), and with the features of these names
    /// for `processor_time` and `switches`.
    pub info: Info,
    /// The name given at the spawn.
    pub name: &'static str,
    /// The kind.
    pub kind: Kind,
    /// The effective priority, after inheritance and ceilings.
    pub priority: Priority,
    /// The state.
    pub state: State,
}

/// The tasks that are alive, each once; the idle task is not among them. The storage that was
/// spawned last for the first time comes first. A task that is spawned or ends during the walk may
/// or may not be shown.
///
/// May be called anywhere, with interrupts masked too. Each task takes a masked window of its own,
/// of constant length, and so does each storage whose task has ended.
#[must_use]
pub fn all() -> All {
    All { next: masked(|m| TASKS.get(m)) }
}

/// The iterator of [`all`].
#[derive(Clone)]
pub struct All {
    next: Option<Task>,
}

impl Iterator for All {
    type Item = Snapshot;

    fn next(&mut self) -> Option<Snapshot> {
        while let Some(task) = self.next {
            let (snapshot, next) = masked(|m| (snapshot(m, task), task.listed.get(m)));
            self.next = next.filter(|next| !next.is(task)); // the last is linked to itself
            if snapshot.is_some() {
                return snapshot;
            }
        }
        None
    }
}

impl FusedIterator for All {}

/// `None` for a task that has ended, or whose spawn is not complete.
fn snapshot(m: Masked, task: Task) -> Option<Snapshot> {
    if task.life.get(m) == Life::Over || task.bit.get(m) == 0 {
        return None;
    }
    let state = if KERNEL.runs(m, task) {
        State::Running
    } else if KERNEL.ready.contains(m, task) {
        State::Ready
    } else {
        State::Waiting
    };
    Some(Snapshot {
        info: Info(task),
        name: task.name(m),
        kind: if task.poll.get(m).is_some() { Kind::Coroutine } else { Kind::Thread },
        priority: Priority::of_level(task.level.get(m)),
        state,
    })
}

impl Info {
    /// The bytes of its stack that the thread has not used so far: as
    /// [`Thread::stack_unused`](crate::Thread::stack_unused). `None` for a coroutine, and for a
    /// thread whose latest spawn was not [`spawn_measured`](crate::Thread::spawn_measured).
    ///
    /// A load for each unused word, with interrupts on. May be called anywhere.
    #[must_use]
    pub fn stack_unused(self) -> Option<usize> {
        let (words, count) = masked(|m| self.0.painted.get(m))?;
        // SAFETY: `spawn_measured` stored the place of its stack, which is static.
        Some(unsafe { unused_bytes(words.as_ptr(), count) })
    }
}
