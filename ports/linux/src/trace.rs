//! The kernel's own record of scheduling (ftrace), to be stopped at an event and kept.

use std::{
    fs, io,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use chronoscope_suite::{Reason, Refusal, Trial};

use crate::kernel::Linux;

/// Where tracefs is mounted: since Linux 4.1, and before.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// What is recorded, as far as this kernel has it.
const EVENTS: [&str; 6] = [
    "sched/sched_switch",
    "sched/sched_wakeup",
    "sched/sched_waking",
    "binder/binder_transaction",
    "binder/binder_transaction_received",
    "binder/binder_set_priority",
];

/// Of each processor's buffer, in KiB: the last few thousand events.
const BUFFER: &str = "1024";

/// How much of a trace is kept: the end of it, which leads to the miss.
const KEPT: usize = 256 * 1024;

pub struct Trace {
    place: &'static str,
    stopped: AtomicBool,
}

impl Trace {
    /// Starts an empty trace.
    ///
    /// # Errors
    /// [`Reason::NotPermitted`] when there is no tracefs for this user.
    pub fn start() -> Result<Self, Refusal> {
        let place = PLACES.into_iter().find(|place| fs::exists(format!("{place}/tracing_on")).unwrap_or(false));
        let refused = |code| {
            let mend = "run as root, where tracefs is mounted: mount -t tracefs none /sys/kernel/tracing";
            Refusal::new(Reason::NotPermitted, "the kernel's trace cannot be had", mend).with_code(code)
        };
        let trace = Self { place: place.ok_or(refused(0))?, stopped: AtomicBool::new(false) };
        let set_up = || -> io::Result<()> {
            trace.write("tracing_on", "0")?;
            trace.write("buffer_size_kb", BUFFER)?;
            for event in EVENTS {
                let enable = format!("events/{event}/enable");
                if fs::exists(format!("{}/{enable}", trace.place))? {
                    trace.write(&enable, "1")?;
                }
            }
            trace.write("trace", "")?;
            trace.write("tracing_on", "1")
        };
        set_up().map_err(|error| refused(error.raw_os_error().unwrap_or(0)))?;
        Ok(trace)
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        fs::write(format!("{}/{file}", self.place), text)
    }

    /// Stops the recording: the reason to keep it has just happened.
    pub fn stop(&self) {
        if !self.stopped.swap(true, Relaxed) {
            // It has been started by the same way.
            let _ = self.write("tracing_on", "0");
        }
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Sends the trace if it was stopped, and lets the kernel forget it.
    pub fn report(&self, trial: &mut Trial<'_, Linux>) {
        let _ = self.write("tracing_on", "0");
        if self.is_stopped() {
            trial.figure("the trace was stopped", "", 1.0);
            let text = fs::read(format!("{}/trace", self.place)).unwrap_or_default();
            let header = text.split_inclusive(|&byte| byte == b'\n').take_while(|line| line.starts_with(b"#"));
            let header = &text[..header.map(<[u8]>::len).sum()];
            // From the start of a line on.
            let rest = &text[header.len()..];
            let cut = rest.len().saturating_sub(KEPT);
            let start = if cut == 0 {
                0
            } else {
                cut + rest[cut..].iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1)
            };
            trial.attach("trace", header);
            trial.attach("trace", &rest[start..]);
        }
        for event in EVENTS {
            let _ = self.write(&format!("events/{event}/enable"), "0");
        }
        let _ = self.write("trace", "");
    }
}
