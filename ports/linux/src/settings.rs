//! The port's own keys of a request: policy, priority, processor, timer slack, locked memory, load
//! and others. The lab has its own table of these keys, in its machine `host`.

use chronoscope_suite::{Priority, Reason, Refusal, Request};
use rustix::{
    mm::{MlockAllFlags, mlockall},
    process::{Resource, getrlimit},
    thread::{CapabilitySet, capabilities},
};

use crate::{
    class::set_class, clock, deadline::Reservation, load, preemption, processors::Processors,
    requirements::Requirements,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Other,
    Fifo,
    RoundRobin,
    /// SCHED_DEADLINE, with this reservation for each urgent task.
    Deadline(Reservation),
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub policy: Policy,
    /// The real-time priority that `Priority::Urgent(1)` maps to: 1 to 91.
    pub base: i32,
    /// The processors of the tasks.
    pub processors: Processors,
    /// The length of a soak in seconds; `None` for a case of a fixed number of loops.
    pub soak_s: Option<u64>,
    /// `period` ends at the first start that is later than this, in microseconds; `noise` at the first
    /// gap that is longer.
    pub break_us: Option<u64>,
    /// The bytes that each turn of `noise` copies.
    pub workload: Option<usize>,
    /// The timer slack of SCHED_OTHER tasks in ns; `None` for the system's default, usually 50 µs.
    pub slack_ns: Option<u64>,
    /// The time of an instruction on an emulator, in ns; `None` for real time.
    pub instruction_ns: Option<u32>,
    /// `true` to lock all memory.
    pub lock_memory: bool,
    /// The background load.
    pub load: Option<load::Kind>,
    /// The preemption model that the kernel must have.
    pub preemption: Option<&'static str>,
    /// The properties that the system must have; otherwise the case is not offered.
    pub requirements: Requirements,
    /// `true` to record a trace of the kernel.
    pub trace: bool,
    /// `true` if tasks of the case are processes: shared objects must work across address spaces.
    pub processes: bool,
}

/// The longest soak: a year.
const SOAK_S: u64 = 365 * 86_400;

/// The most bytes that a turn of `noise` copies.
const WORKLOAD: usize = 1 << 30;

const POLICY: &str = "policy is fifo, rr, other, or deadline:RUNTIME/DEADLINE/PERIOD in whole µs, \
                      each at most as long as the next";

const fn invalid(what: &'static str) -> Refusal {
    Refusal::new(Reason::Invalid, what, "see `chronoscope list`")
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: Policy::Fifo,
            base: 80,
            processors: Processors::Free,
            soak_s: None,
            break_us: None,
            workload: None,
            slack_ns: None,
            instruction_ns: None,
            lock_memory: true,
            load: None,
            preemption: None,
            requirements: Requirements::default(),
            trace: false,
            processes: false,
        }
    }
}

impl Settings {
    /// Reads the port's keys of the request.
    ///
    /// # Errors
    /// [`Reason::Invalid`] for a key that neither the experiment nor this port knows, or a wrong
    /// value.
    pub fn from_request(request: &Request<'_>) -> Result<Self, Refusal> {
        let mut settings = Self::default();
        let is_any_of = |names: &[&str]| names.contains(&request.spec().name);
        for (key, value) in request.pairs() {
            match (key, value) {
                ("policy", "fifo") => settings.policy = Policy::Fifo,
                ("policy", "other") => settings.policy = Policy::Other,
                ("policy", "rr") => settings.policy = Policy::RoundRobin,
                ("policy", _) => {
                    let times = value.strip_prefix("deadline:").and_then(Reservation::parse);
                    settings.policy = Policy::Deadline(times.ok_or(invalid(POLICY))?);
                }
                ("priority", _) => {
                    let priority =
                        value.parse().ok().filter(|priority| (1..=91).contains(priority));
                    settings.base = priority.ok_or(invalid("priority is 1 to 91"))?;
                }
                ("cpu", _) => settings.processors = Processors::parse(value)?,
                ("soak_s", _) if is_any_of(&["period", "noise"]) => {
                    let time = value.parse().ok().filter(|time| (1..=SOAK_S).contains(time));
                    settings.soak_s = Some(time.ok_or(invalid("soak_s is up to a year"))?);
                    // The director of a soak returns to these.
                    Processors::before();
                }
                ("break_us", _) if is_any_of(&["period", "noise"]) => {
                    let late = value.parse().ok().filter(|late| *late > 0);
                    settings.break_us = Some(late.ok_or(invalid("break_us is a number from 1"))?);
                }
                ("workload_bytes", _) if is_any_of(&["noise"]) => {
                    let size = value.parse().ok().filter(|size| (1..=WORKLOAD).contains(size));
                    settings.workload = Some(size.ok_or(invalid("workload_bytes is up to 2^30"))?);
                }
                ("slack_ns", "0") => settings.slack_ns = None,
                ("slack_ns", _) => {
                    settings.slack_ns =
                        Some(value.parse().map_err(|_| invalid("slack_ns is a number"))?);
                }
                ("mlock", "yes") => settings.lock_memory = true,
                ("mlock", "no") => settings.lock_memory = false,
                ("trace", "yes") => settings.trace = true,
                ("trace", "no") => settings.trace = false,
                ("load", "none") => settings.load = None,
                ("load", _) => {
                    let kind = load::Kind::named(value);
                    settings.load = Some(kind.ok_or(invalid("there is no such load"))?);
                }
                ("preemption", _) => {
                    let model = preemption::MODELS.into_iter().find(|model| *model == value);
                    settings.preemption =
                        Some(model.ok_or(invalid("there is no such preemption model"))?);
                }
                ("requires", _) => {
                    settings.requirements = Requirements::parse(value)
                        .ok_or(invalid("requires is preempt_rt, isolated-cpus, or both with +"))?;
                }
                ("instruction_ns", _) => {
                    let time = value.parse().ok().filter(|ns: &u32| ns.is_power_of_two());
                    settings.instruction_ns =
                        Some(time.ok_or(invalid("instruction_ns is a power of two"))?);
                }
                _ if request.knows(key) => {
                    settings.processes |=
                        matches!(key, "kind" | "pair") && value.contains("process");
                }
                _ => return Err(invalid("the port does not know one of the keys")),
            }
        }
        settings.check_deadline(request.spec().name)?;
        Ok(settings)
    }

