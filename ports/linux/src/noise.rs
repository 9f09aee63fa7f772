//! The implementation of the experiment `noise`, which the suite's module of that name specifies.

use std::sync::atomic::{
    AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use chronoscope_suite::{
    Clock, Kernel, Priority, Refusal, Tasks, Trial,
    kernel::{Interrupts, Source},
    mark::Marks,
    wire::Series,
};

use crate::{
    kernel::Linux,
    semaphore::Semaphore,
    thread::{Thread, usage_of_thread},
};

/// The most gaps of a case. The evidence fails for a case with more.
const ROOM: usize = 1 << 17;

/// The number of pauses that the loop must see, and their length.
pub const PAUSES: u32 = 10;
const PAUSE_US: u64 = 50;

/// The marks of the control.
pub const CONTROL: usize = 1000;

/// Returns the size of the gaps' buffers.
pub fn arena_bytes() -> usize {
    2 * size_of::<u64>() * ROOM
}

struct Watch {
    kernel: &'static Linux,
    windows: usize,
    /// In ticks.
    window: u64,
    rest: u64,
    threshold: u64,
    starts: Marks<Linux>,
    ends: Marks<Linux>,
    /// The number of gaps in the buffers.
    kept: AtomicUsize,
    /// The number of gaps that found no room.
    lost: AtomicU32,
    /// The time of all windows, and of the turns above the threshold, in ticks.
    watched: AtomicU64,
    in_gaps: AtomicU64,
    gaps: AtomicU32,
    /// The number of times that the task waited within a window.
    waits: AtomicU32,
    pauses_seen: AtomicU32,
    done: &'static Semaphore,
}

/// The start and the end of the handler's last pause, in ticks.
pub struct Pause {
    kernel: &'static Linux,
    length: u64,
    from: AtomicU64,
    to: AtomicU64,
}

impl Pause {
    /// A pause of the length that the experiment uses, which no handler has made yet.
    pub fn new(kernel: &'static Linux, trial: &Trial<'_, Linux>) -> Self {
        let [from, to] = [const { AtomicU64::new(0) }; 2];
        Self { kernel, length: trial.ticks(PAUSE_US), from, to }
    }

    /// Keeps the processor. Runs in the signal's handler.
    fn hold(&self) {
        let from = self.kernel.now();
        while self.kernel.now() < from + self.length {}
        self.from.store(from, Relaxed);
        self.to.store(self.kernel.now(), Release);
    }
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    let kernel = trial.kernel;
    let hertz = kernel.hertz();
    let ticks = |ns: u64| (u128::from(ns) * u128::from(hertz) / 1_000_000_000) as u64;
    let watch: &'static Watch = trial.arena.place(Watch {
        kernel,
        windows: trial.request.count("loops"),
        window: trial.ticks(trial.request.number("window_us")),
        rest: trial.ticks(trial.request.number("rest_us")),
        threshold: ticks(trial.request.number("threshold_ns")),
        starts: Marks::new(trial.arena, ROOM)?,
        ends: Marks::new(trial.arena, ROOM)?,
        kept: AtomicUsize::new(0),
        lost: AtomicU32::new(0),
        watched: AtomicU64::new(0),
        in_gaps: AtomicU64::new(0),
        gaps: AtomicU32::new(0),
        waits: AtomicU32::new(0),
        pauses_seen: AtomicU32::new(0),
        done: trial.semaphore(0)?,
    })?;
    let pause: &'static Pause = trial.arena.place(Pause::new(kernel, trial))?;
    Thread::spawn(kernel, Priority::Urgent(1), async move {
        watch.all().await;
        watch.pauses_seen.store(see_pauses(kernel, pause), Relaxed);
        kernel.give(watch.done);
    })?;
    trial.wait(watch.done, 1).await;
    watch.report(trial);
    Ok(())
}

impl Watch {
    async fn all(&'static self) {
        let mut due = self.kernel.now();
        for _ in 0..self.windows {
            due = due.max(self.kernel.now()) + self.rest;
            Thread::delay_until(self.kernel, due).await;
            let before = waits_of_thread();
            self.watch();
            self.waits.fetch_add(waits_of_thread().wrapping_sub(before), Relaxed);
        }
    }

    /// Watches for one window.
    fn watch(&self) {
        let start = self.kernel.now();
        let (mut last, mut longest, mut has_gap) = (start, (start, start), false);
        while last - start < self.window {
            let time = self.kernel.now();
            let turn = time - last;
            if turn > self.threshold {
                self.keep(last, time);
                self.gaps.fetch_add(1, Relaxed);
                self.in_gaps.fetch_add(turn, Relaxed);
                has_gap = true;
            } else if turn > longest.1 - longest.0 {
                longest = (last, time);
            }
            last = time;
        }
        if !has_gap {
            self.keep(longest.0, longest.1);
        }
        self.watched.fetch_add(last - start, Relaxed);
    }

    fn keep(&self, from: u64, to: u64) {
        let place = self.kept.load(Relaxed);
        if place < self.starts.len() {
            self.starts.set(place, from);
            self.ends.set(place, to);
            self.kept.store(place + 1, Relaxed);
        } else {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    fn report(&self, trial: &mut Trial<'_, Linux>) {
        let [gaps, waits, lost, seen] =
            [&self.gaps, &self.waits, &self.lost, &self.pauses_seen].map(|n| n.load(Relaxed));
        let seconds = self.watched.load(Relaxed) as f64 / self.kernel.hertz() as f64;
        let share = self.in_gaps.load(Relaxed) as f64 / self.watched.load(Relaxed) as f64;
        trial.evidence("waits within the windows", waits.into(), 0.0, 0.0);
        trial.evidence("gaps that were not kept", lost.into(), 0.0, 0.0);
        trial.evidence("pauses that the loop saw", seen.into(), PAUSES.into(), PAUSES.into());
        trial.figure("watched", "s", seconds);
        trial.figure("time in gaps", "%", 100.0 * share);
        trial.figure("gaps in a second", "", f64::from(gaps) / seconds);
        let kept = self.kept.load(Relaxed);
        let (starts, ends) = (self.starts.first(kept), self.ends.first(kept));
        trial.durations(Series::measured("gap"), &starts, &ends);
        trial.mark_control(&self.starts.first(CONTROL), 1.0);
    }
}

/// Lets a signal's handler pause a loop of the calling thread, and returns the number of pauses that lie
/// within one turn: 0 with a handler that cannot be set.
pub fn see_pauses(kernel: &'static Linux, pause: &'static Pause) -> u32 {
    let handler: &'static _ = Box::leak(Box::new(|| pause.hold()));
    if kernel.attach(Source::Software, handler).is_err() {
        return 0;
    }
    let mut seen = 0;
    for _ in 0..PAUSES {
        let mut last = kernel.now();
        for turn in 0..100 {
            if turn == 50 {
                kernel.raise();
            }
            let time = kernel.now();
            let (from, to) = (pause.from.load(Relaxed), pause.to.load(Acquire));
            if turn == 50 && last <= from && to <= time && from + pause.length <= to {
                seen += 1;
            }
            last = time;
        }
    }
    seen
}

/// Returns how often the calling thread has given up the processor to wait.
pub fn waits_of_thread() -> u32 {
    usage_of_thread().ru_nvcsw as u32
}
