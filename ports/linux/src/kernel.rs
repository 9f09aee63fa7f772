//! The running kernel, set up for one case: settings, means, and evidence of scheduling classes.

use std::{
    ffi::c_int,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use chronoscope_suite::{Priority, Refusal, Request, Trial, trial::name};

use crate::{
    class::{class_of_caller, set_class},
    deadline::count_overruns,
    executor::Executor,
    log::StandardError,
    pasts::Pasts,
    perf::Counter,
    processors::Processors,
    semaphore::Primitive,
    settings::{Policy, Settings},
    trace::Trace,
};

/// The running kernel, set up for one case. The value is in memory shared by all processes of the
/// case.
pub struct Linux {
    pub settings: Settings,
    /// The primitive that semaphores and queues are made of.
    pub primitive: Primitive,
    pub standard_error: StandardError,
    /// The trace, if the case asks for one.
    pub trace: Option<Trace>,
    /// The executor of coroutines, once a coroutine was spawned.
    pub executor: OnceLock<&'static Executor>,
    pub pasts: Pasts,
    /// The name of the case's experiment.
    pub experiment: &'static str,
    /// The spawned tasks by scheduling class.
    classes: [Class; 5],
    /// The number of tasks that were given a processor of their own, and of those that reached it.
    placed: [AtomicU32; 2],
    /// The number of mutex calls that returned an error.
    failed: AtomicU32,
    /// The number of times that a task of SCHED_DEADLINE used up its runtime.
    overruns: AtomicU32,
    /// The counter of instructions, or the reason why there is none. Opened on first use, because
    /// opening takes long.
    instructions: OnceLock<Result<Counter, &'static str>>,
}

impl Linux {
    /// # Errors
    /// [`Refusal`] for a request that Linux does not offer, or denies to this user.
    pub fn new(request: &Request<'_>) -> Result<Self, Refusal> {
        let settings = Settings::from_request(request)?;
        let primitive = match request.given("primitive") {
            Some("eventfd") => Primitive::Eventfd,
            Some("pipe") => Primitive::Pipe,
            Some("signal") => Primitive::Signal,
            _ => Primitive::Futex,
        };
        let coroutines = request
            .pairs()
            .any(|(key, value)| matches!(key, "kind" | "pair") && value.contains("coroutine"));
        if coroutines && primitive != Primitive::Futex {
            return Err(Refusal::not_offered(
                "coroutines wait on futexes only, not on descriptors and signals",
            ));
        }
        if settings.processes && primitive == Primitive::Signal {
            return Err(Refusal::not_offered(
                "only threads of one process wait for a signal to it",
            ));
        }
        settings.requirements.check(&settings.processors)?;
        settings.apply()?;
        Ok(Self {
            trace: settings
                .trace
                .then(|| Trace::new(request.spec().name, settings.break_us.is_some()))
                .transpose()?,
            settings,
            primitive,
            standard_error: StandardError::open(),
            executor: OnceLock::new(),
            pasts: Pasts::none(),
            experiment: request.spec().name,
            classes: POLICIES.map(|_| Class::new()),
            placed: [const { AtomicU32::new(0) }; 2],
            failed: AtomicU32::new(0),
            overruns: AtomicU32::new(0),
            instructions: OnceLock::new(),
        })
    }

    /// Prepares for the tasks of the case, once, when the value has its final place.
    pub fn begin(&'static self) {
        if matches!(self.settings.policy, Policy::Deadline(_)) {
            count_overruns(&self.overruns);
        }
    }

    /// Checks, before a task is created, that its class is permitted: enters the class and leaves
    /// it again, so that a refusal is known before anything runs.
    ///
    /// # Errors
    /// [`Reason::NotPermitted`](chronoscope_suite::Reason::NotPermitted).
    pub fn admit(&self, priority: Priority) -> Result<(), Refusal> {
        let wanted = self.settings.class(priority);
        // SCHED_IDLE is permitted to all users, but leaving it is not.
        if priority != Priority::Idle && wanted != class_of_caller() {
            let present = class_of_caller();
            self.settings.enter(wanted)?;
            set_class(present)?;
        }
        self.class(wanted).admit(wanted.1);
        Ok(())
    }

    /// Returns the processor of the next task that is spawned, if the case has several: the tasks
    /// take turns.
    pub fn next_processor(&self) -> Option<usize> {
        let mut several = self.settings.processors.several()?;
        let count = self.settings.processors.several()?.count();
        several.nth(self.placed[0].fetch_add(1, Relaxed) as usize % count)
    }

    /// Moves the calling task to its processor. Called by a new task before [`enter`](Self::enter).
    pub fn settle(&self, processor: Option<usize>) {
        let Some(cpu) = processor else { return };
        // After a failure the evidence does not hold.
        if Processors::pin(cpu) {
            self.placed[1].fetch_add(1, Relaxed);
        }
    }

    /// Enters the class of the priority. Called by a new task before its body.
    pub fn enter(&self, priority: Priority) {
        let wanted = self.settings.class(priority);
        // After a failure the task is not confirmed, and the evidence does not hold.
        if self.settings.enter(wanted).is_ok() {
            self.class(wanted).confirmed.fetch_add(1, Relaxed);
        }
    }

    /// Returns the number of instructions that the case's processor has executed; `None` without
    /// a counter. The first call opens the counter.
    pub fn count_instructions(&self) -> Option<u64> {
        let counter =
            self.instructions.get_or_init(|| Counter::instructions(self.settings.processors.one()));
        counter.as_ref().ok()?.read()
    }

    fn class(&self, (policy, _): (c_int, c_int)) -> &Class {
        let place = POLICIES.iter().position(|(known, _)| *known == policy);
        &self.classes[place.expect("Settings::class knows no other policies")]
    }

    /// Counts a mutex call that returned an error. Reported as evidence that does not hold.
    #[cold]
    pub fn mutex_failed(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    /// Reports the evidence of scheduling classes and mutexes, and the conditions that could not be
    /// met.
    pub fn report(&self, trial: &mut Trial<'_, Self>) {
        for ((_, policy), class) in POLICIES.iter().zip(&self.classes) {
            class.report(policy, trial);
        }
        let [placed, settled] = &self.placed;
        if placed.load(Relaxed) > 0 {
            let (settled, placed) = (settled.load(Relaxed).into(), placed.load(Relaxed).into());
            trial.evidence("tasks on their own processors", settled, placed, placed);
        }
        let failed = self.failed.load(Relaxed);
        if failed > 0 {
            trial.evidence("mutex calls that failed", failed.into(), 0.0, 0.0);
        }
        if matches!(self.settings.policy, Policy::Deadline(_)) {
            let overruns = self.overruns.load(Relaxed).into();
            trial.evidence("runtime overruns, which the kernel throttles", overruns, 0.0, 0.0);
        }
        if let Some(Err(reason)) = self.instructions.get() {
            trial.log(reason);
        }
        if let Some(warning) = self.settings.unlocked() {
            trial.log(warning);
        }
    }
}

const POLICIES: [(c_int, &str); 5] = [
    (libc::SCHED_DEADLINE, "SCHED_DEADLINE"),
    (libc::SCHED_FIFO, "SCHED_FIFO"),
    (libc::SCHED_RR, "SCHED_RR"),
    (libc::SCHED_OTHER, "SCHED_OTHER"),
    (libc::SCHED_IDLE, "SCHED_IDLE"),
];

/// The tasks of one policy.
struct Class {
    admitted: AtomicU32,
    /// The number of tasks that entered their class and read it back.
    confirmed: AtomicU32,
    /// The lowest real-time priority; `highest` is the highest.
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

    /// Reports the evidence for a policy with tasks: `SCHED_FIFO 80 to 82: tasks that read it
    /// back`.
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
