//! No kernel, as the suite sees it.

use board::{kernel::accept, on_this_machine};
use chronoscope_suite::{Kernel, Refusal, Request};

use crate::semaphore::Semaphore;

pub struct Bare(());

impl Bare {
    /// # Errors
    /// [`Refusal`] for primitives of other kernels.
    pub fn new(request: &Request<'_>) -> Result<Self, Refusal> {
        accept(request)?;
        Ok(Self(()))
    }
}

/// The kind of task: a stack that runs until it gives way. `thread` implements its operations.
pub enum Thread {}

on_this_machine!(Bare);

impl Kernel for Bare {
    type Director = Thread;
    type Semaphore = Semaphore;
    /// The memory of a thread that has ended is not used again.
    const HAS_PAST: bool = false;

    fn semaphore(&self, initial: u32) -> Result<Semaphore, Refusal> {
        Ok(Semaphore::new(initial))
    }

    #[inline(always)]
    fn give(&self, semaphore: &'static Semaphore) {
        semaphore.give();
    }
}
