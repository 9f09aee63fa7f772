//! All peripherals of a chip: who has an address, which clock a peripheral has, and the levels of the
//! interrupts.

use std::collections::BTreeMap;

use crate::{
    bank::Bank,
    clocks::{Gate, Rates},
    exti::Exti,
    gpio::Gpio,
    phases::Request,
    timer::Timer,
    uart::Uart,
};

/// The bytes of a device's registers.
const BYTES: u32 = 0x400;

/// The most bytes that serial ports send and that are kept.
pub const MOST_SENT: usize = 1 << 22;

/// The peripherals of a chip. A region is a bank or a device, by its number in [`Self::regions`].
#[derive(Debug, Default)]
pub struct Peripherals {
    pub(crate) banks: Vec<Bank>,
    pub(crate) devices: Vec<Device>,
    /// The number of the bank that is RCC, and the crystal's rate in Hz.
    pub(crate) tree: Option<(usize, u64)>,
    sent: Vec<Sent>,
}

/// A byte that a serial port has begun to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// The port: its number among the serial ports.
    pub port: u8,
    /// The data.
    pub byte: u8,
}

#[derive(Debug)]
pub struct Device {
    pub name: String,
    pub origin: u32,
    /// The bits in RCC; `None` for a device that always has a clock.
    pub gate: Option<Gate>,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    Timer {
        timer: Timer,
        interrupts: [u32; 2],
    },
    Uart {
        uart: Uart,
        interrupt: u32,
    },
    Gpio(Gpio),
    /// `selection` is the address of SYSCFG_EXTICR1.
    Exti {
        exti: Exti,
        selection: u32,
    },
}

impl Peripherals {
    /// The first address and the bytes of each region.
    pub fn regions(&self) -> Vec<(u32, u32)> {
        let banks = self.banks.iter().map(|bank| (bank.origin, 4 * bank.words.len() as u32));
        banks.chain(self.devices.iter().map(|device| (device.origin, BYTES))).collect()
    }

    /// The chip has no registers.
    pub fn is_empty(&self) -> bool {
        self.banks.is_empty() && self.devices.is_empty()
    }

    /// Reads `size` bytes (1, 2 or 4) of a region.
    pub fn read(&mut self, region: usize, offset: u32, size: u32, now: u64) -> u32 {
        if region >= self.banks.len() {
            self.pass(now);
        }
        let word = offset as usize / 4;
        let value = self.value(region, word);
        if let Some(Kind::Uart { uart, .. }) = self.device(region) {
            uart.was_read(word);
        }
        value >> (8 * (offset % 4)) & mask(size)
    }

    /// Writes `size` bytes (1, 2 or 4) of a region. The other bytes of the word keep their values.
    pub fn write(&mut self, region: usize, offset: u32, size: u32, value: u32, now: u64) {
        self.pass(now);
        let word = offset as usize / 4;
        let shift = 8 * (offset % 4);
        let others = match self.device(region) {
            // A pending bit is cleared by a 1.
            Some(Kind::Exti { .. }) => 0,
            _ => self.value(region, word),
        };
        let mask = mask(size) << shift;
        let value = others & !mask | value << shift & mask;
        if let Some(bank) = self.banks.get_mut(region) {
            bank.write(word, value);
            if self.tree.is_some_and(|(rcc, _)| rcc == region) {
                self.set_clocks(now);
            }
            return;
        }
        if !self.is_on(region) {
            return;
        }
        let before = self.pins();
        let mut sent = None;
        match self.device(region) {
            Some(Kind::Timer { timer, .. }) => timer.write(word, value, now),
            Some(Kind::Uart { uart, .. }) => sent = uart.write(word, value, now),
            Some(Kind::Gpio(port)) => port.write(word, value),
            Some(Kind::Exti { exti, .. }) => exti.write(word, value),
            None => {}
        }
        self.send(region - self.banks.len(), sent);
        if let (Some(before), Some(after)) = (before, self.pins()) {
            self.see_edges(before, after);
        }
    }

    /// The value of a register, which reading may change.
    fn value(&self, region: usize, word: usize) -> u32 {
        if let Some(bank) = self.banks.get(region) {
            return bank.read(word);
        }
        match self.devices.get(region - self.banks.len()).map(|device| &device.kind) {
            Some(_) if !self.is_on(region) => 0,
            Some(Kind::Timer { timer, .. }) => timer.value(word),
            Some(Kind::Uart { uart, .. }) => uart.value(word),
            Some(Kind::Gpio(port)) => port.value(word),
            Some(Kind::Exti { exti, .. }) => exti.value(word),
            None => 0,
        }
    }

    fn device(&mut self, region: usize) -> Option<&mut Kind> {
        let index = region.checked_sub(self.banks.len())?;
        self.devices.get_mut(index).map(|device| &mut device.kind)
    }

    /// The device has a clock, and is not held in reset: others read 0, and ignore what is written.
    fn is_on(&self, region: usize) -> bool {
        let device = region.checked_sub(self.banks.len()).and_then(|index| self.devices.get(index));
        match (device.and_then(|device| device.gate), self.rcc()) {
            (Some(gate), Some((rcc, _))) => gate.is_clocked(rcc) && !gate.is_reset(rcc),
            _ => true,
        }
    }

    /// The registers of RCC, and the crystal's rate.
    fn rcc(&self) -> Option<(&[u32], u64)> {
        let (bank, crystal) = self.tree?;
        Some((&self.banks.get(bank)?.words, crystal))
    }

    /// Gives all devices the clocks that they have after a reset.
    pub(crate) fn start(&mut self) {
        self.set_clocks(0);
    }

