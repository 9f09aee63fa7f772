//! A mutex with a priority ceiling, for threads, coroutines and handlers.
//!
//! A task that uses the value runs at the ceiling meanwhile, so no other user can run: no task ever
//! waits, deadlock is impossible, and the shared stack keeps its order (a coroutine's priority
//! rises and falls within one poll, while it is the top one). The closure cannot await, and a
//! thread that blocks in it is detected by the next user. A thread may also lock the value and keep
//! the guard, since its stack is its own.
//!
//! # Soundness
//! - `free` excludes a second user whatever priorities the users have: it is tested and set to 0
//!   with interrupts masked, and set back when the closure has returned or the guard is dropped.
//!   The ceiling only makes sure that a correct program never finds it 0.
//! - The lock of a guard is in its thread's list of held locks until the guard is dropped, and is
//!   static. Closures nest, so a task's header has the rank of the most urgent, and each use keeps
//!   the rank of those around it.
//! - A closure that ends in the frequent way returns its task to the level before it. Each function
//!   that changes a task's own level, the ceilings that it holds or the waiters of its locks calls
//!   [`settle`], which marks the rank as outdated, whether or not the level changes. So does a
//!   thread that waits for a mutex, which it may get together with other waiters. Where the rank is
//!   outdated, the level is computed anew.

use crate::{
    arch::{self, Mask},
    info::current,
    kernel,
    lock::settle,
    me::Me,
    records::{KERNEL, Level, Lock, Priority, Rank, Task},
    shared::{Masked, Shared},
    trace::{self, Event},
};
use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

/// A value for tasks up to a given priority, its ceiling.
pub struct Ceiling<T> {
    /// The bit of the ceiling's level; 0 while the value is in use.
    free: Shared<u32>,
    /// For a guard: an entry in the list of its thread's locks.
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: `free` lets one user at a time reach the value, which may move between tasks.
unsafe impl<T: Send> Sync for Ceiling<T> {}

/// See [`crate::layout`].
#[cfg(layout)]
#[allow(missing_docs)]
pub mod layout {
    use super::Ceiling;
    use core::mem::offset_of;

    pub const FREE: usize = offset_of!(Ceiling<u32>, free);
    pub const VALUE: usize = offset_of!(Ceiling<u32>, value);
}

/// A use by a closure.
#[derive(Clone, Copy)]
struct Use {
    /// The running task; in a handler, the interrupted one. The idle task if none is raised.
    task: Task,
    /// The rank that the task has had before.
    outer: Rank,
    /// The rank of the ceiling as a number, or [`COMPUTED`].
    rank: u32,
    /// The level that the task has had before, and its bit.
    before: (Level, u32),
}

/// In place of a rank, which it does not equal: the level at the end of the use is to be computed.
const COMPUTED: u32 = 1 << 8;

impl<T> Ceiling<T> {
    /// A value with the ceiling `ceiling`: the priority of the most urgent task that uses it.
    #[must_use]
    pub const fn new(ceiling: Priority, value: T) -> Self {
        let level = ceiling.level();
        Self {
            free: Shared::new(0x8000_0000 >> level),
            lock: Lock::new(level),
            value: UnsafeCell::new(value),
        }
    }

    /// Uses the value, at the priority of the ceiling. Never waits.
    ///
    /// For tasks and, before `start`, the main program; in a handler,
    /// [`try_with`](Self::try_with) is the one to call. `body` must not block. On return, interrupts
    /// are masked if they were before the call.
    ///
    /// Constant time, unless the task holds mutexes or guards of ceilings, or another task has
    /// become ready meanwhile: then a step for each lock that the task holds.
    ///
    /// # Panics
    /// If the value is in use: by an enclosing closure, by a thread that blocked in its closure, by
    /// a guard that was forgotten, or because the caller is more urgent than the ceiling or is a
    /// handler.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        match self.try_with(body) {
            Some(result) => result,
            None => in_use(),
        }
    }

    /// Uses the value if it is not in use. Returns `None` if it is. Never waits.
    ///
    /// For handlers, which may have interrupted its user, and for tasks.
    #[inline]
    pub fn try_with<R>(&self, body: impl FnOnce(&mut T) -> R) -> Option<R> {
        let (mask, m) = Mask::set();
        // SAFETY: a word, and interrupts are masked. (A plain load would have LLVM keep a flag in
        // place of the word of a static, and compute the word from it.)
        let bit = unsafe { self.free.peek() };
        let this = match begin(m, bit) {
            Some(this) => this,
            None => begin_slowly(m, mask, bit)?,
        };
        self.free.set(m, 0);
        mask.restore();
        // SAFETY: the value was free and has been taken with interrupts masked, so no other
        // reference exists.
        let result = body(unsafe { &mut *self.value.get() });
        let m = arch::mask_again();
        self.free.set(m, bit);
        end(m, mask, this, bit);
        mask.restore();
        Some(result)
    }

    /// Locks the value for the thread until the guard is dropped. Never waits. Guards may be
    /// dropped in any order.
    ///
    /// A guard that is forgotten keeps the value in use for ever, and the priority raised until the
    /// thread ends.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[inline]
    #[track_caller]
    pub fn lock(&'static self, _: &Me) -> CeilingGuard<T> {
        let (mask, m) = Mask::set();
        let bit = self.free.get(m);
        if bit == 0 {
            in_use();
        }
        self.free.set(m, 0);
        raise(m, KERNEL.current(m), &self.lock);
        mask.restore();
        CeilingGuard { ceiling: self, bit, _not_send: PhantomData }
    }
}

