//! lilos's own queue, `spsc`: one sender, one receiver.

use core::{
    cell::{Cell, UnsafeCell},
    mem::MaybeUninit,
    slice,
};

use chronoscope_suite::{Refusal, kernel::Messages};
use lilos::spsc::{Popper, Pusher, Queue as Spsc};

use crate::kernel::{Coroutine, Lilos};

/// Either end. A user would keep it in the task that has it.
pub struct Queue {
    pusher: UnsafeCell<Pusher<'static, u32>>,
    popper: UnsafeCell<Popper<'static, u32>>,
}

// SAFETY: one task sends and one receives (docs/writing-a-port.md), so each end is borrowed by one
// task at a time.
unsafe impl Sync for Queue {}

impl Messages for Coroutine {
    type Queue = Queue;

    fn queue(kernel: &'static Lilos, capacity: usize) -> Result<Queue, Refusal> {
        // spsc keeps one place free, to distinguish full from empty.
        let storage = kernel
            .memory
            .fill(capacity + 1, |_| Ok(UnsafeCell::new(MaybeUninit::<u32>::uninit())))?;
        // SAFETY: the cells were placed for this queue alone, and a cell has the layout of its
        // content.
        let storage =
            unsafe { slice::from_raw_parts_mut(storage.as_ptr().cast_mut().cast(), storage.len()) };
        let spsc = kernel.memory.place(Cell::new(Spsc::new(storage)))?;
        // SAFETY: it was placed for this queue alone.
        let (pusher, popper) = unsafe { &mut *spsc.as_ptr() }.split();
        Ok(Queue { pusher: UnsafeCell::new(pusher), popper: UnsafeCell::new(popper) })
    }

    #[inline(always)]
    async fn send(_: &'static Lilos, queue: &'static Queue, word: u32) {
        // SAFETY: see Queue.
        let pusher = unsafe { &mut *queue.pusher.get() };
        pusher.reserve().await.push(word);
    }

    #[inline(always)]
    async fn receive(_: &'static Lilos, queue: &'static Queue) -> u32 {
        // SAFETY: see Queue.
        let popper = unsafe { &mut *queue.popper.get() };
        popper.pop().await
    }
}
