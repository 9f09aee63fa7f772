//! The objects that handles name: semaphores, channels, endpoints and mutexes.
//!
//! An endpoint has a creator and a server. The server alone receives. At first that is the creator, which
//! can hand the endpoint to another process of its family, and so can the server. When the server
//! ends, the endpoint is dead, its callers are refused, and later ones too, until the creator hands it
//! over or receives itself.
//!
//! A process whose wait has a time limit waits as a thread, in the middle of its call, and not at the
//! frame to which [`fast`](super::fast) returns. So the assembly must not find it: its waiter is
//! [marked](crate::records::FOREIGN), as a server it is in `timed` in place of `idle`, and as a caller in
//! `served` in place of `direct`.
//!
//! A mutex is like an endpoint whose server is its holder, and whose callers are those that wait:
//! so priorities are inherited in both by the same code.
//!
//! Each operation runs masked, in constant time but for the insertion of a waiter, at most 32
//! steps, and never blocks here: if the caller must wait, or has made a more urgent process ready,
//! it returns the task to switch to. A process that waits gets its results in its [`Frame`], from
//! the one that wakes it.
//!
//! # Soundness
//! As in [`records`](super::records).

use super::{
    handle::{Family, Handle, index},
    records::{
        CAPACITY, Frame, Kind, LARGE, Large, Message, NO_ENDPOINT, OBJECTS, Object, Process, TABLE,
    },
};
use crate::{
    arch::{Mask, masked},
    kernel,
    records::{IDLE_LEVEL, KERNEL, Level, Task, WaitQueue},
    shared::{Masked, Shared},
};

/// The reason why the call of an endpoint is refused.
pub(super) enum Unserved {
    /// The server has ended.
    Dead,
    /// The caller is the server, and would wait for itself.
    Itself,
}

/// The place after the last that was given out, where the search for a free one begins.
static NEXT: Shared<usize> = Shared::new(0);

/// Makes an object for the family of `creator`, a process that calls the kernel. `None` without a free
/// place. Interrupts are on: a step with them masked for each place that is used.
pub(super) fn create(creator: &'static Process, kind: Kind, count: u32) -> Option<Handle> {
    let family = masked(|m| creator.family(m));
    let large = if kind == Kind::Semaphore { None } else { Some(claim_large()?) };
    let tag = kind.tag(family);
    for _ in 0..OBJECTS {
        let made = masked(|m| {
            let at = NEXT.get(m);
            NEXT.set(m, (at + 1) % OBJECTS);
            let object = &TABLE[at];
            (!object.place.is_used()).then(|| {
                debug_assert!(object.waiters.is_empty(m));
                object.tag.set(m, tag);
                object.count.set(m, if kind == Kind::Semaphore { count } else { 0 });
                object.large.set(m, large);
                if let Some(large) = large {
                    large.callers.set(m, Some(&object.waiters));
                    if kind == Kind::Endpoint {
                        large.creator.set(m, Some(creator));
                        large.server.set(m, Some(creator));
                        creator.roles.set(m, creator.roles.get(m) + 2);
                    }
                }
                object.place.occupy(at, family)
            })
        });
        if made.is_some() {
            return made;
        }
    }
    if let Some(large) = large {
        masked(|m| large.used.set(m, false));
    }
    None
}

fn claim_large() -> Option<&'static Large> {
    LARGE.iter().find(|large| {
        masked(|m| {
            let is_free = !large.used.get(m);
            if is_free {
                large.used.set(m, true);
                large.first.set(m, 0);
                large.server.set(m, None);
                large.creator.set(m, None);
            }
            is_free
        })
    })
}

/// Makes the bells of a process that ends dead. It serves no endpoint and holds no mutex any more.
/// A step for each place, with interrupts on between two.
pub(super) fn silence(owner: &Process) {
    for large in &LARGE {
        masked(|m| {
            if large.server.get(m).is_some_and(|server| server.is(owner)) {
                large.server.set(m, None);
            }
        });
    }
}

