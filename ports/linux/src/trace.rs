//! The kernel's trace of a case (ftrace): scheduling, wake-ups, and binder's transactions. Only
//! with `trace=yes`.
//!
//! The trace is recorded in an instance of tracefs, created for the case and removed after it, so
//! other users' traces are not affected. The next case removes the instance of a case that was
//! killed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use chronoscope_suite::{Kernel, Reason, Refusal, Trial};

/// The mount points of tracefs: since Linux 4.1, and before.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The prefix of an instance's name; the process number follows.
const NAME: &str = "chronoscope-";

/// The recorded events, as far as this kernel has them.
const EVENTS: [&str; 30] = [
    "sched/sched_switch",
    "sched/sched_wakeup",
    "sched/sched_wakeup_new",
    "sched/sched_waking",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    // The tick, and other timers, of x86.
    "irq_vectors/local_timer_entry",
    "irq_vectors/local_timer_exit",
    "irq_vectors/reschedule_entry",
    "irq_vectors/reschedule_exit",
    "irq_vectors/call_function_entry",
    "irq_vectors/call_function_exit",
    "irq_vectors/call_function_single_entry",
    "irq_vectors/call_function_single_exit",
    "irq_vectors/irq_work_entry",
    "irq_vectors/irq_work_exit",
    "nmi/nmi_handler",
    // The functions of timers, and of work.
    "timer/hrtimer_expire_entry",
    "timer/hrtimer_expire_exit",
    "workqueue/workqueue_execute_start",
    "workqueue/workqueue_execute_end",
    // Only while one of the tracers of `TRACERS` is active.
    "osnoise/nmi_noise",
    "osnoise/irq_noise",
    "osnoise/softirq_noise",
    "osnoise/thread_noise",
    "binder/binder_transaction",
    "binder/binder_transaction_received",
    "binder/binder_set_priority",
];

/// The kernel's tracers that measure disturbances themselves, by the experiment beside which they
/// run where the kernel has them. timerlat has a thread of priority 95 on each processor, which
/// waits for a timer of its own every millisecond.
const TRACERS: [(&str, &str); 3] =
    [("period", "timerlat"), ("delay", "timerlat"), ("noise", "osnoise")];

/// The options of osnoise, of the whole system; since Linux 6.2. Without its threads, which watch
/// processors as the experiment does, the tracer measures what disturbs any task.
const OSNOISE_OPTIONS: &str = "osnoise/options";

/// The latency of its thread, in µs, from which timerlat prints what its interrupt has interrupted; of
/// the whole system.
const STACK_FROM: (&str, &str) = ("osnoise/print_stack", "25");

/// The size of each processor's buffer in KiB: about its last twenty thousand events.
const BUFFER: &str = "1024";

/// The maximum length of the kept text, in bytes. The beginning of a longer trace is cut off.
const KEPT: usize = 2 << 20;

/// Returns the folder of tracefs; `None` where it is not mounted, or not readable for this user.
pub fn root() -> Option<PathBuf> {
    let mut places = PLACES.into_iter().map(Path::new);
    Some(places.find(|place| place.join("instances").is_dir())?.to_owned())
}

pub struct Trace {
    /// The folder of tracefs.
    root: PathBuf,
    instance: PathBuf,
    /// The kernel's tracer that runs beside the case.
    tracer: Option<&'static str>,
    /// `true` if this case has switched off osnoise's threads.
    has_quieted: bool,
    /// The setting of timerlat's stacks before this case.
    stack_from: Option<String>,
    /// `true` if the trace's clock is the clock of the marks.
    has_our_clock: bool,
    /// The start of each series' first sample, as comment lines.
    starts: Mutex<String>,
    /// `true` to keep the trace only if a deadline was missed.
    until_miss: bool,
    missed: AtomicBool,
}

impl Trace {
    /// Creates an empty trace for a case of an experiment. It records from [`start`](Self::start) to
    /// [`report`](Self::report); for `latency`, and where the case `breaks`, to
    /// [`miss`](Self::miss), and it is discarded without a miss.
    ///
    /// # Errors
    /// [`Reason::NotPermitted`] when there is no tracefs for this user.
    pub fn new(experiment: &str, breaks: bool) -> Result<Self, Refusal> {
        let refused = |code| {
            let mend =
                "run as root, where tracefs is mounted: mount -t tracefs none /sys/kernel/tracing";
            Refusal::new(Reason::NotPermitted, "the kernel's trace cannot be had", mend)
                .with_code(code)
        };
        let root = root().ok_or(refused(0))?;
        let instances = root.join("instances");
        remove_left(&instances);
        let instance = instances.join(format!("{NAME}{}", process::id()));
        let (starts, missed) = (Mutex::default(), AtomicBool::new(false));
        let until_miss = experiment == "latency" || breaks;
        let mut trace = Self {
            root,
            instance,
            tracer: None,
            has_quieted: false,
            stack_from: None,
            has_our_clock: false,
            starts,
            until_miss,
            missed,
        };
        trace.set_up().map_err(|error| refused(error.raw_os_error().unwrap_or(0)))?;
        trace.add_tracer(experiment);
        Ok(trace)
    }

