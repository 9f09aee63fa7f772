//! The order in which an experiment creates its tasks.

use crate::random::Random;

/// The order in which an experiment creates its tasks: every number below a count, once.
pub struct Order {
    next: usize,
    stride: usize,
    left: usize,
    count: usize,
}

impl Order {
    /// The ascending order.
    pub(crate) const fn ascending(count: usize) -> Self {
        Self { next: 0, stride: 1, left: count, count }
    }

    /// An order that the generator chooses.
    pub(crate) fn chosen(count: usize, random: &mut Random) -> Self {
        let below = |random: &mut Random| random.below(count as u32) as usize;
        let next = below(random);
        let mut stride = below(random).max(1);
        // A stride without a common divisor meets every number.
        while divisor(stride, count) > 1 {
            stride += 1;
        }
        Self { next, stride, left: count, count }
    }
}

impl Iterator for Order {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let number = self.next;
        self.next += self.stride;
        while self.next >= self.count {
            self.next -= self.count;
        }
        Some(number)
    }
}

/// Returns the greatest common divisor.
const fn divisor(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[test]
    fn every_order_has_each_number_once() {
        for count in 0..40 {
            assert!(Order::ascending(count).eq(0..count));
            for seed in 0..20 {
                let mut numbers: Vec<usize> =
                    Order::chosen(count, &mut Random::new(seed)).collect();
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..count), "{count} {seed}");
            }
        }
        let orders = (0..20).map(|seed| Order::chosen(5, &mut Random::new(seed)));
        let orders: std::collections::BTreeSet<Vec<usize>> =
            orders.map(Iterator::collect).collect();
        assert!(orders.len() > 5, "{orders:?}");
    }
}
