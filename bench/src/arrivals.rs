//! The worst case by exhaustion: the kernel's alarm becomes pending at cycle k of a round, for each k, a
//! round each. The image is not changed.
//!
//! A round begins where the instruction at the mark retires. After some rounds, two in a row must retire
//! the same instructions at the same cycles; if none do, a round is from a mark to the second one after
//! it, and so on. A round in which the code took another way before the arrival is tried again, by another
//! start of the image if need be: only the first arrival of a start is missed. QEMU's plugin
//! writes the same lines (`ports/qemu-plugin/src/arrivals`), with instructions for cycles.

use std::{
    io::{self, Write},
    mem,
    ops::Range,
};

use crate::model::Watch;

/// The number by which the plugin knows the alarm's line of PLIC: 16 and the line.
const ALARM: u32 = 16 + 11;
/// The most instructions of a round.
const LONGEST: usize = 100_000;
/// The rounds of which two in a row must be equal.
const PATIENCE: u32 = 200;
/// Most marks of a round, for a way that repeats only after several.
const MOST_MARKS: u32 = 8;
/// How often an arrival is tried.
const TRIES: u32 = 20;
/// The cycles at both ends of a sleep at which the alarm arrives. Between them nothing changes.
const EDGE: u64 = 16;

/// The rounds that the options name, and the first arrival.
#[derive(Clone, Copy)]
pub struct Asked {
    /// The address of the instruction at which a round begins.
    pub mark: u32,
    /// The rounds before the first one that counts.
    pub skip: u32,
    /// The first arrival, as a place in the round.
    pub first: usize,
}

/// An instruction of a round: the cycle at which it retires, counted from the mark, and its address.
type Retired = (u64, u32);

#[derive(Clone, Copy, PartialEq)]
enum Wait {
    /// The arrival has not come.
    ToCome,
    /// The alarm is pending, since that cycle.
    Pending(u64),
    /// The handler has begun, after that number of cycles.
    Over(u64),
}

/// The purpose of a round.
enum Phase {
    /// To be left out, as a number of rounds after it.
    Skip(u32),
    /// To be recorded. A number of others may still be.
    Record(u32),
    /// To be compared with the recorded one. A number of others may still be recorded.
    Compare(u32),
    /// To have the alarm arrive.
    Sweep,
    /// All arrivals of this start have come.
    Over,
}

pub struct Sweep<W> {
    file: W,
    asked: Asked,
    phase: Phase,
    /// The instructions of the recorded round, and its length in cycles.
    round: Vec<Retired>,
    length: u64,
    /// When the recorded round sleeps, from and to cycles of the round; the last sleep may not be over.
    sleeps: Vec<Range<u64>>,
    /// The cycles of the round at which the alarm arrives.
    places: Vec<u64>,
    /// The cycle at which the current round began, and the number of its instructions so far.
    began: u64,
    position: usize,
    /// The current round has been as the recorded one so far.
    follows: bool,
    /// The marks of a round, and those that the current one has had, but for its first.
    marks: u32,
    passed: u32,
    /// The place at which the alarm arrives, and the rounds in which it could not.
    arrival: usize,
    tries: u32,
    wait: Wait,
    /// The alarm has asked the core for its interrupt.
    is_enabled: bool,
}

impl<W: Write> Sweep<W> {
    pub fn new(file: W, asked: Asked) -> Self {
        Self {
            file,
            asked,
            phase: Phase::Skip(asked.skip),
            round: Vec::new(),
            length: 0,
            sleeps: Vec::new(),
            places: Vec::new(),
            began: 0,
            position: 0,
            follows: true,
            marks: 1,
            passed: 0,
            arrival: asked.first,
            tries: 0,
            wait: Wait::ToCome,
            is_enabled: false,
        }
    }

    /// The cycle at which the alarm is to become pending, if the current round has come to it.
    pub fn due(&self) -> Option<u64> {
        let comes = matches!(self.phase, Phase::Sweep) && self.wait == Wait::ToCome && self.follows;
        let place = self.places.get(self.arrival).filter(|_| comes)?;
        Some(self.began + 1 + place)
    }

