//! Cortex-M: interrupts.
//!
//! The kernel masks interrupts by PRIMASK alone, or with the feature `basepri` by BASEPRI alone, and
//! then never delays those more urgent than [`LEVEL`]. BASEPRI belongs to the task that raises it: while
//! it is not 0, a task that is woken runs once it is 0 again, a yield has no effect, and a call
//! that waits ends the program. A critical section by FAULTMASK is not recognized.

#[cfg(basepri)]
use crate::{records::KERNEL, shared::Shared};
use crate::{
    records::{Request, Task},
    shared::Masked,
};
use core::{arch::asm, ptr::NonNull};

/// The handler of a more urgent interrupt may interrupt another handler.
#[inline(always)]
pub(crate) const fn handlers_nest() -> bool {
    true
}

/// The state of interrupts before they were masked: the value of PRIMASK. With the feature
/// `basepri`, the value of BASEPRI, and above it PRIMASK.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Mask(u32);

/// The priority from which on the kernel masks interrupts.
#[cfg(basepri)]
pub(crate) const LEVEL: u32 = 0x40;

#[cfg(basepri)]
impl Mask {
    /// Masks interrupts and returns their state before.
    ///
    /// # Panics
    /// In a build with debug assertions, in a handler more urgent than the kernel masks.
    #[inline(always)]
    pub(crate) fn set() -> (Self, Masked) {
        let (primask, basepri): (u32, u32);
        // SAFETY: raises the mask, unless it is higher already, and accesses no memory. A barrier to
        // the compiler: no access moves across.
        unsafe {
            asm!(
                "mrs {}, primask", "mrs {}, basepri", "msr basepri_max, {}", out(reg) primask,
                out(reg) basepri, in(reg) LEVEL, options(nostack, preserves_flags)
            );
        }
        if cfg!(debug_assertions) {
            refuse_urgent_handler();
        }
        // SAFETY: interrupts that may call the kernel have just been masked.
        (Self(basepri | primask << 8), unsafe { Masked::assume() })
    }

    /// Restores the state before `set`.
    #[inline(always)]
    pub(crate) fn restore(self) {
        // SAFETY: restores the state before `set`; a barrier as there.
        unsafe {
            asm!("msr basepri, {}", in(reg) self.0 & 0xff, options(nostack, preserves_flags))
        };
    }
}

/// The number of the active exception; 0 in thread mode.
#[inline(always)]
fn exception() -> u32 {
    let exception: u32;
    // SAFETY: reads the number of the active exception.
    unsafe { asm!("mrs {}, ipsr", out(reg) exception, options(nomem, nostack, preserves_flags)) };
    exception
}

/// # Panics
/// In a handler that the kernel does not mask.
#[cfg(basepri)]
fn refuse_urgent_handler() {
    const SHPR: *const u8 = 0xe000_ed14 as *const u8;
    const IPR: *const u8 = 0xe000_e400 as *const u8;
    /// The report itself calls the kernel.
    static REFUSED: Shared<bool> = Shared::new(false);
    let number = exception() as usize;
    let register = match number {
        0..14 => return,
        14..16 => SHPR.wrapping_add(number),
        _ => IPR.wrapping_add(number - 16),
    };
    // SAFETY: every ARMv7-M has these registers, a byte for each exception and for each interrupt.
    let priority = unsafe { register.read_volatile() };
    // SAFETY: interrupts that may call the kernel are masked, and another call ends the program here.
    let m = unsafe { Masked::assume() };
    if u32::from(priority) < LEVEL && !REFUSED.get(m) {
        REFUSED.set(m, true);
        let name = KERNEL.current_or_idle(m).name(m);
        panic!("task {name}: a handler more urgent than the kernel masks has called it");
    }
}

#[cfg(not(basepri))]
impl Mask {
    /// The state within a critical section.
    pub(crate) const MASKED: Self = Self(1);

    /// Masks interrupts and returns their state before.
    #[inline(always)]
    pub(crate) fn set() -> (Self, Masked) {
        let primask: u32;
        // SAFETY: masks interrupts and accesses no memory. Without `nomem` it is a barrier to the
        // compiler: no access moves across.
        unsafe {
            asm!("mrs {}, primask", "cpsid i", out(reg) primask, options(nostack, preserves_flags))
        };
        // SAFETY: interrupts have just been masked.
        (Self(primask), unsafe { Masked::assume() })
    }

    /// Restores the state before `set`.
    #[inline(always)]
    pub(crate) fn restore(self) {
        // SAFETY: restores the state before `set`; a barrier as there.
        unsafe { asm!("msr primask, {}", in(reg) self.0, options(nostack, preserves_flags)) };
    }
}

impl Mask {
    /// Returns whether interrupts were on.
    #[inline(always)]
    pub(crate) fn is_open(self) -> bool {
        self.0 == 0
    }

    /// Returns whether interrupts were on and there is no link, by one test.
    #[inline(always)]
    pub(crate) fn is_open_and_none<T>(self, link: Option<NonNull<T>>) -> bool {
        // SAFETY: of the same size, and `None` is 0. (`map_or` would take three instructions more.)
        let link: *mut T = unsafe { core::mem::transmute(link) };
        self.0 | link.addr() as u32 == 0
    }

    /// Returns whether a switch may take place here: in thread mode, outside of any critical
    /// section.
    #[inline(always)]
    pub(crate) fn allows_switch(self) -> bool {
        exception() | self.0 | raised_by_hand() == 0
    }
}

/// Returns whether a handler runs.
#[inline(always)]
pub(crate) fn in_handler() -> bool {
    exception() != 0
}

