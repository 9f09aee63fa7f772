//! embassy as the suite sees it: clock, semaphores, interrupts.

use core::sync::atomic::AtomicU32;

use chronoscope_cortex_m4::{alarm, clock, interrupts};
use chronoscope_suite::{
    Clock, Kernel, Reason, Refusal, Request,
    kernel::{Handler, Interrupts, Source},
    wire::Domain,
};
use embassy_sync::{
    blocking_mutex::raw::CriticalSectionRawMutex,
    channel::Channel,
    semaphore::{GreedySemaphore, Semaphore as _},
};

use crate::{levels::Spawners, tasks::Coroutine};

/// Shared by tasks of several executors and by handlers, hence the critical section. Greedy: it keeps one waker, for
/// in every experiment one task waits for a semaphore.
pub type Semaphore = GreedySemaphore<CriticalSectionRawMutex>;

/// A channel's capacity is part of its type; what it holds costs nothing but memory.
pub const CAPACITY: usize = 64;
pub type Queue = Channel<CriticalSectionRawMutex, u32, CAPACITY>;

/// The running kernel, set up for one case.
pub struct Embassy {
    pub spawners: Spawners,
}

impl Embassy {
    /// # Errors
    /// [`Refusal`] for what embassy does not offer.
    pub fn new(request: &Request<'_>, spawners: Spawners) -> Result<Self, Refusal> {
        let known = |key: &str| request.spec().parameters.iter().any(|parameter| parameter.name == key);
        if request.pairs().any(|(key, _)| !known(key)) {
            return Err(Refusal::new(Reason::Invalid, "this port has no parameters of its own", "leave them out"));
        }
        match request.given("primitive") {
            None | Some("yield" | "semaphore" | "queue") => Ok(Self { spawners }),
            Some(_) => Err(Refusal::not_offered("futex, eventfd and pipe are Linux's")),
        }
    }
}

impl Clock for Embassy {
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

impl Kernel for Embassy {
    type Director = Coroutine;
    type Semaphore = Semaphore;

    fn semaphore(&self, initial: u32) -> Result<Semaphore, Refusal> {
        Ok(Semaphore::new(initial as usize))
    }

    #[inline]
    fn give(&self, semaphore: &'static Semaphore) {
        semaphore.release(1);
    }
}

impl Interrupts for Embassy {
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
