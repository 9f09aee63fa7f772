//! Serial ports with interrupts: a received byte goes into a [`Stream`], from which a thread or a
//! coroutine reads; a writer waits for an event where the port is busy.

use crate::{Pin, modify, read, write};
use core::convert::Infallible;
use embedded_io_async::{ErrorType, Read, Write};
use tandem::{Event, Me, Stream};

pub(crate) const INTERRUPT_1: usize = 37;
pub(crate) const INTERRUPT_2: usize = 38;

const SR: usize = 0;
const DR: usize = 4;
const BRR: usize = 8;
const CR1: usize = 0xc;

const RXNE: u32 = 1 << 5;
const TC: u32 = 1 << 6;
const TXE: u32 = 1 << 7;
/// CR1: the port, its receiver and its transmitter on, and an interrupt for each byte received.
const ON: u32 = 1 << 13 | 1 << 5 | 1 << 3 | 1 << 2;

/// The state shared by a port and its handler.
struct Shared {
    registers: usize,
    received: Stream<64>,
    sendable: Event,
}

impl Shared {
    const fn new(registers: usize) -> Self {
        Self { registers, received: Stream::new(), sendable: Event::new() }
    }

    /// The handler: stores a received byte, and signals that the port can send. A byte for which
    /// there is no space is lost.
    fn handle(&self) {
        let (status, enabled) = (read(self.registers + SR), read(self.registers + CR1));
        if status & RXNE != 0 {
            self.received.try_write(&[read(self.registers + DR) as u8]);
        }
        let sendable = status & enabled & (TXE | TC);
        if sendable != 0 {
            modify(self.registers + CR1, |bits| bits & !sendable);
            self.sendable.signal(1);
        }
    }
}

static USART1: Shared = Shared::new(0x4001_1000);
static USART2: Shared = Shared::new(0x4000_4400);

/// USART1: PA9 sends, PA10 receives.
pub const PORT_1: Port = Port(&USART1);
/// USART2: PA2 sends, PA3 receives.
pub const PORT_2: Port = Port(&USART2);

pub(crate) extern "C" fn on_port_1() {
    USART1.handle();
}

pub(crate) extern "C" fn on_port_2() {
    USART2.handle();
}

/// The ports' clock after reset.
const CLOCK_HERTZ: u32 = 16_000_000;

/// Starts both ports.
pub(crate) fn set_up() {
    const NVIC_ISER1: usize = 0xe000_e104;
    [9, 10, 2, 3].into_iter().for_each(Pin::serial);
    for port in [&USART1, &USART2] {
        Port(port).set_rate(115_200);
        write(port.registers + CR1, ON);
    }
    write(NVIC_ISER1, 1 << (INTERRUPT_1 - 32) | 1 << (INTERRUPT_2 - 32));
}

/// A serial port. One task reads and one writes at a time.
pub struct Port(&'static Shared);

impl Port {
    /// Sets the rate of both directions, in bits a second. At its start, a port has 115,200.
    pub fn set_rate(&mut self, rate: u32) {
        write(self.0.registers + BRR, CLOCK_HERTZ.div_ceil(rate));
    }

    fn is_ready(&self, flag: u32) -> bool {
        read(self.0.registers + SR) & flag != 0
    }

    /// Has the handler signal when `flag` is set. The bits that enable the interrupts in CR1 have
    /// the places of the flags in SR.
    fn ask_for(&self, flag: u32) {
        modify(self.0.registers + CR1, |bits| bits | flag);
    }

    /// Receives `level` bytes at least; blocks the thread until they are there. Returns their
    /// number.
    pub fn read_blocking(&mut self, me: &Me, level: usize, bytes: &mut [u8]) -> usize {
        self.0.received.read_at_least(me, level, bytes)
    }

    /// Sends bytes; blocks the thread where the port is busy.
    pub fn write_blocking(&mut self, me: &Me, bytes: &[u8]) {
        for byte in bytes {
            while !self.is_ready(TXE) {
                self.ask_for(TXE);
                self.0.sendable.wait(me);
            }
            write(self.0.registers + DR, u32::from(*byte));
        }
    }
}

impl ErrorType for Port {
    type Error = Infallible;
}

impl Read for Port {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
        Ok(self.0.received.read_async(bytes).await)
    }
}

impl Write for Port {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        for byte in bytes {
            while !self.is_ready(TXE) {
                self.ask_for(TXE);
                self.0.sendable.signalled().await;
            }
            write(self.0.registers + DR, u32::from(*byte));
        }
        Ok(bytes.len())
    }

    /// Waits until the last bit has left.
    async fn flush(&mut self) -> Result<(), Infallible> {
        while !self.is_ready(TC) {
            self.ask_for(TC);
            self.0.sendable.signalled().await;
        }
        Ok(())
    }
}
