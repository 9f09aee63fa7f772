//! Linux as the suite sees it: clock, semaphores, and what the case asked for.

use std::{
    ffi::c_int,
    sync::{
        OnceLock,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

use chronoscope_suite::{
    Clock, Kernel, Priority, Refusal, Request, Trial, trial::name, wire::Domain,
};

use crate::{
    clock,
    coroutine::Executor,
    log::StandardError,
    perf::Counter,
    semaphore::{Primitive, Semaphore},
    settings::{Settings, class_of_caller, set_class},
    thread::Thread,
    trace::Trace,
};

/// The running kernel, set up for one case.
/// It stands in memory that all processes of the case share.
pub struct Linux {
    pub settings: Settings,
    /// What semaphores and queues are made of.
    pub primitive: Primitive,
    pub standard_error: StandardError,
    /// Where the case asks for it.
    pub trace: Option<Trace>,
    /// The thread that polls coroutines, once there is one.
    pub executor: OnceLock<&'static Executor>,
    /// Of the tasks spawned so far, those of each class.
    classes: [Class; 3],
    /// Mutex calls that returned an error.
    failed: AtomicU32,
    /// Opened when an experiment asks for it, because that takes long: the counter, or why there is
    /// none.
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
        let coroutines = request
            .pairs()
            .any(|(key, value)| matches!(key, "kind" | "pair") && value.contains("coroutine"));
        if coroutines && primitive != Primitive::Futex {
            return Err(Refusal::not_offered(
                "coroutines wait on futexes only, not on descriptors",
            ));
        }
        settings.apply()?;
        // This experiment alone looks for the cause of a miss.
        let until_miss = request.spec().name == "latency";
        Ok(Self {
            trace: settings.trace.then(|| Trace::new(until_miss)).transpose()?,
            settings,
            primitive,
            standard_error: StandardError::open(),
            executor: OnceLock::new(),
            classes: POLICIES.map(|_| Class::new()),
            failed: AtomicU32::new(0),
            instructions: OnceLock::new(),
        })
    }

    /// Called before a task is created: asks for its class on the spot, so that a refusal is known
    /// before anything runs.
    ///
    /// # Errors
    /// [`Reason::NotPermitted`](chronoscope_suite::Reason::NotPermitted).
    pub fn admit(&self, priority: Priority) -> Result<(), Refusal> {
        let wanted = self.settings.class(priority);
        // Nobody is refused SCHED_IDLE, but the way back out of it is not open to all.
        if priority != Priority::Idle && wanted != class_of_caller() {
            let present = class_of_caller();
            set_class(wanted)?;
            set_class(present)?;
        }
        self.class(wanted).admit(wanted.1);
        Ok(())
    }

    /// Called by a new task, first of all: enters the class of its priority.
    pub fn enter(&self, priority: Priority) {
        let wanted = self.settings.class(priority);
        // A failure shows as a task that is not confirmed: evidence that does not hold.
        if set_class(wanted).is_ok() {
            self.class(wanted).confirmed.fetch_add(1, Relaxed);
        }
    }

    fn class(&self, (policy, _): (c_int, c_int)) -> &Class {
        let place = POLICIES.iter().position(|(known, _)| *known == policy);
        &self.classes[place.expect("Settings::class knows no other policies")]
    }

    /// Called by a task whose mutex call returned an error. Told as evidence that does not hold.
    #[cold]
    pub fn mutex_failed(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    /// Tells what the kernel did about scheduling classes, and what it did not count.
    pub fn report(&self, trial: &mut Trial<'_, Self>) {
        for ((_, policy), class) in POLICIES.iter().zip(&self.classes) {
            class.report(policy, trial);
        }
        let failed = self.failed.load(Relaxed);
        if failed > 0 {
            trial.evidence("mutex calls that failed", failed.into(), 0.0, 0.0);
        }
        if let Some(Err(reason)) = self.instructions.get() {
            trial.log(reason);
        }
        if let Some(warning) = self.settings.unlocked() {
            trial.log(warning);
        }
    }
}

const POLICIES: [(c_int, &str); 3] = [
    (libc::SCHED_FIFO, "SCHED_FIFO"),
    (libc::SCHED_OTHER, "SCHED_OTHER"),
    (libc::SCHED_IDLE, "SCHED_IDLE"),
];

/// The tasks of one policy.
struct Class {
    admitted: AtomicU32,
    /// Those that entered their class, and read it back.
    confirmed: AtomicU32,
    /// Their real-time priorities.
    lowest: AtomicU32,
    highest: AtomicU32,
}

impl Class {
    fn new() -> Self {
        let [admitted, confirmed, highest] = [const { AtomicU32::new(0) }; 3];
        Self { admitted, confirmed, lowest: AtomicU32::new(u32::MAX), highest }
    }

    fn admit(&self, level: c_int) {
        self.admitted.fetch_add(1, Relaxed);
        self.lowest.fetch_min(level.unsigned_abs(), Relaxed);
        self.highest.fetch_max(level.unsigned_abs(), Relaxed);
    }

    /// The evidence, for a policy that some task was to have: `SCHED_FIFO 80 to 82: tasks that read
    /// it back`.
    fn report(&self, policy: &str, trial: &mut Trial<'_, Linux>) {
        let [admitted, confirmed, lowest, highest] =
            [&self.admitted, &self.confirmed, &self.lowest, &self.highest]
                .map(|count| count.load(Relaxed));
        let class = match (lowest, highest) {
            (_, 0) => name(format_args!("{policy}")),
            (low, high) if low == high => name(format_args!("{policy} {low}")),
            (low, high) => name(format_args!("{policy} {low} to {high}")),
        };
        if admitted > 0 {
            let text = name(format_args!("{class}: tasks that read it back"));
            trial.evidence(&text, confirmed.into(), admitted.into(), admitted.into());
        }
    }
}

/// CLOCK_MONOTONIC is the clock that delays are due on and the one that cyclictest reads, so
/// lateness needs no conversion between clocks that drift apart.
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

    fn instructions(&self) -> Option<u64> {
        // The clock itself counts them then, and an emulator has no counter of them.
        if clock::counts_instructions() {
            return None;
        }
        let counter = self.instructions.get_or_init(|| Counter::instructions(self.settings.cpu));
        counter.as_ref().ok()?.read()
    }
}
