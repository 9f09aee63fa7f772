//! Cortex-M4 and M7, with or without FPU: threads on the process stack, handlers on the main stack.

mod guard;
#[cfg(not(any(feature = "trace", feature = "time-slice")))]
mod paths;
mod switch;

pub(crate) use guard::GUARD;
#[cfg(not(any(feature = "trace", feature = "time-slice")))]
pub(crate) use paths::{hand_over, wait_in, wake};
pub(crate) use switch::{Literals, load, switch};

use crate::{
    kernel::KERNEL,
    shared::{Masked, Shared},
    task::Task,
};
use core::{arch::asm, mem::offset_of};

/// A suspended context: the assembly knows the order of the fields.
#[repr(C)]
pub(crate) struct Saved {
    /// What to write to the MPU so that it guards the low end of the stack.
    guard: Shared<u32>,
    /// The code that takes the context up.
    resume: Shared<Option<unsafe extern "C" fn()>>,
    /// Where the registers lie; 0 when there is no suspended context.
    stack: Shared<usize>,
}

const RESUME: usize = offset_of!(Saved, resume);

/// CONTROL of a task that has not used the FPU: privileged, on the process stack.
const ON_PROCESS_STACK: u32 = 2;

impl Saved {
    pub(crate) const fn new() -> Self {
        Self { guard: Shared::new(0), resume: Shared::new(None), stack: Shared::new(0) }
    }

    pub(crate) fn exists(&self, m: Masked) -> bool {
        self.stack.get(m) != 0
    }

    /// There is no suspended context: a coroutine is between two polls.
    pub(crate) fn clear(&self, m: Masked) {
        self.resume.set(m, Some(switch::start_poll));
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
        // In the order in which they are restored: r3 to r11, pc. What is not named here may be anything.
        const WORDS: usize = 10;
        let stack = high - WORDS * size_of::<usize>();
        let words = stack as *mut usize;
        // SAFETY: the words lie within the stack, which is aligned and nobody else's.
        unsafe {
            words.add(1).write(entry as usize);
            words.add(2).write(argument as usize);
            words.add(9).write(switch::begin_thread as *const () as usize);
        }
        self.resume.set(m, Some(switch::restore));
        self.stack.set(m, stack);
        self.guard.set(m, guard::value(low));
    }
}

/// Whether a more urgent interrupt's handler may run on top of a less urgent one's.
pub(crate) const HANDLERS_NEST: bool = true;

/// Whether interrupts were masked before.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Mask(u32);

impl Mask {
    /// Masks interrupts.
    #[inline(always)]
    pub(crate) fn set() -> (Self, Masked) {
        let primask: u32;
        // SAFETY: masks interrupts and touches no memory; as a barrier to the compiler, no access moves across.
        unsafe {
            asm!("mrs {}, primask", "cpsid i", out(reg) primask, options(nostack, preserves_flags))
        };
        // SAFETY: masked just now.
        (Self(primask), unsafe { Masked::assume() })
    }

    #[inline(always)]
    pub(crate) fn restore(self) {
        // SAFETY: puts back what `set` found.
        unsafe { asm!("msr primask, {}", in(reg) self.0, options(nostack, preserves_flags)) };
    }

    /// Whether a switch may happen here: in thread mode, outside of any critical section.
    #[inline(always)]
    pub(crate) fn allows_switch(self) -> bool {
        let exception: u32;
        // SAFETY: reads the number of the exception being handled.
        unsafe {
            asm!("mrs {}, ipsr", out(reg) exception, options(nomem, nostack, preserves_flags))
        };
        exception | self.0 == 0
    }
}

/// Masks interrupts where they are known to be on, or never to be as they were.
#[inline(always)]
pub(crate) fn mask() -> Masked {
    // SAFETY: as in `Mask::set`.
    unsafe { asm!("cpsid i", options(nostack, preserves_flags)) };
    // SAFETY: masked just now.
    unsafe { Masked::assume() }
}

/// Lets interrupts in, where they were on before `mask`.
#[inline(always)]
pub(crate) fn unmask(_: Masked) {
    // SAFETY: the caller masked them.
    unsafe { asm!("cpsie i", options(nostack, preserves_flags)) };
}

const ICSR: *mut u32 = 0xe000_ed04 as *mut u32;
const PENDSVSET: u32 = 1 << 28;

/// Asks for a switch as soon as no handler runs and interrupts are on.
#[inline(always)]
pub(crate) fn pend(_: Masked, _: Option<Task>) {
    // SAFETY: the register exists on every Cortex-M; writing this bit pends PendSV, zeros do nothing.
    unsafe { ICSR.write_volatile(PENDSVSET) };
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

/// Turns the running code into the idle task, on the shared stack, and lets interrupts in.
///
/// # Safety
/// `low..high` is as for `Saved::prepare`; interrupts are masked; this is the main program.
pub(crate) unsafe fn become_idle(m: Masked, _: Task, low: usize, high: usize) -> ! {
    debug_assert!(KERNEL.is_idle(m));
    let _ = low;
    // SAFETY: from here on the main stack is the handlers' alone, and nothing of this frame is used again.
    unsafe {
        asm!(
            "msr psp, {stack}",
            "msr control, {control}",
            "isb",
            "cpsie i",
            "2:",
            sleep!(),
            "b 2b",
            stack = in(reg) high,
            control = in(reg) ON_PROCESS_STACK,
            options(noreturn)
        )
    }
}

/// Sets up what the kernel uses of the processor, and the guard of the shared stack.
pub(crate) fn set_up(m: Masked, idle: Task, low: usize) {
    const PENDSV_PRIORITY: *mut u8 = 0xe000_ed22 as *mut u8;
    const LOWEST: u8 = 0xff;
    // SAFETY: the register, a byte of SHPR3, exists on every ARMv7-M. SVC keeps the highest.
    unsafe { PENDSV_PRIORITY.write_volatile(LOWEST) };
    KERNEL.literals.set(m, switch::literals());
    guard::set_up();
    idle.saved.guard.set(m, guard::value(low));
}