    /// Gives each device the clock that RCC's registers say, and resets those that they hold in reset.
    fn set_clocks(&mut self, now: u64) {
        let gates: Vec<Option<(Rates, bool)>> = self
            .devices
            .iter()
            .map(|device| {
                let ((rcc, crystal), gate) = (self.rcc()?, device.gate?);
                Some((gate.rates(rcc, crystal), gate.is_reset(rcc)))
            })
            .collect();
        for (device, gate) in self.devices.iter_mut().zip(gates) {
            let Some((rates, is_reset)) = gate else { continue };
            match &mut device.kind {
                Kind::Timer { timer, .. } => {
                    timer.set_clock(rates.timer, now);
                    if is_reset {
                        timer.reset();
                    }
                }
                Kind::Uart { uart, .. } => {
                    uart.set_clock(rates.bus);
                    if is_reset {
                        uart.reset();
                    }
                }
                Kind::Gpio(port) if is_reset => port.reset(),
                Kind::Gpio(_) | Kind::Exti { .. } => {}
            }
        }
    }

    /// The levels of the pins that the lines 0 to 15 of EXTI see; `None` without EXTI.
    fn pins(&self) -> Option<u32> {
        let selection = self.devices.iter().find_map(|device| match device.kind {
            Kind::Exti { selection, .. } => Some(selection),
            _ => None,
        })?;
        let levels = |port: u32| {
            self.devices.iter().find_map(|device| match &device.kind {
                Kind::Gpio(pins) if device.gate.is_some_and(|gate| gate.bit == port) => {
                    Some(pins.levels())
                }
                _ => None,
            })
        };
        let level = |line: u32| {
            let address = selection + line / 4 * 4;
            let bank = self.banks.iter().find(|bank| bank.has(address));
            let word = bank.map_or(0, |bank| bank.read((address - bank.origin) as usize / 4));
            levels(word >> (4 * (line % 4)) & 15).unwrap_or(0) >> line & 1
        };
        Some((0..16).map(|line| level(line) << line).sum())
    }

    fn see_edges(&mut self, before: u32, after: u32) {
        for device in &mut self.devices {
            if let Kind::Exti { exti, .. } = &mut device.kind {
                exti.edges(after & !before, before & !after);
            }
        }
    }

    /// Keeps a byte that the serial port of this number among the devices sends.
    fn send(&mut self, device: usize, byte: Option<u8>) {
        let Some(byte) = byte.filter(|_| self.sent.len() < MOST_SENT) else { return };
        let is_port = |device: &&Device| matches!(device.kind, Kind::Uart { .. });
        let port = self.devices.iter().take(device).filter(is_port).count();
        self.sent.push(Sent { port: port as u8, byte });
    }

    /// Lets time pass until now.
    pub fn pass(&mut self, now: u64) {
        for index in 0..self.devices.len() {
            match &mut self.devices[index].kind {
                Kind::Timer { timer, .. } => timer.pass(now),
                Kind::Uart { uart, .. } => {
                    let first = uart.pass(now);
                    let second = first.and_then(|_| uart.pass(now));
                    self.send(index, first);
                    self.send(index, second);
                }
                Kind::Gpio(_) | Kind::Exti { .. } => {}
            }
        }
    }

    /// The time at which a device may change the level of an interrupt by itself.
    pub fn due(&self) -> Option<u64> {
        let due = |device: &Device| match &device.kind {
            Kind::Timer { timer, .. } => timer.due(),
            Kind::Uart { uart, .. } => uart.due(),
            Kind::Gpio(_) | Kind::Exti { .. } => None,
        };
        self.devices.iter().filter_map(due).min()
    }

    /// The last request of the timer whose phases are tried, once.
    pub fn take_request(&mut self) -> Option<Request> {
        self.devices.iter_mut().find_map(|device| match &mut device.kind {
            Kind::Timer { timer, .. } => timer.phases.as_mut()?.take_request(),
            _ => None,
        })
    }

    /// The levels of the interrupts, by their numbers at the interrupt controller.
    pub fn levels(&self) -> BTreeMap<u32, bool> {
        let mut levels = BTreeMap::new();
        let mut raise =
            |interrupt: u32, level: bool| *levels.entry(interrupt).or_default() |= level;
        for device in &self.devices {
            match &device.kind {
                Kind::Timer { timer, interrupts } => {
                    interrupts
                        .iter()
                        .zip(timer.levels())
                        .for_each(|(each, level)| raise(*each, level));
                }
                Kind::Uart { uart, interrupt } => raise(*interrupt, uart.level()),
                Kind::Exti { exti, .. } => {
                    exti.levels().for_each(|(each, level)| raise(each, level))
                }
                Kind::Gpio(_) => {}
            }
        }
        levels
    }

    /// The bytes that serial ports have begun to send, and those that wait, in the order of time; the
    /// first [`MOST_SENT`].
    pub fn sent(&mut self) -> &[Sent] {
        for index in 0..self.devices.len() {
            if let Kind::Uart { uart, .. } = &mut self.devices[index].kind {
                let last = uart.last();
                self.send(index, last);
            }
        }
        &self.sent
    }

    /// The name of a region's device; `None` for a bank.
    pub fn name(&self, region: usize) -> Option<&str> {
        let index = region.checked_sub(self.banks.len())?;
        self.devices.get(index).map(|device| &*device.name)
    }
}

/// The bits of so few bytes.
fn mask(size: u32) -> u32 {
    u32::MAX >> (32 - 8 * size.clamp(1, 4))
}
