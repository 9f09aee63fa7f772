//! RTIC as the suite sees it: clock, semaphores, interrupts.

use board::{kernel::accept, log_by_defmt, on_this_machine};
use chronoscope_suite::{Kernel, Refusal, Request};

use crate::{levels, semaphore::Semaphore};

/// The running kernel, set up for one case.
pub struct Rtic {
    /// The level of `Urgent(1)`.
    pub first: usize,
}

impl Rtic {
    /// # Errors
    /// [`Refusal`] for a request that RTIC does not offer.
    pub fn new(request: &Request<'_>) -> Result<Self, Refusal> {
        accept(request)?;
        Ok(Self { first: levels::first(request) })
    }
}

/// A kind of task, never instantiated: `tasks` implements its operations.
pub enum Coroutine {}

on_this_machine!(Rtic);
log_by_defmt!(Rtic);

impl Kernel for Rtic {
    type Director = Coroutine;
    type Semaphore = Semaphore;

    fn semaphore(&self, initial: u32) -> Result<Semaphore, Refusal> {
        Ok(Semaphore::new(initial))
    }

    #[inline]
    fn give(&self, semaphore: &'static Semaphore) {
        semaphore.give();
    }
}
