//! Ready tasks in rings, one for each level of urgency: a task is ready if it is linked to another, or
//! if it is alone at the head of its level's ring and the level's bit is set.
//!
//! A kernel changes several words while interrupts are masked. States count when interrupts are enabled
//! again, as of the last store that made them what they are.

use std::collections::BTreeMap;

use super::resolve::RingPlaces;

/// The levels of urgency, as many as a bitmap has bits.
const LEVELS: u64 = 32;

/// The state of the rings, by the words that are known.
#[derive(Debug, Default)]
pub(super) struct Rings {
    /// The states of tasks since the last consistent moment, and before: each with its instant.
    tasks: BTreeMap<u64, State>,
}

#[derive(Debug, Default)]
struct State {
    was_ready: bool,
    is_ready: bool,
    since: u64,
}

impl Rings {
    /// Adds a task whose words are known. Returns whether it is ready.
    pub(super) fn add(
        &mut self,
        places: &RingPlaces,
        words: &BTreeMap<u64, u64>,
        task: u64,
    ) -> bool {
        let is_ready = places.is_ready(task, words);
        self.tasks.insert(task, State { was_ready: is_ready, is_ready, since: 0 });
        is_ready
    }

    /// Takes in that a word of a task or of the kernel has changed.
    pub(super) fn change(&mut self, places: &RingPlaces, words: &BTreeMap<u64, u64>, now: u64) {
        for (task, state) in &mut self.tasks {
            let is_ready = places.is_ready(*task, words);
            if std::mem::replace(&mut state.is_ready, is_ready) != is_ready {
                state.since = now;
            }
        }
    }

    /// The tasks whose states have changed since the last consistent moment, which is now: the instant, the
    /// task, and its being ready.
    pub(super) fn settle(&mut self) -> Vec<(u64, u64, bool)> {
        let mut changes = Vec::new();
        for (task, state) in &mut self.tasks {
            if std::mem::replace(&mut state.was_ready, state.is_ready) != state.is_ready {
                changes.push((state.since, *task, state.is_ready));
            }
        }
        changes
    }
}

impl RingPlaces {
    /// The addresses of the kernel's words that the states depend on.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> {
        (0..LEVELS).map(|level| self.head(level)).chain([self.bitmap])
    }

    /// The address of the head of a level's ring.
    fn head(&self, level: u64) -> u64 {
        self.heads.wrapping_add(4 * level)
    }

    fn is_ready(&self, task: u64, words: &BTreeMap<u64, u64>) -> bool {
        let word = |address: u64| words.get(&address).copied().unwrap_or_default();
        let field = |offset: u64| word(task.wrapping_add(offset));
        let (level, bit) = (field(self.level), field(self.bit));
        if level >= LEVELS || bit & word(self.bitmap) == 0 {
            return false;
        }
        field(self.next) != task || word(self.head(level)) == task
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_alone_in_its_ring_is_ready_by_its_head_and_bit() {
        let places = RingPlaces { heads: 0x1000, bitmap: 0x1080, next: 0, level: 4, bit: 8 };
        let mut words = BTreeMap::new();
        let set = |words: &mut BTreeMap<u64, u64>, address, value| words.insert(address, value);
        for (task, next) in [(0x100, 0x100), (0x200, 0x200)] {
            words.extend([(task, next), (task + 4, 3), (task + 8, 0x1000_0000)]);
        }
        let mut rings = Rings::default();
        assert!(!rings.add(&places, &words, 0x100) && !rings.add(&places, &words, 0x200));
        // A task becomes ready alone; between its two stores the other seems to be ready.
        set(&mut words, 0x100c, 0x200);
        set(&mut words, 0x1080, 0x1000_0000);
        rings.change(&places, &words, 10);
        set(&mut words, 0x100c, 0x100);
        rings.change(&places, &words, 11);
        assert_eq!(rings.settle(), [(11, 0x100, true)]);
        // The other is linked to it.
        set(&mut words, 0x200, 0x100);
        rings.change(&places, &words, 20);
        assert_eq!(rings.settle(), [(20, 0x200, true)]);
        set(&mut words, 0x1080, 0);
        rings.change(&places, &words, 30);
        assert_eq!(rings.settle(), [(30, 0x100, false), (30, 0x200, false)]);
        assert!(rings.settle().is_empty());
    }
}
