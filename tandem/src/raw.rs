//! Tasks, stacks and queues in memory of the caller's choice, for bindings to other languages.
//!
//! `tandem/c` is such a binding. Rust programs use [`Thread`](crate::Thread) and
//! [`start`](crate::start), which need no `unsafe`.
//!
//! # Soundness
//! The functions pass memory to the kernel that the caller answers for; the rest is the
//! code of the safe calls.

mod queue;

pub use queue::Queue;

use crate::{
    arch::masked,
    context,
    context::LEAST_STACK,
    control,
    kernel::{self, SharedStack},
    me::Me,
    records::{Header, Info, KERNEL, Life, Priority, StillAlive},
    thread,
};

/// The bytes at the low end of every stack that hold its guard. A stack begins at a multiple
/// of 32 (of 128 on a Cortex-M4 and M7).
pub const GUARD: usize = context::GUARD;

/// The kernel's record of a thread, apart from its stack. All zeros is a record without a thread.
#[repr(transparent)]
pub struct Task(Header);

impl Default for Task {
    fn default() -> Self {
        Self::new()
    }
}

impl Task {
    /// A record without a thread.
    #[must_use]
    pub const fn new() -> Self {
        Self(Header::new())
    }

    /// Starts a thread that runs `body` on the stack of `size` bytes from `stack` on, of which the
    /// low [`GUARD`] bytes are its guard. Otherwise as [`Thread::spawn`](crate::Thread::spawn).
    ///
    /// # Errors
    /// If the thread of this record has not ended. The body is then dropped.
    ///
    /// # Panics
    /// If `stack` is not a multiple of 32 (128 on a Cortex-M4 and M7, 256 with the feature
    /// `guard-256`), or `size` not one of 8,
    /// or the stack too small for the guard, the body and a context.
    ///
    /// # Safety
    /// Nothing else uses the stack's memory until the thread has ended.
    pub unsafe fn spawn<F>(
        &'static self,
        stack: *mut u8,
        size: usize,
        priority: Priority,
        name: &'static str,
        body: F,
    ) -> Result<(), StillAlive>
    where
        F: FnOnce(&Me) + Send + 'static,
    {
        let low = stack.expose_provenance();
        check(low, size, GUARD + size_of::<F>() + LEAST_STACK);
        self.0.claim(name, priority)?;
        // SAFETY: the thread had ended, so by this function's contract nothing uses the stack. It
        // is aligned and large enough, as checked above.
        unsafe { thread::launch(&self.0, low, low + size, body) };
        Ok(())
    }

    /// Changes the priority, like [`Thread::set_priority`](crate::Thread::set_priority).
    pub fn set_priority(&'static self, _: &Me, priority: Priority) -> bool {
        control::set_priority(&self.0, priority)
    }

    /// Returns whether the thread runs, or runs as soon as no task is more urgent. A thread that is
    /// not ready waits or has ended. May be called anywhere. Constant time.
    #[must_use]
    pub fn is_ready(&'static self) -> bool {
        masked(|m| self.0.life.get(m) != Life::Over && KERNEL.ready.contains(m, &self.0))
    }

    /// A handle to the thread of this record.
    #[must_use]
    pub fn info(&'static self) -> Info {
        Info(&self.0)
    }
}

/// Starts the kernel with the shared stack of `size` bytes from `stack` on, of which the low
/// [`GUARD`] bytes are its guard. Otherwise as [`start`](crate::start).
///
/// # Panics
/// If the kernel has been started before. If `stack` is not a multiple of 32 (128 on a Cortex-M4 and
/// M7, 256 with the feature `guard-256`), or `size` not one of 8, or less than `GUARD` +
/// [`LEAST_STACK`](crate::LEAST_STACK).
///
/// # Safety
/// Nothing else uses the stack's memory from here on.
pub unsafe fn start(stack: *mut u8, size: usize, set_up: impl FnOnce()) -> ! {
    let low = stack.expose_provenance();
    check(low, size, size_of::<SharedStack<LEAST_STACK>>());
    // SAFETY: the memory is aligned, as checked, and unused, by this function's contract.
    unsafe { kernel::start_on(low, low + size, set_up) }
}

/// Ends the running thread, as a return from its body does. Mutexes that it owns stay locked for
/// ever.
///
/// # Panics
/// If another thread waits for a mutex that this one owns.
///
/// # Safety
/// No value in the thread's frames is dropped. No other task or handler uses one of them, and no
/// `unsafe` code relies on the drop of one.
pub unsafe fn end(_: &Me) -> ! {
    thread::end()
}

/// The running thread's [`Me`]. As [`Me::current`], without the check.
///
/// # Safety
/// The caller is the body of a thread, or has been called by it.
#[must_use]
pub const unsafe fn me() -> Me<'static> {
    // SAFETY: this function's contract.
    unsafe { Me::assume() }
}

fn check(low: usize, size: usize, least: usize) {
    assert!(
        low.is_multiple_of(align_of::<SharedStack<LEAST_STACK>>()) && size.is_multiple_of(8),
        "a stack begins at a multiple of 32, with an FPU and an MPU of 128, and has a multiple of 8 bytes"
    );
    assert!(size >= least, "the stack is too small");
}
