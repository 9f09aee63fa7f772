//! embassy as the suite sees it: clock, semaphores, interrupts.

use board::{kernel::accept, log_by_defmt, on_this_machine};
use chronoscope_suite::{Kernel, Refusal, Request};
use embassy_sync::{
    blocking_mutex::raw::CriticalSectionRawMutex,
    channel::Channel,
    semaphore::{GreedySemaphore, Semaphore as _},
    signal::Signal,
};

use crate::levels::Spawners;

/// Shared by tasks of several executors and by handlers, hence the critical section. Greedy: it
/// keeps one waker, for in every experiment one task waits for a semaphore.
pub type Semaphore = GreedySemaphore<CriticalSectionRawMutex>;

/// The primitive of embassy's users for one waiting task: `Signal`, which keeps the latest value.
pub type Event = Signal<CriticalSectionRawMutex, ()>;

/// The capacity is part of the queue's type. Unused places cost memory only.
pub const CAPACITY: usize = 64;
pub type Queue = Channel<CriticalSectionRawMutex, u32, CAPACITY>;

/// The running kernel, set up for one case.
pub struct Embassy {
    pub spawners: Spawners,
}

impl Embassy {
    /// # Errors
    /// [`Refusal`] for a request that embassy does not offer.
    pub fn new(request: &Request<'_>, spawners: Spawners) -> Result<Self, Refusal> {
        accept(request)?;
        Ok(Self { spawners })
    }
}

/// A kind of task, never instantiated: `tasks` implements its operations.
pub enum Coroutine {}

on_this_machine!(Embassy);
log_by_defmt!(Embassy);

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
