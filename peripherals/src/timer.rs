//! A timer (RM0090, 17 to 20): counts up, down or both ways; prescaler, reload and compare registers with
//! their preloads; interrupts of updates and compares. No channel captures, and no other timer triggers
//! it: the inputs of a chip alone have no edges.

use crate::phases::Phases;

/// Bits of CR1.
const CEN: u32 = 1;
const UDIS: u32 = 1 << 1;
const URS: u32 = 1 << 2;
const OPM: u32 = 1 << 3;
const DOWN: u32 = 1 << 4;
const ARPE: u32 = 1 << 7;
/// Bits of SR, DIER and EGR.
const UPDATE: u32 = 1;
const TRIGGER: u32 = 1 << 6;
const COMPARES: u32 = 0b1_1110;
/// All flags of SR. Overruns are never set.
const FLAGS: u32 = 0x1eff;

/// The numbers of the registers.
const CR1: usize = 0;
const SMCR: usize = 0x08 / 4;
const DIER: usize = 0x0c / 4;
const SR: usize = 0x10 / 4;
const EGR: usize = 0x14 / 4;
const CCMR1: usize = 0x18 / 4;
const CNT: usize = 0x24 / 4;
const PSC: usize = 0x28 / 4;
const ARR: usize = 0x2c / 4;
const RCR: usize = 0x30 / 4;
const CCR1: usize = 0x34 / 4;
const WORDS: usize = 0x54 / 4;

/// The features that timers differ in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features {
    /// The bits of the counter: 16 or 32.
    pub bits: u32,
    /// The compare channels, at most 4.
    pub channels: usize,
    /// A repetition counter divides the updates.
    pub repeats: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Timer {
    features: Features,
    /// The rate of the timer's clock in Hz; 0 without one.
    hertz: u64,
    /// The written values, but for SR, EGR and CNT.
    registers: [u32; WORDS],
    status: u32,
    /// The values in force: the registers are their preloads.
    prescaler: u32,
    reload: u32,
    compare: [u32; 4],
    /// The overflows before the next update.
    repetitions: u32,
    count: u32,
    /// The counter of a timer that counts both ways counts down.
    is_down: bool,
    /// The ticks that the prescaler has counted.
    phase: u64,
    /// The time from which ticks are counted, and their number until now.
    base: u64,
    ticks: u64,
    /// The schedule of its updates, if it is not the timer's own.
    pub phases: Option<Phases>,
}

impl Timer {
    pub fn new(features: Features) -> Self {
        let most = u32::MAX >> (32 - features.bits);
        let mut registers = [0; WORDS];
        registers[ARR] = most;
        Self {
            features,
            hertz: 0,
            registers,
            status: 0,
            prescaler: 0,
            reload: most,
            compare: [0; 4],
            repetitions: 0,
            count: 0,
            is_down: false,
            phase: 0,
            base: 0,
            ticks: 0,
            phases: None,
        }
    }

    pub fn reset(&mut self) {
        let phases = self.phases.take();
        *self = Self { hertz: self.hertz, phases, ..Self::new(self.features) };
    }

    /// Changes the rate of the clock. Time has passed until now.
    pub fn set_clock(&mut self, hertz: u64, now: u64) {
        if self.hertz != hertz {
            self.hertz = hertz;
            self.restart_ticks(now);
        }
    }

    fn restart_ticks(&mut self, now: u64) {
        (self.base, self.ticks) = (now, 0);
    }

    /// The counter counts: an encoder, a gate or an external clock has no edges.
    fn is_counting(&self) -> bool {
        let is_driven = matches!(self.registers[SMCR] & 7, 1..=3 | 5 | 7);
        self.registers[CR1] & CEN != 0 && self.hertz > 0 && self.reload > 0 && !is_driven
    }

    fn is_both_ways(&self) -> bool {
        self.registers[CR1] >> 5 & 3 != 0
    }

    /// The counter counts down now.
    fn counts_down(&self) -> bool {
        if self.is_both_ways() { self.is_down } else { self.registers[CR1] & DOWN != 0 }
    }

    pub fn value(&self, word: usize) -> u32 {
        match word {
            CR1 if self.is_both_ways() => {
                self.registers[CR1] & !DOWN | if self.is_down { DOWN } else { 0 }
            }
            SR => self.status,
            EGR => 0,
            CNT => self.count,
            _ => self.registers.get(word).copied().unwrap_or(0),
        }
    }

