//! The run queue under test: the published kernel's, and one that does the same in constant time.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::{arena::Arena, refusal::Refusal};

/// The run queue under test: a ring of tasks in order of arrival. One worker touches it at a time.
pub struct Queue {
    ring: &'static [Entry],
    front: AtomicU32,
    length: AtomicU32,
    /// `true`: finds a task by turning the ring round.
    linear: bool,
}

/// An entry of the published kernel's queue.
pub struct Entry {
    pub task: AtomicU32,
    /// The number of the worker that owns the task.
    pub space: AtomicU32,
    asleep: AtomicU32,
}

impl Queue {
    /// An empty queue for `capacity` tasks.
    ///
    /// # Errors
    /// The arena has no room for the ring.
    pub fn new(arena: &Arena, capacity: usize, linear: bool) -> Result<Self, Refusal> {
        let entry = |_| {
            Ok(Entry {
                task: AtomicU32::new(0),
                space: AtomicU32::new(0),
                asleep: AtomicU32::new(0),
            })
        };
        Ok(Self {
            ring: arena.fill(capacity, entry)?,
            front: AtomicU32::new(0),
            length: AtomicU32::new(0),
            linear,
        })
    }

    /// The first task; `None` if the queue is empty.
    pub fn head(&self) -> Option<&Entry> {
        (self.length.load(Relaxed) > 0).then(|| &self.ring[self.front.load(Relaxed) as usize])
    }

    /// Appends a task. The caller keeps to the capacity.
    pub fn push(&self, task: u32, space: u32, asleep: u32) {
        let length = self.length.load(Relaxed);
        let place = self.wrap(self.front.load(Relaxed) + length);
        let entry = &self.ring[place as usize];
        entry.task.store(task, Relaxed);
        entry.space.store(space, Relaxed);
        entry.asleep.store(asleep, Relaxed);
        self.length.store(length + 1, Relaxed);
    }

    fn drop_head(&self) {
        self.front.store(self.wrap(self.front.load(Relaxed) + 1), Relaxed);
        self.length.store(self.length.load(Relaxed) - 1, Relaxed);
    }

    fn wrap(&self, place: u32) -> u32 {
        let capacity = self.ring.len() as u32;
        if place >= capacity { place - capacity } else { place }
    }

    /// Passes every entry through the head once: calls `change` on the task's entry, and puts all
    /// others, and this one if `keep`, back at the end. The order does not change.
    fn turn(&self, task: u32, keep: bool, change: impl Fn(&Entry)) {
        for _ in 0..self.length.load(Relaxed) {
            let Some(head) = self.head() else { return };
            let found = head.task.load(Relaxed) == task;
            if found {
                change(head);
            }
            let (space, asleep, this) =
                (head.space.load(Relaxed), head.asleep.load(Relaxed), head.task.load(Relaxed));
            self.drop_head();
            if keep || !found {
                self.push(this, space, asleep);
            }
        }
    }

    /// Marks a task as asleep. The task must be at the head.
    #[inline(never)]
    pub fn sleep(&self, task: u32) {
        let sleep = |entry: &Entry| entry.asleep.store(1, Relaxed);
        if self.linear {
            self.turn(task, true, sleep)
        } else {
            self.head().into_iter().for_each(sleep)
        }
    }

    /// Removes a task. The task must be at the head, unless the queue is linear.
    #[inline(never)]
    pub fn remove(&self, task: u32) {
        if self.linear { self.turn(task, false, |_| ()) } else { self.drop_head() }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use core::mem::MaybeUninit;
    use std::{boxed::Box, vec, vec::Vec};

    use super::*;

    fn queue(linear: bool) -> Queue {
        let arena = Arena::new(Box::leak(vec![MaybeUninit::uninit(); 256].into_boxed_slice()));
        Queue::new(&arena, 5, linear).unwrap()
    }

    fn drain(queue: &Queue) -> Vec<u32> {
        let mut order = Vec::new();
        while let Some(task) = queue.head().map(|head| head.task.load(Relaxed)) {
            queue.sleep(task);
            assert_eq!(queue.head().unwrap().asleep.load(Relaxed), 1);
            order.push(task);
            queue.remove(task);
        }
        order
    }

    #[test]
    fn both_queues_run_tasks_in_order_of_arrival() {
        for linear in [false, true] {
            let queue = queue(linear);
            // Several times, so that the ring wraps at different places.
            for tasks in [3, 5, 1, 4] {
                (0..tasks).for_each(|task| queue.push(task, task % 2, 0));
                assert_eq!(drain(&queue), (0..tasks).collect::<Vec<_>>(), "linear: {linear}");
            }
        }
    }

    #[test]
    fn the_linear_queue_removes_from_the_middle() {
        let queue = queue(true);
        (0..5).for_each(|task| queue.push(task, 0, 0));
        queue.remove(2);
        assert_eq!(drain(&queue), [0, 1, 3, 4]);
    }
}
