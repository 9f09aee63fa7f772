//! Tasks in lilos's array.
//!
//! lilos takes an array of pinned futures, once, and tests every entry in each round: 7
//! instructions an entry. So the array is no longer than the case needs. A task made before lilos
//! runs has an entry of its own, its [`Place`], which lilos polls directly. A task made later uses
//! a [`Spare`] entry, which forwards to the `Place` in it.
//!
//! A `Place` adds 10 instructions to a poll, and a `Spare` 11 more; docs/machines/qemu.md has the
//! figures.

mod spare;

use core::{
    cell::Cell,
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

pub use self::spare::{Spare, Spares};
use crate::semaphore::Semaphore;

/// The port's data of a task, apart from its body.
pub struct Task {
    has_ended: Cell<bool>,
    pub polls: Cell<u32>,
    parent: Cell<Option<&'static Task>>,
    /// The place to give back.
    spare: Cell<Option<&'static Spare>>,
    /// The children that the task has not reaped, and a semaphore that each gives at its end.
    pub children: Cell<u32>,
    pub ended: Semaphore,
}

// SAFETY: there is one processor, tasks do not pre-empt each other, and no handler uses one.
unsafe impl Sync for Task {}

pub static DIRECTOR: Task = Task::new(None);

/// The task that is being polled.
pub struct Current(Cell<&'static Task>);

// SAFETY: as for `Task`.
unsafe impl Sync for Current {}

pub static CURRENT: Current = Current(Cell::new(&DIRECTOR));

impl Current {
    #[inline(always)]
    pub fn set(&self, task: &'static Task) {
        self.0.set(task);
    }

    pub fn get(&self) -> &'static Task {
        self.0.get()
    }
}

impl Task {
    pub const fn new(parent: Option<&'static Task>) -> Self {
        Self {
            has_ended: Cell::new(false),
            polls: Cell::new(0),
            parent: Cell::new(parent),
            spare: Cell::new(None),
            children: Cell::new(0),
            ended: Semaphore::new(0),
        }
    }

    pub fn set_spare(&self, spare: &'static Spare) {
        self.spare.set(Some(spare));
    }

    /// Gives the record to a new task in the same entry.
    pub fn begin(&self, parent: &'static Self) {
        self.has_ended.set(false);
        self.parent.set(Some(parent));
    }

    #[inline(always)]
    pub fn has_ended(&self) -> bool {
        self.has_ended.get()
    }

    /// lilos has no hook for it.
    #[inline(always)]
    pub fn count(&self) {
        if cfg!(feature = "counted") {
            self.polls.set(self.polls.get().wrapping_add(1));
        }
    }

    pub fn end(&self) {
        self.has_ended.set(true);
        if let Some(spare) = self.spare.get() {
            spare.put_back();
        }
        if let Some(parent) = self.parent.get() {
            parent.ended.give();
        }
    }
}

/// A task of lilos: it never ends.
pub type Endless<'a> = dyn Future<Output = Infallible> + 'a;

/// A body that may end, made a task of lilos.
pub struct Place<F> {
    task: &'static Task,
    body: F,
}

impl<F> Place<F> {
    pub fn new(task: &'static Task, body: F) -> Self {
        Self { task, body }
    }
}

impl<F: Future<Output = ()>> Future for Place<F> {
    type Output = Infallible;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Infallible> {
        // SAFETY: the body is not moved out of the place.
        let Self { task, body } = unsafe { self.get_unchecked_mut() };
        // Others may share its wake bit, so one that has ended may be polled as well.
        if !task.has_ended() {
            CURRENT.set(task);
            task.count();
            // SAFETY: the place is pinned, and its body with it.
            if unsafe { Pin::new_unchecked(body) }.poll(context).is_ready() {
                task.end();
            }
        }
        Poll::Pending
    }
}
