//! The objects that handles name: semaphores, channels and endpoints.
//!
//! # Soundness
//! Objects are static, and fields are cells that are accessed with interrupts masked. A process
//! that waits in a queue has its waiter on its kernel stack, which it does not leave before it has
//! left the queue: it wakes only when it was served, or when [`Process::cancel`] has removed it.

use super::{
    handle::{Family, Handle, Place, index},
    process::{Outcome, Process, this},
};
use crate::{
    arch::{self, Mask},
    kernel,
    shared::{Masked, Shared},
    task::masked,
    wait::{WaitQueue, Waiter},
};
use core::{mem::MaybeUninit, ptr::NonNull};

/// The objects of all processes together.
const OBJECTS: usize = 1024;
/// The channels and endpoints among them.
const LARGE_OBJECTS: usize = 64;
/// The words that a channel holds.
pub(super) const CAPACITY: usize = 64;

/// The kind of an object, by the number that a process passes.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Semaphore = 0,
    Channel = 1,
    Endpoint = 2,
}

/// The units of a semaphore, and the processes that wait for one.
pub(super) struct Units {
    waiters: WaitQueue,
    count: Shared<u32>,
}

impl Units {
    pub(super) const fn new() -> Self {
        Self { waiters: WaitQueue::new(), count: Shared::new(0) }
    }

    pub(super) fn set(&self, m: Masked, count: u32) {
        debug_assert!(self.waiters.is_empty(m));
        self.count.set(m, count);
    }

    /// Adds one, or hands it to the most urgent process that waits. A count above 2³² − 1 wraps.
    #[inline(always)]
    pub(super) fn give(&self) {
        let (mask, m) = Mask::set();
        match self.waiters.first(m) {
            None => {
                self.count.set(m, self.count.get(m).wrapping_add(1));
                mask.restore();
            }
            // SAFETY: interrupts are masked by `Mask::set` above.
            Some(first) => unsafe {
                arch::hand_over_and_restore(&self.waiters, mask, NonNull::from(first));
            },
        }
    }

    /// Takes one for the calling process; waits while there is none. Returns early if the process
    /// is to end. Interrupts are on.
    #[inline(always)]
    pub(super) fn take(&self, me: &Process) {
        let m = arch::mask();
        let count = self.count.get(m);
        if count > 0 {
            self.count.set(m, count - 1);
        } else if !me.is_doomed(m) {
            me.in_queue.set(m, true);
            // SAFETY: the caller is a process, a thread of the kernel, with interrupts masked.
            unsafe { arch::wait_in(&self.waiters) };
            me.in_queue.set(m, false);
        }
        arch::unmask(m);
    }
}

pub(super) struct Object {
    place: Place,
    kind: Shared<Kind>,
    /// Of a semaphore. Of a channel: the words in it.
    pub(super) units: Units,
    /// The index of the channel or endpoint.
    large: Shared<u16>,
}

/// The further parts of a channel or an endpoint.
pub(super) struct Large {
    used: Shared<bool>,
    /// Of a channel: the free places.
    pub(super) free: Units,
    ring: [Shared<u32>; CAPACITY],
    read: Shared<u32>,
    written: Shared<u32>,
    /// Of an endpoint: the processes whose calls no server has received.
    pub(super) callers: WaitQueue,
    /// The process that receives the calls, from its first receive on.
    pub(super) server: Shared<Option<&'static Process>>,
    /// The server waits for a call.
    pub(super) idle: Shared<bool>,
    /// The process whose call is being served.
    pub(super) served: Shared<Option<&'static Process>>,
}

// SAFETY: cells are accessed with interrupts masked, on one core.
unsafe impl Sync for Object {}

static TABLE: [Object; OBJECTS] = [const {
    Object {
        place: Place::new(),
        kind: Shared::new(Kind::Semaphore),
        units: Units::new(),
        large: Shared::new(0),
    }
}; OBJECTS];

static LARGE: [Large; LARGE_OBJECTS] = [const {
    Large {
        used: Shared::new(false),
        free: Units::new(),
        ring: [const { Shared::new(0) }; CAPACITY],
        read: Shared::new(0),
        written: Shared::new(0),
        callers: WaitQueue::new(),
        server: Shared::new(None),
        idle: Shared::new(false),
        served: Shared::new(None),
    }
}; LARGE_OBJECTS];

/// The place after the last that was given out, where the search for a free one begins.
static NEXT: Shared<usize> = Shared::new(0);

/// Makes an object for a family. `None` without a free place. A step for each used place, with
/// interrupts masked only for each step.
pub(super) fn create(family: Family, kind: Kind, count: u32) -> Option<Handle> {
    let large = if kind == Kind::Semaphore { None } else { Some(claim_large()?) };
    for _ in 0..OBJECTS {
        let made = masked(|m| {
            let at = NEXT.get(m);
            NEXT.set(m, (at + 1) % OBJECTS);
            let object = &TABLE[at];
            (!object.place.is_used()).then(|| {
                object.kind.set(m, kind);
                object.units.set(m, if kind == Kind::Semaphore { count } else { 0 });
                object.large.set(m, large.unwrap_or(0) as u16);
                object.place.occupy(at, family)
            })
        });
        if made.is_some() {
            return made;
        }
    }
    if let Some(large) = large {
        masked(|m| LARGE[large].used.set(m, false));
    }
    None
}

fn claim_large() -> Option<usize> {
    (0..LARGE_OBJECTS).find(|at| {
        masked(|m| {
            let large = &LARGE[*at];
            let is_free = !large.used.get(m);
            if is_free {
                large.used.set(m, true);
                large.free.set(m, CAPACITY as u32);
                large.read.set(m, 0);
                large.written.set(m, 0);
            }
            is_free
        })
    })
}

