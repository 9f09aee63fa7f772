//! No kernel, as the suite sees it.

use core::{future::Future, sync::atomic::AtomicU32};

use chronoscope_cortex_m4::{alarm, clock, interrupts};
use chronoscope_suite::{
    Clock, Kernel, Reason, Refusal, Request,
    kernel::{Handler, Interrupts, Messages, Source},
    task::Block,
    wire::Domain,
};

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
        let known = |key: &str| request.spec().parameters.iter().any(|parameter| parameter.name == key);
        if request.pairs().any(|(key, _)| !known(key)) {
            return Err(Refusal::new(Reason::Invalid, "this port has no parameters of its own", "leave them out"));
        }
        match request.given("primitive") {
            None | Some("yield" | "semaphore" | "queue") => Ok(Self(())),
            Some(_) => Err(Refusal::not_offered("futex, eventfd and pipe are Linux's")),
        }
    }
}

impl Clock for Bare {
    type Slot = AtomicU32;
    const DOMAIN: Domain = Domain::Instructions;

    #[inline(always)]
    fn read(&self) -> u32 {
        clock::read()
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        clock::now()
    }

    fn hertz(&self) -> u64 {
        clock::HERTZ
    }
}

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

impl Interrupts for Bare {
    fn attach(&'static self, source: Source, handler: Handler) -> Result<(), Refusal> {
        interrupts::attach(source, handler);
        Ok(())
    }

    #[inline(always)]
    fn raise(&self) {
        interrupts::raise();
    }

    fn arm(&self, due: u64) {
        alarm::EXPERIMENT.set(due);
    }
}
