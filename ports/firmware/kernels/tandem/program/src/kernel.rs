//! tandem as a process sees it: clock, semaphores and interrupts.

use core::sync::atomic::AtomicU32;

use chronoscope_suite::{
    Clock, Kernel, Reason, Refusal, Request,
    kernel::{Handler, Interrupts, Source},
    wire::Domain,
};
use tandem_user::{self as user, Family, Semaphore};

use crate::machine;

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
            Some(_) => Err(Refusal::not_offered("that primitive is one of Linux's")),
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

    const HAS_PAGES: bool = true;

    fn pages(&self) -> &'static [[u8; 4096]] {
        user::text()
    }
}

/// The priority of a driver: above all tasks of an experiment.
const DRIVER: u8 = 31;

/// Processes handle interrupts as drivers in user mode do: the kernel's handler gives a semaphore,
/// and the most urgent process takes it, handles the interrupt, and waits for the next.
impl Interrupts for Processes {
    const IS_DRIVEN: bool = true;

    fn entered(&self) -> u64 {
        user::device(machine::ENTERED, 0).expect("the kernel notes it") as u64
    }

    fn attach(&'static self, source: Source, handler: Handler) -> Result<(), Refusal> {
        let line = match source {
            Source::Software => machine::RAISED,
            Source::Timer => machine::TIMED,
            Source::External => {
                return Err(Refusal::not_offered("no line from outside has a driver"));
            }
        };
        let rises = self.semaphore(0)?;
        rises.bind(line).map_err(|_| Refusal::full())?;
        let drive = move || {
            loop {
                rises.take();
                handler();
            }
        };
        // SAFETY: the body holds a handle and a reference into the arena, which refers to the arena
        // and to functions.
        let driver = unsafe { user::spawn(DRIVER, "driver", Family::Same, drive) };
        driver.map(drop).map_err(|_| Refusal::full())
    }

    fn raise(&self) {
        assert!(user::device(machine::RAISE, 0).is_ok(), "the machine has a software interrupt");
    }

    fn arm(&self, due: u64) {
        assert!(user::device(machine::ARM, due as usize).is_ok(), "the machine has a timer");
    }
}