    /// Writes a register. Time has passed until now.
    pub fn write(&mut self, word: usize, value: u32, now: u64) {
        let most = u32::MAX >> (32 - self.features.bits);
        match word {
            SR => self.status &= value | !FLAGS,
            EGR => self.generate(value, now),
            CNT => {
                self.count = value & most;
                if self.is_counting() {
                    self.compare_all(self.counts_down());
                }
            }
            CR1 => {
                if self.registers[CR1] & CEN == 0 {
                    self.restart_ticks(now);
                }
                self.registers[CR1] = value & 0x3ff;
            }
            PSC => self.registers[PSC] = value & 0xffff,
            RCR if self.features.repeats => self.registers[RCR] = value & 0xff,
            RCR => {}
            ARR => {
                self.registers[ARR] = value & most;
                if self.registers[CR1] & ARPE == 0 {
                    let was_stopped = self.reload == 0;
                    self.reload = value & most;
                    if was_stopped {
                        self.restart_ticks(now);
                    }
                }
            }
            CCR1.. if let Some(channel) = self.channel(word) => {
                self.registers[word] = value & most;
                if !self.is_preloaded(channel) {
                    self.compare[channel] = value & most;
                    if self.is_counting() && self.count == value & most && self.compares(channel) {
                        self.status |= UPDATE << (1 + channel);
                    }
                }
            }
            SMCR => {
                self.registers[SMCR] = value;
                self.restart_ticks(now);
            }
            _ => {
                if let Some(register) = self.registers.get_mut(word) {
                    *register = value;
                }
            }
        }
    }

    /// The channel of a compare register.
    fn channel(&self, word: usize) -> Option<usize> {
        word.checked_sub(CCR1).filter(|channel| *channel < self.features.channels)
    }

    /// The byte of CCMR1 and CCMR2 of a channel.
    fn mode(&self, channel: usize) -> u32 {
        self.registers[CCMR1 + channel / 2] >> (8 * (channel % 2)) & 0xff
    }

    /// The channel compares: it is an output.
    fn compares(&self, channel: usize) -> bool {
        channel < self.features.channels && self.mode(channel) & 3 == 0
    }

    fn is_preloaded(&self, channel: usize) -> bool {
        self.compares(channel) && self.mode(channel) & 8 != 0
    }

    /// Events by software.
    fn generate(&mut self, events: u32, now: u64) {
        let channels = (1 << self.features.channels) - 1;
        self.status |= events & (channels << 1 | TRIGGER);
        if events & UPDATE == 0 {
            return;
        }
        self.phase = 0;
        self.restart_ticks(now);
        self.repetitions = self.registers[RCR];
        let has_update = self.registers[CR1] & UDIS == 0;
        if has_update {
            self.load();
            if self.registers[CR1] & URS == 0 {
                self.status |= UPDATE;
            }
        }
        let is_from_the_top = !self.is_both_ways() && self.counts_down();
        self.is_down = false;
        self.count = if is_from_the_top { self.reload } else { 0 };
    }

    /// The preloads come into force.
    fn load(&mut self) {
        self.prescaler = self.registers[PSC];
        self.reload = self.registers[ARR];
        for channel in 0..self.features.channels {
            self.compare[channel] = self.registers[CCR1 + channel];
        }
    }

    /// Lets time pass.
    pub fn pass(&mut self, now: u64) {
        while self.pass_to_a_stop(now) {}
    }

    /// Lets time pass until now, or until the timer stands still. Returns whether it does.
    fn pass_to_a_stop(&mut self, now: u64) -> bool {
        if !self.is_counting() {
            return false;
        }
        let elapsed = u128::from(now.saturating_sub(self.base));
        let ticks = (elapsed * u128::from(self.hertz) / 1_000_000_000) as u64;
        let mut rest = ticks.saturating_sub(self.ticks);
        // While it stands still, it has counted more than has passed since its base.
        self.ticks = ticks.max(self.ticks);
        let mut overflows = 0;
        while rest > 0 && self.is_counting() {
            let each = u64::from(self.prescaler) + 1;
            let (counts, is_overflow) = self.next();
            let needed = counts * each - self.phase;
            if rest < needed {
                let ticks = self.phase + rest;
                self.phase = ticks % each;
                self.move_by((ticks / each) as u32);
                return false;
            }
            rest -= needed;
            self.phase = 0;
            if !is_overflow {
                self.move_by(counts as u32);
                self.compare_all(self.counts_down());
                continue;
            }
            let was_raised = self.levels()[0];
            if self.overflow() && self.stand_still(ticks - rest, was_raised) {
                return true;
            }
            overflows += 1;
            // All flags are set, all preloads are loaded: a round changes nothing.
            if overflows > 4 + 2 * self.registers[RCR] && self.is_counting() {
                rest %= self.round();
                overflows = 0;
            }
        }
        false
    }

