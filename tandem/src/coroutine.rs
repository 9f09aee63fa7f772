//! Coroutines: tasks without a stack, which wait by returning from their poll.

use crate::{
    arch::Mask,
    kernel::{self, KERNEL},
    task::{Header, Info, Priority, StillAlive, Task},
};
use core::{
    cell::UnsafeCell,
    mem::MaybeUninit,
    pin::Pin,
    task::{Context, Poll, RawWaker, RawWakerVTable, Waker},
};

/// A coroutine's storage: `SIZE` bytes for its future, and the kernel's record.
#[repr(C, align(8))]
pub struct Coroutine<const SIZE: usize> {
    header: Header,
    future: UnsafeCell<MaybeUninit<Place<SIZE>>>,
}

/// Room for a future.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Place<const SIZE: usize>([u8; SIZE]);

// SAFETY: the future belongs to its own poll while the coroutine lives, and to `spawn`, which excludes others, before.
unsafe impl<const SIZE: usize> Sync for Coroutine<SIZE> {}

impl<const SIZE: usize> Default for Coroutine<SIZE> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const SIZE: usize> Coroutine<SIZE> {
    #[must_use]
    pub const fn new() -> Self {
        Self { header: Header::new(), future: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Starts a coroutine that runs `future`. If it is more urgent than the caller, it runs at once.
    /// Spawn coroutines in or after the set-up of [`start`](crate::start).
    ///
    /// # Errors
    /// When the coroutine that has this storage has not ended.
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
        // SAFETY: large and aligned enough, and ours: the coroutine was over, and is now ours to start.
        unsafe { self.future.get().cast::<F>().write(future) };
        // A poll finds its way from the header, which the kernel knows, back to the storage around it.
        core::ptr::from_ref(self).expose_provenance();
        begin(&self.header, poll::<F, SIZE>);
        Ok(())
    }

    #[must_use]
    pub fn info(&'static self) -> Info {
        Info(&self.header)
    }
}

/// Makes a claimed coroutine ready for its first poll.
#[inline(never)]
fn begin(header: Task, poll: unsafe extern "C" fn(Task)) {
    let (mask, m) = Mask::set();
    header.poll.set(m, Some(poll));
    KERNEL.share_stack(m, header);
    kernel::wake_and_preempt(m, mask, header);
    mask.restore();
}

/// Polls the future once. When it has ended, drops it and ends the coroutine.
///
/// # Safety
/// `task` heads a `Coroutine<SIZE>` in which an `F` was spawned and has not ended, and nobody else polls it.
unsafe extern "C" fn poll<F: Future<Output = ()>, const SIZE: usize>(task: Task) {
    let storage =
        core::ptr::with_exposed_provenance::<Coroutine<SIZE>>(core::ptr::from_ref(task).addr());
    // SAFETY: the header is the first field of the storage, exposed by `spawn`, whose future the caller vouches for.
    let future = unsafe { (*storage).future.get().cast::<F>() };
    let waker = core::mem::ManuallyDrop::new(waker(task));
    // SAFETY: the future stays where it is until it is dropped below.
    if unsafe { Pin::new_unchecked(&mut *future) }.poll(&mut Context::from_waker(&waker)).is_ready()
    {
        // SAFETY: it has ended and is never polled again.
        unsafe { future.drop_in_place() };
        kernel::end_coroutine(task);
    }
}

pub(crate) static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, drop_waker);

fn waker(task: Task) -> Waker {
    // SAFETY: tasks are static and may be woken from anywhere at any time, so a copy needs no care.
    unsafe { Waker::from_raw(RawWaker::new(core::ptr::from_ref(task).cast(), &VTABLE)) }
}

unsafe fn clone(task: *const ()) -> RawWaker {
    RawWaker::new(task, &VTABLE)
}

unsafe fn wake(task: *const ()) {
    // SAFETY: only `waker` makes wakers with this table, from a task.
    let task: Task = unsafe { &*task.cast::<Header>() };
    let (mask, m) = Mask::set();
    kernel::wake_and_restore(m, mask, task);
}

unsafe fn drop_waker(_: *const ()) {}

/// The task behind a waker.
///
/// # Panics
/// When the waker is not this kernel's: a combinator that hands its parts wakers of its own is between.
#[inline(always)]
pub(crate) fn task_of(context: &Context) -> Task {
    let waker = context.waker();
    assert!(core::ptr::eq(waker.vtable(), &VTABLE), "a wait of tandem's under a foreign waker");
    // SAFETY: only `waker` makes wakers with this table, from a task.
    unsafe { &*waker.data().cast::<Header>() }
}

/// Lets the next ready task of the same priority run.
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
        let task = task_of(context);
        // SAFETY: a byte, stored at once, of the running task; handlers store nothing else there.
        unsafe { task.again.poke(true) };
        Poll::Pending
    }
}
