//! RV32IMC in machine mode and RV64IMC in supervisor mode: each task on a stack of its own,
//! handlers on the stack that called [`start`](crate::start).
//!
//! The text below has the names of machine mode. In supervisor mode `sstatus`, `stvec`, `sscratch`,
//! `sepc` and SIE take the places of `mstatus`, `mtvec`, `mscratch`, `mepc` and MIE, and handlers
//! are `SupervisorSoft` (line 1), `SupervisorTimer` (5) and `SupervisorExternal` (9); there are no
//! others. `privilege` has the differences, and `limit` takes the place of `guard`.
//!
//! # Interrupts
//! `start` sets `mtvec` to the kernel's own vectors, which replace the vectors of the runtime, such
//! as
//! `riscv-rt`. A handler is a function with the name that `riscv-rt` gives it: made by
//! `#[riscv_rt::core_interrupt]`, or without any attribute:
//!
//! ```ignore
//! #[unsafe(no_mangle)]
//! extern "C" fn MachineTimer() { tandem::time::expire() }
//! ```
//!
//! | line in `mcause`, bit in `mie` | name |
//! |---|---|
//! | 3, 7, 11 | `MachineSoft`, `MachineTimer`, `MachineExternal` |
//! | 16 to 31, the chip's own (31 on Ibex: NMI, must not return) | `Local16` to `Local31` |
//!
//! The linker script `tandem.x` defines a handler that panics for each name that has none. Link
//! with `-Ttandem.x`, before other scripts. The application enables lines in `mie` and clears the
//! causes of interrupts. Handlers do not nest: interrupts stay masked in them. Exceptions are
//! fatal; the panic names the task.
//!
//! # Pending switches
//! Bit 0 of `mscratch` says that a task more urgent than the running one became ready where no
//! switch was possible. Two places read it: the epilogue of a trap and, in threads and coroutines,
//! the release of a critical section, for which the kernel provides the implementation of
//! `critical-section`. (So enable no other, such as `critical-section-single-hart` of `riscv`.) A
//! software interrupt (MSIP) would do the same, but is left to the application. If code masks
//! interrupts by other means, the switch takes place at the next interrupt at the latest.
//!
//! # Registers
//! `tp`, the thread pointer, has the address of the kernel's record, so that the assembly accesses
//! it by one instruction. In a handler the other bits of `mscratch` are the stack pointer of the
//! interrupted task; elsewhere they are 0.
//!
//! # Soundness
//! - The kernel owns `tp`, `mtvec`, `mscratch`, `mstatus.MPRV` and `MPP`, and the PMP entries of
//!   the guards, from `start` on. The application does not write them.
//! - Machine mode is masked by `mstatus.MIE`. Handlers run with it clear, so an interrupt state
//!   with MIE set proves that the code runs in a task, outside of any critical section.
//! - A task suspended by a call is resumed with interrupts masked and unmasks them itself; a
//!   pre-empted task is resumed by `mret`. An NMI is not masked, so its handler must not return.

mod exception;
#[cfg_attr(target_arch = "riscv64", path = "limit.rs")]
mod guard;
pub(crate) mod switch;
mod trap;

pub(crate) use guard::GUARD;
pub(crate) use switch::{load, switch, switch_and_unmask};

use crate::{
    arch::{Mask, privilege::SCRATCH, unmask},
    records::{KERNEL, Saved, Task},
    shared::Masked,
};
use core::arch::asm;

/// The bytes that an interrupt and a pre-emption push onto a task's stack, besides those for which
/// there is room below its end.
pub(crate) const INTERRUPTED: usize = exception::TRAP + switch::FRAME;

impl Saved {
    #[inline(always)]
    pub(crate) fn exists(&self, m: Masked) -> bool {
        self.stack.get(m) != 0
    }

    /// Marks a coroutine as being between two polls, without a context.
    #[inline(always)]
    pub(crate) fn clear(&self, m: Masked) {
        self.stack.set(m, 0);
    }

    pub(crate) fn share_stack_of(&self, m: Masked, other: &Self) {
        self.guard.set(m, other.guard.get(m));
    }

    /// Makes a context that calls `entry(argument)`, with interrupts on, when it is first switched
    /// to.
    ///
    /// # Safety
    /// `low..high` is a stack that nothing else uses, aligned to 32 at its low end and to 8 at its
    /// high end, with space for the context. `entry` may be called with `argument` once.
    pub(crate) unsafe fn prepare(
        &self,
        m: Masked,
        low: usize,
        high: usize,
        entry: unsafe extern "C" fn(*mut ()) -> !,
        argument: *mut (),
    ) {
        // In the order in which the switch loads them: s0, s1, and the address to continue at.
        let stack = high & !15;
        let words = stack as *mut usize;
        // SAFETY: the words are within the stack, which is aligned and which nothing else uses.
        unsafe {
            words.sub(1).write(entry as usize);
            words.sub(2).write(argument as usize);
            words.sub(3).write(switch::begin_thread as *const () as usize);
        }
        self.stack.set(m, stack);
        self.guard.set(m, guard::value(low));
    }

