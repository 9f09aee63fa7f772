//! Registers of the devices of QEMU's `virt`.

/// A register of 32 bits, at its address.
#[derive(Clone, Copy)]
pub struct Register(usize);

/// ACLINT: the software interrupt of the processor, pending while bit 0 is set.
pub const SOFTWARE: Register = Register(0x0200_0000);

/// PLIC: the priority of the real-time clock's interrupt, which of the processor's interrupts are on, and
/// where the pending one is claimed and completed.
pub const PRIORITY: Register = Register(0x0c00_0000 + 4 * REAL_TIME_CLOCK as usize);
pub const ENABLED: Register = Register(0x0c00_2000);
pub const CLAIM: Register = Register(0x0c20_0004);

/// The real-time clock's number in PLIC.
pub const REAL_TIME_CLOCK: u32 = 11;

/// The real-time clock ("goldfish"). Reading the low half of the time keeps the high half for the next read; writing the low half of
/// the alarm sets it.
pub const TIME_LOW: Register = Register(0x0010_1000);
pub const TIME_HIGH: Register = Register(0x0010_1004);
pub const ALARM_LOW: Register = Register(0x0010_1008);
pub const ALARM_HIGH: Register = Register(0x0010_100c);
pub const INTERRUPT_ON: Register = Register(0x0010_1010);
pub const CLEAR_ALARM: Register = Register(0x0010_1014);
pub const ALARM_IS_SET: Register = Register(0x0010_1018);
pub const CLEAR_INTERRUPT: Register = Register(0x0010_101c);

/// `virt`'s way to be reset.
#[cfg(feature = "uart")]
pub const FINISHER: Register = Register(0x0010_0000);

impl Register {
    #[cfg(feature = "uart")]
    pub const fn address(self) -> usize {
        self.0
    }

    #[inline(always)]
    pub fn read(self) -> u32 {
        // SAFETY: the registers named above are always there to be read.
        unsafe { core::ptr::with_exposed_provenance::<u32>(self.0).read_volatile() }
    }

    #[inline(always)]
    pub fn write(self, value: u32) {
        // SAFETY: the registers named above touch no memory of the program.
        unsafe { core::ptr::with_exposed_provenance_mut::<u32>(self.0).write_volatile(value) }
    }
}
