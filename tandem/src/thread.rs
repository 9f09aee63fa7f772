//! Threads: tasks with a stack of their own, which wait by blocking.
//!
//! # Soundness
//! A stack belongs to `spawn` from a successful `claim` until `begin`, and to the thread from then
//! until `end`, which leaves it with interrupts masked.

use crate::{
    arch::Mask,
    context,
    context::LEAST_STACK,
    kernel, lock,
    me::Me,
    paths::tasks,
    records::{Header, Info, KERNEL, Priority, StillAlive, Task},
};
use core::{cell::UnsafeCell, mem::MaybeUninit};

/// The storage of a thread, for a `static`: `STACK` bytes of stack, a guard below them, and the
/// kernel's record.
///
/// `STACK` is a multiple of 8 and at least [`LEAST_STACK`], checked at compile time. The stack also holds the thread's body, its
/// suspended context and one interrupt frame. The storage may be used again after the thread has
/// ended.
///
/// ```compile_fail,E0080
/// static SMALL: tandem::Thread<{ tandem::LEAST_STACK - 8 }> = tandem::Thread::new();
/// ```
#[cfg_attr(not(any(feature = "guard-256", all(fpu, guard = "mpu"))), repr(C, align(32)))]
#[cfg_attr(all(not(feature = "guard-256"), fpu, guard = "mpu"), repr(C, align(128)))]
#[cfg_attr(feature = "guard-256", repr(C, align(256)))]
pub struct Thread<const STACK: usize> {
    guard: UnsafeCell<MaybeUninit<[u8; context::GUARD]>>,
    pub(crate) stack: UnsafeCell<MaybeUninit<[u8; STACK]>>,
    pub(crate) header: Header,
}

// SAFETY: `spawn` accesses the stack after `claim` has excluded others, and the thread accesses it
// from then on. The header is `Sync`.
unsafe impl<const STACK: usize> Sync for Thread<STACK> {}

impl<const STACK: usize> Default for Thread<STACK> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const STACK: usize> Thread<STACK> {
    /// Storage without a thread.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(STACK.is_multiple_of(8), "a stack is a multiple of 8 bytes") };
        const { assert!(STACK >= LEAST_STACK, "a stack has at least `LEAST_STACK` bytes") };
        Self {
            guard: UnsafeCell::new(MaybeUninit::uninit()),
            stack: UnsafeCell::new(MaybeUninit::uninit()),
            header: Header::new(),
        }
    }

    /// Starts a thread that runs `body`. If it is more urgent than the caller, it runs at once.
    ///
    /// For tasks, handlers and the main program; a thread spawned before [`start`](crate::start)
    /// runs from then on. `name` appears in panics and traces. The thread ends when `body` returns.
    /// Moves the body to the stack; otherwise constant time.
    ///
    /// # Errors
    /// If the thread that uses this storage has not ended. The body is then dropped.
    pub fn spawn<F>(
        &'static self,
        priority: Priority,
        name: &'static str,
        body: F,
    ) -> Result<(), StillAlive>
    where
        F: FnOnce(&Me) + Send + 'static,
    {
        self.header.claim(name, priority)?;
        self.launch_claimed(body);
        Ok(())
    }

    /// Makes a claimed thread ready to run `body`. Does not compile if the body does not fit.
    #[inline(always)]
    pub(crate) fn launch_claimed<F>(&'static self, body: F)
    where
        F: FnOnce(&Me) + Send + 'static,
    {
        const {
            assert!(
                size_of::<F>() + LEAST_STACK <= STACK,
                "the stack is too small for the thread's body"
            )
        };
        let (low, high) = (self.guard.get() as usize, self.stack.get() as usize + STACK);
        // SAFETY: the thread had ended, and `claim` has given the stack to this call. `low` is
        // aligned to 32 by the type, and the body fits.
        unsafe { launch(&self.header, low, high, body) };
    }

    /// A handle to the thread in this storage: its name, its priority, and its end.
    #[must_use]
    pub fn info(&'static self) -> Info {
        Info(&self.header)
    }
}

/// Moves `body` to the high end of a claimed thread's stack, and makes the thread ready.
///
/// # Safety
/// `low..high` is a stack that nothing else uses, aligned as for `Saved::prepare`, with space for
/// the body and a context.
#[inline(always)]
pub(crate) unsafe fn launch<F>(header: Task, low: usize, high: usize, body: F)
where
    F: FnOnce(&Me) + Send + 'static,
{
    const { assert!(align_of::<F>() <= 8, "a thread's body may be aligned to at most 8 bytes") };
    let place = (high - size_of::<F>()) & !7;
    // SAFETY: the address is aligned, and within the stack by this function's contract.
    unsafe { (place as *mut F).write(body) };
    // SAFETY: `low..place` is the rest of that stack, and the body is at `place`.
    unsafe { begin(header, low, place, run::<F>) };
}

/// Makes a claimed thread ready: its context calls `entry` with the high end of its stack.
///
/// # Safety
/// `low..high` is the thread's own stack, aligned as for `Saved::prepare`. `entry` may be called
/// once with `high`.
#[inline(never)]
unsafe fn begin(header: Task, low: usize, high: usize, entry: unsafe extern "C" fn(*mut ()) -> !) {
    let (mask, m) = Mask::set();
    header.admit(m);
    // SAFETY: the stack is unused, by this function's contract.
    unsafe { header.saved.prepare(m, low, high, entry, high as *mut ()) };
    tasks::launch(m, mask, header);
    mask.restore();
}

/// The entry of a thread: runs the body, then ends the thread.
///
/// # Safety
/// `body` is the address of an `F`, to be moved out once.
unsafe extern "C" fn run<F: FnOnce(&Me)>(body: *mut ()) -> ! {
    // SAFETY: `spawn` wrote the body there, and this thread alone reads it, once.
    let body = unsafe { body.cast::<F>().read() };
    // SAFETY: the thread's body gets it.
    body(&unsafe { Me::assume() });
    end()
}

/// Ends the running thread. Its stack is free for another life once the switch is made.
///
/// # Panics
/// If another thread waits for a mutex whose guard this one has forgotten.
pub(crate) fn end() -> ! {
    let (mask, m) = Mask::set();
    let me = KERNEL.current(m);
    if me.held.get(m).is_some() {
        lock::abandon(m, me);
    }
    let m = kernel::bury(m, mask, me);
    // SAFETY: interrupts are masked, and every ready task is suspended or a coroutine between two
    // polls; the one task that was running has just left the ready set.
    unsafe { context::load(KERNEL.ready.most_urgent(m)) }
}
