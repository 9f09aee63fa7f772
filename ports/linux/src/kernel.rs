//! Linux as the suite sees it: clock, semaphores, and what the case asked for.

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use chronoscope_suite::{Clock, Kernel, Priority, Refusal, Request, Trial, trial::name, wire::Domain};
use rustix::time::{ClockId, clock_gettime};

use crate::{
    coroutine::Executor,
    log::StandardError,
    perf::Counter,
    semaphore::{Primitive, Semaphore},
    settings::{Settings, class_of_caller, set_class},
    thread::Thread,
};

/// The running kernel, set up for one case.
/// It stands in memory that all processes of the case share.
pub struct Linux {
    pub settings: Settings,
    /// What semaphores and queues are made of.
    pub primitive: Primitive,
    pub standard_error: StandardError,
    /// The thread that polls coroutines, once there is one.
    pub executor: OnceLock<&'static Executor>,
    spawned: AtomicU32,
    /// Tasks that entered the class they were spawned for, and read it back.
    confirmed: AtomicU32,
    /// Mutex calls that returned an error.
    failed: AtomicU32,
    /// Opened when an experiment asks for it, because that takes long: the counter, or why there is none.
    instructions: OnceLock<Result<Counter, &'static str>>,
}

impl Linux {
    /// # Errors
    /// [`Refusal`] for what Linux does not offer, or not to this user.
    pub fn new(request: &Request<'_>) -> Result<Self, Refusal> {
        let settings = Settings::of(request)?;
        let primitive = match request.given("primitive") {
            Some("eventfd") => Primitive::Eventfd,
            Some("pipe") => Primitive::Pipe,
            _ => Primitive::Futex,
        };
        let coroutines =
            request.pairs().any(|(key, value)| matches!(key, "kind" | "pair") && value.contains("coroutine"));
        if coroutines && primitive != Primitive::Futex {
            return Err(Refusal::not_offered("coroutines wait on futexes only, not on descriptors"));
        }
        settings.apply()?;
        Ok(Self {
            settings,
            primitive,
            standard_error: StandardError::open(),
            executor: OnceLock::new(),
            spawned: AtomicU32::new(0),
            confirmed: AtomicU32::new(0),
            failed: AtomicU32::new(0),
            instructions: OnceLock::new(),
        })
    }

    /// Called before a task is created: asks for its class on the spot, so that a refusal is known before anything runs.
    ///
    /// # Errors
    /// [`Reason::NotPermitted`](chronoscope_suite::Reason::NotPermitted).
    pub fn admit(&self, priority: Priority) -> Result<(), Refusal> {
        self.spawned.fetch_add(1, Relaxed);
        // Nobody is refused SCHED_IDLE, but the way back out of it is not open to all.
        if priority != Priority::Idle && self.settings.class(priority) != class_of_caller() {
            let (policy, level) = class_of_caller();
            set_class(self.settings.class(priority))?;
            set_class((policy, level))?;
        }
        Ok(())
    }

    /// Called by a new task, first of all: enters the class of its priority.
    pub fn enter(&self, priority: Priority) {
        // A failure shows as a task that is not confirmed: evidence that does not hold.
        if set_class(self.settings.class(priority)).is_ok() {
            self.confirmed.fetch_add(1, Relaxed);
        }
    }

    /// Called by a task whose mutex call returned an error. Told as evidence that does not hold.
    #[cold]
    pub fn mutex_failed(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    /// Tells what the kernel did about scheduling classes, and what it did not count.
    pub fn report(&self, trial: &mut Trial<'_, Self>) {
        let (spawned, confirmed) = (self.spawned.load(Relaxed), self.confirmed.load(Relaxed));
        let (policy, level) = self.settings.class(Priority::Urgent(1));
        let policy = if policy == libc::SCHED_FIFO { "SCHED_FIFO" } else { "SCHED_OTHER" };
        let text = name(format_args!("{policy} {level}: tasks that read it back"));
        trial.evidence(&text, confirmed.into(), spawned.into(), spawned.into());
        let failed = self.failed.load(Relaxed);
        if failed > 0 {
            trial.evidence("mutex calls that failed", failed.into(), 0.0, 0.0);
        }
        if let Some(Err(reason)) = self.instructions.get() {
            trial.log(reason);
        }
    }
}

/// CLOCK_MONOTONIC, in nanoseconds, read without a system call where the kernel's clock source allows.
/// It is the clock that delays are due on and the one that cyclictest reads, so lateness needs no
/// conversion between clocks that drift apart.
impl Clock for Linux {
    type Slot = AtomicU64;
    const DOMAIN: Domain = Domain::Wall;

    #[inline(always)]
    fn read(&self) -> u64 {
        self.now()
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    fn hertz(&self) -> u64 {
        1_000_000_000
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

    fn instructions(&self) -> Option<u64> {
        let counter = self.instructions.get_or_init(|| Counter::instructions(self.settings.cpu));
        counter.as_ref().ok()?.read()
    }
}
