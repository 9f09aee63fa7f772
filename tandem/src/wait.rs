//! The queue of waiters of a semaphore, message queue or mutex: the most urgent first, equals in
//! the order of arrival.
//!
//! Waiters of one level form a ring. The oldest of each ring is its leader, and the leaders form a
//! list from the most urgent down. Insertion takes at most 32 steps, one per level, however many
//! tasks wait; removing the first or any other waiter takes constant time.
//!
//! # Soundness
//! - A waiter is in the pinned future, or on the stack, of the task that waits. It stays there, in
//!   place, until it has left the queue: a future leaves when dropped, and a blocked thread runs
//!   again only after it was served or its time has come, and then leaves. `Waiter` is not `Unpin`,
//!   so the compiler does not assume a `&mut` to a future around it to be unique.
//! - Links and `queue` are followed only with interrupts masked, and only of waiters whose state
//!   says that they are in a queue.
//! - Every future or call that waits in a queue borrows the object that contains the queue.
//! - A waiter without [`FOREIGN`] in its level has the address of a static header. With it, it has
//!   the parts of a waker that its future owns until the wait has ended (see `waking`).

use crate::{
    arch::{self, Mask, masked},
    kernel::{self, Switch},
    paths::tasks,
    records::{ALONE, FOREIGN, Header, KERNEL, Level, Sleeper, State, Task, WaitQueue, Waiter},
    shared::{Masked, Shared},
};
use core::{mem::MaybeUninit, ptr::NonNull};

impl State {
    #[inline(always)]
    fn waits(self) -> bool {
        self <= Self::FOLLOWING
    }

    #[inline(always)]
    fn served(waiter: NonNull<Waiter>) -> Self {
        Self(waiter.as_ptr().addr())
    }
}

impl Waiter {
    #[cfg(test)]
    pub(crate) const fn new(task: Task) -> Self {
        Self {
            queue: Shared::new(None),
            down: Shared::new(None),
            next: Shared::new(NonNull::dangling()),
            level: Shared::new(0),
            task: Shared::new(core::ptr::from_ref(task).cast()),
            state: Shared::new(State::OUTSIDE),
            prev: Shared::new(NonNull::dangling()),
            up: Shared::new(None),
            cargo: Shared::new(core::ptr::null_mut()),
            table: Shared::new(None),
            _pinned: core::marker::PhantomPinned,
        }
    }

    /// Makes a waiter of a task in `place`. Writes only the fields that are read before `insert` writes the
    /// others.
    #[inline(always)]
    pub(crate) fn in_place(place: &mut MaybeUninit<Self>, task: Task) -> &Self {
        let this = place.as_mut_ptr();
        // SAFETY: `place` is borrowed mutably. Of the fields left out, `cargo` is read only by
        // message queues, which write it first, `table` only for a foreign waker, and the others
        // only in a queue, where `insert` has written them.
        unsafe {
            (&raw mut (*this).task).write(Shared::new(core::ptr::from_ref(task).cast()));
            (&raw mut (*this).state).write(Shared::new(State::OUTSIDE));
            &*this
        }
    }

    /// Enters the waiter of a future into `queue`. The future keeps it in place until it has left
    /// the queue.
    #[cold]
    #[inline(never)]
    pub(crate) fn enter(
        place: &mut MaybeUninit<Self>,
        m: Masked,
        queue: &WaitQueue,
        sleeper: Sleeper,
        cargo: *mut (),
    ) {
        let this = place.as_mut_ptr();
        // SAFETY: as in `in_place`; `insert_sleeper` writes `task`.
        let waiter = unsafe {
            (&raw mut (*this).state).write(Shared::new(State::OUTSIDE));
            (&raw mut (*this).cargo).write(Shared::new(cargo));
            &*this
        };
        waiter.insert_sleeper(m, queue, sleeper.keep());
    }