    /// Notes that the alarm becomes pending in this cycle.
    pub fn arrive(&mut self, at: u64) {
        self.wait = Wait::Pending(at);
    }

    /// Returns whether all arrivals of this start have come.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Takes in the signals after cycle `at`. `pc` is the address of the instruction that retired last.
    ///
    /// # Errors
    /// The file cannot be written, or the rounds are too long or all different.
    pub fn look(&mut self, at: u64, watch: Watch, pc: u32) -> io::Result<()> {
        if let Wait::Pending(since) = self.wait {
            self.is_enabled |= watch.asks();
            if watch.retired() && watch.entry() {
                self.wait = Wait::Over(at - since);
            } else if !watch.alarm() {
                // A handler that had begun before has taken it.
                self.wait = Wait::Over(0);
            }
        }
        if watch.retired() {
            self.retire(at, pc)?;
        }
        if matches!(self.phase, Phase::Record(_)) {
            self.note_sleep(at - self.began, watch.sleeps());
        }
        Ok(())
    }

    /// Notes whether the core sleeps in a cycle of the round that is recorded.
    fn note_sleep(&mut self, at: u64, sleeps: bool) {
        match self.sleeps.last_mut().filter(|last| last.end == u64::MAX) {
            None if sleeps => self.sleeps.push(at..u64::MAX),
            Some(last) if !sleeps => last.end = at,
            _ => {}
        }
    }

    fn retire(&mut self, at: u64, pc: u32) -> io::Result<()> {
        self.passed += u32::from(pc == self.asked.mark);
        if self.passed == self.marks {
            self.passed = 0;
            self.turn(at)?;
        }
        let retired = (at - self.began, pc);
        match self.phase {
            Phase::Skip(_) | Phase::Over => {}
            Phase::Record(_) if self.round.len() == LONGEST => {
                let what = format!("a round has more than {LONGEST} instructions");
                return Err(io::Error::other(what));
            }
            Phase::Record(_) => self.round.push(retired),
            Phase::Sweep if self.wait != Wait::ToCome => {}
            Phase::Compare(_) | Phase::Sweep => {
                self.follows &= self.round.get(self.position) == Some(&retired);
            }
        }
        self.position += 1;
        Ok(())
    }

    /// Ends a round at its last cycle, and begins the next one.
    fn turn(&mut self, at: u64) -> io::Result<()> {
        let length = at - self.began;
        self.phase = match mem::replace(&mut self.phase, Phase::Over) {
            Phase::Skip(left @ 1..) => Phase::Skip(left - 1),
            Phase::Skip(0) => Phase::Record(PATIENCE),
            Phase::Record(left) => {
                self.length = length;
                Phase::Compare(left)
            }
            Phase::Compare(_)
                if self.follows && length == self.length && self.position == self.round.len() =>
            {
                self.begin()?;
                Phase::Sweep
            }
            Phase::Compare(0) if self.marks == MOST_MARKS => {
                let what = format!("the round does not repeat: of {PATIENCE}, no two are equal");
                return Err(io::Error::other(what));
            }
            Phase::Compare(0) => {
                self.marks += 1;
                self.forget();
                Phase::Record(PATIENCE / self.marks)
            }
            Phase::Compare(left) => {
                self.forget();
                Phase::Record(left - 1)
            }
            Phase::Sweep => self.end_of_round(length)?,
            Phase::Over => Phase::Over,
        };
        (self.began, self.position, self.follows) = (at, 0, true);
        Ok(())
    }

    /// Forgets the recorded round.
    fn forget(&mut self) {
        self.round.clear();
        self.sleeps.clear();
    }

