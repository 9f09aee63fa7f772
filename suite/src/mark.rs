//! Marks: one clock read and one store each, into memory laid out beforehand.
//!
//! Each place in a buffer has one writer, chosen by number (task 3 of 5 writes places 3, 8, 13 …), so
//! tasks and handlers share no cursor and need no lock. The buffer is read after its writers are done.
//!
//! Where the image drives pins ([`Clock::drive`]), marks that bound an interval show it to a logic analyser as well. The pin is
//! set outside of the marks, so that these tell the same as without it, and the pulse is longer by two marks and a store.

use crate::{arena::Arena, refusal::Refusal};

pub use crate::clock::{Clock, Raw, Slot};

/// The pin of the measured series, or of the first one. D1 to D4 are those of its sisters.
pub const MEASURED: u8 = 0;

/// The pin of a stretch of work that is measured for itself.
pub const BLOCK: u8 = 6;

/// The pin of the control.
pub const CONTROL: u8 = 7;

/// The pin of a task, or of one of several series, counted from 0: the first five have one.
pub fn pin_of(number: usize) -> Option<u8> {
    (number < 5).then_some(MEASURED + number as u8)
}

/// Sets a pin, if there is one.
#[inline(always)]
pub fn drive<C: Clock>(clock: &C, pin: impl Into<Option<u8>>, high: bool) {
    if let Some(pin) = pin.into() {
        clock.drive(pin, high);
    }
}

/// A buffer of marks.
pub struct Marks<C: Clock> {
    slots: &'static [C::Slot],
}

impl<C: Clock> Marks<C> {
    /// # Errors
    /// [`Refusal`] when the arena is full.
    pub fn new(arena: &Arena, count: usize) -> Result<Self, Refusal> {
        Ok(Self { slots: arena.fill(count, |_| Ok(C::Slot::empty()))? })
    }

    /// Stores the clock's value at `place`. A place beyond the end is ignored.
    #[inline(always)]
    pub fn mark(&self, clock: &C, place: usize) {
        if let Some(slot) = self.slots.get(place) {
            slot.store(clock.read());
        }
    }

    /// The mark that starts an interval: before it the pin rises.
    #[inline(always)]
    pub fn start(&self, clock: &C, place: usize, pin: impl Into<Option<u8>>) {
        if let Some(slot) = self.slots.get(place) {
            drive(clock, pin, true);
            slot.store(clock.read());
        }
    }

    /// The mark that ends an interval: after it the pin falls.
    #[inline(always)]
    pub fn end(&self, clock: &C, place: usize, pin: impl Into<Option<u8>>) {
        if let Some(slot) = self.slots.get(place) {
            slot.store(clock.read());
            drive(clock, pin, false);
        }
    }

    /// A mark that ends an interval and starts the next: after it the pin rises at even places, and falls at odd ones.
    #[inline(always)]
    pub fn edge(&self, clock: &C, place: usize, pin: u8) {
        if let Some(slot) = self.slots.get(place) {
            slot.store(clock.read());
            clock.drive(pin, place.is_multiple_of(2));
        }
    }

    /// Stores a known time, such as the one that a timer is set to, at `place`. Panics beyond the end.
    pub fn set(&self, place: usize, time: u64) {
        self.slots[place].store(C::Slot::truncate(time));
    }

    /// The mark at `place` as a time that does not wrap. `now`: a time less than half the counter's range away.
    pub fn time(&self, place: usize, now: u64) -> u64 {
        now.wrapping_sub_signed(C::Slot::between(self.at(place), C::Slot::truncate(now)))
    }

    /// Ticks from the time `due` to the mark at `place`: negative when the mark is early.
    pub fn lateness(&self, place: usize, due: u64) -> i64 {
        C::Slot::between(C::Slot::truncate(due), self.at(place))
    }

    /// The first `count` marks.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        Self { slots: &self.slots[..count.min(self.len())] }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The value at `place`. Panics beyond the end.
    pub fn at(&self, place: usize) -> Raw<C> {
        self.slots[place].load()
    }

    /// Ticks from the mark at `place` of `self` to the mark at `other_place` of `other`.
    pub fn until(&self, place: usize, other: &Self, other_place: usize) -> i64 {
        C::Slot::between(self.at(place), other.at(other_place))
    }

    /// Whether the marks are in the order of their times already.
    pub fn are_sorted(&self) -> bool {
        (1..self.len()).all(|place| self.until(place - 1, self, place) >= 0)
    }

    /// Puts the marks in the order of their times. Insertion sort: marks that many tasks set in
    /// turn are nearly in order, and then it takes one pass.
    pub fn sort(&self) {
        for end in 1..self.len() {
            let value = self.at(end);
            let mut place = end;
            while place > 0 && C::Slot::between(value, self.at(place - 1)) > 0 {
                self.slots[place].store(self.at(place - 1));
                place -= 1;
            }
            self.slots[place].store(value);
        }
    }

    /// Sets every mark, one straight after the other: the cost of a mark itself. It is the control
    /// of experiments whose measured path holds one operation between two marks.
    #[inline(never)]
    pub fn control(&self, clock: &C) {
        for (place, slot) in self.slots.iter().enumerate() {
            slot.store(clock.read());
            clock.drive(CONTROL, place.is_multiple_of(2));
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::sync::atomic;
    use std::{boxed::Box, cell::RefCell, vec::Vec};

    use super::*;
    use crate::wire::Domain;

    #[derive(Debug, PartialEq)]
    enum Event {
        Read,
        Pin(u8, bool),
    }
    use Event::{Pin, Read};

    /// It writes down what is asked of it, and counts that as its time.
    #[derive(Default)]
    struct Recorder(RefCell<Vec<Event>>);

    impl Clock for Recorder {
        type Slot = atomic::AtomicU32;
        const DOMAIN: Domain = Domain::Cycles;

        fn read(&self) -> u32 {
            self.0.borrow_mut().push(Read);
            self.now() as u32
        }

        fn now(&self) -> u64 {
            self.0.borrow().len() as u64
        }

        fn hertz(&self) -> u64 {
            1
        }

        fn drive(&self, pin: u8, high: bool) {
            self.0.borrow_mut().push(Pin(pin, high));
        }
    }

    fn marks(count: usize) -> Marks<Recorder> {
        let region = Box::leak(Box::new_uninit_slice(1024));
        Marks::new(&Arena::new(region), count).expect("there is room")
    }

    #[test]
    fn pins_are_set_outside_of_the_marks() {
        let (clock, marks) = (Recorder::default(), marks(4));
        marks.start(&clock, 0, MEASURED);
        marks.end(&clock, 1, MEASURED);
        assert_eq!(clock.0.take(), [Pin(0, true), Read, Read, Pin(0, false)]);
        marks.start(&clock, 0, None);
        marks.end(&clock, 1, pin_of(5));
        assert_eq!(clock.0.take(), [Read, Read]);
        (0..4).for_each(|place| marks.edge(&clock, place, BLOCK));
        let edges =
            [Read, Pin(6, true), Read, Pin(6, false), Read, Pin(6, true), Read, Pin(6, false)];
        assert_eq!(clock.0.take(), edges);
        marks.first(2).control(&clock);
        assert_eq!(clock.0.take(), [Read, Pin(7, true), Read, Pin(7, false)]);
    }

    #[test]
    fn what_is_not_marked_is_not_shown() {
        let (clock, marks) = (Recorder::default(), marks(1));
        marks.start(&clock, 1, MEASURED);
        marks.end(&clock, 1, MEASURED);
        marks.edge(&clock, 1, MEASURED);
        assert_eq!(clock.0.take(), []);
    }
}