    /// Stands still after an update, if a schedule says so. The update came after these ticks since the
    /// base.
    fn stand_still(&mut self, ticks: u64, was_raised: bool) -> bool {
        if self.phases.is_none() || !self.levels()[0] {
            return false;
        }
        let due = self.time_of(ticks);
        self.base += self.phases.as_mut().map_or(0, |phases| phases.update(due, !was_raised));
        self.ticks = ticks;
        true
    }

    /// The time at which so much has been counted since the base.
    fn time_of(&self, ticks: u64) -> u64 {
        let elapsed = (u128::from(ticks) * 1_000_000_000).div_ceil(self.hertz.into());
        u64::try_from(u128::from(self.base) + elapsed).unwrap_or(u64::MAX)
    }

    /// The ticks after which all that counts is the same.
    fn round(&self) -> u64 {
        let reload = u64::from(self.reload);
        let counts = if self.is_both_ways() { 2 * reload } else { reload + 1 };
        counts * (u64::from(self.prescaler) + 1) * (u64::from(self.registers[RCR]) + 1)
    }

    fn move_by(&mut self, counts: u32) {
        let count = self.count;
        let moved = if self.counts_down() {
            count.wrapping_sub(counts)
        } else {
            count.wrapping_add(counts)
        };
        self.count = moved;
    }

    /// The counts to the next compare or overflow, and whether it is an overflow or underflow.
    fn next(&self) -> (u64, bool) {
        let is_down = self.counts_down();
        let top = self.top();
        let (count, top) = (u64::from(self.count), u64::from(top));
        let turns = u64::from(!self.is_both_ways());
        let end = if is_down { count + turns } else { top.max(count) - count + turns };
        let compare = |channel: usize| {
            let value = u64::from(self.compare[channel]);
            let counts = if is_down { count.checked_sub(value) } else { value.checked_sub(count) };
            counts.filter(|counts| *counts > 0 && self.compares(channel))
        };
        let nearest = (0..self.features.channels).filter_map(compare).min();
        match nearest.filter(|counts| *counts < end) {
            Some(counts) => (counts, false),
            None => (end.max(1), true),
        }
    }

    /// The highest value of the counter: one beyond the reload goes on to the counter's end.
    fn top(&self) -> u32 {
        if self.count <= self.reload { self.reload } else { u32::MAX >> (32 - self.features.bits) }
    }

    /// The counter reaches its end: it starts again, or turns. Returns whether that is an update.
    fn overflow(&mut self) -> bool {
        let was_down = self.counts_down();
        let is_update = self.repetitions == 0 && self.registers[CR1] & UDIS == 0;
        if self.repetitions > 0 {
            self.repetitions -= 1;
        } else if is_update {
            self.repetitions = self.registers[RCR];
            self.load();
            self.status |= UPDATE;
            if self.registers[CR1] & OPM != 0 {
                self.registers[CR1] &= !CEN;
            }
        }
        // A compare value beyond the reload matches here.
        for channel in 0..self.features.channels {
            if self.compare[channel] > self.reload && self.compares(channel) {
                self.status |= UPDATE << (1 + channel);
            }
        }
        if self.is_both_ways() {
            self.count = if was_down { 0 } else { self.reload };
            self.is_down = !was_down;
        } else {
            self.count = if was_down { self.reload } else { 0 };
        }
        self.compare_all(was_down);
        is_update
    }

    /// Sets the flags of the channels whose value the counter has.
    fn compare_all(&mut self, is_down: bool) {
        // Both ways, a mode names the direction in which flags are set.
        let is_skipped = match self.registers[CR1] >> 5 & 3 {
            1 => !is_down,
            2 => is_down,
            _ => false,
        };
        for channel in 0..self.features.channels {
            if !is_skipped && self.compares(channel) && self.compare[channel] == self.count {
                self.status |= UPDATE << (1 + channel);
            }
        }
    }

    /// The time of the next change that an interrupt may be enabled for.
    pub fn due(&self) -> Option<u64> {
        let awaited = self.registers[DIER] & !self.status & (UPDATE | COMPARES);
        if awaited == 0 || !self.is_counting() {
            return None;
        }
        let (counts, _) = self.next();
        Some(self.time_of(self.ticks + counts * (u64::from(self.prescaler) + 1) - self.phase))
    }

    /// The interrupts of updates, and of compares and triggers.
    pub fn levels(&self) -> [bool; 2] {
        let active = self.registers[DIER] & self.status;
        [active & UPDATE != 0, active & (COMPARES | TRIGGER) != 0]
    }
}