    /// Writes the instruction of each place of the round: the next one that retires. A retirement is seen
    /// a cycle later.
    fn begin(&mut self) -> io::Result<()> {
        let is_within = |sleep: &Range<u64>, cycle: u64| {
            cycle >= sleep.start + EDGE && cycle.saturating_add(EDGE) < sleep.end
        };
        self.places = (0..self.length)
            .filter(|cycle| !self.sleeps.iter().any(|sleep| is_within(sleep, *cycle)))
            .collect();
        writeln!(self.file, "exception {ALARM}")?;
        let again = self.round.iter().map(|(retires, at)| (self.length + retires, *at));
        let mut rest = self.round.iter().copied().chain(again).peekable();
        for place in &self.places {
            while rest.next_if(|(retires, _)| *retires < *place + 2).is_some() {}
            let at = rest.peek().map_or(self.asked.mark, |(_, at)| *at);
            writeln!(self.file, "path {at:#x}")?;
        }
        Ok(())
    }

    /// Writes the arrival of the round that ends, or has it tried again.
    fn end_of_round(&mut self, length: u64) -> io::Result<Phase> {
        match self.wait {
            // The handler comes in the next round.
            Wait::Pending(_) => return Ok(Phase::Sweep),
            Wait::Over(wait) => {
                let tries = self.tries + 1;
                writeln!(self.file, "arrival {} {wait} {length} {tries} 0 0 0", self.arrival)?;
            }
            Wait::ToCome if self.tries + 1 < TRIES => {
                self.tries += 1;
                return Ok(Phase::Sweep);
            }
            Wait::ToCome if self.arrival == self.asked.first => {
                writeln!(self.file, "missed {}", self.arrival)?;
            }
            Wait::ToCome => return Ok(Phase::Over),
        }
        (self.arrival, self.tries, self.wait) = (self.arrival + 1, 0, Wait::ToCome);
        Ok(if self.arrival == self.places.len() { Phase::Over } else { Phase::Sweep })
    }

    /// # Errors
    /// The file cannot be written, or the image has not enabled the alarm's interrupt.
    pub fn finish(mut self) -> io::Result<()> {
        if matches!(self.wait, Wait::Pending(_)) && !self.is_enabled {
            let what = "the image has not enabled the interrupt of its alarm";
            return Err(io::Error::other(what));
        }
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of three instructions at the cycles 0, 2 and 3 of five. The handler begins two cycles after
    /// the alarm, but not before the third cycle of a round.
    fn swept(rounds: u64) -> String {
        let mut file = Vec::new();
        let mut sweep = Sweep::new(&mut file, Asked { mark: 0x10, skip: 1, first: 0 });
        let (mut pending, mut at, mut cycle) = (None, 0, 0);
        while cycle < rounds * 5 && !sweep.is_over() {
            at += 1;
            if sweep.due() == Some(at) {
                sweep.arrive(at);
                pending = Some(at);
            }
            let place = cycle % 5;
            if pending.is_some_and(|since| at >= since + 2) && place >= 3 {
                pending = None;
                sweep.look(at, Watch::retiring(true, true), 0x100).unwrap();
                continue;
            }
            let retired = [Some(0x10), None, Some(0x12), Some(0x16), None][place as usize];
            let watch = Watch::retiring(false, pending.is_some());
            match retired {
                Some(pc) => sweep.look(at, watch, pc).unwrap(),
                None => sweep.look(at, Watch::waiting(pending.is_some()), 0).unwrap(),
            }
            cycle += 1;
        }
        sweep.finish().unwrap();
        String::from_utf8(file).unwrap()
    }

    #[test]
    fn each_cycle_of_a_round_has_an_arrival() {
        let text = swept(100);
        let (path, arrivals) = text.split_at(text.find("arrival").unwrap());
        assert_eq!(path, "exception 27\npath 0x12\npath 0x16\npath 0x10\npath 0x10\npath 0x12\n");
        // A handler that comes in the next round makes that one longer.
        let expected = "arrival 0 2 6 1 0 0 0\narrival 1 2 6 1 0 0 0\narrival 2 5 6 1 0 0 0\n\
                        arrival 3 4 6 1 0 0 0\narrival 4 3 6 1 0 0 0\n";
        assert_eq!(arrivals, expected);
    }

    #[test]
    fn an_image_that_ends_early_has_tried_some() {
        let text = swept(7);
        assert!(text.contains("arrival 0 ") && !text.contains("arrival 4 "), "{text}");
        assert!(swept(2).is_empty());
    }
}
