//! Marks: one clock read and one store each, into preallocated memory.
//!
//! Each place in a buffer has one writer, chosen by number (task 3 of 5 writes places 3, 8, 13 …),
//! so tasks and handlers share no cursor and need no lock. Buffers are read after their writers
//! have ended.
//!
//! In an image that drives pins ([`Clock::drive`]), the marks of an interval also drive a pin for a
//! logic analyser. The pin changes outside the interval between the marks, so the figures equal
//! the figures of an image without pins, and the pulse is longer by two marks and a store.

use crate::{arena::Arena, refusal::Refusal};

pub use crate::clock::{Clock, Raw, Slot};

/// The pin of the first measured series. Pins 1 to 4 belong to the next ones.
pub const MEASURED: u8 = 0;

/// The pin of a measured block of work.
pub const BLOCK: u8 = 6;

/// The pin of the control.
pub const CONTROL: u8 = 7;

/// Returns the pin of a task or series by its number, from 0. Only the first five have one.
pub fn pin_of(number: usize) -> Option<u8> {
    (number < 5).then_some(MEASURED + number as u8)
}

/// Sets the level of `pin`; does nothing for `None`.
#[inline(always)]
pub fn drive<C: Clock>(clock: &C, pin: impl Into<Option<u8>>, high: bool) {
    if let Some(pin) = pin.into() {
        clock.drive(pin, high);
    }
}

/// A buffer of marks in the arena. Copies of a buffer share its memory.
pub struct Marks<C: Clock> {
    slots: &'static [C::Slot],
}

impl<C: Clock> Marks<C> {
    /// # Errors
    /// [`Refusal`] when the arena is full.
    pub fn new(arena: &Arena, count: usize) -> Result<Self, Refusal> {
        Ok(Self { slots: arena.fill(count, |_| Ok(C::Slot::empty()))? })
    }

    /// Stores the clock's value at `place`: one bounds check, one clock read, one store. Ignores a
    /// place beyond the end.
    #[inline(always)]
    pub fn mark(&self, clock: &C, place: usize) {
        if let Some(slot) = self.slots.get(place) {
            slot.store(clock.read());
        }
    }

    /// Marks the start of an interval; the pin rises before the mark.
    #[inline(always)]
    pub fn start(&self, clock: &C, place: usize, pin: impl Into<Option<u8>>) {
        if let Some(slot) = self.slots.get(place) {
            drive(clock, pin, true);
            slot.store(clock.read());
        }
    }

    /// Marks the end of an interval; the pin falls after the mark.
    #[inline(always)]
    pub fn end(&self, clock: &C, place: usize, pin: impl Into<Option<u8>>) {
        if let Some(slot) = self.slots.get(place) {
            slot.store(clock.read());
            drive(clock, pin, false);
        }
    }

    /// Marks the end of an interval and the start of the next. After the mark the pin rises at even
    /// places, and falls at odd ones.
    #[inline(always)]
    pub fn edge(&self, clock: &C, place: usize, pin: u8) {
        if let Some(slot) = self.slots.get(place) {
            slot.store(clock.read());
            clock.drive(pin, place.is_multiple_of(2));
        }
    }

    /// Stores a known time, such as a timer's due time, at `place`. Panics beyond the end.
    pub fn set(&self, place: usize, time: u64) {
        self.slots[place].store(C::Slot::truncate(time));
    }

    /// Extends the mark at `place` to a 64-bit time. `now` must be less than half the counter's
    /// range away from it.
    pub fn time(&self, place: usize, now: u64) -> u64 {
        now.wrapping_sub_signed(C::Slot::between(self.at(place), C::Slot::truncate(now)))
    }

    /// Returns the ticks from the time `due` to the mark at `place`; negative if the mark is early.
    /// The two must be less than half the counter's range apart.
    pub fn lateness(&self, place: usize, due: u64) -> i64 {
        C::Slot::between(C::Slot::truncate(due), self.at(place))
    }

    /// Returns a buffer of the first `count` marks, in the same memory.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        Self { slots: &self.slots[..count.min(self.len())] }
    }

    /// Returns two buffers, of the first `count` marks and of the others, in the same memory. Panics
    /// if there are fewer.
    #[must_use]
    pub fn split(&self, count: usize) -> (Self, Self) {
        let (first, others) = self.slots.split_at(count);
        (Self { slots: first }, Self { slots: others })
    }

    /// The number of marks.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether there is no mark.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the raw value at `place`. Panics beyond the end.
    pub fn at(&self, place: usize) -> Raw<C> {
        self.slots[place].load()
    }

    /// Returns the ticks from the mark at `place` of `self` to the mark at `other_place` of
    /// `other`: negative if the second is earlier. The two must be less than half the counter's
    /// range apart.
    pub fn until(&self, place: usize, other: &Self, other_place: usize) -> i64 {
        C::Slot::between(self.at(place), other.at(other_place))
    }

    /// Returns `true` if the marks are in ascending order of time.
    pub fn are_sorted(&self) -> bool {
        (1..self.len()).all(|place| self.until(place - 1, self, place) >= 0)
    }

    /// Sorts the marks by time. Insertion sort: one pass over marks that tasks set in turn, which
    /// are nearly in order; quadratic at worst.
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

    /// Sets all marks in a row, which gives the cost of a mark. This is the control of experiments
    /// that measure one operation between two marks.
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

    /// A clock that records each call; its time is the number of calls.
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
