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
const EVENTS: [&str; 13] = [
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
    "binder/binder_transaction",
    "binder/binder_transaction_received",
    "binder/binder_set_priority",
];

/// The size of each processor's buffer in KiB: about its last twenty thousand events.
const BUFFER: &str = "1024";

/// The maximum length of the kept text, in bytes. The beginning of a longer trace is cut off.
const KEPT: usize = 2 << 20;

pub struct Trace {
    instance: PathBuf,
    /// `true` if the trace's clock is the clock of the marks.
    has_our_clock: bool,
    /// The start of each series' first sample, as comment lines.
    starts: Mutex<String>,
    /// `true` to keep the trace only if a deadline was missed.
    until_miss: bool,
    missed: AtomicBool,
}

impl Trace {
    /// Creates an empty trace. It records from [`start`](Self::start) to [`report`](Self::report);
    /// with `until_miss`, to [`miss`](Self::miss), and it is discarded without a miss.
    ///
    /// # Errors
    /// [`Reason::NotPermitted`] when there is no tracefs for this user.
    pub fn new(until_miss: bool) -> Result<Self, Refusal> {
        let refused = |code| {
            let mend =
                "run as root, where tracefs is mounted: mount -t tracefs none /sys/kernel/tracing";
            Refusal::new(Reason::NotPermitted, "the kernel's trace cannot be had", mend)
                .with_code(code)
        };
        let place = PLACES
            .into_iter()
            .map(|place| Path::new(place).join("instances"))
            .find(|place| place.is_dir());
        let instances = place.ok_or(refused(0))?;
        remove_left(&instances);
        let instance = instances.join(format!("{NAME}{}", process::id()));
        let (starts, missed) = (Mutex::default(), AtomicBool::new(false));
        let mut trace = Self { instance, has_our_clock: false, starts, until_miss, missed };
        trace.set_up().map_err(|error| refused(error.raw_os_error().unwrap_or(0)))?;
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
        // A remaining instance is removed by the next case.
        let _ = fs::remove_dir(&self.instance);
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
