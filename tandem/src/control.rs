//! The calls of tasks on other tasks: wait for the end, change the priority, measure the stack.
//!
//! # Soundness
//! A node that waits for an end is in [`List`], which argues for its links. A stack is painted
//! between `claim` and the thread's launch, while it belongs to the spawning call; its words are
//! read one by one, whatever they hold.

use crate::{
    arch::{self, Mask, masked},
    group::late,
    info::current,
    kernel::{self, AT_END},
    list::{List, Node},
    lock::settle,
    me::Me,
    records::{Info, KERNEL, Life, Priority, Rank, StillAlive, Task},
    shared::Masked,
    thread::Thread,
    time::TimedOut,
    trace::{self, Event},
};
use core::pin::pin;

/// Tasks that wait for the end of others.
static JOINING: List<Task> = List::new();

fn has_ended(m: Masked, task: &Task) -> u32 {
    u32::from(matches!(task.life.get(m), Life::Over | Life::Ending))
}

/// Serves the tasks that wait for the end of `ended`, which runs. A step for each task that waits
/// for any end, with interrupts restored to `mask` behind each.
///
/// The ending task has the highest priority from the first step to its burial: no task runs before its storage
/// can be used again, and no other end walks the list meanwhile.
fn report_end(m: Masked, mask: Mask, ended: Task) -> Masked {
    if JOINING.is_empty(m) {
        return m;
    }
    let highest = Priority::HIGHEST.level();
    ended.floor.set(m, Rank::for_level(highest));
    // Less than `settle` does, since the task runs and holds no lock.
    debug_assert!(ended.held.get(m).is_none());
    if ended.level.get(m) != highest {
        KERNEL.ready.relevel(m, ended, highest, true);
        trace::emit(Event::Priority, ended);
    }
    let (mask, m) = arch::open_window(mask);
    let m = JOINING.visit_in_windows(m, mask, has_ended);
    ended.floor.set(m, Rank::NONE);
    m
}

impl Info {
    /// Blocks the thread until the task has ended: its storage can be used again. Returns at once
    /// if it has ended, or was never spawned.
    ///
    /// Constant time besides the wait. In a program that calls this, the end of a task takes a step
    /// for each task that waits for an end, with interrupts masked for one at a time.
    ///
    /// # Panics
    /// If the task is the caller, or if it must wait in a critical section.
    #[track_caller]
    pub fn join(self, me: &Me) {
        self.assert_other();
        let node = pin!(Node::new(self.0));
        let node = node.as_ref();
        if let Err(_place) = JOINING.enter(node, Some("Info::join"), has_ended) {
            node.get_ref().event().wait(me);
        };
    }

    /// Blocks the thread until the task has ended or `due` has come, in ticks of the board's clock.
    ///
    /// # Errors
    /// If the task has not ended by `due`.
    ///
    /// # Panics
    /// As [`join`](Self::join).
    #[track_caller]
    pub fn join_until(self, me: &Me, due: u64) -> Result<(), TimedOut> {
        self.assert_other();
        let node = pin!(Node::new(self.0));
        let node = node.as_ref();
        match JOINING.enter(node, Some("Info::join_until"), has_ended) {
            Ok(_) => Ok(()),
            Err(place) => late(node.get_ref().event(), me, due, || place.leave()).map(drop),
        }
    }

    /// Completes when the task has ended. For coroutines.
    ///
    /// # Panics
    /// If the task is the caller, or as [`Event::signalled`](crate::Event::signalled).
    pub async fn ended(self) {
        self.assert_other();
        let node = pin!(Node::new(self.0));
        let node = node.as_ref();
        if let Err(_place) = JOINING.enter(node, None, has_ended) {
            node.get_ref().event().signalled().await;
        };
    }