    /// Makes a context that continues at `routine`, with interrupts masked and the stack pointer at
    /// `stack`.
    ///
    /// # Safety
    /// `low..stack` is a stack that nothing else uses, aligned to 16 at both ends, with space for
    /// the context. `routine` may be entered once, and needs no register.
    #[cfg(all(feature = "processes", target_arch = "riscv64"))]
    pub(crate) unsafe fn prepare_at(&self, m: Masked, low: usize, stack: usize, routine: usize) {
        // SAFETY: the word is within the stack, by this function's contract.
        unsafe { (stack as *mut usize).sub(3).write(routine) };
        self.stack.set(m, stack);
        self.guard.set(m, guard::value(low));
    }
}

/// The bytes between the stack pointer and the guard of the running task.
pub(crate) fn stack_left(m: Masked, task: Task) -> usize {
    let stack: usize;
    // SAFETY: reads the stack pointer.
    unsafe { asm!("mv {}, sp", out(reg) stack, options(nomem, nostack, preserves_flags)) };
    stack.saturating_sub(guard::end(task.saved.guard.get(m)))
}

struct CriticalSection;
critical_section::set_impl!(CriticalSection);

// SAFETY: on one core, masking interrupts excludes all other contexts. `release` may switch to
// another task after the section has ended.
unsafe impl critical_section::Impl for CriticalSection {
    #[inline(always)]
    unsafe fn acquire() -> bool {
        Mask::set().0.allows_switch()
    }

    #[inline(always)]
    unsafe fn release(was_on: bool) {
        if was_on {
            let pending: usize;
            // SAFETY: interrupts were on, so this is no handler and `mscratch` has bit 0 at most,
            // which is cleared.
            unsafe {
                asm!(
                    "csrrwi {}, {SCRATCH}, 0", out(reg) pending, SCRATCH = const SCRATCH,
                    options(nostack, preserves_flags)
                )
            };
            // SAFETY: `acquire` masked interrupts.
            let m = unsafe { Masked::assume() };
            if pending != 0 {
                catch_up(m);
            }
            unmask(m);
        }
    }
}

/// Makes a pending switch.
#[cold]
fn catch_up(m: Masked) {
    // Before the kernel has been started, `mscratch` may have any value.
    if trap::is_set_up(m) {
        let (me, next) = (KERNEL.current(m), KERNEL.ready.most_urgent(m));
        if !next.is(me) {
            // SAFETY: interrupts are masked. The most urgent task is ready and not running.
            unsafe { switch(me, next) };
        }
    }
}

#[cfg(not(any(feature = "spin", feature = "sleep-hooks")))]
macro_rules! sleep {
    () => {
        "wfi"
    };
}
#[cfg(all(feature = "spin", not(feature = "sleep-hooks")))]
macro_rules! sleep {
    () => {
        "nop"
    };
}

#[cfg(feature = "sleep-hooks")]
unsafe extern "C" fn sleep(_: *mut ()) -> ! {
    loop {
        crate::idle::sleep();
    }
}

#[cfg(not(feature = "sleep-hooks"))]
unsafe extern "C" fn sleep(_: *mut ()) -> ! {
    // SAFETY: waits for interrupts for ever; accesses no memory.
    unsafe { asm!("2:", sleep!(), "j 2b", options(noreturn)) }
}

/// Turns the running code into the idle task, on the shared stack, and unmasks interrupts.
///
/// # Safety
/// `low..high` is as for `Saved::prepare`; interrupts are masked; the caller is the main program,
/// not a handler.
pub(crate) unsafe fn become_idle(m: Masked, idle: Task, low: usize, high: usize) -> ! {
    debug_assert!(KERNEL.is_idle(m));
    // SAFETY: the stack belongs to the idle task. The main stack belongs to handlers from here on,
    // and nothing of this frame is used again. Every ready task is suspended, as the idle task now
    // is, or a coroutine between two polls.
    unsafe {
        idle.saved.prepare(m, low, high, sleep, core::ptr::null_mut());
        asm!(
            "csrw {SCRATCH}, zero", SCRATCH = const SCRATCH,
            options(nomem, nostack, preserves_flags)
        );
        load(KERNEL.ready.most_urgent(m))
    }
}

/// Prepares the processor for the kernel: the vectors, the guards, and the record of the idle task.
pub(crate) fn set_up(m: Masked, idle: Task, low: usize) {
    trap::set_up(m);
    idle.saved.guard.set(m, guard::value(low));
    guard::set_up();
}
