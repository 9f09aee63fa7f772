//! tandem as a process sees it: clock and semaphores.

use core::sync::atomic::AtomicU32;

use chronoscope_suite::{Clock, Kernel, Reason, Refusal, Request, wire::Domain};
use tandem_user::{self as user, Semaphore};

/// The running kernel, set up for one case.
pub struct Processes {
    /// The clock's rate if its ticks are cycles; `None` if they are instructions.
    rate: Option<u64>,
}

impl Processes {
    /// # Errors
    /// [`Refusal`] for a key that the experiment does not know, and for primitives that only Linux
    /// has.
    pub fn new(request: &Request<'_>, rate: Option<u64>) -> Result<Self, Refusal> {
        if request.pairs().any(|(key, _)| !request.knows(key)) {
            let what = "this port has no parameters of its own";
            return Err(Refusal::new(Reason::Invalid, what, "leave them out"));
        }
        match request.given("primitive") {
            None | Some("yield" | "semaphore" | "queue" | "native") => Ok(Self { rate }),
            Some(_) => Err(Refusal::not_offered("futex, eventfd and pipe are Linux's")),
        }
    }
}

/// A kind of task, never instantiated: `tasks` implements its operations.
pub enum Process {}

impl Clock for Processes {
    type Slot = AtomicU32;
    const DOMAIN: Domain = Domain::Instructions;

    #[inline(always)]
    fn read(&self) -> u32 {
        user::cycles() as u32
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        user::cycles()
    }

    fn hertz(&self) -> u64 {
        self.rate.unwrap_or(1_000_000_000)
    }

    fn domain(&self) -> Domain {
        if self.rate.is_some() { Domain::Cycles } else { Domain::Instructions }
    }
}

impl Kernel for Processes {
    type Director = Process;
    type Semaphore = Semaphore;

    fn semaphore(&self, initial: u32) -> Result<Semaphore, Refusal> {
        Semaphore::new(initial).map_err(|_| Refusal::full())
    }

    #[inline(always)]
    fn give(&self, semaphore: &'static Semaphore) {
        semaphore.give();
    }
}
