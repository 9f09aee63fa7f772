//! Processor time by task, by interrupts, and by the idle task. With the feature `processor-time`.
//!
//! Each switch reads the clock and adds the time since the last reading to the task that ran, in
//! its record; so does the begin and the end of a handler that runs its body in
//! [`trace::interrupt`](crate::trace::interrupt). Handlers that do not are counted to the task that
//! they interrupt.

use crate::{
    arch::masked,
    clock::_tandem_processor_clock,
    records::{Info, Task},
    shared::{Masked, Shared},
};

struct Account {
    /// The time of the last reading.
    since: Shared<u64>,
    task: Shared<Option<Task>>,
    /// The number of handlers that run.
    handlers: Shared<u32>,
    in_handlers: Shared<u64>,
}

static ACCOUNT: Account = Account {
    since: Shared::new(0),
    task: Shared::new(None),
    handlers: Shared::new(0),
    in_handlers: Shared::new(0),
};

impl Account {
    /// Adds the time since the last reading to whatever has run.
    fn charge(&self, m: Masked) {
        let time = _tandem_processor_clock();
        let spent = time.wrapping_sub(self.since.get(m));
        self.since.set(m, time);
        if self.handlers.get(m) > 0 {
            self.in_handlers.set(m, self.in_handlers.get(m).wrapping_add(spent));
        } else if let Some(task) = self.task.get(m) {
            task.processor_time.set(m, task.processor_time.get(m).wrapping_add(spent));
        }
    }
}

/// Notes that `task` runs from here on.
pub(crate) fn on_run(task: Task) {
    masked(|m| {
        ACCOUNT.charge(m);
        ACCOUNT.task.set(m, Some(task));
    });
}

/// Notes that a handler begins or ends.
pub(crate) fn on_handler(begins: bool) {
    masked(|m| {
        ACCOUNT.charge(m);
        let handlers = ACCOUNT.handlers.get(m);
        ACCOUNT.handlers.set(m, if begins { handlers + 1 } else { handlers - 1 });
    });
}

impl Info {
    /// The processor time that the task has had, in ticks of
    /// [`Driver::processor_clock`](crate::time::Driver::processor_clock), since the program's start, in
    /// all lives of its storage. For the idle task, see [`idle_time`].
    ///
    /// May be called anywhere. Constant time.
    #[must_use]
    pub fn processor_time(self) -> u64 {
        masked(|m| {
            ACCOUNT.charge(m);
            self.0.processor_time.get(m)
        })
    }
}

/// The time in which no task was ready, in ticks of
/// [`Driver::processor_clock`](crate::time::Driver::processor_clock). May be called anywhere.
#[must_use]
pub fn idle_time() -> u64 {
    Info(crate::records::KERNEL.nobody()).processor_time()
}

/// The time that handlers with [`trace::interrupt`](crate::trace::interrupt) have had, in ticks of
/// [`Driver::processor_clock`](crate::time::Driver::processor_clock). May be called anywhere.
#[must_use]
pub fn interrupt_time() -> u64 {
    masked(|m| {
        ACCOUNT.charge(m);
        ACCOUNT.in_handlers.get(m)
    })
}
