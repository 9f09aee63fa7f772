//! Threads: tasks with a stack of their own, which wait by blocking.
//!
//! # Soundness
//! A stack belongs to `spawn` from a successful `claim` until `begin`, and to the thread from then
//! until `end_thread`, which leaves it with interrupts masked. A [`Me`] exists only on the stack of
//! the thread that it stands for: `run` lends it to the body, [`Me::current`] makes it in thread
//! mode where a thread runs, and it is neither `Send` nor `Sync`. So whoever has a [`Me`] is the running thread, in thread mode.

use crate::{
    arch::{self, Mask},
    kernel::{self, KERNEL},
    task::{Header, IDLE_LEVEL, Info, Priority, StillAlive, Task},
};
use core::{cell::UnsafeCell, marker::PhantomData, mem::MaybeUninit};

/// Permission to block, lent to a thread's body. Blocking calls need it; a handler or a coroutine
/// has none, so a blocking call there does not compile.
///
/// In a critical section, calls that take a `Me` leave interrupts masked. A call that would have to
/// wait there panics with the names of the task and the call.
pub struct Me<'a>(PhantomData<*mut &'a ()>);

impl Me<'_> {
    /// The running thread's `Me`, for code that has been lent none, such as a binding to another
    /// language. `None` in a coroutine, a handler, a critical section, and before
    /// [`start`](crate::start). About 15 instructions.
    #[must_use]
    pub fn current() -> Option<Self> {
        let (mask, m) = Mask::set();
        let is_thread = mask.allows_switch()
            && KERNEL
                .started(m)
                .is_some_and(|task| task.poll.get(m).is_none() && task.level.get(m) != IDLE_LEVEL);
        mask.restore();
        is_thread.then_some(Self(PhantomData))
    }

    /// # Safety
    /// The caller is the body of a thread, or has been called by it.
    #[cfg(feature = "raw")]
    pub(crate) const unsafe fn assume() -> Self {
        Self(PhantomData)
    }

    /// Lets the next ready task of the same priority run, if there is one. Constant time. No effect
    /// in a critical section.
    #[inline(always)]
    pub fn yield_now(&self) {
        // SAFETY: a `Me` exists only in a running thread.
        unsafe { arch::give_way() };
    }

    /// The bytes of the thread's stack between the running function's frame and the guard.
    #[must_use]
    pub fn stack_left(&self) -> usize {
        kernel::masked(|m| arch::stack_left(m, KERNEL.current(m)))
    }

    /// Ends the program if fewer than `bytes` bytes of stack are left. About 20 instructions.
    ///
    /// The guard finds an overflow when it is touched. A function whose frame is larger than the
    /// guard, 32 bytes or with the feature `guard-256` 256, may pass over it without touching it: call
    /// this before such a function.
    ///
    /// # Panics
    /// If less stack is left. Names the task and the caller.
    #[track_caller]
    pub fn assert_stack(&self, bytes: usize) {
        let left = self.stack_left();
        if left < bytes {
            panic!("task {}: {left} bytes of stack are left of {bytes}", self.info().name());
        }
    }

    /// The running thread.
    #[must_use]
    pub fn info(&self) -> Info {
        kernel::current()
    }
}

/// The storage of a thread, for a `static`: `STACK` bytes of stack, a guard below them, and the
/// kernel's record.
///
/// `STACK` is a multiple of 8, checked at compile time. The stack also holds the thread's body, its
/// suspended context and one interrupt frame. The storage may be used again after the thread has
/// ended.
#[cfg_attr(not(feature = "guard-256"), repr(C, align(32)))]
#[cfg_attr(feature = "guard-256", repr(C, align(256)))]
pub struct Thread<const STACK: usize> {
    guard: UnsafeCell<MaybeUninit<[u8; arch::GUARD]>>,
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
        const { assert!(size_of::<F>() + 128 <= STACK, "the stack is too small for the thread's body") };
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
    kernel::launch(m, mask, header);
    mask.restore();
}

/// The entry of a thread: runs the body, then ends the thread.
///
/// # Safety
/// `body` is the address of an `F`, to be moved out once.
unsafe extern "C" fn run<F: FnOnce(&Me)>(body: *mut ()) -> ! {
    // SAFETY: `spawn` wrote the body there, and this thread alone reads it, once.
    let body = unsafe { body.cast::<F>().read() };
    body(&Me(PhantomData));
    kernel::end_thread()
}
