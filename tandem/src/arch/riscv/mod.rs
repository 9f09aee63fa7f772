//! RV32IMC in machine mode: every task on its own stack, handlers on the stack that called [`start`](crate::start).
//!
//! # Interrupts
//! `start` points `mtvec` at the kernel's own vectors, so what the runtime had put there (`riscv-rt`'s, say)
//! serves until then and is out of the way from then on. A handler is a function with the name that
//! `riscv-rt` gives it, so `#[riscv_rt::core_interrupt]` makes one, or without any attribute:
//!
//! ```ignore
//! #[unsafe(no_mangle)]
//! extern "C" fn MachineTimer() { tandem::time::expire() }
//! ```
//!
//! | line in `mcause`, bit in `mie` | name |
//! |---|---|
//! | 3, 7, 11 | `MachineSoft`, `MachineTimer`, `MachineExternal` |
//! | 16 to 31, the chip's own (Ibex: 31 is the NMI, whose handler must not return) | `Local16` to `Local31` |
//!
//! The linker script `tandem.x` gives names that nobody defines a handler that panics; link with `-Ttandem.x`,
//! before other scripts. Enabling lines in `mie` and clearing what raised an interrupt is the application's.
//! Handlers do not nest: interrupts stay masked in them. Exceptions are fatal, and name the task.
//!
//! # A switch that must wait
//! Bit 0 of `mscratch` says that a task more urgent than the running one has become ready where no switch could be made. Who
//! ends that looks at it: the trap's epilogue, and in threads and coroutines the release of a critical section, for
//! which the kernel provides `critical-section`'s implementation. (So enable no other: not `riscv`'s
//! `critical-section-single-hart`.) A software interrupt (MSIP) would do the same, but it is the application's
//! only one. Code that masks interrupts by other means is pre-empted no later than by the next interrupt.
//!
//! # Registers
//! `tp`, which would lead to a thread's own variables, leads to the kernel's record: assembly reads and writes it without an
//! address to be made first.
//!
//! In a handler the other bits of `mscratch` are the stack pointer of the task that it interrupted; else they are 0.

mod guard;
#[cfg(not(any(feature = "trace", feature = "time-slice")))]
mod paths;
mod switch;
mod trap;

pub(crate) use guard::GUARD;
#[cfg(not(any(feature = "trace", feature = "time-slice")))]
pub(crate) use paths::hand_over_and_restore;
pub(crate) use switch::{give_way, load, switch, switch_and_unmask, wait_in};

use crate::{
    kernel::{self, KERNEL},
    shared::{Masked, Shared},
    task::Task,
};
use core::arch::asm;

/// A suspended context: the assembly knows the order of the fields.
#[repr(C)]
pub(crate) struct Saved {
    /// Where the registers lie; 0 when there is no suspended context.
    stack: Shared<usize>,
    /// What to write to `pmpaddr0` so that it guards the low end of the stack.
    guard: Shared<u32>,
}

impl Saved {
    pub(crate) const fn new() -> Self {
        Self { stack: Shared::new(0), guard: Shared::new(0) }
    }

    #[inline(always)]
    pub(crate) fn exists(&self, m: Masked) -> bool {
        self.stack.get(m) != 0
    }

    /// The context has ended.
    #[inline(always)]
    pub(crate) fn clear(&self, m: Masked) {
        self.stack.set(m, 0);
    }

    pub(crate) fn share_stack_of(&self, m: Masked, other: &Self) {
        self.guard.set(m, other.guard.get(m));
    }

    /// A context that calls `entry(argument)` when it is first switched to, with interrupts on.
    ///
    /// # Safety
    /// `low..high` is a stack that nothing else uses, aligned to 32 at its low end and to 8 at its high end.
    pub(crate) unsafe fn prepare(
        &self,
        m: Masked,
        low: usize,
        high: usize,
        entry: unsafe extern "C" fn(*mut ()) -> !,
        argument: *mut (),
    ) {
        // As `load` takes them: s0, s1, and where to go on.
        let stack = high & !15;
        let words = stack as *mut usize;
        // SAFETY: the words lie within the stack, which is aligned and nobody else's.
        unsafe {
            words.sub(1).write(entry as usize);
            words.sub(2).write(argument as usize);
            words.sub(3).write(switch::begin_thread as *const () as usize);
        }
        self.stack.set(m, stack);
        self.guard.set(m, guard::value(low));
    }
}

/// Lets interrupts in, in `mstatus`.
const MIE: u32 = 1 << 3;

/// Whether a more urgent interrupt's handler may run on top of a less urgent one's.
pub(crate) const HANDLERS_NEST: bool = false;

/// `mstatus` as it was before: only MIE can differ.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Mask(u32);

impl Mask {
    /// Masks interrupts.
    #[inline(always)]
    pub(crate) fn set() -> (Self, Masked) {
        let status: u32;
        // SAFETY: masks interrupts and touches no memory; as a barrier to the compiler, no access moves across.
        unsafe {
            asm!("csrrci {}, mstatus, {MIE}", out(reg) status, MIE = const MIE, options(nostack, preserves_flags))
        };
        // SAFETY: masked just now.
        (Self(status), unsafe { Masked::assume() })
    }

