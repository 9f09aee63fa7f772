//! Who waits for an object: the most urgent first, equals in the order of their coming.
//!
//! Waiters of one level form a ring; the oldest of each ring is its leader, and the leaders form a list
//! from the most urgent down. So finding a place takes at most as many steps as there are levels, 32,
//! however many tasks wait; taking the first and taking any other out take constant time.
//!
//! A waiter lies in the future or on the stack of the task that waits, which takes it out before it goes.

use crate::{
    arch::Mask,
    kernel::{self, KERNEL},
    shared::{Masked, Shared},
    task::{Level, Task},
};
use core::{marker::PhantomPinned, mem::MaybeUninit, ptr::NonNull};

/// One task's place in a queue. The assembly of `arch` writes the first six fields at once.
#[repr(C)]
pub(crate) struct Waiter {
    /// The queue it stands in, to be found again when the task's level changes.
    queue: Shared<Option<NonNull<WaitQueue>>>,
    /// The list of leaders; `up` says nothing in its head.
    down: Shared<Option<NonNull<Waiter>>>,
    /// The ring of equals; `prev` says nothing in who is alone.
    next: Shared<NonNull<Waiter>>,
    level: Shared<Level>,
    task: Task,
    state: Shared<State>,
    prev: Shared<NonNull<Waiter>>,
    up: Shared<Option<NonNull<Waiter>>>,
    /// What is handed over: a message's place, or the mutex waited for. The queue's owner knows.
    pub(crate) cargo: Shared<*mut ()>,
    _pinned: PhantomPinned,
}

/// Any value above `LEADING` says "served": the waiter's own address, which lies in a register, is the cheapest to store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
struct State(usize);

impl State {
    const OUTSIDE: Self = Self(0);
    /// In a ring, behind its leader.
    const FOLLOWING: Self = Self(1);
    /// First of its ring.
    const LEADING: Self = Self(2);

    #[inline(always)]
    fn waits(self) -> bool {
        self == Self::FOLLOWING || self == Self::LEADING
    }

    #[inline(always)]
    fn served(waiter: NonNull<Waiter>) -> Self {
        Self(waiter.as_ptr().addr())
    }
}

#[cfg(all(target_os = "none", not(any(feature = "trace", feature = "time-slice"))))]
impl Waiter {
    pub(crate) const DOWN: usize = core::mem::offset_of!(Self, down);
    #[cfg(target_arch = "riscv32")]
    pub(crate) const NEXT: usize = core::mem::offset_of!(Self, next);
    #[cfg(target_arch = "arm")]
    pub(crate) const LEADING: usize = State::LEADING.0;
    pub(crate) const STATE: usize = core::mem::offset_of!(Self, state);
    pub(crate) const TASK: usize = core::mem::offset_of!(Self, task);
}

impl Waiter {
    #[cfg(test)]
    pub(crate) const fn new(task: Task) -> Self {
        Self {
            queue: Shared::new(None),
            down: Shared::new(None),
            next: Shared::new(NonNull::dangling()),
            level: Shared::new(0),
            task,
            state: Shared::new(State::OUTSIDE),
            prev: Shared::new(NonNull::dangling()),
            up: Shared::new(None),
            cargo: Shared::new(core::ptr::null_mut()),
            _pinned: PhantomPinned,
        }
    }

    /// Makes a waiter, with only the fields written that are read before `insert` writes them.
    #[inline(always)]
    pub(crate) fn in_place(place: &mut MaybeUninit<Self>, task: Task) -> &Self {
        let this = place.as_mut_ptr();
        // SAFETY: the place is ours. Of the fields left out, `cargo` is read only where the object's code has written
        // it, and the others only in a queue, once `insert` has.
        unsafe {
            (&raw mut (*this).task).write(task);
            (&raw mut (*this).state).write(Shared::new(State::OUTSIDE));
            &*this
        }
    }

    /// A future queues up. It leaves the queue before it goes, and does not move until then.
    #[cold]
    #[inline(never)]
    pub(crate) fn enter(
        place: &mut MaybeUninit<Self>,
        m: Masked,
        queue: &WaitQueue,
        task: Task,
        cargo: *mut (),
    ) {
        let waiter = Self::in_place(place, task);
        waiter.cargo.set(m, cargo);
        queue.insert(m, waiter);
    }

    pub(crate) fn task(&self) -> Task {
        self.task
    }

    #[inline(always)]
    pub(crate) fn is_served(&self, m: Masked) -> bool {
        self.state.get(m) > State::LEADING
    }

    /// The same, of a moment ago: what is served stays so.
    #[inline(always)]
    pub(crate) fn was_served(&self) -> bool {
        // SAFETY: a word, and nobody takes a service back.
        unsafe { self.state.peek() > State::LEADING }
    }

