//! The one kind of task.

use core::{cell::UnsafeCell, future::Future, pin::Pin};

use chronoscope_suite::{Priority, Refusal, Tasks, kernel::Native};
use lilos::exec::{Notify, yield_cpu};

use crate::{
    kernel::{Coroutine, Lilos},
    place::{CURRENT, Place, Spare, Task},
    semaphore::Semaphore,
};

impl Tasks for Coroutine {
    type Kernel = Lilos;
    const KIND: &'static str = "coroutine";

    /// lilos has no priorities.
    fn spawn<F>(kernel: &'static Lilos, _: Priority, body: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let parent = CURRENT.get();
        if kernel.runs() {
            Spare::fill(&kernel.memory, &kernel.spares, parent, body)?;
        } else {
            let task = kernel.memory.place(Task::new(Some(parent)))?;
            let place = kernel.memory.place(UnsafeCell::new(Place::new(task, body)))?;
            // SAFETY: the value stays placed, and only lilos gets a reference to it.
            kernel.add(unsafe { Pin::static_mut(&mut *place.get()) })?;
        }
        parent.children.set(parent.children.get() + 1);
        Ok(())
    }

    async fn reap(_: &'static Lilos) -> bool {
        let parent = CURRENT.get();
        let Some(left) = parent.children.get().checked_sub(1) else { return false };
        parent.ended.take().await;
        parent.children.set(left);
        true
    }

    #[inline(always)]
    fn yield_now(_: &'static Lilos) -> impl Future<Output = ()> + Send {
        yield_cpu()
    }

    #[inline(always)]
    fn delay_until(kernel: &'static Lilos, due: u64) -> impl Future<Output = ()> + Send {
        kernel.ticks.delay_until(due)
    }

    #[inline(always)]
    fn take(_: &'static Lilos, semaphore: &'static Semaphore) -> impl Future<Output = ()> + Send {
        semaphore.take()
    }

    fn switches(_: &'static Lilos) -> Option<u32> {
        cfg!(feature = "counted").then(|| CURRENT.get().polls.get())
    }
}

/// `Notify` has no memory: a notification wakes the tasks that wait for it, and no others.
impl Native for Coroutine {
    type Event = Notify;

    fn event(_: &'static Lilos) -> Result<Notify, Refusal> {
        Ok(Notify::new())
    }

    #[inline(always)]
    fn signal(_: &'static Lilos, event: &'static Notify) {
        event.notify();
    }

    #[inline(always)]
    fn signalled(_: &'static Lilos, event: &'static Notify) -> impl Future<Output = ()> + Send {
        event.until_next()
    }
}