    /// Asserts that the task is not the caller, and prepares for the wait.
    #[track_caller]
    fn assert_other(self) {
        let is_self = masked(|m| {
            AT_END.set(m, Some(report_end));
            KERNEL.runs(m, self.0)
        });
        assert!(!is_self, "task {}: waits for its own end", current().name());
    }
}

/// Changes the own priority of a thread. The caller is a thread. Returns `false` if `task` has
/// ended.
pub(crate) fn set_priority(task: Task, priority: Priority) -> bool {
    let (mask, m) = Mask::set();
    let is_alive = task.life.get(m) != Life::Over;
    let mut waits_for = None;
    if is_alive && task.bit.get(m) == 0 {
        // Claimed and not launched: its record still has the waiter of its earlier life.
        task.set_base(m, priority.level());
        task.set_level_of(m, priority.level(), 0);
    } else if is_alive {
        task.set_base(m, priority.level());
        if settle(m, task) {
            waits_for = task.waits_for.get(m);
            kernel::reschedule(m, mask);
        }
    }
    mask.restore();
    if let Some(lock) = waits_for {
        // SAFETY: a mutex that a thread waits for is static.
        unsafe { lock.as_ref() }.settle_owner();
    }
    is_alive
}

/// The word that fills a stack that is measured.
const PAINT: u32 = 0x5ca1_ab1e;

/// The bytes from `words` on that still have the paint.
///
/// # Safety
/// `count` words from there on are a stack, which is static.
pub(crate) unsafe fn unused_bytes(words: *const u32, count: usize) -> usize {
    // SAFETY: within the stack, which is static memory and so has a value; the thread may write
    // it meanwhile, which a volatile load of a word allows.
    let is_unused = |word: &usize| unsafe { words.add(*word).read_volatile() } == PAINT;
    (0..count).take_while(is_unused).count() * size_of::<u32>()
}

impl<const STACK: usize> Thread<STACK> {
    /// Changes the thread's own priority. If it has inherited a higher one or uses a ceiling, it
    /// keeps that as long as before. Whichever task is the most urgent then runs. Returns `false`
    /// if the thread has not been spawned or has ended.
    ///
    /// A step for each lock that the thread holds, with interrupts masked; if it waits for a mutex,
    /// one for each owner in the chain, with interrupts on between two. (A coroutine's priority is
    /// fixed: a poll of it may be suspended on the shared stack, below others in the order of
    /// priorities.)
    pub fn set_priority(&'static self, _: &Me, priority: Priority) -> bool {
        set_priority(&self.header, priority)
    }

    /// Spawns like [`spawn`](Self::spawn), with the stack prepared for
    /// [`stack_unused`](Self::stack_unused): a store for each word of it, with interrupts on.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub fn spawn_measured<F>(
        &'static self,
        priority: Priority,
        name: &'static str,
        body: F,
    ) -> Result<(), StillAlive>
    where
        F: FnOnce(&Me) + Send + 'static,
    {
        self.header.claim(name, priority)?;
        let words = self.stack.get().cast::<u32>();
        for word in 0..STACK / size_of::<u32>() {
            // SAFETY: within the stack, which `claim` has given to this call.
            unsafe { words.add(word).write_volatile(PAINT) };
        }
        #[cfg(any(test, feature = "tasks"))]
        masked(|m| {
            let place = core::ptr::NonNull::new(words);
            self.header.painted.set(m, place.map(|place| (place, STACK / size_of::<u32>())));
        });
        self.launch_claimed(body);
        Ok(())
    }

    /// The bytes of the stack that a thread started by [`spawn_measured`](Self::spawn_measured) has
    /// not used so far, or had not when it ended: its high-water mark. 0 or a small number after
    /// [`spawn`](Self::spawn).
    ///
    /// A load for each unused word, with interrupts on. May be called anywhere.
    #[must_use]
    pub fn stack_unused(&'static self) -> usize {
        // SAFETY: the stack is static.
        unsafe { unused_bytes(self.stack.get().cast(), STACK / size_of::<u32>()) }
    }
}
