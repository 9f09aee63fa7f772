//! Coroutines: tasks without a stack of their own, which wait by returning from their poll.
//!
//! # Soundness
//! - The storage of a future belongs to `spawn` from a successful `claim` until `begin`, and to its
//!   poll from then until `end_coroutine`. The kernel polls a task only if it is ready, and has one
//!   poll of it at a time.
//! - A future is written in place, polled in place and dropped in place, so it stays pinned.
//!   Storage is static.
//! - A waker is the address of a static header. Waking a task that has ended does nothing.
//! - A waker or timer left over from an earlier coroutine of the same storage has no effect until
//!   `begin`, which gives the task the bit of its level and its poll function at once.

use crate::{
    arch::{self, Mask},
    kernel,
    paths::tasks,
    records::{Header, Info, Priority, Sleeper, StillAlive, Task},
    waker::of_coroutines::waker,
};
use core::{
    cell::UnsafeCell,
    mem::MaybeUninit,
    pin::Pin,
    task::{Context, Poll},
};

/// The storage of a coroutine, for a `static`: `SIZE` bytes for its future, and the kernel's
/// record.
///
/// `SIZE` must be at least the size of the future, checked at compile time. The storage may be used
/// again after the coroutine has ended.
#[repr(C, align(8))]
pub struct Coroutine<const SIZE: usize> {
    header: Header,
    future: UnsafeCell<MaybeUninit<Place<SIZE>>>,
}

/// Storage for a future, aligned to 8 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Place<const SIZE: usize>([u8; SIZE]);

// SAFETY: `spawn` accesses the future after `claim` has excluded others, and the future's own poll
// accesses it from then on. The header is `Sync`.
unsafe impl<const SIZE: usize> Sync for Coroutine<SIZE> {}

impl<const SIZE: usize> Default for Coroutine<SIZE> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const SIZE: usize> Coroutine<SIZE> {
    /// Storage without a coroutine.
    #[must_use]
    pub const fn new() -> Self {
        Self { header: Header::new(), future: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Starts a coroutine that runs `future`. If it is more urgent than the caller, it runs at
    /// once.
    ///
    /// For tasks, handlers and the main program; a coroutine spawned before
    /// [`start`](crate::start) is polled from then on. `name` appears in panics and traces. Moves
    /// the future into the storage; otherwise constant time.
    ///
    /// # Errors
    /// If the coroutine that uses this storage has not ended. The future is then dropped.
    pub fn spawn<F>(
        &'static self,
        priority: Priority,
        name: &'static str,
        future: F,
    ) -> Result<(), StillAlive>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        const { assert!(size_of::<F>() <= SIZE, "the coroutine's storage is too small for the future") };
        const { assert!(align_of::<F>() <= 8, "a coroutine's future may be aligned to at most 8 bytes") };
        self.header.claim(name, priority)?;
        // SAFETY: the storage is large enough and aligned, by the assertions above. The coroutine
        // had ended, and `claim` has given the storage to this call.
        unsafe { self.future.get().cast::<F>().write(future) };
        // `poll` gets the header from the kernel and computes the address of the storage around it.
        core::ptr::from_ref(self).expose_provenance();
        begin(&self.header, poll::<F, SIZE>);
        Ok(())
    }

    #[must_use]
    /// A handle to the coroutine of this storage.
    pub fn info(&'static self) -> Info {
        Info(&self.header)
    }
}

/// Makes a claimed coroutine ready for its first poll. Its future has been written.
#[inline(never)]
fn begin(header: Task, poll: unsafe extern "C" fn(Task)) {
    let (mask, m) = Mask::set();
    header.admit(m);
    arch::breach("begin");
    header.poll.set(m, Some(poll));
    tasks::launch_coroutine(m, mask, header);
    mask.restore();
}

/// Polls the future once. If it completes, drops it and ends the coroutine.
///
/// # Safety
/// `task` is the header of a `Coroutine<SIZE>` with an `F` that was spawned and has not ended. No
/// other poll of it is in progress.
unsafe extern "C" fn poll<F: Future<Output = ()>, const SIZE: usize>(task: Task) {
    let storage =
        core::ptr::with_exposed_provenance::<Coroutine<SIZE>>(core::ptr::from_ref(task).addr());
    // SAFETY: the header is the first field of the storage, whose address `spawn` exposed. An `F`
    // is in it, by this function's contract.
    let future = unsafe { (*storage).future.get().cast::<F>() };
    let waker = core::mem::ManuallyDrop::new(waker(task));
    // SAFETY: the future is not moved before it is dropped below, and nothing else refers to it.
    if unsafe { Pin::new_unchecked(&mut *future) }.poll(&mut Context::from_waker(&waker)).is_ready()
    {
        // SAFETY: the future has completed. After `end_coroutine`, the kernel does not poll it
        // again.
        unsafe { future.drop_in_place() };
        kernel::end_coroutine(task);
    }
}

/// Lets the next ready task of the same priority run, if there is one. For coroutines; constant
/// time.
#[must_use = "futures do nothing unless awaited"]
pub fn yield_now() -> Yield {
    Yield(false)
}

/// The future of [`yield_now`].
pub struct Yield(bool);

impl Future for Yield {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        let sleeper = Sleeper::behind(context);
        match sleeper.as_task() {
            // SAFETY: a byte. Handlers store only `true` here, so overwriting their value loses
            // nothing. (With another coroutine's waker, that one is polled once more than needed.)
            Some(task) => unsafe { task.again.poke(true) },
            None => sleeper.wake_foreign(),
        }
        Poll::Pending
    }
}