/// Ends the roles of a process that ends, as the server and as the creator of endpoints: calls of those
/// that it served fail with `reason`, until the creator hands them over. Interrupts are on: a step for
/// each place, and one for each caller.
pub(super) fn renounce(me: &Process, reason: usize) {
    for large in &LARGE {
        let is =
            |role: &Shared<Option<&'static Process>>, m| role.get(m).is_some_and(|it| it.is(me));
        if masked(|m| {
            if is(&large.creator, m) {
                large.creator.set(m, None);
            }
            is(&large.server, m)
        }) {
            large.close(reason);
        }
    }
    masked(|m| me.roles.set(m, 0));
}

/// The object of that kind that `word` names for a process of `family`.
#[inline(always)]
pub(super) fn find(m: Masked, family: Family, word: usize, kind: Kind) -> Option<&'static Object> {
    let object = TABLE.get(index(word))?;
    let is_named = object.place.is_named(word, family) && object.tag.get(m) == kind.tag(family);
    is_named.then_some(object)
}

/// Frees the objects of a family without users: nobody waits for them. Interrupts are on.
pub(super) fn free_all(family: Family) {
    for object in &TABLE {
        masked(|m| {
            if object.place.is_used() && object.place.family() == family {
                object.place.vacate();
                object.tag.set(m, 0);
                if let Some(large) = object.large.get(m) {
                    large.used.set(m, false);
                }
            }
        });
    }
}

/// Takes `me`, the running process, out of the ready set. Returns the task to switch to.
#[inline(always)]
fn leave(m: Masked, me: &'static Process) -> Option<Task> {
    Some(KERNEL.ready.remove_head(m, me.task()))
}

/// Makes a process ready. Returns its task if it is more urgent than the running one.
#[inline(always)]
fn wake(m: Masked, process: &'static Process) -> Option<Task> {
    let task = process.task();
    KERNEL.ready.insert(m, task).then_some(task)
}

/// Serves the most urgent waiter. Only processes wait in the queues of objects.
#[inline(always)]
fn serve(m: Masked, queue: &WaitQueue) -> Option<&'static Process> {
    let first = queue.first(m)?;
    let task = first.task(m);
    // The result is `None` for a marked waiter.
    let _ = queue.serve(m, first);
    Some(Process::from_task(task))
}

impl Process {
    /// Gives the process the level of the most urgent among itself and the callers of the endpoint
    /// that it serves. If that changes its level while it waits for another server, does the same
    /// for that one, and so on.
    ///
    /// Terminates for processes that call each other in a circle, too. The level of each follows
    /// from others by a minimum, so after one change all further ones have the same direction, and
    /// there are 32 levels.
    ///
    /// Interrupts stay masked for the whole chain: at most 7 further processes in a family other
    /// than the first, whose chains are its own program's.
    pub(super) fn settle(&'static self, m: Masked) {
        self.settle_among(m, true);
    }

    /// Does the work of [`settle`](Self::settle). `front`: in front of its equals at the new level.
    pub(super) fn settle_among(&'static self, m: Masked, front: bool) {
        let mut next = Some(self);
        while let Some(process) = next {
            let own = process.header.base(m);
            let level = process.serves.get(m).map_or(own, |large| own.min(large.top_level(m)));
            if process.header.level.get(m) == level {
                return;
            }
            KERNEL.ready.relevel(m, process.task(), level, front);
            if let Some(large) = process.serves.get(m) {
                large.complicate(m);
            }
            if let Some(waiter) = process.header.waiter.get(m) {
                // SAFETY: it is the waiter in the record, which is static: `enter` alone stores it.
                unsafe { waiter.as_ref() }.move_to_level_of_task(m);
            }
            next = process.calls.get(m).and_then(|large| large.server.get(m));
        }
    }

    /// Ends the wait of a process without a result: it is served nowhere from here on.
    pub(super) fn give_up(&self, m: Masked) {
        self.waiter(m).leave(m);
        if let Some(large) = self.calls.get(m) {
            large.forget(m, self);
            self.calls.set(m, None);
        }
        // From here on a call of a server that is to end waits for that end.
        if let Some(large) = self.serves.get(m) {
            large.no_longer_waits(m);
        }
        self.listens.set(m, false);
    }
    /// Returns whether a process whose call has a time limit still waits.
    pub(super) fn still_waits(&self, m: Masked) -> bool {
        let has =
            |large: Option<&'static Large>| large.is_some_and(|large| large.has_timed(m, self));
        self.listens.get(m)
            || self.waiter(m).is_waiting(m)
            || has(self.calls.get(m))
            || has(self.serves.get(m))
    }
}