    /// Refuses SCHED_DEADLINE where it cannot be used or would not show.
    fn check_deadline(&self, experiment: &str) -> Result<(), Refusal> {
        let Policy::Deadline(_) = self.policy else { return Ok(()) };
        if !["period", "delay"].contains(&experiment) {
            return Err(Refusal::not_offered(
                "SCHED_DEADLINE is for tasks that the clock wakes: `period` and `delay`",
            ));
        }
        if self.processors.several().is_some() {
            return Err(Refusal::new(
                Reason::Invalid,
                "a task of SCHED_DEADLINE cannot be bound to one of several processors",
                "pass --set cpu=free",
            ));
        }
        Ok(())
    }

    /// Applies the settings to this process, once, before any task exists. Tasks inherit them.
    ///
    /// # Errors
    /// [`Refusal`] when the processor does not exist or memory may not be locked.
    pub fn apply(&self) -> Result<(), Refusal> {
        self.processors.enter()?;
        if let Some(slack) = self.slack_ns {
            // SAFETY: PR_SET_TIMERSLACK takes one number and touches no memory.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) };
        }
        if let Some(time) = self.instruction_ns {
            clock::count_instructions(time.ilog2());
        }
        self.lock()
    }

    /// Locks this process's memory, if the case asks for it. Forked children do not inherit locks,
    /// so each child calls this. It also maps the pages that the child shares with its parent,
    /// which would fault at the first access otherwise.
    ///
    /// # Errors
    /// [`Reason::NotPermitted`].
    pub fn lock(&self) -> Result<(), Refusal> {
        if self.lock_memory {
            // Present pages are faulted in now; with FUTURE, later mappings are when they are made.
            // Under a limit, FUTURE would make a later mapping fail once the limit is reached, such
            // as a stack or the heap during the case.
            let later = if lock_allowance().is_none() {
                MlockAllFlags::FUTURE
            } else {
                MlockAllFlags::empty()
            };
            mlockall(MlockAllFlags::CURRENT | later).map_err(|error| {
                Refusal::new(
                    Reason::NotPermitted,
                    "memory may not be locked",
                    "run as root, raise `ulimit -l`, or pass --set mlock=no",
                )
                .with_code(error.raw_os_error())
            })?;
        }
        Ok(())
    }

    /// Returns a warning if later mappings stay unlocked although the case asks for locked memory.
    pub fn unlocked(&self) -> Option<&'static str> {
        (self.lock_memory && lock_allowance().is_some()).then_some(
            "memory that a case maps while it runs is not locked: run as root, or with `ulimit -l \
             unlimited`",
        )
    }

    /// Puts the calling thread in a class that [`class`](Self::class) has returned, and reads it
    /// back.
    ///
    /// # Errors
    /// As [`set_class`] and [`Reservation::enter`].
    pub fn enter(&self, class: (libc::c_int, libc::c_int)) -> Result<(), Refusal> {
        match self.policy {
            Policy::Deadline(reservation) if class.0 == libc::SCHED_DEADLINE => reservation.enter(),
            _ => set_class(class),
        }
    }

    /// Returns the policy and the real-time priority of tasks of a priority.
    pub fn class(&self, priority: Priority) -> (libc::c_int, libc::c_int) {
        match (priority, self.policy) {
            (Priority::Idle, _) => (libc::SCHED_IDLE, 0),
            (Priority::Urgent(level), Policy::Fifo) => {
                (libc::SCHED_FIFO, self.base + i32::from(level) - 1)
            }
            (Priority::Urgent(level), Policy::RoundRobin) => {
                (libc::SCHED_RR, self.base + i32::from(level) - 1)
            }
            // The kernel runs the task with the earliest deadline, whatever its urgency.
            (Priority::Urgent(_), Policy::Deadline(_)) => (libc::SCHED_DEADLINE, 0),
            (Priority::Ordinary, _) | (Priority::Urgent(_), Policy::Other) => {
                (libc::SCHED_OTHER, 0)
            }
        }
    }
}

/// Returns the limit of locked memory in bytes; `None` for no limit.
fn lock_allowance() -> Option<u64> {
    let privileged =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    getrlimit(Resource::Memlock).current.filter(|_| !privileged)
}
