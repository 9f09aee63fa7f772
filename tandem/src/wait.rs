//! Who waits for an object: the most urgent first, equals in the order of their coming.
//!
//! Waiters of one level form a ring; the oldest of each ring is its leader, and the leaders form a list
//! from the most urgent down. So finding a place takes at most as many steps as there are levels, 32,
//! however many tasks wait; taking the first and taking any other out take constant time.
//!
//! A waiter lies in the future or on the stack of the task that waits, which takes it out before it goes.

use crate::{
    kernel,
    shared::{Masked, Shared},
    task::{Level, Task},
};
use core::{marker::PhantomPinned, mem::MaybeUninit, ptr::NonNull};

/// One task's place in a queue.
pub(crate) struct Waiter {
    task: Task,
    state: Shared<State>,
    leads: Shared<bool>,
    level: Shared<Level>,
    /// The ring of equals.
    next: Shared<NonNull<Waiter>>,
    prev: Shared<NonNull<Waiter>>,
    /// The list of leaders; `up` says nothing in its head.
    down: Shared<Option<NonNull<Waiter>>>,
    up: Shared<Option<NonNull<Waiter>>>,
    /// The queue it stands in, to be found again when the task's level changes.
    queue: Shared<Option<NonNull<WaitQueue>>>,
    /// What is handed over: a message's place, or the mutex waited for. The queue's owner knows.
    pub(crate) cargo: Shared<*mut ()>,
    _pinned: PhantomPinned,
}

/// Any value above `WAITING` says "served": the waiter's own address, which lies in a register, is the cheapest to store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct State(usize);

impl State {
    const OUTSIDE: Self = Self(0);
    const WAITING: Self = Self(1);

    #[inline(always)]
    fn served(waiter: NonNull<Waiter>) -> Self {
        Self(waiter.as_ptr().addr())
    }
}

impl Waiter {
    pub(crate) const fn new(task: Task) -> Self {
        Self {
            task,
            state: Shared::new(State::OUTSIDE),
            leads: Shared::new(false),
            level: Shared::new(0),
            next: Shared::new(NonNull::dangling()),
            prev: Shared::new(NonNull::dangling()),
            down: Shared::new(None),
            up: Shared::new(None),
            queue: Shared::new(None),
            cargo: Shared::new(core::ptr::null_mut()),
            _pinned: PhantomPinned,
        }
    }

    /// Makes a waiter on a thread's stack, with only the fields written that are read before `insert` writes them.
    #[inline(always)]
    pub(crate) fn on_stack(place: &mut MaybeUninit<Self>, task: Task) -> &Self {
        let this = place.as_mut_ptr();
        // SAFETY: the place is ours. Of the fields left out, `cargo` is read only where the object's code has written
        // it, and the others only in a queue, once `insert` has.
        unsafe {
            (&raw mut (*this).task).write(task);
            (&raw mut (*this).state).write(Shared::new(State::OUTSIDE));
            &*this
        }
    }

    pub(crate) fn task(&self) -> Task {
        self.task
    }

    #[inline(always)]
    pub(crate) fn is_served(&self, m: Masked) -> bool {
        self.state.get(m) > State::WAITING
    }

    /// The same, of a moment ago: what is served stays so.
    #[inline(always)]
    pub(crate) fn was_served(&self) -> bool {
        // SAFETY: a word, and nobody takes a service back.
        unsafe { self.state.peek() > State::WAITING }
    }

    /// Likewise: only its owner makes it wait.
    #[inline(always)]
    fn was_waiting(&self) -> bool {
        // SAFETY: a word; a waiter that does not wait is in no queue.
        unsafe { self.state.peek() == State::WAITING }
    }

    pub(crate) fn is_waiting(&self, m: Masked) -> bool {
        self.state.get(m) == State::WAITING
    }

    /// Takes itself out of the queue, if it stands in one.
    pub(crate) fn leave(&self, m: Masked) {
        if let (true, Some(queue)) = (self.is_waiting(m), self.queue.get(m)) {
            // SAFETY: who waits in a queue borrows the object that holds it.
            unsafe { queue.as_ref() }.remove(m, self);
        }
    }

    /// Moves to the place that the task's level now gives it.
    pub(crate) fn move_to_level_of_task(&self, m: Masked) {
        if let (true, Some(queue)) =
            (self.is_waiting(m) && self.level.get(m) != self.task.level.get(m), self.queue.get(m))
        {
            // SAFETY: as in `leave`.
            let queue = unsafe { queue.as_ref() };
            queue.remove(m, self);
            queue.insert(m, self);
        }
    }
}

pub(crate) struct WaitQueue {
    head: Shared<Option<NonNull<Waiter>>>,
}

/// Follows a link to a waiter.
#[inline(always)]
fn at<'a>(_: Masked, link: NonNull<Waiter>) -> &'a Waiter {
    // SAFETY: links lead to waiters that stand in a queue; they stay in place and alive until they leave
    // it, which needs interrupts masked, and the reference is used only while they are.
    unsafe { link.as_ref() }
}

