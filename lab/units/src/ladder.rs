//! A distribution as a ladder: a rung for each step of 1, 2 and 5 in a power of ten.

use std::collections::BTreeMap;

/// The steps of a power of ten.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

/// Counts of values on the rungs of a ladder. A value below 1 stands on the rung of 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ladder {
    bound: Option<f64>,
    /// By the number of the rung, and whether the values are above the bound.
    counts: BTreeMap<(i32, bool), u64>,
}

/// The values from one length to the next rung's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rung {
    /// The shortest length that stands here.
    pub from: f64,
    /// The number of values.
    pub count: u64,
    /// The values are above the bound.
    pub is_over: bool,
}

impl Ladder {
    /// An empty ladder; values above `bound` have rungs of their own.
    pub fn new(bound: Option<f64>) -> Self {
        Self { bound, counts: BTreeMap::new() }
    }

    /// Counts a value `count` times.
    pub fn add(&mut self, value: f64, count: u64) {
        let is_over = self.bound.is_some_and(|bound| value > bound);
        let counted = self.counts.entry((number(value), is_over)).or_default();
        *counted = counted.saturating_add(count);
    }

    /// The rungs from the shortest to the longest value, those without values between them too.
    pub fn rungs(&self) -> Vec<Rung> {
        let (Some(((first, _), _)), Some(((last, _), _))) =
            (self.counts.first_key_value(), self.counts.last_key_value())
        else {
            return Vec::new();
        };
        let bound = self.bound.unwrap_or(f64::INFINITY);
        let rung =
            |number: i32, is_over: bool| {
                let count = self.counts.get(&(number, is_over)).copied().unwrap_or_default();
                let (from, next) = (length(number), length(number + 1));
                let exists = if is_over { next > bound } else { from <= bound };
                let from = if is_over { from.max(bound) } else { from };
                // A bound at a rung's start leaves the values that equal it on a rung without a length.
                (exists && (count > 0 || from < next && (is_over || from < bound)))
                    .then_some(Rung { from, count, is_over })
            };
        (*first..=*last)
            .flat_map(|number| [rung(number, false), rung(number, true)])
            .flatten()
            .collect()
    }
}

impl Rung {
    /// The sign of the axis beside the rung, and the one of which its bar consists.
    pub fn signs(&self) -> (char, &'static str) {
        if self.is_over { ('┃', "▓") } else { ('│', "█") }
    }

    /// The length of the rung's bar, up to `width`, where the fullest rung has `most` values: by the
    /// logarithm of the count, and at least 1 for a value.
    pub fn bar(&self, most: u64, width: usize) -> usize {
        let share = (self.count as f64).ln_1p() / (most as f64).ln_1p().max(f64::MIN_POSITIVE);
        let length = (share * width as f64).round() as usize;
        length.clamp(usize::from(self.count > 0), width)
    }
}

/// The number of the rung of a value: 0 from 1, 1 from 2, 2 from 5, 3 from 10.
fn number(value: f64) -> i32 {
    let value = if value >= 1.0 { value } else { 1.0 };
    let power = value.log10().floor() as i32;
    // The logarithm may be off by a little: the lengths decide.
    let near = 3 * power - 1..=3 * power + 3;
    near.rev().find(|number| length(*number) <= value).unwrap_or_default()
}

/// The length at which a rung begins.
fn length(number: i32) -> f64 {
    10_f64.powi(number.div_euclid(3)) * STEPS[number.rem_euclid(3) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rungs(values: &[f64], bound: Option<f64>) -> Vec<(f64, u64, bool)> {
        let mut ladder = Ladder::new(bound);
        values.iter().for_each(|value| ladder.add(*value, 1));
        ladder.rungs().iter().map(|rung| (rung.from, rung.count, rung.is_over)).collect()
    }

    #[test]
    fn a_value_stands_on_the_rung_at_or_below_it() {
        for (value, from) in
            [(0.0, 1.0), (1.0, 1.0), (1.99, 1.0), (2.0, 2.0), (5.0, 5.0), (9.9, 5.0), (10.0, 10.0)]
        {
            assert_eq!(rungs(&[value], None), [(from, 1, false)], "{value}");
        }
        for power in 0..15 {
            let value = 10_f64.powi(power);
            assert_eq!(rungs(&[value], None)[0].0, value);
        }
    }

    #[test]
    fn empty_rungs_between_values_are_there() {
        assert_eq!(
            rungs(&[3.0, 40.0, 45.0], None),
            [(2.0, 1, false), (5.0, 0, false), (10.0, 0, false), (20.0, 2, false)]
        );
        assert_eq!(rungs(&[], None), []);
    }

    #[test]
    fn the_greatest_count_is_never_exceeded() {
        let mut ladder = Ladder::new(None);
        [2, u64::MAX, 1].into_iter().for_each(|count| ladder.add(3.0, count));
        assert_eq!(ladder.rungs(), [Rung { from: 2.0, count: u64::MAX, is_over: false }]);
    }

    /// Each value is on the side of the bound where it belongs, whether the bound is a step or not.
    #[test]
    fn values_above_the_bound_have_rungs_of_their_own() {
        let values = [3.0, 10.0, 10.5, 12.0, 30.0];
        let at_a_step =
            [(2.0, 1, false), (5.0, 0, false), (10.0, 1, false), (10.0, 2, true), (20.0, 1, true)];
        assert_eq!(rungs(&values, Some(10.0)), at_a_step);
        let within =
            [(2.0, 1, false), (5.0, 0, false), (10.0, 2, false), (11.0, 1, true), (20.0, 1, true)];
        assert_eq!(rungs(&values, Some(11.0)), within);
        assert_eq!(rungs(&[3.0, 30.0], Some(10.0)).iter().filter(|rung| rung.1 == 0).count(), 2);
    }

    #[test]
    fn bars_grow_with_the_logarithm_and_never_vanish() {
        let bar = |count| Rung { from: 1.0, count, is_over: false }.bar(1_000_000, 40);
        assert_eq!((bar(0), bar(1_000_000)), (0, 40));
        assert!(bar(1) >= 1 && bar(10) > bar(1) && bar(1_000) < bar(100_000));
    }
}
