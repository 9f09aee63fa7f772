//! Threads: tasks with a stack of their own, which wait by blocking.

use crate::{
    arch::{self, Mask},
    kernel,
    task::{Header, Info, Priority, StillAlive, Task},
};
use core::{cell::UnsafeCell, marker::PhantomData, mem::MaybeUninit};

/// The running thread's right to wait. Calls that block ask for it; a handler or a coroutine has none,
/// so blocking there does not compile.
pub struct Me<'a>(PhantomData<*mut &'a ()>);

impl Me<'_> {
    /// Lets the next ready task of the same priority run.
    #[inline(always)]
    pub fn yield_now(&self) {
        // SAFETY: who has a `Me` is a thread.
        unsafe { arch::give_way() };
    }

    #[must_use]
    pub fn info(&self) -> Info {
        kernel::current()
    }
}

/// A thread's storage: `STACK` bytes of stack, a guard below and the kernel's record above.
#[repr(C, align(32))]
pub struct Thread<const STACK: usize> {
    guard: UnsafeCell<MaybeUninit<[u8; arch::GUARD]>>,
    stack: UnsafeCell<MaybeUninit<[u8; STACK]>>,
    header: Header,
}

// SAFETY: the stack belongs to the thread alone while it lives, and to `spawn`, which excludes others, before.
unsafe impl<const STACK: usize> Sync for Thread<STACK> {}

impl<const STACK: usize> Default for Thread<STACK> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const STACK: usize> Thread<STACK> {
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
    /// # Errors
    /// When the thread that has this storage has not ended.
    pub fn spawn<F>(
        &'static self,
        priority: Priority,
        name: &'static str,
        body: F,
    ) -> Result<(), StillAlive>
    where
        F: FnOnce(&Me) + Send + 'static,
    {
        const { assert!(align_of::<F>() <= 8, "a thread's body may be aligned to at most 8 bytes") };
        const { assert!(size_of::<F>() + 128 <= STACK, "the stack is too small for the thread's body") };
        self.header.claim(name, priority)?;
        let (low, high) = (self.guard.get() as usize, self.stack.get() as usize + STACK);
        let place = (high - size_of::<F>()) & !7;
        // SAFETY: the place is aligned and lies in the stack, which is ours: the thread was over, and is now ours to start.
        unsafe { (place as *mut F).write(body) };
        // SAFETY: as above, below the body; a stack is aligned by its type.
        unsafe { begin(&self.header, low, place, run::<F>) };
        Ok(())
    }

    #[must_use]
    pub fn info(&'static self) -> Info {
        Info(&self.header)
    }
}

/// Makes a claimed thread ready to call `entry` with the high end of its stack.
///
/// # Safety
/// `low..high` is the thread's own stack, aligned as for `Saved::prepare`; `entry` finds its body at the high end.
#[inline(never)]
unsafe fn begin(header: Task, low: usize, high: usize, entry: unsafe extern "C" fn(*mut ()) -> !) {
    let (mask, m) = Mask::set();
    // SAFETY: by the caller's word.
    unsafe { header.saved.prepare(m, low, high, entry, high as *mut ()) };
    kernel::wake_and_preempt(m, mask, header);
    mask.restore();
}

/// The whole life of a thread.
unsafe extern "C" fn run<F: FnOnce(&Me)>(body: *mut ()) -> ! {
    // SAFETY: `spawn` wrote the body there, for this thread alone.
    let body = unsafe { body.cast::<F>().read() };
    body(&Me(PhantomData));
    kernel::end_thread()
}
