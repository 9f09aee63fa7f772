//! A condition variable for threads: waiting, with a mutex unlocked meanwhile, until another task
//! has changed the protected value.
//!
//! Waiters are in one of two queues. [`Condvar::notify_all`] sends new waiters to the other, and
//! empties this one, a waiter in a masked window. So it ends, whatever the woken threads do.
//!
//! # Soundness
//! As for `wait`: a waiter is on the stack of its thread until it has left its queue.

use crate::{
    arch::{self, Mask},
    ceiling::without_switches,
    kernel::assert_may_wait,
    me::Me,
    mutex::Guard,
    paths::{tasks, waits},
    queue::wait_until,
    records::{KERNEL, WaitQueue, Waiter},
    shared::{Masked, Shared},
    time::TimedOut,
};
use core::{mem::MaybeUninit, ptr::NonNull};

/// A condition variable: threads wait for a change of the value that a [`Mutex`](crate::Mutex)
/// protects.
///
/// A wait may end without a notification; [`wait_while`](Self::wait_while) and
/// [`wait_while_until`](Self::wait_while_until) check the condition.
pub struct Condvar {
    queues: [WaitQueue; 2],
    /// The number of times that all were notified. Its lowest bit is the queue for new waiters.
    /// Wraps.
    rounds: Shared<u32>,
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl Condvar {
    /// A condition variable without waiters.
    #[must_use]
    pub const fn new() -> Self {
        Self { queues: [const { WaitQueue::new() }; 2], rounds: Shared::new(0) }
    }

    fn queue(&self, round: u32) -> &WaitQueue {
        &self.queues[round as usize % 2]
    }

    /// Wakes the most urgent waiter, if there is one. A thread that waits for the mutex does not
    /// run before the mutex is unlocked.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too. Constant time.
    pub fn notify_one(&self) {
        let (mask, m) = Mask::set();
        self.notify(m, mask, self.queue(self.rounds.get(m)));
    }

    /// Wakes the first waiter of a queue, and restores the interrupt state.
    fn notify(&self, m: Masked, mask: Mask, queue: &WaitQueue) {
        match queue.first(m) {
            // SAFETY: interrupts are masked, shown by the `Masked` argument.
            Some(first) => unsafe {
                waits::hand_over_and_restore(queue, mask, NonNull::from(first));
            },
            None => mask.restore(),
        }
    }

    /// Wakes every thread that waits.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too. A step for each waiter,
    /// with interrupts masked for one at a time. No task runs until all have been woken, and then
    /// the most urgent.
    pub fn notify_all(&self) {
        without_switches(|| self.notify_each());
    }

    fn notify_each(&self) {
        let (mask, m) = Mask::set();
        let before = self.rounds.get(m);
        mask.restore();
        // Waiters that an interrupted call has left.
        self.drain(before, before.wrapping_sub(1));
        let (mask, m) = Mask::set();
        let is_latest = self.rounds.get(m) == before;
        if is_latest {
            self.rounds.set(m, before.wrapping_add(1));
        }
        mask.restore();
        // Otherwise a call in between has woken those that waited.
        if is_latest {
            self.drain(before.wrapping_add(1), before);
        }
    }

    /// Empties the queue of `old`, as long as the round is `now`.
    fn drain(&self, now: u32, old: u32) {
        loop {
            let (mask, m) = Mask::set();
            let queue = self.queue(old);
            if self.rounds.get(m) != now || queue.is_empty(m) {
                return mask.restore();
            }
            self.notify(m, mask, queue);
        }
    }

    /// Unlocks the mutex, waits until notified, and locks the mutex again.
    ///
    /// # Panics
    /// In a critical section.
    #[track_caller]
    pub fn wait<T>(&self, me: &Me, guard: Guard<T>) -> Guard<T> {
        self.wait_for(me, guard, None).0
    }

    /// Unlocks the mutex, waits until notified or until `due`, in ticks of the board's clock, and
    /// locks the mutex again. Returns whether it was notified.
    ///
    /// # Panics
    /// In a critical section.
    #[track_caller]
    pub fn wait_until<T>(&self, me: &Me, guard: Guard<T>, due: u64) -> (Guard<T>, bool) {
        self.wait_for(me, guard, Some(due))
    }

    /// Waits as long as `condition` holds for the value of the mutex.
    ///
    /// # Panics
    /// In a critical section, if it must wait.
    #[track_caller]
    pub fn wait_while<T>(
        &self,
        me: &Me,
        mut guard: Guard<T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> Guard<T> {
        while condition(&mut guard) {
            guard = self.wait(me, guard);
        }
        guard
    }

    /// Waits as long as `condition` holds for the value of the mutex, until `due` at the latest, in
    /// ticks of the board's clock. Locking the mutex again may take longer.
    ///
    /// # Errors
    /// If the condition still holds once `due` has come and the mutex is locked again. The mutex is
    /// unlocked then. ([`wait_until`](Self::wait_until) returns its guard in any case.)
    ///
    /// # Panics
    /// In a critical section, if it must wait.
    #[track_caller]
    pub fn wait_while_until<T>(
        &self,
        me: &Me,
        mut guard: Guard<T>,
        mut condition: impl FnMut(&mut T) -> bool,
        due: u64,
    ) -> Result<Guard<T>, TimedOut> {
        let mut may_wait = true;
        while condition(&mut guard) {
            if !may_wait {
                return Err(TimedOut);
            }
            (guard, may_wait) = self.wait_until(me, guard, due);
        }
        Ok(guard)
    }

    #[track_caller]
    fn wait_for<T>(&self, me: &Me, guard: Guard<T>, due: Option<u64>) -> (Guard<T>, bool) {
        let (mask, m) = Mask::set();
        assert_may_wait(mask, "Condvar::wait");
        let task = KERNEL.current(m);
        let mut place = MaybeUninit::uninit();
        let waiter = Waiter::in_place(&mut place, task);
        // In the queue before the mutex is unlocked: a notification after that is not missed.
        task.waiter.set(m, Some(NonNull::from(waiter)));
        self.queue(self.rounds.get(m)).insert(m, waiter);
        let mutex = guard.release(m, mask);
        // A lower priority may have been given back with the mutex.
        waiter.move_to_level_of_task(m);
        // A more urgent thread may have locked the mutex and notified in `release`.
        let notified = match due {
            Some(due) if waiter.is_waiting(m) => wait_until(m, mask, task, waiter, due),
            _ => {
                while waiter.is_waiting(m) {
                    tasks::block(m, task);
                }
                true
            }
        };
        arch::unmask(m);
        (mutex.lock(me), notified)
    }
}
