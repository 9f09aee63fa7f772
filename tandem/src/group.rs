//! An event group: 32 flags for which any number of tasks wait, each for any or all of some.

use crate::{
    arch::masked,
    event::Event,
    list::{List, Node, Place},
    me::Me,
    shared::{Masked, Shared},
    time::TimedOut,
};
use core::pin::{Pin, pin};

/// 32 flags that tasks and handlers set and clear, and that any number of tasks wait for.
///
/// Flags stay set until they are cleared, or taken by a wait that asks for it. (An
/// [`Event`](crate::Event) is for one task, and cheaper.)
pub struct Group {
    flags: Shared<u32>,
    waiters: List<Want>,
}

/// A condition on the flags of a [`Group`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    flags: u32,
    all: bool,
    take: bool,
}

impl Want {
    /// At least one of these flags.
    ///
    /// # Panics
    /// If `flags` is 0.
    #[must_use]
    pub const fn any(flags: u32) -> Self {
        assert!(flags != 0, "a wait for no flag");
        Self { flags, all: false, take: false }
    }

    /// All of these flags at once.
    ///
    /// # Panics
    /// If `flags` is 0.
    #[must_use]
    pub const fn all(flags: u32) -> Self {
        Self { all: true, ..Self::any(flags) }
    }

    /// Returns the condition with a change: the flags that end the wait are cleared in that moment.
    /// Where several tasks take a flag, the one that has waited longest gets it.
    #[must_use]
    pub const fn take(self) -> Self {
        Self { take: true, ..self }
    }
}

impl Default for Group {
    fn default() -> Self {
        Self::new()
    }
}

impl Group {
    /// A group without flags set.
    #[must_use]
    pub const fn new() -> Self {
        Self { flags: Shared::new(0), waiters: List::new() }
    }

    /// The flags that are set. May be called anywhere. Constant time.
    #[must_use]
    pub fn flags(&self) -> u32 {
        masked(|m| self.flags.get(m))
    }

    /// Clears flags. Returns those that were set before. May be called anywhere. Constant time.
    pub fn clear(&self, flags: u32) -> u32 {
        masked(|m| {
            let before = self.flags.get(m);
            self.flags.set(m, before & !flags);
            before
        })
    }

    /// Sets flags, and wakes the tasks whose wait they end.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too. A step for each task that
    /// waits, with interrupts masked for one at a time. No task runs until all have been visited,
    /// and then the most urgent: a task that clears a flag keeps none of the others waiting.
    pub fn set(&self, flags: u32) {
        masked(|m| self.flags.set(m, self.flags.get(m) | flags));
        self.waiters.walk(|m, want| self.serve(m, want));
    }

    /// The flags that satisfy a wait, taken if it takes them; 0 if it is not satisfied.
    fn serve(&self, m: Masked, want: &Want) -> u32 {
        let set = self.flags.get(m);
        let hit = set & want.flags;
        if hit == 0 || want.all && hit != want.flags {
            return 0;
        }
        if want.take {
            self.flags.set(m, set & !hit);
        }
        hit
    }

    /// Returns the flags that satisfy `want`, 0 if it is not satisfied. Never waits. May be called
    /// anywhere. Constant time.
    pub fn try_wait(&self, want: Want) -> u32 {
        masked(|m| self.serve(m, &want))
    }

    #[track_caller]
    fn enter<'a>(
        &'a self,
        node: Pin<&'a Node<Want>>,
        call: Option<&str>,
    ) -> Result<u32, Place<'a, Want>> {
        self.waiters.enter(node, call, |m, want| self.serve(m, want))
    }

    /// Blocks the thread until `want` is satisfied. Returns the flags that did. Constant time
    /// besides the wait.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[track_caller]
    pub fn wait(&self, me: &Me, want: Want) -> u32 {
        let node = pin!(Node::new(want));
        match self.enter(node.as_ref(), Some("Group::wait")) {
            Ok(flags) => flags,
            Err(_place) => node.as_ref().get_ref().event().wait(me),
        }
    }

    /// Blocks the thread until `want` is satisfied or `due` has come, in ticks of the board's
    /// clock.
    ///
    /// # Errors
    /// If the wait has lasted until `due`.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[track_caller]
    pub fn wait_until(&self, me: &Me, want: Want, due: u64) -> Result<u32, TimedOut> {
        let node = pin!(Node::new(want));
        match self.enter(node.as_ref(), Some("Group::wait_until")) {
            Ok(flags) => Ok(flags),
            Err(place) => late(node.as_ref().get_ref().event(), me, due, || place.leave()),
        }
    }

    /// Completes when `want` is satisfied, with the flags that did. For coroutines. A future that
    /// is dropped gives flags back that it has taken and not reported.
    ///
    /// # Panics
    /// As [`Event::signalled`](crate::Event::signalled).
    pub async fn wait_async(&self, want: Want) -> u32 {
        let node = pin!(Node::new(want));
        let node = node.as_ref();
        match self.enter(node, None) {
            Ok(flags) => flags,
            Err(place) => {
                let _wait = Wait { group: self, place, event: node.get_ref().event(), want };
                node.get_ref().event().signalled().await
            }
        }
    }
}

/// The wait of a coroutine. Dropping it ends the wait.
struct Wait<'a> {
    group: &'a Group,
    place: Place<'a, Want>,
    event: &'a Event,
    want: Want,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.place.leave();
        // Flags that were reported have left the event.
        let flags = self.event.try_wait();
        if self.want.take && flags != 0 {
            self.group.set(flags);
        }
    }
}

/// Waits for an event until `due`. `leave` makes sure that nobody signals it any more; a signal
/// that came before that, and after the time, counts.
#[track_caller]
pub(crate) fn late(
    event: &Event,
    me: &Me,
    due: u64,
    leave: impl FnOnce(),
) -> Result<u32, TimedOut> {
    event.wait_until(me, due).or_else(|timed_out| {
        leave();
        match event.try_wait() {
            0 => Err(timed_out),
            flags => Ok(flags),
        }
    })
}
