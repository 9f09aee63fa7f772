//! The records of waiters and of their queues.

use super::Level;
use crate::shared::Shared;
use core::{marker::PhantomPinned, ptr::NonNull, task::RawWakerVTable};

/// A task's entry in a queue. The assembly writes the first six fields at once.
#[repr(C)]
pub(crate) struct Waiter {
    /// The queue that the waiter is in, for moving it when its task's level changes.
    pub(crate) queue: Shared<Option<NonNull<WaitQueue>>>,
    pub(crate) state: Shared<State>,
    /// The next leader, less urgent. `up` is the previous one; it is undefined in the first leader.
    pub(crate) down: Shared<Option<NonNull<Waiter>>>,
    /// The next waiter of the ring. In a waiter that is alone, the waiter itself; with a foreign
    /// waker, [`ALONE`], so that the assembly leaves it to Rust. `prev` is the previous one; it is
    /// undefined in a waiter that is alone.
    pub(crate) next: Shared<NonNull<Waiter>>,
    /// The level, and [`FOREIGN`] for a foreign waker.
    pub(crate) level: Shared<Level>,
    /// The task, or the data of a foreign waker.
    pub(crate) task: Shared<*const ()>,
    pub(crate) prev: Shared<NonNull<Waiter>>,
    pub(crate) up: Shared<Option<NonNull<Waiter>>>,
    /// For message queues: the address of the message to send, or to receive into; null for a
    /// message that stays in the queue's ring until the receiver runs.
    pub(crate) cargo: Shared<*mut ()>,
    /// The functions of a foreign waker. Undefined for a task.
    pub(crate) table: Shared<Option<&'static RawWakerVTable>>,
    pub(crate) _pinned: PhantomPinned,
}

/// In the level of a waiter: it has a foreign waker, or is a process's whose wait has a time limit. The
/// assembly leaves it to Rust.
pub(crate) const FOREIGN: Level = 1 << 8;

/// The `next` of a waiter with a foreign waker that is alone in its ring. No waiter's address.
pub(crate) const ALONE: NonNull<Waiter> = NonNull::dangling();

/// The state of a waiter. Any value above `OUTSIDE` means "served": `CALLED` with a foreign waker;
/// otherwise the waiter's own address, which is the cheapest value at hand in a register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct State(pub(crate) usize);

impl State {
    /// A task's, and alone in its ring. 0, since the assembly has a register that is 0.
    pub(crate) const SINGLE: Self = Self(0);
    /// The leader of a ring with others, or alone with a foreign waker.
    pub(crate) const LEADING: Self = Self(1);
    /// In a ring, behind its leader.
    pub(crate) const FOLLOWING: Self = Self(2);
    pub(crate) const OUTSIDE: Self = Self(3);
    pub(crate) const CALLED: Self = Self(4);
}

#[cfg(all(target_os = "none", any(feature = "processes", direct)))]
impl Waiter {
    #[cfg(riscv)]
    pub(crate) const DOWN: usize = core::mem::offset_of!(Self, down);
    #[cfg(riscv)]
    pub(crate) const NEXT: usize = core::mem::offset_of!(Self, next);
    pub(crate) const STATE: usize = core::mem::offset_of!(Self, state);
    pub(crate) const TASK: usize = core::mem::offset_of!(Self, task);
}

pub(crate) struct WaitQueue {
    pub(crate) head: Shared<Option<NonNull<Waiter>>>,
}

impl WaitQueue {
    pub(crate) const fn new() -> Self {
        Self { head: Shared::new(None) }
    }
}

/// A task or a waker that waits. Copies of one value stand for one waker.
#[derive(Clone, Copy)]
pub(crate) struct Sleeper {
    pub(crate) data: *const (),
    /// `None` for a task.
    pub(crate) table: Option<&'static RawWakerVTable>,
}