    #[inline(always)]
    fn insert_sleeper(&self, m: Masked, queue: &WaitQueue, sleeper: Sleeper) {
        self.task.set(m, sleeper.data());
        match sleeper.table() {
            None => queue.insert(m, self),
            Some(table) => {
                self.table.set(m, Some(table));
                queue.insert_foreign(m, self);
            }
        }
    }

    /// A further poll of a future whose wait has not ended, or has a foreign waker: has it wake the
    /// sleeper of this poll from here on. Returns `true` if the wait has ended.
    #[cold]
    #[inline(never)]
    pub(crate) fn poll_again(&self, sleeper: Sleeper) -> bool {
        let (served, old) = masked(|m| (self.is_served(m), self.sleeper(m)));
        if !served {
            if old.is(sleeper) {
                return false;
            }
            // The future has moved to another task, or to another waker.
            let new = sleeper.keep();
            let moved = masked(|m| {
                let queue = self.queue.get(m).filter(|_| self.is_waiting(m))?;
                // SAFETY: as in `leave`.
                let queue = unsafe { queue.as_ref() };
                arch::breach("move");
                queue.remove(m, self);
                self.insert_sleeper(m, queue, new);
                Some(())
            });
            if moved.is_some() {
                old.release();
                return false;
            }
            new.release(); // served just now
        }
        old.release();
        true
    }

    /// Drops the foreign waker, if there is one. To be called once by the future, after its wait.
    pub(crate) fn release(&self) {
        masked(|m| self.sleeper(m)).release();
    }

    #[inline(always)]
    fn is_foreign(&self, m: Masked) -> bool {
        self.level.get(m) & FOREIGN != 0
    }

    /// The level without [`FOREIGN`].
    #[inline(always)]
    fn level(&self, m: Masked) -> Level {
        self.level.get(m) & !FOREIGN
    }

    /// The task or waker of a future's waiter.
    fn sleeper(&self, m: Masked) -> Sleeper {
        let table = if self.is_foreign(m) { self.table.get(m) } else { None };
        // SAFETY: the parts are those that `insert_sleeper` stored.
        unsafe { Sleeper::from_parts(self.task.get(m), table) }
    }

    /// The task of a waiter without a foreign waker.
    #[inline(always)]
    pub(crate) fn task(&self, m: Masked) -> Task {
        // SAFETY: without `FOREIGN`, the address belongs to a static header.
        unsafe { &*self.task.get(m).cast::<Header>() }
    }

    /// Calls the foreign waker of a served waiter, and lets a task run that is now the most urgent.
    /// The waiter may be gone on return: it is a pointer, since an argument that is a reference must
    /// stay valid until the function returns.
    #[cold]
    #[inline(never)]
    pub(crate) fn call(waiter: NonNull<Self>, m: Masked, mask: Mask) {
        at(m, waiter).sleeper(m).call(m);
        kernel::reschedule_if_started(m, mask);
    }

    /// Returns whether the wait has ended by being served.
    #[inline(always)]
    pub(crate) fn is_served(&self, m: Masked) -> bool {
        self.state.get(m) > State::OUTSIDE
    }

    /// Returns whether the wait of a task has ended by being served, read without masking
    /// interrupts. `false` may be outdated; a waiter that is served stays so. With a foreign waker
    /// always `false`, for which [`poll_again`](Self::poll_again) looks closer.
    #[inline(always)]
    pub(crate) fn task_was_served(&self) -> bool {
        // SAFETY: a word. An outdated value says "not served", for which the caller is polled
        // again.
        unsafe { self.state.peek() > State::CALLED }
    }

    pub(crate) fn is_waiting(&self, m: Masked) -> bool {
        self.state.get(m).waits()
    }

    /// Leaves its queue, if it is in one.
    pub(crate) fn leave(&self, m: Masked) {
        if let (true, Some(queue)) = (self.is_waiting(m), self.queue.get(m)) {
            // SAFETY: the waiter is in the queue, and its wait borrows the object that contains the
            // queue.
            unsafe { queue.as_ref() }.remove(m, self);
        }
    }