/// Asserts that the program's critical sections mask interrupts by PRIMASK or BASEPRI. A section that
/// masks them in the NVIC, as nrf-softdevice's does, is open to the kernel: a call in it switches.
/// Finds nothing where interrupts are masked already. Inlined, so that a program in C needs no
/// implementation of `critical-section`.
#[cfg(debug_assertions)]
#[inline(always)]
pub(crate) fn check_sections() {
    critical_section::with(|_| {
        let primask: u32;
        // SAFETY: reads the register.
        unsafe { asm!("mrs {}, primask", out(reg) primask, options(nomem, nostack)) };
        let basepri: u32;
        #[cfg(thumb1)]
        {
            basepri = 0;
        }
        // SAFETY: reads the register.
        #[cfg(not(thumb1))]
        unsafe {
            asm!("mrs {}, basepri", out(reg) basepri, options(nomem, nostack));
        }
        assert!(primask | basepri != 0, "start: a critical section leaves interrupts open");
    });
}

/// The priority from which on interrupts are masked by hand; 0 if none are.
#[cfg(not(any(basepri, thumb1)))]
#[inline(always)]
fn raised_by_hand() -> u32 {
    let basepri: u32;
    // SAFETY: reads the register.
    unsafe { asm!("mrs {}, basepri", out(reg) basepri, options(nomem, nostack, preserves_flags)) };
    basepri
}

/// An ARMv6-M has no such register; with the feature `basepri`, a [`Mask`] has its value.
#[cfg(any(basepri, thumb1))]
#[inline(always)]
fn raised_by_hand() -> u32 {
    0
}

/// Masks interrupts where they are known to be on, or where they will never be restored.
#[inline(always)]
pub(crate) fn mask() -> Masked {
    // SAFETY: as in `Mask::set`.
    #[cfg(not(basepri))]
    unsafe {
        asm!("cpsid i", options(nostack, preserves_flags));
    }
    // SAFETY: as in `Mask::set`.
    #[cfg(basepri)]
    unsafe {
        asm!("msr basepri_max, {}", in(reg) LEVEL, options(nostack, preserves_flags));
    }
    // SAFETY: interrupts have just been masked.
    unsafe { Masked::assume() }
}

/// Has the processor take the interrupts that are pending and have just been unmasked. Without an
/// `isb`, it may execute some instructions more before it takes them.
#[inline(always)]
pub(crate) fn take_pending() {
    // SAFETY: discards instructions that have been fetched. A barrier to the compiler, too.
    unsafe { asm!("isb", options(nostack, preserves_flags)) };
}

/// Sleeps until an interrupt is pending, which stays masked. Returns at once if one is, and with the
/// feature `spin`.
#[cfg(feature = "sleep-hooks")]
pub(crate) fn wait_for_interrupt(_: Masked) {
    // An interrupt that BASEPRI masks does not end a sleep; one that PRIMASK masks does. So this
    // delays interrupts that the kernel never masks, too: by these instructions.
    // SAFETY: masks interrupts throughout, by PRIMASK instead of BASEPRI.
    #[cfg(all(basepri, not(feature = "spin")))]
    unsafe {
        asm!(
            "cpsid i", "msr basepri, {zero}", "dsb", "wfi", "msr basepri, {level}", "cpsie i",
            zero = in(reg) 0, level = in(reg) LEVEL, options(nostack, preserves_flags)
        );
    }
    // SAFETY: writes to registers end before the sleep; changes nothing.
    #[cfg(not(any(basepri, feature = "spin")))]
    unsafe {
        asm!("dsb", "wfi", options(nostack, preserves_flags));
    }
}

/// Masks interrupts where their state is to be that before an earlier [`Mask::set`] in the end.
#[inline(always)]
pub(crate) fn mask_again() -> Masked {
    mask()
}

/// Unmasks interrupts, where they were on before `mask`.
#[inline(always)]
pub(crate) fn unmask(_: Masked) {
    // SAFETY: interrupts were on before the caller masked them.
    #[cfg(not(basepri))]
    unsafe {
        asm!("cpsie i", options(nostack, preserves_flags));
    }
    // SAFETY: interrupts were on before the caller masked them.
    #[cfg(basepri)]
    unsafe {
        asm!("msr basepri, {}", in(reg) 0, options(nostack, preserves_flags));
    }
}

impl Request {
    /// Requests a switch as soon as no handler runs and interrupts are on.
    #[inline(always)]
    pub(crate) fn make(self, _: Masked) {
        // SAFETY: every Cortex-M has this register. Writing the bit makes PendSV pending; zeros
        // have no effect.
        unsafe { self.register.write_volatile(self.value) };
    }
}

/// Requests a switch as soon as no handler runs and interrupts are on.
#[inline(always)]
pub(crate) fn pend(m: Masked, _: Option<Task>) {
    Request::SWITCH.make(m);
}

/// Nothing: every switch that has been requested searches for the most urgent task.
#[inline(always)]
pub(crate) fn search_again(_: Masked) {}

/// The number of zeros above the highest bit that is set; 32 for 0. ARMv6-M has no instruction for
/// it.
#[cfg(thumb1)]
#[inline]
pub(crate) fn leading_zeros(word: u32) -> u32 {
    static OF_BYTE: [u8; 256] = {
        let (mut table, mut byte) = ([0; 256], 0);
        while byte < 256 {
            table[byte] = (byte as u8).leading_zeros() as u8;
            byte += 1;
        }
        table
    };
    let (half, zeros) = if word >> 16 != 0 { (word >> 16, 0) } else { (word, 16) };
    let (byte, zeros) = if half >> 8 != 0 { (half >> 8, zeros) } else { (half, zeros + 8) };
    // The index is less than 256: `byte` has the highest eight bits that may be set.
    zeros + u32::from(OF_BYTE[(byte & 0xff) as usize])
}
