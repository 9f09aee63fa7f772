//! The one kind of task.

use core::{
    cell::{Cell, UnsafeCell},
    future::Future,
    pin::Pin,
};

use chronoscope_suite::{Priority, Refusal, Tasks};
use lilos::exec::yield_cpu;

use crate::{
    kernel::Lilos,
    place::{Place, Spare},
    semaphore::Semaphore,
};

pub enum Coroutine {}

/// What the port keeps of a task beside its body.
pub struct Task {
    has_ended: Cell<bool>,
    polls: Cell<u32>,
    parent: Cell<Option<&'static Task>>,
    /// The place to give back.
    spare: Cell<Option<&'static Spare>>,
    /// Its own tasks that it has not reaped, and those of them that have ended.
    children: Cell<u32>,
    ended: Semaphore,
}

// SAFETY: there is one processor, tasks do not pre-empt each other, and no handler touches one.
unsafe impl Sync for Task {}

pub static DIRECTOR: Task = Task::new(None);

/// The task that is being polled.
pub struct Current(Cell<&'static Task>);

// SAFETY: as above.
unsafe impl Sync for Current {}

pub static CURRENT: Current = Current(Cell::new(&DIRECTOR));

impl Current {
    #[inline(always)]
    pub fn set(&self, task: &'static Task) {
        self.0.set(task);
    }

    fn get(&self) -> &'static Task {
        self.0.get()
    }
}

impl Task {
    pub const fn new(parent: Option<&'static Task>) -> Self {
        Self {
            has_ended: Cell::new(false),
            polls: Cell::new(0),
            parent: Cell::new(parent),
            spare: Cell::new(None),
            children: Cell::new(0),
            ended: Semaphore::new(0),
        }
    }

    pub fn set_spare(&self, spare: &'static Spare) {
        self.spare.set(Some(spare));
    }

    /// It takes another one's place.
    pub fn begin(&self, parent: &'static Self) {
        self.has_ended.set(false);
        self.parent.set(Some(parent));
    }

    #[inline(always)]
    pub fn has_ended(&self) -> bool {
        self.has_ended.get()
    }

    /// lilos has no hook for it.
    #[inline(always)]
    pub fn count(&self) {
        if cfg!(feature = "counted") {
            self.polls.set(self.polls.get().wrapping_add(1));
        }
    }

    pub fn end(&self) {
        self.has_ended.set(true);
        if let Some(spare) = self.spare.get() {
            spare.put_back();
        }
        if let Some(parent) = self.parent.get() {
            parent.ended.give();
        }
    }
}

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
            Spare::fill(kernel, parent, body)?;
        } else {
            let task = kernel.memory.place(Task::new(Some(parent)))?;
            let place = kernel.memory.place(UnsafeCell::new(Place::new(task, body)))?;
            // SAFETY: what was placed stays, and only lilos is given a reference to it.
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
