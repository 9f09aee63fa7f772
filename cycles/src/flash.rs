//! Flash with wait states, and the buffers in front of it.
//!
//! Fetches go read by read. One that is in the instruction cache costs nothing. Any other takes the
//! wait states, unless it follows the read before: then a prefetch may hide them, all or in part. Of a
//! line of several reads, the others may have come with the first one. Words that are loaded from flash
//! have a cache of their own.
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
    pub read: u32,
    /// The bytes of a line of the caches: 2 to this power, at least of one read and at most of eight.
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
    /// The reads of each line that are there for certain: a bit each.
    reads: [u8; MOST],
    /// The time of the last use of each line.
    used: [u64; MOST],
    now: u64,
    size: usize,
    /// The reads of a line: 2 to this power.
    reads_of_a_line: u32,
}

/// The part of a read that a cache has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Read,
    /// The line, which may not be complete.
    Line,
    Nothing,
}

impl Lines {
    const fn new(size: usize, flash: &Flash) -> Self {
        let size = if size < MOST { size } else { MOST };
        let reads_of_a_line = flash.line.saturating_sub(flash.read);
        Self {
            lines: [u32::MAX; MOST],
            reads: [0; MOST],
            used: [0; MOST],
            now: 0,
            size,
            reads_of_a_line,
        }
    }

    /// Uses a read by its number, and returns the part of it that was there.
    fn touch(&mut self, read: u32) -> Held {
        self.now += 1;
        let line = read >> self.reads_of_a_line;
        let bit = 1_u8 << (read & ((1 << self.reads_of_a_line) - 1) & 7);
        let lines = &self.lines[..self.size];
        let found = lines.iter().position(|held| *held == line);
        let oldest = || (0..self.size).min_by_key(|place| self.used[*place]);
        let Some(place) = found.or_else(oldest) else { return Held::Nothing };
        let before = if found.is_some() { self.reads[place] } else { 0 };
        self.lines[place] = line;
        self.reads[place] = before | bit;
        self.used[place] = self.now;
        match found {
            Some(_) if before & bit != 0 => Held::Read,
            Some(_) => Held::Line,
            None => Held::Nothing,
        }
    }
}

/// The state of a flash and its buffers.
#[derive(Clone, Debug)]
pub(crate) struct State {
    flash: Flash,
    instructions: Lines,
    data: Lines,
    /// The read that was fetched last, and the one before.
    last: [Option<u32>; 2],
}

impl State {
    pub(crate) fn new(flash: Flash) -> Self {
        let (instructions, data) =
            (Lines::new(flash.instruction_lines, &flash), Lines::new(flash.data_lines, &flash));
        Self { flash, instructions, data, last: [None; 2] }
    }

    pub(crate) fn has_wait_states(&self) -> bool {
        self.flash.wait_states > 0
    }

    /// The stall of fetching `bytes` at `address`.
    pub(crate) fn fetch(&mut self, address: u32, bytes: u32) -> Cost {
        let mut stall = Cost::exactly(0);
        if !self.flash.contains(address) {
            self.last = [None; 2];
            return stall;
        }
        let (first, end) = (address >> self.flash.read, (address + bytes - 1) >> self.flash.read);
        for read in first..=end {
            let [last, before] = self.last;
            if last == Some(read) {
                continue;
            }
            let follows = last.is_some_and(|last| last.wrapping_add(1) == read);
            self.last = [Some(read), last];
            let held = self.instructions.touch(read);
            if held == Held::Read {
                continue;
            }
            let waits = self.flash.wait_states;
            // Without a cache, the buffers hold the read before, perhaps, and the prefetched one.
            let has_cache = self.flash.instruction_lines > 0;
            let may_be_there = follows || held == Held::Line || !has_cache && before == Some(read);
            let estimate = if may_be_there { 0 } else { waits };
            stall.least += if has_cache { estimate } else { 0 };
            stall.estimate_halves += 2 * estimate;
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
        match self.data.touch(address >> self.flash.read) {
            Held::Read => Cost::between(0, 0, 1),
            Held::Line => Cost::between(0, 0, waits + 1),
            Held::Nothing => Cost::between(0, 1, waits + 1),
        }
    }
}
