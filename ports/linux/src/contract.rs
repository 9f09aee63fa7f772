//! The suite's traits for the kernel itself: `Clock`, `Kernel` and `Log`.

use std::sync::atomic::AtomicU64;

use chronoscope_suite::{Clock, Kernel, Refusal, kernel::Log, random::Random, wire::Domain};

use crate::{clock, kernel::Linux, semaphore::Semaphore, thread::Thread, vary};

/// CLOCK_MONOTONIC, which is also the clock of the delays and of cyclictest, so lateness needs no
/// conversion between clocks.
impl Clock for Linux {
    type Slot = AtomicU64;
    const DOMAIN: Domain = Domain::Wall;

    #[inline(always)]
    fn read(&self) -> u64 {
        self.now()
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        clock::now()
    }

    fn hertz(&self) -> u64 {
        clock::hertz()
    }

    fn domain(&self) -> Domain {
        if clock::counts_instructions() { Domain::Instructions } else { Self::DOMAIN }
    }
}

impl Kernel for Linux {
    type Director = Thread;
    type Semaphore = Semaphore;

    fn semaphore(&self, initial: u32) -> Result<Semaphore, Refusal> {
        Semaphore::new(self.primitive, self.settings.processes, initial)
    }

    #[inline]
    fn give(&self, semaphore: &'static Semaphore) {
        semaphore.give();
    }

    fn series_starts(&self, name: &str, first: u64) {
        if let Some(trace) = &self.trace {
            trace.series_starts(name, clock::nanoseconds(first));
        }
    }

    fn vary(&'static self, random: &mut Random) {
        vary::vary(self, self.experiment, random);
    }

    fn instructions(&self) -> Option<u64> {
        // The clock counts instructions in this case, and an emulator has no other counter.
        if clock::counts_instructions() { None } else { self.count_instructions() }
    }
}

impl Log for Linux {
    #[inline(always)]
    fn log(&self, round: u32, ticks: u64) {
        self.standard_error.log(round, ticks);
    }

    fn logged(&self) -> u64 {
        self.standard_error.logged()
    }
}
