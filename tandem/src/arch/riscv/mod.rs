//! RISC-V: interrupts. `privilege` has the differences between machine mode and supervisor mode.

pub(crate) mod privilege;

use self::privilege::{INTERRUPTS_ON, SCRATCH, STATUS};
use crate::{
    records::{KERNEL, Task},
    shared::Masked,
};
use core::{arch::asm, ptr::NonNull};

/// Sets the vectors of traps, in vectored mode.
///
/// # Safety
/// The vectors at `address`, a multiple of 256, lead to the kernel's for traps of the kernel.
#[cfg(all(feature = "processes", target_arch = "riscv64"))]
pub(crate) unsafe fn set_vectors(address: usize) {
    // SAFETY: this function's contract.
    unsafe {
        asm!(
            "csrw {VECTORS}, {}", in(reg) address | 1, VECTORS = const privilege::VECTORS,
            options(nostack, preserves_flags)
        );
    }
}

/// No handler may interrupt another.
#[inline(always)]
pub(crate) const fn handlers_nest() -> bool {
    false
}

/// The state of interrupts before they were masked: the value of the status register, of which no
/// other bit changes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Mask(usize);

impl Mask {
    /// Masks interrupts and returns their state before.
    #[inline(always)]
    pub(crate) fn set() -> (Self, Masked) {
        let status: usize;
        // SAFETY: masks interrupts and accesses no memory. Without `nomem` it is a barrier to the
        // compiler: no access moves across.
        unsafe {
            asm!(
                "csrrci {}, {STATUS}, {ON}", out(reg) status, STATUS = const STATUS,
                ON = const INTERRUPTS_ON, options(nostack, preserves_flags)
            )
        };
        // SAFETY: interrupts have just been masked.
        (Self(status), unsafe { Masked::assume() })
    }

    /// Restores the state before `set`.
    #[inline(always)]
    pub(crate) fn restore(self) {
        // SAFETY: restores the state before `set`; a barrier as there.
        unsafe {
            asm!(
                "csrw {STATUS}, {}", in(reg) self.0, STATUS = const STATUS,
                options(nostack, preserves_flags)
            )
        };
    }

    /// Returns whether interrupts were on.
    #[inline(always)]
    pub(crate) fn is_open(self) -> bool {
        self.0 & INTERRUPTS_ON != 0
    }

    /// Returns whether interrupts were on and there is no link.
    #[inline(always)]
    pub(crate) fn is_open_and_none<T>(self, link: Option<NonNull<T>>) -> bool {
        self.is_open() && link.is_none()
    }

    /// Returns whether a switch may take place here: in a task, outside of any critical section. In
    /// handlers interrupts are masked.
    #[inline(always)]
    pub(crate) fn allows_switch(self) -> bool {
        self.is_open()
    }
}

/// Masks interrupts where they are known to be on, or where they will never be restored.
#[inline(always)]
pub(crate) fn mask() -> Masked {
    // SAFETY: as in `Mask::set`.
    unsafe {
        asm!(
            "csrci {STATUS}, {ON}", STATUS = const STATUS, ON = const INTERRUPTS_ON,
            options(nostack, preserves_flags)
        )
    };
    // SAFETY: interrupts have just been masked.
    unsafe { Masked::assume() }
}

/// Nothing: interrupts that are pending and have just been unmasked are taken.
#[inline(always)]
pub(crate) fn take_pending() {}

/// Sleeps until an interrupt is pending, which stays masked. Returns at once if one is, and with the
/// feature `spin`.
#[cfg(feature = "sleep-hooks")]
pub(crate) fn wait_for_interrupt(_: Masked) {
    // SAFETY: changes nothing.
    #[cfg(not(feature = "spin"))]
    unsafe {
        asm!("wfi", options(nostack, preserves_flags));
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
    unsafe {
        asm!(
            "csrsi {STATUS}, {ON}", STATUS = const STATUS, ON = const INTERRUPTS_ON,
            options(nostack, preserves_flags)
        )
    };
}

/// Requests a switch at the end of the handler or critical section, to `next` if it is known to be
/// the most urgent. From a handler, `next` is noted, so that its epilogue need not search. From a
/// task with interrupts masked it is not, since more may happen before the next trap.
#[inline(always)]
pub(crate) fn pend(m: Masked, next: Option<Task>) {
    let before: usize;
    // SAFETY: the kernel owns bit 0 of `mscratch` and its meaning; see the module's documentation.
    unsafe {
        asm!(
            "csrrsi {}, {SCRATCH}, 1", out(reg) before, SCRATCH = const SCRATCH,
            options(nomem, nostack, preserves_flags)
        )
    };
    let in_handler = before > 1;
    KERNEL.wanted.set(m, next.filter(|_| in_handler));
}

/// Has the switch that has been requested, if any, search for the most urgent task: it may be another
/// than the one that is noted, since a priority has changed.
pub(crate) fn search_again(m: Masked) {
    KERNEL.wanted.set(m, None);
}

/// The number of zeros above the highest bit that is set; 32 for 0. Takes 10 to 14 instructions;
/// without the extension Zbb, the compiler's version takes about 30.
#[inline(always)]
pub(crate) fn leading_zeros(word: u32) -> u32 {
    static OF_BYTE: [u8; 256] = {
        let (mut table, mut byte) = ([0; 256], 0);
        while byte < 256 {
            table[byte] = (byte as u8).leading_zeros() as u8;
            byte += 1;
        }
        table
    };
    let (zeros, byte): (usize, usize);
    // In assembly, since the compiler turns the branches into arithmetic.
    // SAFETY: changes registers only.
    unsafe {
        asm!(
            "li {zeros}, 24",
            "srli {rest}, {word}, 16",
            "beqz {rest}, 2f",
            "mv {word}, {rest}",
            "li {zeros}, 8",
            "2: srli {rest}, {word}, 8",
            "beqz {rest}, 3f",
            "mv {word}, {rest}",
            "addi {zeros}, {zeros}, -8",
            "3:",
            zeros = out(reg) zeros,
            rest = out(reg) _,
            word = inout(reg) word as usize => byte,
            options(pure, nomem, nostack),
        );
    }
    // SAFETY: at most eight bits of `word` are left, so the index is less than 256.
    (zeros + usize::from(unsafe { *OF_BYTE.get_unchecked(byte) })) as u32
}
