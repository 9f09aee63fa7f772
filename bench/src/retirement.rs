//! The instruction profile and the retirement trace: the instructions that retired while pin 0 was
//! high, and their cycles.
//!
//! Each retirement is attributed the cycles since the previous one, or since the window began. The
//! cycles from the last retirement to the window's end are attributed to the next instruction.
//! Cycles of sleep are attributed to no instruction. So the sum of all is the length of the
//! windows, except for a window in which the run ends.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

/// The cost of the instruction at one address.
#[derive(Default)]
struct Cost {
    cycles: u64,
    retired: u64,
    /// Cycles of those retirements that were the first of an interrupt handler: the hardware's
    /// interrupt entry.
    entries: u64,
}

#[derive(Default)]
pub struct Profile {
    windows: u64,
    cycles: u64,
    /// Cycles of sleep within windows; not included in `cycles`.
    asleep: u64,
    /// The cycle up to which sleep has been counted. `None` while the core is awake.
    sleeps: Option<u64>,
    costs: BTreeMap<u32, Cost>,
    /// The first cycle in the window that is not attributed yet.
    since: Option<u64>,
    /// Cycles at the end of a window, to be attributed to the next instruction that retires.
    left: u64,
}

impl Profile {
    pub fn begin(&mut self, at: u64) {
        self.windows += 1;
        self.since = Some(at);
    }

    /// Records that the core falls asleep or wakes.
    pub fn sleep(&mut self, at: u64, sleeps: bool) {
        self.count_sleep(at);
        self.sleeps = sleeps.then_some(at);
    }

    /// Counts the cycles slept so far, and excludes them from those to be attributed.
    fn count_sleep(&mut self, at: u64) {
        if let (Some(sleeps), Some(since)) = (&mut self.sleeps, &mut self.since) {
            let slept = at - (*sleeps).max(*since);
            self.asleep += slept;
            *since += slept;
            *sleeps = at;
        }
    }

    pub fn retire(&mut self, at: u64, pc: u32, entry: bool) {
        self.count_sleep(at);
        let cycles = match self.since {
            Some(since) => {
                self.since = Some(at);
                at - since
            }
            None => 0,
        } + std::mem::take(&mut self.left);
        if cycles == 0 && self.since.is_none() {
            return;
        }
        self.cycles += cycles;
        let cost = self.costs.entry(pc).or_default();
        cost.cycles += cycles;
        cost.retired += 1;
        if entry {
            cost.entries += cycles;
        }
    }

    pub fn end(&mut self, at: u64) {
        self.count_sleep(at);
        if let Some(since) = self.since.take() {
            self.left += at - since;
        }
    }

    pub fn write(&self, mut file: impl Write) -> io::Result<()> {
        writeln!(file, "windows {} cycles {} asleep {}", self.windows, self.cycles, self.asleep)?;
        for (pc, Cost { cycles, retired, entries }) in &self.costs {
            writeln!(file, "{pc:08x} {cycles} {retired} {entries}")?;
        }
        file.flush()
    }
}

/// The retirement trace: a line for each instruction.
pub struct Trace<W> {
    file: W,
    lines: u32,
    /// The cycle at which the core last woke, for the line of the next instruction.
    woke: Option<u64>,
}

/// The largest number of lines in a trace: a few megabytes.
const MOST_LINES: u32 = 200_000;

impl<W: Write> Trace<W> {
    pub fn new(file: W) -> Self {
        Self { file, lines: 0, woke: None }
    }

    pub fn wake(&mut self, at: u64) {
        self.woke = Some(at);
    }

    pub fn retire(&mut self, at: u64, pc: u32, instruction: u32, entry: bool) -> io::Result<()> {
        if self.lines == MOST_LINES {
            return Ok(());
        }
        self.lines += 1;
        let woke = self.woke.take().map_or(String::new(), |at| format!(" w{at}"));
        writeln!(
            self.file,
            "{at} {pc:08x} {instruction:08x}{}{woke}",
            if entry { " i" } else { "" }
        )
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_is_nobody_s() {
        let mut profile = Profile::default();
        profile.retire(90, 0x10, false);
        profile.begin(100);
        profile.retire(110, 0x12, false);
        profile.sleep(112, true);
        // Some cores count the waiting instruction as soon as they sleep, others when they wake.
        profile.retire(113, 0x14, false);
        profile.sleep(500, false);
        profile.retire(506, 0x40, true);
        profile.end(508);
        profile.retire(509, 0x42, false);
        let mut text = Vec::new();
        profile.write(&mut text).unwrap();
        let expected = "windows 1 cycles 20 asleep 388\n00000012 10 1 0\n00000014 2 1 0\n00000040 6 1 6\n00000042 2 1 0\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