    pub(crate) fn is_waiting(&self, m: Masked) -> bool {
        self.state.get(m).waits()
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

/// How far a future has got.
///
/// Not a `bool`: its `false`, beside a waiter that is not written yet, LLVM merges into zeros for all of it, by a call.
/// (Where another flag beside it is set, it does not.)
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Phase {
    /// It has not begun to wait, or was told that it was served.
    Free = 1,
    Waits = 2,
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
        let level = waiter.task.level.get(m);
        if self.is_empty(m) {
            return self.insert_first(m, waiter, level);
        }
        self.admit(m, waiter, level);
        self.insert_among(m, waiter, level);
    }

    /// Adds a waiter where there is none yet.
    #[inline(always)]
    fn insert_first(&self, m: Masked, waiter: &Waiter, level: Level) {
        self.admit(m, waiter, level);
        waiter.state.set(m, State::LEADING);
        waiter.down.set(m, None);
        self.head.set(m, Some(NonNull::from(waiter)));
    }

    #[inline(always)]
    fn admit(&self, m: Masked, waiter: &Waiter, level: Level) {
        waiter.level.set(m, level);
        waiter.queue.set(m, Some(NonNull::from(self)));
        waiter.next.set(m, NonNull::from(waiter));
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
        let state = waiter.state.get(m);
        waiter.state.set(m, State::OUTSIDE);
        if state == State::FOLLOWING {
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
        let (this, first) = (NonNull::from(self), NonNull::from(leader));
        let last = if leader.next.get(m) == first { first } else { leader.prev.get(m) };
        self.state.set(m, State::FOLLOWING);
        self.next.set(m, first);
        self.prev.set(m, last);
        at(m, last).next.set(m, this);
        leader.prev.set(m, this);
    }

    /// Becomes a leader between two others.
    fn lead(
        &self,
        m: Masked,
        above: Option<NonNull<Self>>,
        below: Option<NonNull<Self>>,
        queue: &WaitQueue,
    ) {
        let this = Some(NonNull::from(self));
        self.state.set(m, State::LEADING);
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
        at(m, heir).state.set(m, State::LEADING);
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

/// Serves `first`, the most urgent waiter of `queue`, and lets its task run if that is the most urgent.
///
/// # Safety
/// Interrupts are masked. They are so on return, and in between let in by other tasks.
#[cfg(not(target_arch = "riscv32"))]
#[inline(never)]
pub(crate) unsafe extern "C" fn hand_over(queue: &WaitQueue, mask: Mask, first: NonNull<Waiter>) {
    // SAFETY: by the caller's word.
    let m = unsafe { Masked::assume() };
    // A pointer, not a reference: the task that is woken may free its waiter before this returns.
    let task = at(m, first).task();
    queue.serve(m, at(m, first));
    kernel::wake_and_preempt(m, mask, task);
}

/// The same, and lets interrupts in as they were: a handler that ends by giving needs no frame for what would be left to do.
///
/// # Safety
/// Interrupts are masked.
#[cfg(target_arch = "riscv32")]
#[inline(never)]
pub(crate) unsafe extern "C" fn hand_over_and_restore(
    queue: &WaitQueue,
    mask: Mask,
    first: NonNull<Waiter>,
) {
    // SAFETY: by the caller's word.
    let m = unsafe { Masked::assume() };
    // A pointer, not a reference: the task that is woken may free its waiter before this returns.
    let task = at(m, first).task();
    queue.serve(m, at(m, first));
    kernel::wake_and_restore(m, mask, task);
}

/// The running thread waits in `queue` until it is served.
///
/// # Safety
/// This is a thread, and interrupts are masked. They are so on return, and in between let in by other tasks.
#[cfg(not(target_arch = "riscv32"))]
#[inline(never)]
pub(crate) unsafe extern "C" fn wait_in(queue: &WaitQueue) {
    let mut place = MaybeUninit::uninit();
    // SAFETY: by the caller's word.
    let (m, Switch { from, to }) = unsafe { (Masked::assume(), begin_wait(queue, &mut place)) };
    kernel::switch(m, from, to);
}

/// The switch that is to be made.
#[repr(C)]
pub(crate) struct Switch {
    pub(crate) from: Task,
    pub(crate) to: Task,
}

/// Lets the running thread stand in `queue`, with its waiter in `place`, and stop being ready.
///
/// # Safety
/// This is a thread, interrupts are masked, and `place` stays where it is until the thread runs again.
pub(crate) unsafe extern "C" fn begin_wait(
    queue: &WaitQueue,
    place: &mut MaybeUninit<Waiter>,
) -> Switch {
    // SAFETY: by the caller's word.
    let m = unsafe { Masked::assume() };
    let me = KERNEL.current(m);
    let waiter = Waiter::in_place(place, me);
    me.waiter.set(m, Some(NonNull::from(waiter)));
    if !queue.is_empty(m) {
        return begin_wait_among(m, queue, waiter, me);
    }
    queue.insert_first(m, waiter, me.level.get(m));
    Switch { from: me, to: kernel::leave(m, me) }
}

/// A part of [`begin_wait`] of its own, so that the rest calls nothing and saves no registers.
#[inline(never)]
fn begin_wait_among(m: Masked, queue: &WaitQueue, waiter: &Waiter, me: Task) -> Switch {
    queue.insert(m, waiter);
    Switch { from: me, to: kernel::leave(m, me) }
}
