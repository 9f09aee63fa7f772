//! Cortex-M: threads on the process stack, handlers on the main stack.
//!
//! | processor | `cfg` | stack guard | FPU |
//! |---|---|---|---|
//! | M0, M0+, M23 | `thumb1`, `guard = "software"` | none: compared at each switch | – |
//! | M3 | `guard = "mpu"` | a region of the MPU | – |
//! | M4, M7 | `guard = "mpu"` | a region of the MPU | `fpu` |
//! | M3, M4, M7 with the feature `unguarded` | `guard = "none"` | none | as above |
//! | M33, M55, M85 | `guard = "limit"` | PSPLIM, MSPLIM | `fpu` with the target's `hf` |
//!
//! `build.rs` sets these by the name of the target. On a `thumb1` processor, only the switch is in
//! assembly.
//!
//! # Soundness
//! - The kernel uses PendSV, SVC and, for its guards, two regions of the MPU or the stack limits.
//!   `set_up` gives PendSV the lowest priority, so it never interrupts a handler, and leaves SVC
//!   the highest.
//! - A task suspended by a call is resumed with interrupts masked and unmasks them itself; a
//!   pre-empted task is resumed by an exception return.
//! - NMI and fault handlers are not masked, so they must not call the kernel. An NMI's frame is
//!   pushed below the running task's stack pointer, where `paths::waits::wait_in` keeps a waiter,
//!   and the switch to a coroutine has no valid stack pointer for some instructions: no NMI
//!   returns.
//! - With the feature `basepri`, interrupts more urgent than `LEVEL` come at any instruction of the
//!   kernel, too. They must not call it. Their frames need a valid stack pointer, which
//!   `switch::resume_only` keeps, and space below it, which nothing else uses: `paths` is not part
//!   of such a build. That holds for an NMI as well. SVC is less urgent than they are.

#[cfg_attr(guard = "limit", path = "guard/limit.rs")]
#[cfg_attr(guard = "none", path = "guard/none.rs")]
#[cfg_attr(guard = "software", path = "guard/software.rs")]
mod guard;
#[cfg_attr(thumb1, path = "switch/thumb1.rs")]
pub(crate) mod switch;

pub(crate) use guard::GUARD;
pub(crate) use switch::{load, switch};

#[cfg(basepri)]
use crate::arch::LEVEL;
use crate::{
    arch::pend,
    records::{KERNEL, Saved, Task},
    shared::Masked,
};
use core::{arch::asm, mem::offset_of};

pub(crate) const RESUME: usize = offset_of!(Saved, resume);

/// The bytes that an interrupt and a pre-emption push onto a task's stack: the frame, which may be
/// aligned by a word, and the context.
pub(crate) const INTERRUPTED: usize = if cfg!(fpu) { 104 + 4 + 40 + 64 } else { 32 + 4 + 40 };

/// CONTROL for a task that has not used the FPU: privileged, on the process stack.
const ON_PROCESS_STACK: u32 = 2;

impl Saved {
    pub(crate) fn exists(&self, m: Masked) -> bool {
        self.stack.get(m) != 0
    }

    /// Marks a coroutine as being between two polls: without a context, to be started by a new
    /// poll.
    pub(crate) fn clear(&self, m: Masked) {
        self.resume.set(m, Some(switch::start_poll));
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
        // The words not written are restored to registers that `begin_thread` does not read.
        const WORDS: usize = 10;
        let stack = high - WORDS * size_of::<usize>();
        let words = stack as *mut usize;
        // SAFETY: the words are within the stack, which is aligned and which nothing else uses.
        unsafe {
            words.add(switch::R4).write(entry as usize);
            words.add(switch::R4 + 1).write(argument as usize);
            words.add(9).write(switch::begin_thread as *const () as usize);
        }
        self.resume.set(m, Some(switch::restore));
        self.stack.set(m, stack);
        self.guard.set(m, guard::value(low));
    }
}

/// The bits of CFSR that say that the processor has not stored the frame of an exception.
#[cfg(not(guard = "software"))]
const UNSTACKED: u32 = 1 << 4 | 1 << 5 | 1 << 12 | 1 << 13 | 1 << 20;