    fn set_up(&mut self) -> io::Result<()> {
        fs::create_dir(&self.instance)?;
        self.write("tracing_on", "0")?;
        self.write("buffer_size_kb", BUFFER)?;
        // Since Linux 3.17. With another clock, events cannot be assigned to samples.
        self.has_our_clock = self.write("trace_clock", "mono").is_ok();
        for event in EVENTS {
            let enable = format!("events/{event}/enable");
            if self.instance.join(&enable).exists() {
                self.write(&enable, "1")?;
            }
        }
        Ok(())
    }

    /// Starts the experiment's tracer beside the case, if the kernel has it and nobody uses it.
    fn add_tracer(&mut self, experiment: &str) {
        let known = fs::read_to_string(self.instance.join("available_tracers")).unwrap_or_default();
        let has = |tracer: &str| known.split_ascii_whitespace().any(|other| other == tracer);
        let wanted = TRACERS.into_iter().find(|(of, tracer)| *of == experiment && has(tracer));
        let Some((_, tracer)) = wanted else { return };
        if tracer == "osnoise" {
            let options = self.root.join(OSNOISE_OPTIONS);
            let is_quiet = fs::read_to_string(&options)
                .is_ok_and(|options| options.contains("NO_OSNOISE_WORKLOAD"));
            self.has_quieted = !is_quiet && fs::write(options, "NO_OSNOISE_WORKLOAD").is_ok();
            if !is_quiet && !self.has_quieted {
                return;
            }
        }
        if tracer == "timerlat" {
            let (file, from) = (self.root.join(STACK_FROM.0), STACK_FROM.1);
            let before = fs::read_to_string(&file).ok();
            self.stack_from = before.filter(|_| fs::write(file, from).is_ok());
        }
        if self.write("current_tracer", tracer).is_ok() {
            self.tracer = Some(tracer);
        }
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        fs::write(self.instance.join(file), text)
    }

    /// Starts the recording.
    ///
    /// # Errors
    /// [`Reason::Failed`] when the kernel does not record.
    pub fn start(&self) -> Result<(), Refusal> {
        let started = self
            .write("tracing_on", "1")
            .and_then(|()| self.write("trace_marker", "the case begins"));
        started.map_err(|error| {
            let refusal = Refusal::new(
                Reason::Failed,
                "the kernel does not record a trace",
                "leave out trace=yes",
            );
            refusal.with_code(error.raw_os_error().unwrap_or(0))
        })
    }

    /// Notes the start of a series' first sample, in ns of CLOCK_MONOTONIC.
    pub fn series_starts(&self, name: &str, ns: u64) {
        if self.has_our_clock {
            let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
            starts.push_str(&format!("# {} starts at {ns} ns\n", name.replace('\n', " ")));
        }
    }

    /// Reports a missed deadline, which stops the recording with `until_miss`.
    pub fn miss(&self) {
        if self.until_miss && !self.missed.swap(true, Relaxed) {
            // The write cannot fail: the same file was written at the start.
            let _ = self.write("tracing_on", "0");
        }
    }

    /// Returns `true` if a missed deadline has stopped the recording.
    pub fn is_over(&self) -> bool {
        self.missed.load(Relaxed)
    }

    /// Stops the recording at the end of the case.
    pub fn stop(&self) {
        // After a miss the recording has already stopped.
        let _ = self.write("trace_marker", "the case ends");
        let _ = self.write("tracing_on", "0");
    }

    /// Sends the recorded trace and removes the instance.
    pub fn report<K: Kernel>(&self, trial: &mut Trial<'_, K>) {
        if !self.until_miss || self.is_over() {
            self.send(trial);
        }
        if let Some(tracer) = self.tracer {
            trial.log(&format!("the kernel's tracer {tracer} ran beside the case"));
        }
        // A remaining instance is removed by the next case.
        let _ = fs::remove_dir(&self.instance);
        if self.has_quieted {
            // The write cannot fail: the same file was written at the start.
            let _ = fs::write(self.root.join(OSNOISE_OPTIONS), "OSNOISE_WORKLOAD");
        }
        if let Some(before) = &self.stack_from {
            let _ = fs::write(self.root.join(STACK_FROM.0), before);
        }
    }

    fn send<K: Kernel>(&self, trial: &mut Trial<'_, K>) {
        if self.until_miss {
            trial.figure("the trace was stopped", "", 1.0);
        }
        let text = fs::read(self.instance.join("trace")).unwrap_or_default();
        let header =
            text.split_inclusive(|&byte| byte == b'\n').take_while(|line| line.starts_with(b"#"));
        let (header, rest) = text.split_at(header.map(<[u8]>::len).sum());
        let cut = rest.len().saturating_sub(KEPT);
        // From the start of a line on.
        let start = match cut {
            0 => 0,
            _ => rest[cut..]
                .iter()
                .position(|&byte| byte == b'\n')
                .map_or(rest.len(), |at| cut + at + 1),
        };
        trial.attach("trace", header);
        trial
            .attach("trace", self.starts.lock().unwrap_or_else(PoisonError::into_inner).as_bytes());
        trial.attach("trace", &rest[start..]);
        if start > 0 {
            let (kept, all) = ((rest.len() - start) >> 10, rest.len() >> 10);
            trial.log(&format!("of the trace's {all} KiB the last {kept} were kept"));
        }
    }
}

/// Removes the instances of processes that have ended.
fn remove_left(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let owner = entry
            .file_name()
            .to_str()
            .and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            // Another case may have removed the instance already.
            let _ = fs::remove_dir(entry.path());
        }
    }
}
