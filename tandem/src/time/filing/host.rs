//! The filing of timers on the host, which has no threads: tests call it behind the alarm's handler.

#[cfg(test)]
use super::{TIMERS, wake};
use crate::{arch::Mask, shared::Masked};
#[cfg(test)]
use crate::{arch::masked, clock::set_alarm};

/// The task that files timers is to run: no such task exists here.
pub(super) fn begin(_: Masked, _: Mask) {}

/// Files all unfiled timers, one in each masked window, and sets the alarm as the task does.
#[cfg(test)]
pub(crate) fn run() {
    loop {
        let (mask, m) = Mask::set();
        let is_over = TIMERS.occupied.get(m).cast_signed() >= 0;
        if let Some(timer) = TIMERS.refile(m) {
            wake(m, mask, timer);
        }
        mask.restore();
        if is_over {
            break;
        }
    }
    masked(|m| {
        let due = TIMERS.first(m, TIMERS.slots(m));
        due.filter(|due| *due < TIMERS.armed.get(m)).into_iter().for_each(|due| set_alarm(m, due));
    });
}
