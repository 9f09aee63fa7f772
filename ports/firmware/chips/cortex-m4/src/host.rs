//! The way to the host over USART1, at 115200 baud: PA9 sends, PA10 receives.
//!
//! The set-up is for the chip as it comes out of reset, on its internal oscillator of 16 MHz. QEMU
//! needs none of it.

use chronoscope_firmware::{serial::Uart, serial_host};
use cortex_m::peripheral::SCB;

#[derive(Default)]
pub struct Usart1(Ready);

/// Evidence that USART1 has been set up.
struct Ready;

const STATUS: usize = 0x4001_1000;
const DATA: usize = STATUS + 0x04;
const BAUD_RATE: usize = STATUS + 0x08;
const CONTROL: usize = STATUS + 0x0c;

/// Bits of the status.
const RECEIVED: u32 = 1 << 5;
const TRANSMITTED: u32 = 1 << 6;

/// Clocks of ports and of devices.
const AHB1_ENABLE: usize = 0x4002_3830;
const APB2_ENABLE: usize = 0x4002_3844;

/// Registers of port A: modes of its pins, two bits each, and the alternate functions of pins 8 to
/// 15, four bits each.
const MODES: usize = 0x4002_0000;
const FUNCTIONS: usize = MODES + 0x24;

impl Default for Ready {
    fn default() -> Self {
        const DEVICE: u32 = 2;
        const USART: u32 = 7;
        set(AHB1_ENABLE, 1, 1);
        set(APB2_ENABLE, 1 << 4, 1 << 4);
        set(FUNCTIONS, 0xff << 4, USART << 4 | USART << 8);
        set(MODES, 0xf << 18, DEVICE << 18 | DEVICE << 20);
        write(BAUD_RATE, 16_000_000 / 115_200 + 1);
        // On, both ways.
        write(CONTROL, 1 << 13 | 1 << 3 | 1 << 2);
        Self
    }
}

fn read(register: usize) -> u32 {
    // SAFETY: the registers named above are always there to be read.
    unsafe { core::ptr::with_exposed_provenance::<u32>(register).read_volatile() }
}

fn write(register: usize, value: u32) {
    // SAFETY: the registers named above touch no memory of the program.
    unsafe { core::ptr::with_exposed_provenance_mut::<u32>(register).write_volatile(value) }
}

/// Copies the bits of `mask` from `value`, and keeps all other bits.
fn set(register: usize, mask: u32, value: u32) {
    write(register, read(register) & !mask | value);
}

impl Uart for Usart1 {
    fn read(&mut self) -> u8 {
        while read(STATUS) & RECEIVED == 0 {}
        read(DATA) as u8
    }

    fn write(&mut self, byte: u8) {
        write(DATA, byte.into());
        while read(STATUS) & TRANSMITTED == 0 {}
    }
}

serial_host!(Usart1, SCB::sys_reset);
