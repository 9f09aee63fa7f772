//! Registers of the devices of QEMU's `virt`, which the RTL bench has as well, and of the bench
//! itself.

/// A register of 32 bits, at its address.
#[derive(Clone, Copy)]
pub struct Register(usize);

/// ACLINT: the software interrupt of the processor, pending while bit 0 is set.
pub const SOFTWARE: Register = Register(0x0200_0000);

/// The context in PLIC: machine mode on RV32, supervisor mode on RV64.
const CONTEXT: usize = if cfg!(target_arch = "riscv64") { 1 } else { 0 };

/// PLIC: the priority of each interrupt, which of them are on, and where the pending one is claimed
/// and completed.
pub const REAL_TIME_CLOCK_PRIORITY: Register = priority(REAL_TIME_CLOCK);
pub const STIMULUS_PRIORITY: Register = priority(STIMULUS);
pub const ENABLED: Register = Register(0x0c00_2000 + 0x80 * CONTEXT);
pub const CLAIM: Register = Register(0x0c20_0004 + 0x1000 * CONTEXT);

/// Numbers in PLIC: the real-time clock's, and the bench's stimulus's, which nothing raises in
/// QEMU.
pub const REAL_TIME_CLOCK: u32 = 11;
pub const STIMULUS: u32 = 12;

const fn priority(number: u32) -> Register {
    Register(0x0c00_0000 + 4 * number as usize)
}

/// The real-time clock ("goldfish"). Reading the low half of the time keeps the high half for the
/// next read; writing the low half of the alarm sets it.
pub const TIME_LOW: Register = Register(0x0010_1000);
pub const TIME_HIGH: Register = Register(0x0010_1004);
pub const ALARM_LOW: Register = Register(0x0010_1008);
pub const ALARM_HIGH: Register = Register(0x0010_100c);
pub const INTERRUPT_ON: Register = Register(0x0010_1010);
pub const CLEAR_ALARM: Register = Register(0x0010_1014);
pub const ALARM_IS_SET: Register = Register(0x0010_1018);
pub const CLEAR_INTERRUPT: Register = Register(0x0010_101c);

/// The bench's clock rate, in cycles per second.
///
/// The bench's own registers are inside ACLINT's region, where QEMU reads 0 and ignores writes.
pub const HERTZ: Register = Register(0x0200_3000);
/// Each bit written as 1 sets, or clears, one of the eight pins.
pub const PIN_SET: Register = Register(0x0200_3010);
pub const PIN_CLEAR: Register = Register(0x0200_3014);
/// The due time of the stimulus: its line rises up to 255 cycles later. Writing the low half arms
/// it.
pub const STIMULUS_HIGH: Register = Register(0x0200_3020);
pub const STIMULUS_LOW: Register = Register(0x0200_3024);
/// The clock's value at the last rise of the line.
pub const FIRED_LOW: Register = Register(0x0200_3028);
pub const FIRED_HIGH: Register = Register(0x0200_302c);
/// A write lowers the stimulus line.
pub const STIMULUS_DONE: Register = Register(0x0200_3030);
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