impl Object {
    fn large(&self, m: Masked) -> &'static Large {
        self.large.get(m).unwrap_or(&NO_ENDPOINT)
    }

    /// Gives a new bell to `owner`, for a bit of its inbox and a level.
    pub(super) fn hang(&self, m: Masked, owner: &'static Process, slot: usize, level: Level) {
        self.count.set(m, level << 8 | slot as u32);
        self.large(m).server.set(m, Some(owner));
    }

    /// The owner of a bell, the bit of its inbox and the level. `None` if the owner has ended.
    pub(super) fn hung(&self, m: Masked) -> Option<(&'static Process, usize, Level)> {
        let count = self.count.get(m);
        let owner = self.large(m).server.get(m)?;
        Some((owner, (count & 0xff) as usize, count >> 8))
    }

    /// Adds a unit, or hands it to the most urgent process that waits. A count above 2³² − 1 wraps.
    #[inline(always)]
    pub(super) fn give(&self, m: Masked) -> Option<Task> {
        let Some(process) = serve(m, &self.waiters) else {
            self.count.set(m, self.count.get(m).wrapping_add(1));
            return None;
        };
        wake(m, process)
    }

    /// Takes a unit for `me`, or has it wait for one.
    #[inline(always)]
    pub(super) fn take(&self, m: Masked, me: &'static Process) -> Option<Task> {
        let count = self.count.get(m);
        if count > 0 {
            self.count.set(m, count - 1);
            return None;
        }
        me.enter(m, &self.waiters);
        leave(m, me)
    }

    /// Appends a word to a channel, or hands it to a receiver that waits.
    pub(super) fn send(&self, m: Masked, me: &'static Process, word: u32) -> Option<Task> {
        if let Some(receiver) = serve(m, &self.waiters) {
            receiver.set_result(m, Frame::A0, word as usize);
            return wake(m, receiver);
        }
        let large = self.large(m);
        if self.count.get(m) == CAPACITY {
            me.set_result(m, Frame::A1, word as usize);
            me.enter(m, &large.senders);
            return leave(m, me);
        }
        self.push(m, large, word);
        None
    }

    fn push(&self, m: Masked, large: &Large, word: u32) {
        let count = self.count.get(m);
        let at = (large.first.get(m) + count) % CAPACITY;
        large.ring[at as usize].set(m, word);
        self.count.set(m, count + 1);
    }

    /// Removes the first word of a channel; without one, has `me` wait, which gets it in its frame.
    pub(super) fn receive(&self, m: Masked, me: &'static Process) -> (usize, Option<Task>) {
        let count = self.count.get(m);
        if count == 0 {
            me.enter(m, &self.waiters);
            return (0, leave(m, me));
        }
        let large = self.large(m);
        let first = large.first.get(m);
        let word = large.ring[first as usize].get(m) as usize;
        large.first.set(m, (first + 1) % CAPACITY);
        self.count.set(m, count - 1);
        let next = serve(m, &large.senders).and_then(|sender| {
            self.push(m, large, sender.result(m, Frame::A1) as u32);
            wake(m, sender)
        });
        (word, next)
    }

    /// Calls the server of an endpoint with `message`; `me` waits for the answer in its frame.
    /// While the server works for it, it has at least the priority of `me`. In `fast` for a server
    /// that waits and is at least as urgent. `Err` if the server has ended, or is the caller, which
    /// would wait for itself.
    pub(super) fn call(
        &'static self,
        m: Masked,
        me: &'static Process,
        message: Message,
    ) -> Result<Option<Task>, Unserved> {
        let large = self.large(m);
        let server = large.server.get(m).ok_or(Unserved::Dead)?;
        if server.is(me) {
            return Err(Unserved::Itself);
        }
        me.calls.set(m, Some(large));
        if let Some(server) = large.idle.get(m).or(large.timed.get(m)) {
            large.accept(m, server, me, message);
            KERNEL.ready.insert(m, server.task());
            return Ok(leave(m, me));
        }
        large.complicate(m);
        me.keep_message(m, message);
        Ok(Some(self.wait_for(m, me, Some(server))))
    }

    /// Returns whether `me` may hand over the right to receive on an endpoint: it is the server and has
    /// answered all calls that it has received, or the creator and the server has ended.
    pub(super) fn may_hand(&self, m: Masked, me: &Process) -> bool {
        let large = self.large(m);
        match large.server.get(m) {
            Some(server) => server.is(me) && !large.is_serving(m),
            None => large.creator.get(m).is_some_and(|creator| creator.is(me)),
        }
    }

    /// Hands the right to receive on an endpoint from `me`, which runs and [may](Self::may_hand) do so,
    /// to `other`, a living process of the same family.
    pub(super) fn hand(&self, m: Masked, me: &'static Process, other: &'static Process) {
        debug_assert!(self.may_hand(m, me));
        let large = self.large(m);
        if large.server.get(m).is_some() {
            me.roles.set(m, me.roles.get(m) - 1);
        }
        if me.serves.get(m).is_some_and(|served| core::ptr::eq(served, large)) {
            me.serve_none(m);
            me.settle(m);
        }
        large.server.set(m, Some(other));
        other.roles.set(m, other.roles.get(m) + 1);
    }

    /// Has `me` wait for `other`, which inherits its priority. Returns the task to switch to.
    fn wait_for(
        &'static self,
        m: Masked,
        me: &'static Process,
        other: Option<&'static Process>,
    ) -> Task {
        me.enter(m, &self.waiters);
        // First out of the ready set, from the head of its ring, which the other may become.
        KERNEL.ready.remove_head(m, me.task());
        if let Some(other) = other {
            other.settle(m);
        }
        KERNEL.ready.most_urgent(m)
    }

    /// Locks a mutex for `me`, or has it wait; the holder has at least its priority meanwhile.
    /// `Err` if `me` holds a mutex or serves an endpoint already: a process inherits priorities
    /// from one of them.
    pub(super) fn lock(&'static self, m: Masked, me: &'static Process) -> Result<Option<Task>, ()> {
        if me.serves.get(m).is_some() {
            return Err(());
        }
        let large = self.large(m);
        let holder = large.server.get(m);
        if holder.is_none() {
            large.server.set(m, Some(me));
            me.serves.set(m, Some(large));
            return Ok(None);
        }
        me.calls.set(m, Some(large));
        Ok(Some(self.wait_for(m, me, holder)))
    }

    /// Unlocks a mutex that `me` holds, and hands it to the most urgent process that waits. `Err`
    /// if `me` does not hold it.
    pub(super) fn unlock(
        &'static self,
        m: Masked,
        me: &'static Process,
    ) -> Result<Option<Task>, ()> {
        let large = self.large(m);
        if !large.server.get(m).is_some_and(|holder| holder.is(me)) {
            return Err(());
        }
        me.serves.set(m, None);
        let next = serve(m, &self.waiters);
        large.server.set(m, next);
        if let Some(next) = next {
            // It is the most urgent of all that wait, so it inherits from none.
            next.serves.set(m, Some(large));
            KERNEL.ready.insert(m, next.task());
        }
        me.settle(m);
        let urgent = KERNEL.ready.most_urgent(m);
        Ok((!urgent.is(me.task())).then_some(urgent))
    }

    /// Answers the call that `me` serves with `message`, if there is one, and receives or waits for
    /// the next. `Err` unless `me` is the server, or the creator and the server has ended, and it
    /// serves nothing else. In `fast` for a server that has its own priority, and for which nobody else
    /// waits. `handle` is the endpoint's.
    pub(super) fn reply_and_receive(
        &'static self,
        m: Masked,
        me: &'static Process,
        handle: usize,
        message: Message,
    ) -> Result<Option<Task>, ()> {
        let large = self.large(m);
        if !me.serves.get(m).is_some_and(|served| core::ptr::eq(served, large)) {
            // A process serves one endpoint, so that it inherits priorities from one.
            if !self.may_hand(m, me) || me.serves.get(m).is_some() {
                return Err(());
            }
            if large.server.get(m).is_none() {
                large.server.set(m, Some(me));
                me.roles.set(m, me.roles.get(m) + 1);
            }
            me.serve(m, handle, large);
        }
        if let Some(caller) = large.take_served(m) {
            caller.calls.set(m, None);
            caller.hand_message(m, message);
            KERNEL.ready.insert(m, caller.task());
        }
        let Some(caller) = serve(m, &self.waiters) else {
            let waits = if me.is_timed(m) { &large.timed } else { &large.idle };
            waits.set(m, Some(me));
            let next = leave(m, me);
            if me.header.level.get(m) != me.header.base(m) {
                me.settle(m);
            }
            return Ok(next);
        };
        large.accept(m, me, caller, caller.message(m));
        let urgent = KERNEL.ready.most_urgent(m);
        Ok((!urgent.is(me.task())).then_some(urgent))
    }
}

