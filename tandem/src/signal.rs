//! Values that tasks hand on: a [`Signal`] keeps the latest for one task that takes it, a [`Watch`]
//! shows the latest to any number.
//!
//! # Soundness
//! The value of a signal is accessed only with interrupts masked; a replaced one is dropped with
//! interrupts on, by the caller.

use crate::{
    arch::{Mask, masked},
    event::Event,
    group::late,
    list::{List, Node, Place},
    me::Me,
    shared::{Masked, Shared},
    time::TimedOut,
};
use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    pin::{Pin, pin},
};

/// The latest value that was signalled and not taken. One task waits for it.
///
/// A value that is signalled before the earlier one has been taken replaces it. Use a
/// [`Queue`](crate::Queue) where each value counts.
pub struct Signal<T> {
    value: UnsafeCell<Option<T>>,
    event: Event,
}

// SAFETY: the value is accessed only with interrupts masked, and `T: Send` allows it to move
// between tasks.
unsafe impl<T: Send> Sync for Signal<T> {}

impl<T> Default for Signal<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Signal<T> {
    /// A signal without a value.
    #[must_use]
    pub const fn new() -> Self {
        Self { value: UnsafeCell::new(None), event: Event::new() }
    }

    fn replace(&self, value: Option<T>) -> Option<T> {
        // SAFETY: interrupts are masked, so nothing else accesses the value. No code of `T` runs.
        masked(|_| unsafe { self.value.get().replace(value) })
    }

    /// Stores a value, and wakes the task that waits. Drops an earlier value that was not taken.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too. Constant time besides the
    /// move of the value, which takes place with interrupts masked.
    pub fn signal(&self, value: T) {
        let earlier = self.replace(Some(value));
        self.event.signal(1);
        drop(earlier);
    }

    /// Takes the value, if there is one. Never waits. May be called anywhere.
    pub fn try_take(&self) -> Option<T> {
        self.replace(None)
    }

    /// Takes the value; blocks the thread until there is one.
    ///
    /// # Panics
    /// If another task waits for this signal, or if it must wait in a critical section.
    #[track_caller]
    pub fn take(&self, me: &Me) -> T {
        loop {
            if let Some(value) = self.try_take() {
                return value;
            }
            self.event.wait(me);
        }
    }

    /// Takes the value; blocks the thread until there is one or `due` has come, in ticks of the
    /// board's clock.
    ///
    /// # Errors
    /// If there was none until `due`.
    ///
    /// # Panics
    /// As [`take`](Self::take).
    #[track_caller]
    pub fn take_until(&self, me: &Me, due: u64) -> Result<T, TimedOut> {
        loop {
            if let Some(value) = self.try_take() {
                return Ok(value);
            }
            self.event.wait_until(me, due)?;
        }
    }

    /// Takes the value; the coroutine waits until there is one. Dropping the future loses no value.
    ///
    /// # Panics
    /// As [`Event::signalled`](crate::Event::signalled).
    pub async fn taken(&self) -> T {
        loop {
            if let Some(value) = self.try_take() {
                return value;
            }
            self.event.signalled().await;
        }
    }
}

/// A value of which any number of tasks see the latest, and wait for a change.
pub struct Watch<T> {
    value: Shared<T>,
    /// The number of times that the value was set. Wraps.
    version: Shared<u32>,
    /// Tasks that wait, each with the version that it has seen.
    waiters: List<u32>,
    /// A [`Shared`] may go to other tasks with whatever it has: the value may not.
    _value: PhantomData<UnsafeCell<*const T>>,
}

// SAFETY: the value is copied in and out with interrupts masked, and `T: Send` allows the copies to
// be in other tasks.
unsafe impl<T: Send> Sync for Watch<T> {}
// SAFETY: as for `Sync`.
unsafe impl<T: Send> Send for Watch<T> {}

impl<T: Copy> Watch<T> {
    /// A watch with this value, which no receiver has seen.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self {
            value: Shared::new(value),
            version: Shared::new(1),
            waiters: List::new(),
            _value: PhantomData,
        }
    }

    /// Sets the value, and wakes the tasks that wait for a change, whether it differs or not.
    ///
    /// Never waits. For tasks and handlers, with interrupts masked too. A step for each task that
    /// waits, with interrupts masked for one at a time. The value is copied with interrupts masked.
    pub fn set(&self, value: T) {
        masked(|m| {
            self.value.set(m, value);
            self.version.set(m, self.version.get(m).wrapping_add(1));
        });
        self.waiters.walk(|m, seen| self.differs(m, seen));
    }

    fn differs(&self, m: Masked, seen: &u32) -> u32 {
        u32::from(self.version.get(m) != *seen)
    }

    /// The value. May be called anywhere.
    #[must_use]
    pub fn get(&self) -> T {
        masked(|m| self.value.get(m))
    }

    /// A receiver that has not seen the value yet.
    #[must_use]
    pub fn receiver(&self) -> Receiver<'_, T> {
        Receiver { watch: self, seen: masked(|m| self.version.get(m)).wrapping_sub(1) }
    }
}

/// A view of a [`Watch`] that knows which of its values it has seen.
pub struct Receiver<'a, T> {
    watch: &'a Watch<T>,
    seen: u32,
}

impl<T: Copy> Receiver<'_, T> {
    /// The value if it was set since this receiver last saw it. Never waits.
    pub fn try_changed(&mut self) -> Option<T> {
        let (mask, m) = Mask::set();
        let (version, value) = (self.watch.version.get(m), self.watch.value.get(m));
        mask.restore();
        let is_new = version != self.seen;
        self.seen = version;
        is_new.then_some(value)
    }

    #[track_caller]
    fn enter<'b>(
        &'b self,
        node: Pin<&'b Node<u32>>,
        call: Option<&str>,
    ) -> Result<u32, Place<'b, u32>> {
        self.watch.waiters.enter(node, call, |m, seen| self.watch.differs(m, seen))
    }

    /// Blocks the thread until the value has been set since this receiver last saw it, and returns
    /// it: the latest, if it was set more than once.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[track_caller]
    pub fn changed(&mut self, me: &Me) -> T {
        loop {
            if let Some(value) = self.try_changed() {
                return value;
            }
            let node = pin!(Node::new(self.seen));
            let node = node.as_ref();
            if let Err(_place) = self.enter(node, Some("Receiver::changed")) {
                node.get_ref().event().wait(me);
            };
        }
    }

    /// Blocks the thread until the value has been set since this receiver last saw it, or `due` has
    /// come, in ticks of the board's clock.
    ///
    /// # Errors
    /// If it was not set until `due`.
    ///
    /// # Panics
    /// If it must wait in a critical section.
    #[track_caller]
    pub fn changed_until(&mut self, me: &Me, due: u64) -> Result<T, TimedOut> {
        loop {
            if let Some(value) = self.try_changed() {
                return Ok(value);
            }
            let node = pin!(Node::new(self.seen));
            let node = node.as_ref();
            if let Err(place) = self.enter(node, Some("Receiver::changed_until")) {
                late(node.get_ref().event(), me, due, || place.leave())?;
            };
        }
    }

    /// Completes when the value has been set since this receiver last saw it, with the latest
    /// value. For coroutines.
    ///
    /// # Panics
    /// As [`Event::signalled`](crate::Event::signalled).
    pub async fn changed_async(&mut self) -> T {
        loop {
            if let Some(value) = self.try_changed() {
                return value;
            }
            let node = pin!(Node::new(self.seen));
            let node = node.as_ref();
            if let Err(_place) = self.enter(node, None) {
                node.get_ref().event().signalled().await;
            };
        }
    }
}
