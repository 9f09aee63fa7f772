//! tandem as the suite sees it: clock, semaphores, interrupts.

use board::{kernel::accept, log_by_defmt, on_this_machine};
use chronoscope_suite::{Kernel, Priority, Refusal, Request};
use tandem::Semaphore;

/// The capacity is part of the queue's type. Unused places cost memory only.
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
        Priority::Urgent(urgency) => {
            tandem::Priority::new(1 + if urgency < 30 { urgency } else { 30 })
        }
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
    /// [`Refusal`] for a request that tandem does not offer.
    pub fn new(request: &Request<'_>) -> Result<Self, Refusal> {
        accept(request)?;
        Ok(Self(()))
    }
}

/// A kind of task, never instantiated: `thread` implements its operations.
pub enum Thread {}

/// A kind of task, never instantiated: `coroutine` implements its operations.
pub enum Coroutine {}

#[cfg(not(feature = "basepri"))]
on_this_machine!(Tandem);
log_by_defmt!(Tandem);

#[cfg(feature = "basepri")]
on_this_machine! {
    Tandem;

    const HAS_EXEMPT: bool = true;

    fn exempt(&self) {
        board::interrupts::exempt();
    }

    fn masks(&self) -> bool {
        board::interrupts::masks()
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
