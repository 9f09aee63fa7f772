//! Sums of cycles with their bounds.

use core::ops::Sub;

/// The cycles of an event: at least, at most, and the single number that is most likely. The last one
/// is kept in halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// No fewer cycles are possible.
    pub least: u32,
    /// Twice the estimate.
    pub estimate_halves: u32,
    /// No more cycles are possible.
    pub most: u32,
}

impl Cost {
    /// A cost that is known.
    pub const fn exactly(cycles: u32) -> Self {
        Self::between(cycles, cycles, cycles)
    }

    /// A cost with bounds.
    pub const fn between(least: u32, estimate: u32, most: u32) -> Self {
        Self { least, estimate_halves: 2 * estimate, most }
    }
}

/// The reasons why bounds are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The refill of the pipeline after a branch.
    Branch,
    /// Loads and stores: how they overlap, and the write buffer.
    Access,
    /// Special registers, barriers, IT instructions.
    System,
    /// Entry into and return from exceptions.
    Exception,
    /// Wait states of the flash.
    Flash,
    /// Quotients, products, floating point.
    Arithmetic,
}

impl Cause {
    /// All causes, in the order of [`Sum::width`].
    pub const ALL: [Self; 6] =
        [Self::Branch, Self::Access, Self::System, Self::Exception, Self::Flash, Self::Arithmetic];

    /// The words for a reader.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Branch => "branches",
            Self::Access => "loads and stores",
            Self::System => "system instructions",
            Self::Exception => "exceptions",
            Self::Flash => "flash",
            Self::Arithmetic => "arithmetic",
        }
    }
}

/// The cycles of a stretch of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// The number of instructions.
    pub instructions: u64,
    /// The least number of cycles.
    pub least: u64,
    /// Twice the estimate.
    pub estimate_halves: u64,
    /// The greatest number of cycles.
    pub most: u64,
    /// The part that each cause has in the distance of the bounds, in the order of [`Cause::ALL`].
    pub width: [u64; Cause::ALL.len()],
}

impl Sum {
    /// Adds a cost whose bounds are apart for that reason.
    pub fn add(&mut self, cost: Cost, cause: Cause) {
        self.least += u64::from(cost.least);
        self.estimate_halves += u64::from(cost.estimate_halves);
        self.most += u64::from(cost.most);
        self.width[cause as usize] += u64::from(cost.most - cost.least);
    }

    /// Returns whether `later` can be a later state of this running sum.
    pub fn is_before(&self, later: &Self) -> bool {
        let numbers = |sum: &Self| [sum.instructions, sum.least, sum.estimate_halves, sum.most];
        let is_not_less = |(before, after): (u64, u64)| before <= after;
        numbers(self).into_iter().zip(numbers(later)).all(is_not_less)
            && self.width.into_iter().zip(later.width).all(is_not_less)
    }

    /// The estimate in cycles.
    pub fn estimate(&self) -> f64 {
        self.estimate_halves as f64 / 2.0
    }
}

impl Sub for Sum {
    type Output = Self;

    /// The cycles between two states of one running sum. `earlier` must be the earlier one.
    fn sub(self, earlier: Self) -> Self {
        let mut width = self.width;
        width.iter_mut().zip(earlier.width).for_each(|(all, before)| *all -= before);
        Self {
            instructions: self.instructions - earlier.instructions,
            least: self.least - earlier.least,
            estimate_halves: self.estimate_halves - earlier.estimate_halves,
            most: self.most - earlier.most,
            width,
        }
    }
}
