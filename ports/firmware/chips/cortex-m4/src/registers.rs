//! The registers of the chip's general-purpose timers.

/// A timer, at its address.
#[derive(Clone, Copy)]
pub struct Timer(usize);

pub const TIM2: Timer = Timer(0x4000_0000);
pub const TIM3: Timer = Timer(0x4000_0400);
pub const TIM4: Timer = Timer(0x4000_0800);
pub const TIM5: Timer = Timer(0x4000_0C00);

/// A register of a timer: its offset.
#[derive(Clone, Copy)]
pub enum Register {
    /// Bit 0: count.
    Control = 0x00,
    /// Bit 0: interrupt when the counter reaches the reload value.
    InterruptEnable = 0x0C,
    Count = 0x24,
    /// The counter counts every (this + 1)th tick.
    Prescaler = 0x28,
    Reload = 0x2C,
}

impl Timer {
    #[inline(always)]
    pub fn read(self, register: Register) -> u32 {
        // SAFETY: the registers of a timer are always there to be read; reading these has no
        // effect.
        unsafe {
            core::ptr::with_exposed_provenance::<u32>(self.0 + register as usize).read_volatile()
        }
    }

    #[inline(always)]
    pub fn write(self, register: Register, value: u32) {
        // SAFETY: a timer's registers touch no memory of the program.
        unsafe {
            core::ptr::with_exposed_provenance_mut::<u32>(self.0 + register as usize)
                .write_volatile(value)
        }
    }
}