    /// Moves the waiter of a thread to the position of its level, if that has changed. At most 32
    /// steps.
    pub(crate) fn move_to_level_of_task(&self, m: Masked) {
        // A thread's waiter is never marked; a process's may be.
        let is_marked = cfg!(feature = "processes") && self.is_foreign(m);
        let own = if is_marked { self.level(m) } else { self.level.get(m) };
        let level = self.task(m).level.get(m);
        if let (true, Some(queue)) = (self.is_waiting(m) && own != level, self.queue.get(m)) {
            // SAFETY: as in `leave`.
            let queue = unsafe { queue.as_ref() };
            queue.remove(m, self);
            if is_marked {
                queue.insert_marked(m, self, level);
            } else {
                queue.insert(m, self);
            }
        }
    }
}

/// The progress of a future.
///
/// Not a `bool`: for `false` beside an uninitialized waiter, LLVM zeroes the whole future by a
/// call. (It does not if another flag is set beside it.)
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Phase {
    /// Not in a queue: the wait has not begun, or its end has been reported.
    Free = 1,
    Waits = 2,
    /// Waits for an event, with a foreign waker.
    Foreign = 3,
}

/// The waiter that a link leads to.
#[inline(always)]
fn at<'a>(_: Masked, link: NonNull<Waiter>) -> &'a Waiter {
    // SAFETY: links lead to waiters in a queue. They stay in place until they leave it, which needs
    // interrupts masked, and callers use the reference only while they are masked.
    unsafe { link.as_ref() }
}

impl WaitQueue {
    #[inline(always)]
    pub(crate) fn is_empty(&self, m: Masked) -> bool {
        self.head.get(m).is_none()
    }

    /// The most urgent waiter, and of equals the oldest.
    #[inline(always)]
    pub(crate) fn first<'a>(&self, m: Masked) -> Option<&'a Waiter> {
        self.head.get(m).map(|head| at(m, head))
    }

    /// The level of the most urgent waiter.
    pub(crate) fn top_level(&self, m: Masked) -> Option<Level> {
        self.head.get(m).map(|head| at(m, head).level(m))
    }

    /// Inserts the waiter of a task at its level, behind its equals. At most 32 steps.
    #[inline(always)]
    pub(crate) fn insert(&self, m: Masked, waiter: &Waiter) {
        let level = waiter.task(m).level.get(m);
        if self.is_empty(m) {
            return self.insert_first(m, waiter, level);
        }
        self.admit(m, waiter, level);
        self.insert_among(m, waiter, level);
    }

    /// Inserts a waiter with a foreign waker, at the level of the task whose poll has passed that.
    #[cold]
    fn insert_foreign(&self, m: Masked, waiter: &Waiter) {
        self.insert_marked(m, waiter, KERNEL.current_or_idle(m).level.get(m));
    }

    /// Inserts a waiter that the assembly leaves to Rust: with a foreign waker, or of a process whose
    /// wait has a time limit.
    #[cold]
    pub(crate) fn insert_marked(&self, m: Masked, waiter: &Waiter, level: Level) {
        if self.is_empty(m) {
            self.insert_first(m, waiter, level);
        } else {
            self.admit(m, waiter, level);
            self.insert_among(m, waiter, level);
        }
        waiter.level.set(m, level | FOREIGN);
        if waiter.is_alone(m) {
            waiter.next.set(m, ALONE);
            waiter.state.set(m, State::LEADING);
        }
    }

