//! The way to the host over `virt`'s UART, an NS16550. QEMU's needs no set-up.

use chronoscope_firmware::{serial::Uart, serial_host};

use crate::registers::FINISHER;

/// The UART: its registers are bytes.
#[derive(Default)]
pub struct Ns16550(());

const DATA: usize = 0x1000_0000;
const LINE_STATUS: usize = DATA + 5;

/// Bits of the line status.
const RECEIVED: u8 = 1 << 0;
const TRANSMITTER_EMPTY: u8 = 1 << 6;

impl Ns16550 {
    fn wait_for(bit: u8) {
        // SAFETY: this register is always there to be read.
        while unsafe { core::ptr::with_exposed_provenance::<u8>(LINE_STATUS).read_volatile() } & bit
            == 0
        {}
    }
}

impl Uart for Ns16550 {
    fn read(&mut self) -> u8 {
        Self::wait_for(RECEIVED);
        // SAFETY: the data register is always readable.
        unsafe { core::ptr::with_exposed_provenance::<u8>(DATA).read_volatile() }
    }

    fn write(&mut self, byte: u8) {
        // SAFETY: the register touches no memory of the program.
        unsafe { core::ptr::with_exposed_provenance_mut::<u8>(DATA).write_volatile(byte) };
        Self::wait_for(TRANSMITTER_EMPTY);
    }
}

fn restart() -> ! {
    const RESET: u32 = 0x7777;
    loop {
        // It takes a moment.
        FINISHER.write(RESET);
    }
}

serial_host!(Ns16550, restart);