/// Runs `body` at the highest priority, so that the tasks that it wakes run when it has ended. In a
/// handler or critical section, where none runs in any case, and in the idle task without a change.
pub(crate) fn without_switches(body: impl FnOnce()) {
    const HIGHEST: u32 = 0x8000_0000;
    let (mask, m) = Mask::set();
    let is_task = KERNEL.started(m).is_some_and(|me| !me.is(KERNEL.nobody()));
    let begin = || begin(m, HIGHEST).or_else(|| begin_slowly(m, mask, HIGHEST));
    let this = is_task.then(begin).flatten();
    mask.restore();
    body();
    if let Some(this) = this {
        let m = arch::mask_again();
        end(m, mask, this, HIGHEST);
        mask.restore();
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn in_use() -> ! {
    panic!("task {}: a value with a ceiling is in use", current().name())
}

/// Raises the running task to the level of `bit` for a closure, if that is more urgent than all
/// ready tasks, and the task has no equals that are ready. In a handler, the interrupted task is
/// raised and lowered, which has no effect. `None` in all other cases, with nothing changed.
#[inline(always)]
fn begin(m: Masked, bit: u32) -> Option<Use> {
    if cfg!(any(events, feature = "time-slice")) {
        return None;
    }
    let me = KERNEL.started(m)?;
    let before = (me.level.get(m), me.bit.get(m));
    if !KERNEL.ready.rise(m, me, bit) {
        return None;
    }
    let (outer, rank) = (me.floor.get(m), Rank::number_of(arch::leading_zeros(bit)));
    me.floor.set(m, Rank::of_number(rank));
    Some(Use { task: me, outer, rank, before })
}

/// Begins any use. Returns `None` if the value is in use, with interrupts as before the call.
#[cold]
#[inline(never)]
fn begin_slowly(m: Masked, mask: Mask, bit: u32) -> Option<Use> {
    if bit == 0 {
        mask.restore();
        return None;
    }
    let (outer, rank, before) = (Rank::NONE, COMPUTED, (0, 0));
    let mut this = Use { task: KERNEL.nobody(), outer, rank, before };
    // Where no switch can take place, the priority has no effect.
    if let Some(me) = KERNEL.started(m).filter(|_| mask.allows_switch()) {
        trace::emit(Event::Lock, me);
        this.task = me;
        this.outer = me.floor.get(m);
        let level = bit.leading_zeros();
        if level < this.outer.level() {
            me.floor.set(m, Rank::for_level(level));
        }
        if level < me.level.get(m) {
            settle(m, me);
        }
    }
    Some(this)
}

/// Ends a use. `mask` is the state of interrupts before it.
#[inline(always)]
fn end(m: Masked, mask: Mask, this: Use, bit: u32) {
    let me = this.task;
    if me.floor.get(m).number() == this.rank && KERNEL.ready.sink(m, me, bit, this.before) {
        me.floor.set(m, this.outer);
    } else {
        end_slowly(m, mask, me, this.outer);
    }
}

#[cold]
#[inline(never)]
fn end_slowly(m: Masked, mask: Mask, me: Task, outer: Rank) {
    if me.is(KERNEL.nobody()) {
        return;
    }
    me.floor.set(m, outer);
    trace::emit(Event::Unlock, me);
    if settle(m, me) {
        kernel::reschedule(m, mask);
    }
}

/// Begins the use of a guard, in the running task.
fn raise(m: Masked, me: Task, lock: &Lock) {
    lock.give_to(m, me);
    // In a closure the level may stay, but the one at the closure's end is to be computed.
    if lock.ceiling() < me.level.get(m) || me.floor.get(m) != Rank::NONE {
        settle(m, me);
    }
}

/// Ends the use of a guard, in the running task.
fn lower(m: Masked, mask: Mask, me: Task, lock: &Lock) {
    lock.unlink(m, me);
    trace::emit(Event::Unlock, me);
    if settle(m, me) {
        kernel::reschedule(m, mask);
    }
}

/// Access to the value of a [`Ceiling`] locked by [`Ceiling::lock`]. Dropping it unlocks. Cannot be
/// sent to another thread.
pub struct CeilingGuard<T: 'static> {
    ceiling: &'static Ceiling<T>,
    bit: u32,
    _not_send: PhantomData<*mut ()>,
}

impl<T> Deref for CeilingGuard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: `lock` found the lock free and took it, so the guard's thread alone refers to the
        // value.
        unsafe { &*self.ceiling.value.get() }
    }
}

impl<T> DerefMut for CeilingGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is borrowed mutably.
        unsafe { &mut *self.ceiling.value.get() }
    }
}

impl<T> Drop for CeilingGuard<T> {
    #[inline]
    fn drop(&mut self) {
        let (mask, m) = Mask::set();
        self.ceiling.free.set(m, self.bit);
        lower(m, mask, KERNEL.current(m), &self.ceiling.lock);
        mask.restore();
    }
}