    /// Inserts a waiter into an empty queue.
    #[inline(always)]
    fn insert_first(&self, m: Masked, waiter: &Waiter, level: Level) {
        self.admit(m, waiter, level);
        waiter.state.set(m, State::SINGLE);
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
            let its = leader.level(m);
            if its == level {
                return waiter.join(m, leader);
            } else if its > level {
                break;
            }
            (above, below) = (below, leader.down.get(m));
        }
        waiter.lead(m, above, below, self);
    }

    /// Removes the most urgent waiter and marks it served.
    #[inline(always)]
    pub(crate) fn pop<'a>(&self, m: Masked) -> Option<(&'a Waiter, Option<Task>)> {
        let first = self.first(m)?;
        Some((first, self.serve(m, first)))
    }

    /// Removes `first`, the most urgent waiter, and marks it served. Returns its task, to be woken;
    /// `None` if it has a foreign waker, to be called.
    #[inline(always)]
    #[must_use]
    pub(crate) fn serve(&self, m: Masked, first: &Waiter) -> Option<Task> {
        let this = NonNull::from(first);
        first.state.set(m, State::served(this));
        if first.next.get(m) == this {
            self.head.set(m, first.down.get(m));
            return Some(first.task(m));
        }
        self.replace(m, first)
    }

    /// Serves the first waiter, which has equals or a foreign waker.
    #[inline(never)]
    fn replace(&self, m: Masked, first: &Waiter) -> Option<Task> {
        if first.is_alone(m) {
            self.head.set(m, first.down.get(m));
        } else {
            first.abdicate(m, self);
        }
        if first.is_foreign(m) {
            first.state.set(m, State::CALLED);
            return None;
        }
        Some(first.task(m))
    }

    fn remove(&self, m: Masked, waiter: &Waiter) {
        let state = waiter.state.get(m);
        waiter.state.set(m, State::OUTSIDE);
        if state == State::FOLLOWING {
            waiter.unlink(m);
        } else if !waiter.is_alone(m) {
            waiter.abdicate(m, self);
        } else {
            waiter.close_gap(m, waiter.down.get(m), self);
        }
    }
}

/// A served task, or a clone of the foreign waker of its waiter, which outlives the waiter.
pub(crate) fn detach(m: Masked, (waiter, task): (&Waiter, Option<Task>)) -> Sleeper {
    task.map_or_else(|| waiter.sleeper(m).keep(), Sleeper::task)
}

/// Makes a served task ready, or calls the foreign waker of its waiter. Returns `true` if a more
/// urgent task may be ready now: then call `reschedule_if_started`. The waiter may be gone on return.
pub(crate) fn rouse(m: Masked, (waiter, task): (&Waiter, Option<Task>)) -> bool {
    match task {
        Some(task) => kernel::wake(m, task),
        None => {
            waiter.sleeper(m).call(m);
            true
        }
    }
}

impl Waiter {
    #[inline(always)]
    fn is_alone(&self, m: Masked) -> bool {
        let next = self.next.get(m);
        next == NonNull::from(self) || next == ALONE
    }

    /// Becomes the last of a leader's ring.
    fn join(&self, m: Masked, leader: &Self) {
        let (this, first) = (NonNull::from(self), NonNull::from(leader));
        let last = if leader.is_alone(m) { first } else { leader.prev.get(m) };
        self.state.set(m, State::FOLLOWING);
        leader.state.set(m, State::LEADING);
        self.next.set(m, first);
        self.prev.set(m, last);
        at(m, last).next.set(m, this);
        leader.prev.set(m, this);
    }