/// The body of a fault's handler: calls `{report}` at the top of the main stack, with EXC_RETURN and
/// the address of the instruction at the fault, 0 where that has not been stored.
#[cfg(not(guard = "software"))]
macro_rules! enter_report {
    () => {
        "mov r0, lr
        tst lr, #4
        ite eq
        mrseq r2, msp
        mrsne r2, psp
        ldr r3, =0xe000ed28 // CFSR
        ldr r3, [r3]
        ldr r12, ={UNSTACKED}
        movs r1, #0
        tst r3, r12
        it eq
        ldreq r1, [r2, #24] // the frame's pc
        ldr r3, =0xe000ed08 // VTOR
        ldr r3, [r3]
        ldr sp, [r3] // the initial main stack pointer
        b {report}"
    };
}
#[cfg(guard = "mpu")]
use enter_report;

/// The handler of hard faults: a task or handler passed its limit, or caused another fault that has no
/// handler of its own, possibly with interrupts masked.
///
/// Calls `report` at the top of the main stack and discards its content, since nothing returns to it.
#[cfg(any(guard = "limit", guard = "none"))]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn HardFault() {
    core::arch::naked_asm!(
        enter_report!(),
        report = sym guard::report,
        UNSTACKED = const UNSTACKED,
    )
}

/// The bytes between the stack pointer and the guard of the running task.
pub(crate) fn stack_left(m: Masked, task: Task) -> usize {
    let stack: usize;
    // SAFETY: reads the stack pointer.
    unsafe { asm!("mov {}, sp", out(reg) stack, options(nomem, nostack, preserves_flags)) };
    stack.saturating_sub(guard::end(task.saved.guard.get(m)))
}

#[cfg(not(basepri))]
macro_rules! unmask_for_ever {
    () => {
        "cpsie i"
    };
}
#[cfg(basepri)]
macro_rules! unmask_for_ever {
    () => {
        "movs r0, #0\nmsr basepri, r0"
    };
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
macro_rules! sleep {
    () => {
        "bl {sleep}"
    };
}

/// [`idle::sleep`](crate::idle::sleep), called by the idle task's loop.
#[cfg(feature = "sleep-hooks")]
extern "C" fn sleep() {
    crate::idle::sleep();
}

/// Turns the running code into the idle task, on the shared stack, and unmasks interrupts.
///
/// # Safety
/// `low..high` is as for `Saved::prepare`; interrupts are masked; the caller is the main program,
/// in thread mode on the main stack.
#[inline(always)]
pub(crate) unsafe fn become_idle(m: Masked, _: Task, low: usize, high: usize) -> ! {
    debug_assert!(KERNEL.is_idle(m));
    let _ = low;
    pend(m, None); // for tasks that were spawned before `start`
    // SAFETY: the main stack belongs to handlers from here on, and nothing of this frame is used
    // again.
    unsafe {
        asm!(
            "msr psp, {stack}",
            "msr control, {control}",
            "isb",
            unmask_for_ever!(),
            "2:",
            sleep!(),
            "b 2b",
            stack = in(reg) high,
            control = in(reg) ON_PROCESS_STACK,
            #[cfg(feature = "sleep-hooks")]
            sleep = sym sleep,
            options(noreturn)
        )
    }
}

/// Prepares the processor for the kernel: the priority of PendSV, the guards, and the record of the
/// idle task.
pub(crate) fn set_up(m: Masked, idle: Task, low: usize) {
    make_pendsv_least_urgent();
    KERNEL.literals.set(m, switch::literals());
    guard::set_up(low);
    idle.saved.guard.set(m, guard::value(low));
}

#[cfg(not(thumb1))]
fn make_pendsv_least_urgent() {
    const PENDSV_PRIORITY: *mut u8 = 0xe000_ed22 as *mut u8;
    const LOWEST: u8 = 0xff;
    // SAFETY: every ARMv7-M has this register, a byte of SHPR3. SVC keeps the highest priority.
    unsafe { PENDSV_PRIORITY.write_volatile(LOWEST) };
    #[cfg(basepri)]
    {
        const SVC_PRIORITY: *mut u8 = 0xe000_ed1f as *mut u8;
        // SAFETY: as above, of SHPR2. SVC is taken with PendSV alone masked, and delays none of the
        // interrupts that the kernel does not mask.
        unsafe { SVC_PRIORITY.write_volatile(LEVEL as u8) };
    }
}

/// ARMv6-M accesses the register by words alone.
#[cfg(thumb1)]
fn make_pendsv_least_urgent() {
    const SHPR3: *mut u32 = 0xe000_ed20 as *mut u32;
    const LOWEST: u32 = 0xff << 16;
    // SAFETY: every Cortex-M has this register. SVC keeps the highest priority.
    unsafe { SHPR3.write_volatile(SHPR3.read_volatile() | LOWEST) };
}
