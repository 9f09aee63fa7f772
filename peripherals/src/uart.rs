//! A serial port's transmitter (RM0090, 30.6). Nothing is connected to the receiver.

const TXE: u32 = 1 << 7;
const TC: u32 = 1 << 6;
const UE: u32 = 1 << 13;
const TE: u32 = 1 << 3;
const OVER8: u32 = 1 << 15;
const M: u32 = 1 << 12;

/// The numbers of the registers.
const SR: usize = 0;
const DR: usize = 1;
const BRR: usize = 2;
const CR1: usize = 3;
const CR2: usize = 4;
const GTPR: usize = 6;

#[derive(Debug, PartialEq)]
pub struct Uart {
    /// The rate of the bus in Hz; 0 without a clock.
    hertz: u64,
    status: u32,
    /// BRR, CR1, CR2, CR3 and GTPR, by their numbers.
    registers: [u32; GTPR + 1],
    /// The status was read since the last write of the data register: that write then clears TC.
    is_status_read: bool,
    /// The end of the frame that the shift register sends.
    sending: Option<u64>,
    /// The frame that waits in the data register.
    waiting: Option<u8>,
}

impl Uart {
    pub fn new() -> Self {
        Self {
            hertz: 0,
            status: TXE | TC,
            registers: [0; _],
            is_status_read: false,
            sending: None,
            waiting: None,
        }
    }

    pub fn reset(&mut self) {
        *self = Self { hertz: self.hertz, ..Self::new() };
    }

    pub fn set_clock(&mut self, hertz: u64) {
        self.hertz = hertz;
    }

    pub fn value(&self, word: usize) -> u32 {
        match word {
            SR => self.status,
            DR => 0,
            _ => self.registers.get(word).copied().unwrap_or(0),
        }
    }

    pub fn was_read(&mut self, word: usize) {
        self.is_status_read |= word == SR;
    }

    /// Writes a register. Returns the frame that the shift register begins to send.
    pub fn write(&mut self, word: usize, value: u32, now: u64) -> Option<u8> {
        match word {
            // TC is cleared by a 0; RXNE, LBD and CTS are never set.
            SR => {
                self.status &= value | !TC;
                None
            }
            DR => self.send(value as u8, now),
            BRR | CR1 | CR2 | 5 | GTPR => {
                self.registers[word] = value & 0xffff;
                None
            }
            _ => None,
        }
    }

    fn send(&mut self, data: u8, now: u64) -> Option<u8> {
        if self.registers[CR1] & (UE | TE) != UE | TE || self.hertz == 0 {
            return None;
        }
        if std::mem::take(&mut self.is_status_read) {
            self.status &= !TC;
        }
        if self.sending.is_some() {
            // A frame that waits is overwritten.
            self.waiting = Some(data);
            self.status &= !TXE;
            return None;
        }
        self.sending = Some(now + self.frame());
        Some(data)
    }

    /// The length of a frame in ns: a start bit, the data with parity, and the stop bits.
    fn frame(&self) -> u64 {
        let [rate, control] = [self.registers[BRR], self.registers[CR1]];
        let data = if control & M == 0 { 8 } else { 9 };
        let halves = match self.registers[CR2] >> 12 & 3 {
            0 => 2,
            1 => 1,
            2 => 4,
            _ => 3,
        };
        let per_bit = if control & OVER8 == 0 { rate } else { (rate >> 4) * 8 + (rate & 7) };
        let clocks = u64::from(per_bit.max(1)) * (2 * (1 + data) + halves);
        (clocks * 1_000_000_000).div_ceil(2 * self.hertz.max(1))
    }

    /// Lets time pass. Returns the frame that the shift register begins to send at the end of another;
    /// call it again then.
    pub fn pass(&mut self, now: u64) -> Option<u8> {
        let end = self.sending.filter(|end| *end <= now)?;
        self.sending = None;
        self.status |= TXE;
        let next = self.waiting.take();
        match next {
            Some(_) => self.sending = Some(end + self.frame()),
            None => self.status |= TC,
        }
        next
    }

    /// Returns the frame that waits.
    pub fn last(&mut self) -> Option<u8> {
        self.waiting.take()
    }

    /// The time of the next change that an interrupt is enabled for.
    pub fn due(&self) -> Option<u64> {
        let enabled = self.registers[CR1] & (TXE | TC) & !self.status;
        self.sending.filter(|_| enabled != 0)
    }

    /// The interrupt's level. The bits of CR1 that enable it have the places of the flags.
    pub fn level(&self) -> bool {
        self.registers[CR1] & UE != 0 && self.registers[CR1] & self.status & (TXE | TC) != 0
    }
}