/// The object of that kind that `word` names for a process of `family`.
#[inline(always)]
pub(super) fn find(m: Masked, family: Family, word: usize, kind: Kind) -> Option<&'static Object> {
    let object = TABLE.get(index(word))?;
    (object.place.is_named(word, family) && object.kind.get(m) == kind).then_some(object)
}

/// Frees the objects of a family that has no process left: nobody waits for them.
pub(super) fn free_all(family: Family) {
    for object in &TABLE {
        masked(|m| {
            if object.place.is_used() && object.place.family() == family {
                object.place.vacate();
                if object.kind.get(m) != Kind::Semaphore {
                    object.large(m).used.set(m, false);
                }
            }
        });
    }
}

impl Object {
    pub(super) fn large(&self, m: Masked) -> &'static Large {
        &LARGE[usize::from(self.large.get(m))]
    }

    /// Appends a word to a channel; waits while it is full. `false` if the process is to end.
    pub(super) fn send(&self, me: &Process, word: u32) -> bool {
        let large = masked(|m| self.large(m));
        large.free.take(me);
        let goes_on = masked(|m| {
            let at = large.written.get(m);
            if !me.is_doomed(m) {
                large.ring[at as usize % CAPACITY].set(m, word);
                large.written.set(m, at.wrapping_add(1));
            }
            !me.is_doomed(m)
        });
        if goes_on {
            self.units.give();
        }
        goes_on
    }

    /// Removes the first word of a channel; waits while it is empty. 0 if the process is to end.
    pub(super) fn receive(&self, me: &Process) -> u32 {
        let large = masked(|m| self.large(m));
        self.units.take(me);
        let word = masked(|m| {
            let at = large.read.get(m);
            (!me.is_doomed(m)).then(|| {
                large.read.set(m, at.wrapping_add(1));
                large.ring[at as usize % CAPACITY].get(m)
            })
        });
        if word.is_some() {
            large.free.give();
        }
        word.unwrap_or(0)
    }

    /// Calls the server of an endpoint with a message, which it replaces by the answer. Returns
    /// `false` if there is no answer: the server has ended, or the process is to end.
    ///
    /// While the server works for the caller, it has at least the caller's priority.
    pub(super) fn call(&self, me: &'static Process) -> bool {
        let m = arch::mask();
        let large = self.large(m);
        me.outcome.set(m, Outcome::Waits);
        if me.is_doomed(m) {
            arch::unmask(m);
            return false;
        }
        let mut place = MaybeUninit::uninit();
        let waiter = Waiter::in_place(&mut place, &me.header);
        match large.server.get(m).filter(|_| large.idle.get(m)) {
            Some(server) => {
                large.accept(m, server, me);
                kernel::wake(m, &server.header);
            }
            None => large.callers.insert(m, waiter),
        }
        while me.outcome.get(m) == Outcome::Waits && !me.is_doomed(m) {
            kernel::block(m, &me.header);
        }
        waiter.leave(m);
        if large.served.get(m).is_some_and(|served| served.is(me)) {
            large.served.set(m, None);
        }
        let answered = me.outcome.get(m) == Outcome::Answered;
        arch::unmask(m);
        answered
    }

    /// Answers the call that the process serves, if there is one, and waits for the next. `false`
    /// if the endpoint has another server, or the process is to end.
    pub(super) fn reply_and_receive(&self, me: &'static Process) -> bool {
        let (mask, m) = Mask::set();
        let large = self.large(m);
        if large.server.get(m).is_some_and(|server| !server.is(me)) {
            mask.restore();
            return false;
        }
        large.server.set(m, Some(me));
        me.serves.set(m, Some(large));
        if let Some(caller) = large.served.get(m) {
            large.served.set(m, None);
            caller.message.set(m, me.message.get(m));
            caller.outcome.set(m, Outcome::Answered);
            kernel::wake(m, &caller.header);
            me.lower(m);
        }
        match large.callers.pop(m) {
            Some((waiter, _)) => large.accept(m, me, Process::of(waiter.task(m))),
            None => {
                large.idle.set(m, true);
                while large.idle.get(m) && !me.is_doomed(m) {
                    kernel::block(m, &me.header);
                }
                large.idle.set(m, false);
            }
        }
        let goes_on = !me.is_doomed(m);
        kernel::reschedule(m, mask);
        mask.restore();
        goes_on
    }
}

impl Large {
    /// Gives the server a caller's message, and the caller's priority if that is more urgent.
    fn accept(&self, m: Masked, server: &Process, caller: &'static Process) {
        self.idle.set(m, false);
        self.served.set(m, Some(caller));
        server.message.set(m, caller.message.get(m));
        server.raise(m, caller.header.level.get(m));
    }

    /// The server has ended: calls fail.
    pub(super) fn close(&self, m: Masked) {
        self.server.set(m, None);
        self.idle.set(m, false);
        let fail = |caller: &'static Process| {
            caller.outcome.set(m, Outcome::Failed);
            kernel::wake(m, &caller.header);
        };
        if let Some(caller) = self.served.get(m) {
            self.served.set(m, None);
            fail(caller);
        }
        while let Some((waiter, _)) = self.callers.pop(m) {
            fail(Process::of(waiter.task(m)));
        }
    }
}

/// The object of that kind that `word` names for the calling process.
#[inline(always)]
pub(super) fn named(word: usize, kind: Kind) -> Option<&'static Object> {
    masked(|m| find(m, this(m).family(m), word, kind))
}
