//! `chronoscope-linux doctor cpu=N`: the permissions that a case has on this machine, and the
//! disturbances of a task that never waits. The answer is a stream of figures only, which the lab's
//! `doctor` reads.

use std::io;

use chronoscope_suite::{
    Reason, Refusal,
    trial::Sink,
    wire::{self, MAX_FRAME, Record, VERSION},
};

use crate::{
    class::set_class,
    clock::now,
    hwlat,
    perf::{Counter, INSTRUCTIONS},
    processors::Processors,
    settings::Settings,
};

/// The length of the watch, in ns. It stays below 0.95 s, after which a kernel throttles real-time
/// tasks.
const WATCH_NS: u64 = 800_000_000;

/// Answers the request `doctor` with a stream.
///
/// # Errors
/// [`Refusal`] when the request is wrong, or names a processor that the case may not run on.
pub fn run(sink: &mut dyn Sink, release: &str, request: &str) -> Result<(), Refusal> {
    let mut settings = Settings { lock_memory: false, ..Settings::default() };
    if request != "doctor" {
        let cpu = request.strip_prefix("doctor cpu=").and_then(|cpu| Processors::parse(cpu).ok());
        let one = cpu.filter(|cpu| cpu.one().is_some());
        settings.processors =
            one.ok_or(Refusal::new(Reason::Invalid, "not a request", "write doctor cpu=N"))?;
    }
    settings.apply()?;
    let lock = Settings { lock_memory: true, ..settings }.lock();
    let clock_read = clock_read_ns();
    let counter = Counter::open(INSTRUCTIONS, settings.processors.one().unwrap_or(0) as i32).err();
    let fifo = set_class((libc::SCHED_FIFO, settings.base));
    let quiet = Quiet::watch();
    // The rest needs no priority. The return cannot fail, because the class was permitted before.
    let _ = set_class((libc::SCHED_OTHER, 0));
    let hwlat = hwlat::watch(settings.processors.one().unwrap_or(0));

    let mut send = |record: &Record<'_>| {
        let mut frame = [0; MAX_FRAME + 1];
        // All records fit a frame: a longer request has been refused above.
        if let Ok(length) = wire::encode(record, &mut frame) {
            sink.write(&frame[..length]);
        }
    };
    send(&Record::Hello { version: VERSION, kernel: "linux", release, request });
    let figures = [
        ("SCHED_FIFO", "errno", error_number(fifo)),
        ("mlockall", "errno", error_number(lock)),
        ("instruction counter", "errno", counter.as_ref().map_or(0.0, system_error)),
        ("hwlat", "errno", hwlat.as_ref().err().map_or(0.0, system_error)),
        ("hwlat largest", "us", hwlat.unwrap_or_default() as f64),
        ("clock read", "ns", clock_read),
        ("watched", "ns", quiet.watched as f64),
        ("largest gap", "ns", quiet.largest as f64),
        ("lost in gaps", "ns", quiet.lost as f64),
        ("gaps over 10 us", "", quiet.over_10_us as f64),
        ("gaps over 100 us", "", quiet.over_100_us as f64),
    ];
    for (name, unit, value) in figures {
        send(&Record::Figure { name, unit, value });
    }
    send(&Record::End { records: figures.len() as u32 + 1 });
    Ok(())
}

/// Returns the cost of a clock read in ns, the mean of a thousand, the best of ten: about 20 if
/// programs may read the counter, hundreds if each read is a system call.
fn clock_read_ns() -> f64 {
    let thousand = || {
        let start = now();
        for _ in 1..1000 {
            std::hint::black_box(now());
        }
        now() - start
    };
    (0..10).map(|_| thousand()).min().unwrap_or(0) as f64 / 1000.0
}

/// The gaps seen by a loop that only reads the clock: a gap between two reads is time taken by
/// others.
#[derive(Default)]
struct Quiet {
    watched: u64,
    largest: u64,
    lost: u64,
    over_10_us: u64,
    over_100_us: u64,
}

impl Quiet {
    fn watch() -> Self {
        let mut quiet = Self::default();
        let start = now();
        let mut last = start;
        while last - start < WATCH_NS {
            let time = now();
            let gap = time - last;
            last = time;
            if gap > 10_000 {
                quiet.lost += gap;
                quiet.over_10_us += 1;
                quiet.over_100_us += u64::from(gap > 100_000);
            }
            quiet.largest = quiet.largest.max(gap);
        }
        quiet.watched = last - start;
        quiet
    }
}

/// Returns the error number of an error of the system; -1 if it has none.
fn system_error(error: &io::Error) -> f64 {
    f64::from(error.raw_os_error().unwrap_or(-1))
}

/// Returns the error number of a refusal; 0 for success.
fn error_number(outcome: Result<(), Refusal>) -> f64 {
    outcome.map_or_else(|refusal| f64::from(refusal.code), |()| 0.0)
}
