//! No kernel, as the suite sees it.

use core::future::Future;

use board::{kernel::accept, on_this_machine};
use chronoscope_suite::{Kernel, Refusal, Request, kernel::Messages, task::Block};

use crate::{
    queue::{CAPACITY, Queue},
    semaphore::Semaphore,
    thread::Thread,
};

pub struct Bare(());

impl Bare {
    /// # Errors
    /// [`Refusal`] for what is another kernel's.
    pub fn new(request: &Request<'_>) -> Result<Self, Refusal> {
        accept(request)?;
        Ok(Self(()))
    }
}

on_this_machine!(Bare);

impl Kernel for Bare {
    type Director = Thread;
    type Semaphore = Semaphore;

    fn semaphore(&self, initial: u32) -> Result<Semaphore, Refusal> {
        Ok(Semaphore::new(initial))
    }

    #[inline(always)]
    fn give(&self, semaphore: &'static Semaphore) {
        semaphore.give();
    }
}

impl Messages for Thread {
    type Queue = Queue;

    fn queue(_: &'static Bare, capacity: usize) -> Result<Queue, Refusal> {
        if capacity > CAPACITY { Err(Refusal::full()) } else { Ok(Queue::new()) }
    }

    #[inline(always)]
    fn send(_: &'static Bare, queue: &'static Queue, word: u32) -> impl Future<Output = ()> + Send {
        Block(move || queue.send(word))
    }

    #[inline(always)]
    fn receive(_: &'static Bare, queue: &'static Queue) -> impl Future<Output = u32> + Send {
        Block(|| queue.receive())
    }
}
