//! tandem as the suite sees it: clock, semaphores, interrupts.

use core::sync::atomic::AtomicU32;

use chronoscope_cortex_m4::{alarm, clock, interrupts};
use chronoscope_suite::{
    Clock, Kernel, Priority, Reason, Refusal, Request,
    kernel::{Handler, Interrupts, Source},
    wire::Domain,
};
use tandem::Semaphore;

use crate::thread::Thread;

/// A queue's capacity is part of its type; what it holds costs nothing but memory.
pub const CAPACITY: usize = 64;
pub type Queue = tandem::Queue<u32, CAPACITY>;

/// # Errors
/// [`Refusal`] for more than [`CAPACITY`].
pub fn queue(capacity: usize) -> Result<Queue, Refusal> {
    if capacity > CAPACITY { Err(Refusal::full()) } else { Ok(Queue::new()) }
}

/// `Idle` is the lowest of the kernel's 32 priorities.
pub const fn level(priority: Priority) -> tandem::Priority {
    match priority {
        Priority::Idle => tandem::Priority::LOWEST,
        Priority::Ordinary => tandem::Priority::new(1),
        Priority::Urgent(urgency) => tandem::Priority::new(1 + if urgency < 30 { urgency } else { 30 }),
    }
}

/// Switches to the calling task, as the kernel has counted them.
pub fn switches() -> Option<u32> {
    #[cfg(feature = "counted")]
    return Some(tandem::current().switches());
    #[cfg(not(feature = "counted"))]
    None
}

/// The running kernel, set up for one case.
pub struct Tandem(());

impl Tandem {
    /// # Errors
    /// [`Refusal`] for what tandem does not offer.
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

impl Clock for Tandem {
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

impl Kernel for Tandem {
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

impl Interrupts for Tandem {
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
