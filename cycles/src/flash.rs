//! Flash with wait states, and the buffers in front of it.
//!
//! Fetches go line by line. A line that is in the instruction cache costs nothing. Any other takes
//! the wait states, unless it follows the line before: then a prefetch may hide them, all or in part.
//! Words that are loaded from flash have a cache of their own.
//!
//! Not modelled: a fetch and a load that want the flash in one cycle. The upper bound of a load
//! counts one cycle for that.

use crate::cost::Cost;

/// Most lines of a cache.
const MOST: usize = 64;

/// The form of a chip's flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flash {
    /// The lowest address.
    pub origin: u32,
    /// The size in bytes.
    pub bytes: u32,
    /// The cycles that a read waits.
    pub wait_states: u32,
    /// The bytes that one read gives: 2 to this power.
    pub line: u32,
    /// The lines of the cache of instructions, at most 64; 0 if there is none.
    pub instruction_lines: usize,
    /// The lines of the cache of data; 0 if there is none.
    pub data_lines: usize,
}

impl Flash {
    fn contains(&self, address: u32) -> bool {
        address.wrapping_sub(self.origin) < self.bytes
    }
}

/// Lines of which the least recently used one is replaced.
#[derive(Clone, Copy, Debug)]
struct Lines {
    lines: [u32; MOST],
    /// The time of the last use of each line.
    used: [u64; MOST],
    now: u64,
    size: usize,
}

impl Lines {
    const fn new(size: usize) -> Self {
        let size = if size < MOST { size } else { MOST };
        Self { lines: [u32::MAX; MOST], used: [0; MOST], now: 0, size }
    }

    /// Uses a line, and returns whether it was there.
    fn touch(&mut self, line: u32) -> bool {
        self.now += 1;
        let lines = &self.lines[..self.size];
        let found = lines.iter().position(|held| *held == line);
        let oldest = || (0..self.size).min_by_key(|place| self.used[*place]);
        let Some(place) = found.or_else(oldest) else { return false };
        self.lines[place] = line;
        self.used[place] = self.now;
        found.is_some()
    }
}

/// The state of a flash and its buffers.
#[derive(Clone, Debug)]
pub(crate) struct State {
    flash: Flash,
    instructions: Lines,
    data: Lines,
    /// The line that was fetched last.
    last: Option<u32>,
}

impl State {
    pub(crate) fn new(flash: Flash) -> Self {
        let (instructions, data) =
            (Lines::new(flash.instruction_lines), Lines::new(flash.data_lines));
        Self { flash, instructions, data, last: None }
    }

    pub(crate) fn has_wait_states(&self) -> bool {
        self.flash.wait_states > 0
    }

    /// The stall of fetching `bytes` at `address`.
    pub(crate) fn fetch(&mut self, address: u32, bytes: u32) -> Cost {
        let mut stall = Cost::exactly(0);
        if !self.flash.contains(address) {
            self.last = None;
            return stall;
        }
        let (first, end) = (address >> self.flash.line, (address + bytes - 1) >> self.flash.line);
        for line in first..=end {
            if self.last == Some(line) {
                continue;
            }
            let follows = self.last.is_some_and(|last| last.wrapping_add(1) == line);
            self.last = Some(line);
            if self.instructions.touch(line) {
                continue;
            }
            let waits = self.flash.wait_states;
            // Without a cache, a branch may still find its target in the prefetched line.
            let may_be_there = follows || self.flash.instruction_lines == 0;
            let least = if may_be_there { 0 } else { waits };
            stall.least += least;
            stall.estimate_halves += 2 * least;
            stall.most += waits;
        }
        stall
    }

    /// The stall of loading a word at `address`.
    pub(crate) fn load(&mut self, address: u32) -> Cost {
        let waits = self.flash.wait_states;
        if waits == 0 || !self.flash.contains(address) {
            return Cost::exactly(0);
        }
        match self.data.touch(address >> self.flash.line) {
            true => Cost::between(0, 0, 1),
            false => Cost::between(0, 1, waits + 1),
        }
    }
}