    #[inline(always)]
    pub(crate) fn restore(self) {
        // SAFETY: puts back what `set` found.
        unsafe { asm!("csrw mstatus, {}", in(reg) self.0, options(nostack, preserves_flags)) };
    }

    /// Whether a switch may happen here: in a task, outside of any critical section. In handlers interrupts are masked.
    #[inline(always)]
    pub(crate) fn allows_switch(self) -> bool {
        self.0 & MIE != 0
    }
}

/// Masks interrupts where they are known to be on, or never to be as they were.
#[inline(always)]
pub(crate) fn mask() -> Masked {
    // SAFETY: as in `Mask::set`.
    unsafe { asm!("csrci mstatus, {MIE}", MIE = const MIE, options(nostack, preserves_flags)) };
    // SAFETY: masked just now.
    unsafe { Masked::assume() }
}

/// Lets interrupts in, where they were on before `mask`.
#[inline(always)]
pub(crate) fn unmask(_: Masked) {
    // SAFETY: the caller masked them.
    unsafe { asm!("csrsi mstatus, {MIE}", MIE = const MIE, options(nostack, preserves_flags)) };
}

/// Asks for a switch at the end of the handler or critical section, to `next` if that is known to be the most urgent. A handler's end
/// need not look for it then; what a task asks for with interrupts masked is not noted, for much may happen before the next trap.
#[inline(always)]
pub(crate) fn pend(m: Masked, next: Option<Task>) {
    let before: usize;
    // SAFETY: the bit is the kernel's; see above.
    unsafe {
        asm!("csrrsi {}, mscratch, 1", out(reg) before, options(nomem, nostack, preserves_flags))
    };
    let in_handler = before > 1;
    KERNEL.wanted.set(m, next.filter(|_| in_handler));
}

struct CriticalSection;
critical_section::set_impl!(CriticalSection);

// SAFETY: on one processor, masking interrupts keeps all others out. A switch in `release` is the caller's to expect there.
unsafe impl critical_section::Impl for CriticalSection {
    #[inline(always)]
    unsafe fn acquire() -> bool {
        Mask::set().0.allows_switch()
    }

    #[inline(always)]
    unsafe fn release(was_on: bool) {
        if was_on {
            let pending: u32;
            // SAFETY: where interrupts were on is no handler, so `mscratch` holds the bit alone; it is cleared.
            unsafe {
                asm!("csrrwi {}, mscratch, 0", out(reg) pending, options(nostack, preserves_flags))
            };
            // SAFETY: `acquire` masked them.
            let m = unsafe { Masked::assume() };
            if pending != 0 {
                catch_up(m);
            }
            unmask(m);
        }
    }
}

/// Makes the switch that had to wait.
#[cold]
fn catch_up(m: Masked) {
    // Before the kernel has been started, `mscratch` may hold anything.
    if trap::is_set_up(m) {
        let (me, next) = (KERNEL.current(m), KERNEL.ready.most_urgent(m));
        if !next.is(me) {
            kernel::switch(m, me, next);
        }
    }
}

/// The zeros above the highest bit. Without the extension Zbb the compiler's own takes about 30 instructions, this 10 to 14.
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
    // In assembly, since the compiler makes arithmetic of the branches.
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
            word = inout(reg) word => byte,
            options(pure, nomem, nostack),
        );
    }
    // SAFETY: eight bits are left.
    (zeros + usize::from(unsafe { *OF_BYTE.get_unchecked(byte) })) as u32
}

#[cfg(not(feature = "spin"))]
macro_rules! sleep {
    () => {
        "wfi"
    };
}
#[cfg(feature = "spin")]
macro_rules! sleep {
    () => {
        "nop"
    };
}

unsafe extern "C" fn sleep(_: *mut ()) -> ! {
    // SAFETY: sleeps until there is an interrupt, for ever.
    unsafe { asm!("2:", sleep!(), "j 2b", options(noreturn)) }
}

/// Turns the running code into the idle task, on the shared stack, and lets interrupts in.
///
/// # Safety
/// `low..high` is as for `Saved::prepare`; interrupts are masked; this is the main program.
pub(crate) unsafe fn become_idle(m: Masked, idle: Task, low: usize, high: usize) -> ! {
    debug_assert!(KERNEL.is_idle(m));
    // SAFETY: the stack is the idle task's; from here on the main stack is the handlers' alone, and nothing of this frame is
    // used again. What is ready is suspended, as the idle task now is, or a coroutine between two polls.
    unsafe {
        idle.saved.prepare(m, low, high, sleep, core::ptr::null_mut());
        asm!("csrw mscratch, zero", options(nomem, nostack, preserves_flags));
        load(KERNEL.ready.most_urgent(m))
    }
}

/// Sets up what the kernel uses of the processor, and the guard of the shared stack.
pub(crate) fn set_up(m: Masked, idle: Task, low: usize) {
    trap::set_up(m);
    idle.saved.guard.set(m, guard::value(low));
    guard::set_up();
}
