//! A second interrupt beside the one whose wait is measured: every pair of arrivals of a round.
//!
//! For each instruction of the round, the measured interrupt becomes pending while it executes, and the
//! other one with it or some instructions later, as long as the measured one still waits. Then the other
//! one comes first, and the measured one one instruction later each time, until the round ends before it.

use chronoscope_cycles::Sum;

use super::{Interrupt, aside::Outcome};

/// The interrupt that comes first.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Measured,
    Other,
}

pub struct Nested {
    /// The number of the other interrupt.
    pub number: u32,
    pub other: Interrupt,
    order: Order,
    /// The instructions between the two arrivals.
    delay: u32,
    /// The instructions since the first arrival of the round, if that has come.
    since: Option<u32>,
    /// The second one has come.
    has_second: bool,
    /// The longest wait of the pairs with the same first arrival.
    longest: Option<Tried>,
    /// The pairs with the same first arrival so far, and all pairs before.
    open: u64,
    pub pairs: u64,
}

/// A wait, the length of its round, and the cycles.
#[derive(Clone, Copy)]
struct Tried {
    wait: u32,
    length: usize,
    cycles: Sum,
}

/// The interrupts that become pending now.
#[derive(Clone, Copy, Default)]
pub struct Now {
    pub measured: bool,
    pub other: bool,
}

impl Nested {
    pub fn new(number: u32) -> Self {
        Self {
            number,
            other: Interrupt::default(),
            order: Order::Measured,
            delay: 0,
            since: None,
            has_second: false,
            longest: None,
            open: 0,
            pairs: 0,
        }
    }

    /// The first arrival of a round: the round has come to its instruction.
    pub fn arrive(&mut self) -> Now {
        self.since = Some(0);
        self.has_second = self.delay == 0;
        match self.order {
            Order::Measured => Now { measured: true, other: self.has_second },
            Order::Other => Now { measured: self.has_second, other: true },
        }
    }

    /// Takes in an instruction after the first arrival. `is_pending` says that the measured one has come, and
    /// waits.
    pub fn step(&mut self, is_pending: bool) -> Now {
        let Some(since) = self.since.as_mut() else { return Now::default() };
        *since += 1;
        if *since != self.delay || self.order == Order::Measured && !is_pending {
            return Now::default();
        }
        self.has_second = true;
        match self.order {
            Order::Measured => Now { measured: false, other: true },
            Order::Other => Now { measured: true, other: false },
        }
    }

    /// Returns whether the first arrival of this round has come.
    pub fn has_begun(&self) -> bool {
        self.since.is_some()
    }

    /// Notes the wait of a round, if the measured one came, and chooses the next pair. Returns the longest
    /// wait when all pairs with the same first arrival have been tried.
    pub fn end(&mut self, wait: Option<(u32, Sum)>, length: usize, tries: u32) -> Option<Outcome> {
        if let Some((wait, cycles)) = wait {
            self.open += u64::from(self.has_second);
            // A model's bounds decide where there is one.
            let is_longer = |known: Tried| (cycles.most, wait) > (known.cycles.most, known.wait);
            if self.longest.is_none_or(is_longer) {
                self.longest = Some(Tried { wait, length, cycles });
            }
        }
        self.since = None;
        if std::mem::take(&mut self.has_second) {
            self.delay += 1;
            return None;
        }
        if self.order == Order::Measured {
            (self.order, self.delay) = (Order::Other, 1);
            return None;
        }
        self.pairs += self.open;
        let outcome = self.longest.map_or(Outcome::Missed, |Tried { wait, length, cycles }| {
            Outcome::Tried { wait, length, tries, cycles }
        });
        self.give_up();
        Some(outcome)
    }

    /// Goes on to the next arrival, of which no pair has been tried.
    pub fn give_up(&mut self) {
        *self = Self { other: self.other, pairs: self.pairs, ..Self::new(self.number) };
    }
}
