//! Which instructions retired while pin 0 was high, and what they cost.
//!
//! Cycles since the retirement before, or since the window began, are those of the instruction that retires; what is left at
//! the window's end, those of the next one. So the cycles add up to the windows' length, but for a window in which the run ends.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

/// Of one program counter.
#[derive(Default)]
struct Cost {
    cycles: u64,
    retired: u64,
    /// Cycles of those which were the first of an interrupt's handler: the hardware's way in.
    entries: u64,
}

#[derive(Default)]
pub struct Profile {
    windows: u64,
    cycles: u64,
    costs: BTreeMap<u32, Cost>,
    /// Since when cycles are nobody's, in a window.
    since: Option<u64>,
    /// Cycles of a window that ended meanwhile, of the instruction that retires next.
    left: u64,
}

impl Profile {
    pub fn begin(&mut self, at: u64) {
        self.windows += 1;
        self.since = Some(at);
    }

    pub fn retire(&mut self, at: u64, pc: u32, entry: bool) {
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
        if let Some(since) = self.since.take() {
            self.left += at - since;
        }
    }

    pub fn write(&self, mut file: impl Write) -> io::Result<()> {
        writeln!(file, "windows {} cycles {}", self.windows, self.cycles)?;
        for (pc, Cost { cycles, retired, entries }) in &self.costs {
            writeln!(file, "{pc:08x} {cycles} {retired} {entries}")?;
        }
        file.flush()
    }
}

/// The retirement trace.
pub struct Trace<W> {
    file: W,
    lines: u32,
}

/// Lines of a trace: a few megabytes.
const MOST_LINES: u32 = 200_000;

impl<W: Write> Trace<W> {
    pub fn new(file: W) -> Self {
        Self { file, lines: 0 }
    }

    pub fn retire(&mut self, at: u64, pc: u32, instruction: u32, entry: bool) -> io::Result<()> {
        if self.lines == MOST_LINES {
            return Ok(());
        }
        self.lines += 1;
        writeln!(self.file, "{at} {pc:08x} {instruction:08x}{}", if entry { " i" } else { "" })
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()
    }
}