impl WaitQueue {
    pub(crate) const fn new() -> Self {
        Self { head: Shared::new(None) }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self, m: Masked) -> bool {
        self.head.get(m).is_none()
    }

    /// The most urgent waiter.
    #[inline(always)]
    pub(crate) fn first<'a>(&self, m: Masked) -> Option<&'a Waiter> {
        self.head.get(m).map(|head| at(m, head))
    }

    /// The level of the most urgent waiter.
    pub(crate) fn top_level(&self, m: Masked) -> Option<Level> {
        self.head.get(m).map(|head| at(m, head).level.get(m))
    }

    /// Adds a waiter at its task's level. At most 32 steps.
    #[inline(always)]
    pub(crate) fn insert(&self, m: Masked, waiter: &Waiter) {
        let (this, level) = (NonNull::from(waiter), waiter.task.level.get(m));
        waiter.level.set(m, level);
        waiter.state.set(m, State::WAITING);
        waiter.queue.set(m, Some(NonNull::from(self)));
        waiter.next.set(m, this);
        waiter.prev.set(m, this);
        if self.is_empty(m) {
            waiter.leads.set(m, true);
            waiter.down.set(m, None);
            self.head.set(m, Some(this));
        } else {
            self.insert_among(m, waiter, level);
        }
    }

    #[inline(never)]
    fn insert_among(&self, m: Masked, waiter: &Waiter, level: Level) {
        let (mut above, mut below) = (None, self.head.get(m));
        while let Some(leader) = below.map(|leader| at(m, leader)) {
            let its = leader.level.get(m);
            if its == level {
                return waiter.join(m, leader);
            } else if its > level {
                break;
            }
            (above, below) = (below, leader.down.get(m));
        }
        waiter.lead(m, above, below, self);
    }

    /// Takes out the most urgent waiter and marks it served.
    #[inline(always)]
    pub(crate) fn pop<'a>(&self, m: Masked) -> Option<&'a Waiter> {
        let first = self.first(m)?;
        self.serve(m, first);
        Some(first)
    }

    /// Takes out `first`, the most urgent waiter, and marks it served.
    #[inline(always)]
    pub(crate) fn serve(&self, m: Masked, first: &Waiter) {
        let this = NonNull::from(first);
        first.state.set(m, State::served(this));
        if first.next.get(m) == this {
            self.head.set(m, first.down.get(m));
        } else {
            first.abdicate(m, self);
        }
    }

    fn remove(&self, m: Masked, waiter: &Waiter) {
        waiter.state.set(m, State::OUTSIDE);
        if !waiter.leads.get(m) {
            waiter.unlink(m);
        } else if waiter.next.get(m) != NonNull::from(waiter) {
            waiter.abdicate(m, self);
        } else {
            waiter.close_gap(m, waiter.down.get(m), self);
        }
    }
}

impl Waiter {
    /// Becomes the last of a leader's ring.
    fn join(&self, m: Masked, leader: &Self) {
        let (this, last) = (NonNull::from(self), leader.prev.get(m));
        self.leads.set(m, false);
        self.next.set(m, NonNull::from(leader));
        self.prev.set(m, last);
        at(m, last).next.set(m, this);
        leader.prev.set(m, this);
    }

    /// Becomes a leader between two others.
    fn lead(&self, m: Masked, above: Option<NonNull<Self>>, below: Option<NonNull<Self>>, queue: &WaitQueue) {
        let this = Some(NonNull::from(self));
        self.leads.set(m, true);
        self.up.set(m, above);
        self.down.set(m, below);
        match above {
            Some(above) => at(m, above).down.set(m, this),
            None => queue.head.set(m, this),
        }
        if let Some(below) = below {
            at(m, below).up.set(m, this);
        }
    }

    /// Leaves the ring.
    fn unlink(&self, m: Masked) {
        let (next, prev) = (self.next.get(m), self.prev.get(m));
        at(m, next).prev.set(m, prev);
        at(m, prev).next.set(m, next);
    }

    /// Leaves the ring and makes the next in it the leader.
    fn abdicate(&self, m: Masked, queue: &WaitQueue) {
        let heir = self.next.get(m);
        self.unlink(m);
        at(m, heir).leads.set(m, true);
        at(m, heir).down.set(m, self.down.get(m));
        if let Some(down) = self.down.get(m) {
            at(m, down).up.set(m, Some(heir));
        }
        self.close_gap(m, Some(heir), queue);
    }

    /// Makes what stood above lead to `below`.
    fn close_gap(&self, m: Masked, below: Option<NonNull<Self>>, queue: &WaitQueue) {
        // `up` of the head says nothing.
        if queue.head.get(m) == Some(NonNull::from(self)) {
            queue.head.set(m, below);
        } else if let Some(above) = self.up.get(m) {
            at(m, above).down.set(m, below);
            if let Some(below) = below {
                at(m, below).up.set(m, Some(above));
            }
        }
    }
}

impl Drop for Waiter {
    /// A future that is dropped while it waits: no one may follow a link to it any more.
    #[inline(always)]
    fn drop(&mut self) {
        if self.was_waiting() {
            kernel::masked(|m| self.leave(m));
        }
    }
}