impl Large {
    /// The level of the most urgent process that waits for the server.
    pub(super) fn top_level(&self, m: Masked) -> Level {
        let served = self.served.get(m).or(self.direct.get(m));
        let served = served.map_or(IDLE_LEVEL, |caller| caller.header.level.get(m));
        let waiting = self.callers.get(m).and_then(|callers| callers.top_level(m));
        served.min(waiting.unwrap_or(IDLE_LEVEL))
    }

    /// Returns whether a call has been received and not answered.
    fn is_serving(&self, m: Masked) -> bool {
        self.served.get(m).or(self.direct.get(m)).is_some()
    }

    /// Notes that the server does not wait for a call.
    #[inline(always)]
    pub(super) fn no_longer_waits(&self, m: Masked) {
        self.idle.set(m, None);
        self.timed.set(m, None);
    }

    /// Returns whether `process` waits here, with a time limit, outside of the queue: for a call, or
    /// for the answer to its own.
    pub(super) fn has_timed(&self, m: Masked, process: &Process) -> bool {
        [&self.timed, &self.served].iter().any(|role| role.get(m).is_some_and(|it| it.is(process)))
    }

    /// The process whose call is being served, which is no longer noted then.
    fn take_served(&self, m: Masked) -> Option<&'static Process> {
        self.complicate(m);
        let served = self.served.get(m);
        self.served.set(m, None);
        served
    }

    /// Notes the process whose call is being served as one in general.
    pub(super) fn complicate(&self, m: Masked) {
        if let Some(caller) = self.direct.get(m) {
            self.direct.set(m, None);
            self.served.set(m, Some(caller));
        }
    }

    /// Gives the server a caller's message, and the priority to work at.
    #[inline(always)]
    fn accept(
        &self,
        m: Masked,
        server: &'static Process,
        caller: &'static Process,
        message: Message,
    ) {
        self.no_longer_waits(m);
        self.served.set(m, Some(caller));
        server.hand_message(m, message);
        server.settle(m);
        let is_plain = !caller.is_timed(m)
            && server.header.level.get(m) == server.header.base(m)
            && self.callers.get(m).is_some_and(|callers| callers.is_empty(m));
        if is_plain {
            self.served.set(m, None);
            self.direct.set(m, Some(caller));
        }
    }

    /// A caller is about to end, and waits no longer: its answer goes to nobody, and the server
    /// loses its priority.
    pub(super) fn forget(&self, m: Masked, caller: &Process) {
        self.complicate(m);
        if self.served.get(m).is_some_and(|served| served.is(caller)) {
            self.served.set(m, None);
        }
        if let Some(server) = self.server.get(m) {
            server.settle(m);
        }
    }

    /// The server, or the holder, is about to end: the calls that wait for it fail with `reason`.
    /// The call that it serves fails before another can be the server. Interrupts are on between
    /// two of the others; if another server comes meanwhile, the rest is for that one.
    pub(super) fn close(&self, reason: usize) {
        let (mask, m) = Mask::set();
        self.server.set(m, None);
        self.no_longer_waits(m);
        let served = self.take_served(m);
        Self::refuse(m, served, reason);
        kernel::reschedule(m, mask);
        mask.restore();
        loop {
            let (mask, m) = Mask::set();
            let callers = self.callers.get(m).filter(|_| self.server.get(m).is_none());
            let caller = callers.and_then(|callers| serve(m, callers));
            Self::refuse(m, caller, reason);
            kernel::reschedule(m, mask);
            mask.restore();
            if caller.is_none() {
                return;
            }
        }
    }

    /// Has the call of a process that waits fail with `reason`.
    fn refuse(m: Masked, caller: Option<&'static Process>, reason: usize) {
        if let Some(caller) = caller {
            caller.calls.set(m, None);
            caller.set_result(m, Frame::A0, reason);
            kernel::wake(m, caller.task());
        }
    }
}