    /// Becomes the leader of a new ring, between two other leaders.
    fn lead(
        &self,
        m: Masked,
        above: Option<NonNull<Self>>,
        below: Option<NonNull<Self>>,
        queue: &WaitQueue,
    ) {
        let this = Some(NonNull::from(self));
        self.state.set(m, State::SINGLE);
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

    /// Leaves its ring, which has at least one more waiter.
    fn unlink(&self, m: Masked) {
        let (next, prev) = (self.next.get(m), self.prev.get(m));
        at(m, next).prev.set(m, prev);
        at(m, prev).next.set(m, next);
        if next == prev {
            let rest = at(m, next);
            let (state, link) =
                if rest.is_foreign(m) { (State::LEADING, ALONE) } else { (State::SINGLE, next) };
            rest.state.set(m, state);
            rest.next.set(m, link);
        }
    }

    /// Leaves its ring and makes the next waiter in it the leader.
    fn abdicate(&self, m: Masked, queue: &WaitQueue) {
        let heir = self.next.get(m);
        at(m, heir).state.set(m, State::LEADING);
        self.unlink(m);
        at(m, heir).down.set(m, self.down.get(m));
        if let Some(down) = self.down.get(m) {
            at(m, down).up.set(m, Some(heir));
        }
        self.close_gap(m, Some(heir), queue);
    }

    /// Links the leader above to `below`, or makes `below` the first of the queue.
    fn close_gap(&self, m: Masked, below: Option<NonNull<Self>>, queue: &WaitQueue) {
        // `up` is undefined in the first leader.
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

/// Serves `first`, the most urgent waiter of `queue`, and lets its task run if that is the most
/// urgent.
///
/// # Safety
/// Interrupts are masked, and `mask` is their state before. They are masked again on return; other
/// tasks may have run in between, with interrupts on.
#[cfg(not(riscv))]
#[inline(never)]
pub(crate) unsafe extern "C" fn hand_over(queue: &WaitQueue, mask: Mask, first: NonNull<Waiter>) {
    // SAFETY: interrupts are masked, by this function's contract.
    let m = unsafe { Masked::assume() };
    // Passed as a pointer, not a reference: the woken task may free its waiter before this returns.
    match queue.serve(m, at(m, first)) {
        Some(task) => tasks::wake_and_preempt(m, mask, task),
        None => Waiter::call(first, m, mask),
    }
}

/// Calls `hand_over` and restores the interrupt state, as a tail call: a handler that ends by
/// giving needs no stack frame.
///
/// # Safety
/// Interrupts are masked, and `mask` is their state before.
#[cfg(riscv)]
#[inline(never)]
pub(crate) unsafe extern "C" fn hand_over_and_restore(
    queue: &WaitQueue,
    mask: Mask,
    first: NonNull<Waiter>,
) {
    // SAFETY: interrupts are masked, by this function's contract.
    let m = unsafe { Masked::assume() };
    // Passed as a pointer, not a reference: the woken task may free its waiter before this returns.
    match queue.serve(m, at(m, first)) {
        Some(task) => tasks::wake_and_restore(m, mask, task),
        None => {
            Waiter::call(first, m, mask);
            mask.restore();
        }
    }
}

/// Blocks the running thread in `queue` until it is served.
///
/// # Safety
/// The caller is a thread, with interrupts masked. They are masked again on return; other tasks
/// have run in between.
#[cfg(not(riscv))]
#[inline(never)]
pub(crate) unsafe extern "C" fn wait_in(queue: &WaitQueue) {
    let mut place = MaybeUninit::uninit();
    // SAFETY: the caller is a thread with interrupts masked, and `place` lives until it runs again.
    let (m, Switch { from, to }) = unsafe { (Masked::assume(), begin_wait(queue, &mut place)) };
    kernel::switch(m, from, to);
}

/// Enters the running thread into `queue`, with its waiter in `place`, and takes it out of the
/// ready set.
///
/// # Safety
/// The caller is a thread with interrupts masked. `place` stays valid and in place until the thread
/// runs again.
pub(crate) unsafe extern "C" fn begin_wait(
    queue: &WaitQueue,
    place: &mut MaybeUninit<Waiter>,
) -> Switch {
    // SAFETY: interrupts are masked, by this function's contract.
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

/// The less frequent part of [`begin_wait`], apart so that the rest calls nothing and saves no
/// registers.
#[inline(never)]
fn begin_wait_among(m: Masked, queue: &WaitQueue, waiter: &Waiter, me: Task) -> Switch {
    queue.insert(m, waiter);
    Switch { from: me, to: kernel::leave(m, me) }
}
