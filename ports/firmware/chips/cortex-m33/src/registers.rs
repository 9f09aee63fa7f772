//! Access to the registers of the timers, by their addresses.

#[inline(always)]
pub fn read(register: usize) -> u32 {
    // SAFETY: the registers that the timers' modules name are always there to be read.
    unsafe { core::ptr::with_exposed_provenance::<u32>(register).read_volatile() }
}

#[inline(always)]
pub fn write(register: usize, value: u32) {
    // SAFETY: the registers that the timers' modules name touch no memory of the program.
    unsafe { core::ptr::with_exposed_provenance_mut::<u32>(register).write_volatile(value) }
}
