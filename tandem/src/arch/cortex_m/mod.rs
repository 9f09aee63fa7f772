//! Cortex-M: threads on the process stack, handlers on the main stack.
//!
//! | processor | `cfg` | stack guard | FPU |
//! |---|---|---|---|
//! | M0, M0+, M23 | `thumb1`, `guard = "software"` | none: compared at each switch | – |
//! | M3 | `guard = "mpu"` | a region of the MPU | – |
//! | M4, M7 | `guard = "mpu"` | a region of the MPU | `fpu` |
//! | M33, M55, M85 | `guard = "limit"` | PSPLIM, MSPLIM | `fpu` with the target's `hf` |
//!
//! `build.rs` sets these by the name of the target. On a `thumb1` processor, only the switch is in
//! assembly.
//!
//! The kernel masks interrupts by PRIMASK alone, or with the feature `basepri` by BASEPRI alone, and
//! then never delays those more urgent than [`LEVEL`]. BASEPRI belongs to the task that raises it: while
//! it is not 0, a task that is woken runs once it is 0 again, a yield has no effect, and a call
//! that waits ends the program. A critical section by FAULTMASK is not recognized.
//!
//! # Soundness
//! - The kernel uses PendSV, SVC and, for its guards, two regions of the MPU or the stack limits.
//!   `set_up` gives PendSV the lowest priority, so it never interrupts a handler, and leaves SVC
//!   the highest.
//! - A task suspended by a call is resumed with interrupts masked and unmasks them itself; a
//!   pre-empted task is resumed by an exception return.
//! - NMI and fault handlers are not masked, so they must not call the kernel. An NMI's frame is
//!   pushed below the running task's stack pointer, where `paths::wait_in` keeps a waiter, and the
//!   switch to a coroutine has no valid stack pointer for some instructions: no NMI returns.
//! - With the feature `basepri`, interrupts more urgent than [`LEVEL`] come at any instruction of the
//!   kernel, too. They must not call it. Their frames need a valid stack pointer, which
//!   `switch::enter_stack` keeps, and space below it, which nothing else uses: `paths` is not part
//!   of such a build. That holds for an NMI as well. SVC is less urgent than they are.

#[cfg_attr(guard = "limit", path = "guard/limit.rs")]
#[cfg_attr(guard = "software", path = "guard/software.rs")]
mod guard;
#[cfg(not(any(feature = "trace", basepri, thumb1)))]
mod paths;
#[cfg(all(feature = "time-slice", not(any(feature = "trace", basepri, thumb1))))]
mod sliced;
#[cfg_attr(thumb1, path = "switch/thumb1.rs")]
mod switch;

pub(crate) use guard::GUARD;
#[cfg(not(any(feature = "trace", feature = "time-slice", basepri, thumb1)))]
pub(crate) use paths::{block, give_way, hand_over, pass_on, wait_in, wake};
#[cfg(all(feature = "time-slice", not(any(feature = "trace", basepri, thumb1))))]
pub(crate) use sliced::{block, give_way, hand_over, pass_on, wait_in, wake};
pub(crate) use switch::{load, switch};

#[cfg(basepri)]
use crate::shared::Shared;
use crate::{
    records::{KERNEL, Request, Saved, Task},
    shared::Masked,
};
use core::{arch::asm, mem::offset_of};

const RESUME: usize = offset_of!(Saved, resume);

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
#[cfg(not(guard = "software"))]
use enter_report;

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
const LEVEL: u32 = 0x40;

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

    /// Returns whether a switch may take place here: in thread mode, outside of any critical
    /// section.
    #[inline(always)]
    pub(crate) fn allows_switch(self) -> bool {
        exception() | self.0 | raised_by_hand() == 0
    }
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

/// The bytes between the stack pointer and the guard of the running task.
pub(crate) fn stack_left(m: Masked, task: Task) -> usize {
    let stack: usize;
    // SAFETY: reads the stack pointer.
    unsafe { asm!("mov {}, sp", out(reg) stack, options(nomem, nostack, preserves_flags)) };
    stack.saturating_sub(guard::end(task.saved.guard.get(m)))
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

/// Adds a task to the ready set before the kernel has been started.
#[cfg(basepri)]
pub(crate) fn insert(m: Masked, task: Task) {
    KERNEL.ready.insert(m, task);
}

/// Adds a task to the ready set before the kernel has been started: as from a critical section,
/// without the switch.
#[cfg(not(basepri))]
pub(crate) fn insert(_: Masked, task: Task) {
    const PENDSVCLR: u32 = 1 << 27;
    // SAFETY: interrupts are masked, shown by the `Masked` argument, and so PendSV is not taken
    // before it is cleared. Every Cortex-M has this register.
    unsafe {
        super::wake(task, Mask(1));
        crate::records::ICSR.write_volatile(PENDSVCLR);
    }
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
