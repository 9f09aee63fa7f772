//! The experiment `noise` where the form of the module [`crate::noise`] does not suit: a loop on
//! each of several processors, a length in seconds, a workload, and an end at a long gap.
//!
//! Start, end, sample and evidence are as there. Each loop puts its gaps into a ring, which the
//! director, in the ordinary class, empties ten times a second. So memory does not grow with time,
//! and a loop makes no system call within a window. All turns are counted by their length in whole
//! µs, rounded up, as oslat counts them: an auxiliary series with a sample for each length, from 1 µs
//! on, whose start is the length and whose value is the number of turns.

use std::{
    hint::black_box,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    thread,
    time::Duration,
};

use chronoscope_suite::{
    Clock, Kernel, Priority, Reason, Refusal, Request, Tasks, Trial,
    mark::Marks,
    trial::{Name, Opened, name},
    wire::{Series, Unit},
};

use crate::{
    hwlat,
    kernel::Linux,
    noise::{self, CONTROL, PAUSES, Pause, see_pauses, waits_of_thread},
    output::mark_live,
    processors::Processors,
    semaphore::Semaphore,
    stop,
    thread::Thread,
    trace::Trace,
};

/// The number of gaps that a ring holds.
const ROOM: usize = 1 << 16;

/// The lengths that turns are counted by, in µs; the last has all longer turns.
const LENGTHS: usize = 4096;

/// How often the director empties the rings.
const LOOK: Duration = Duration::from_millis(100);

/// The time in which a loop with a workload finds its shortest turn, in µs.
const WARM_UP_US: u64 = 100_000;

/// A turn with a workload is a gap only above this multiple of the shortest turn.
const OVER_SHORTEST: u64 = 4;

/// The most loops; each has two series, which must fit a stream.
const MOST_LOOPS: usize = 60;

/// Runs `noise`, by the module of that name where it suits.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena, or for more processors than a stream has series.
pub async fn noise(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    if trial.request.given("by") == Some("hwlat") {
        return by_tracer(trial);
    }
    let settings = &trial.kernel.settings;
    let is_own = settings.soak_s.is_some()
        || settings.break_us.is_some()
        || settings.workload.is_some()
        || settings.processors.several().is_some();
    if is_own { run(trial).await } else { noise::run(trial).await }
}

/// Lets the kernel's tracer look for the length of all windows, but for a second a processor at least.
fn by_tracer(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    let kernel = trial.kernel;
    let settings = &kernel.settings;
    let one = settings.processors.one().into_iter();
    let several = settings.processors.several().into_iter().flatten();
    let cpus: Vec<usize> = one.chain(several).collect();
    if cpus.is_empty() {
        let what = "the tracer hwlat looks at processors that are named";
        return Err(Refusal::new(Reason::Invalid, what, "choose some with -a"));
    }
    let [loops, window, rest] =
        ["loops", "window_us", "rest_us"].map(|key| trial.request.number(key));
    let asked =
        Duration::from_micros(settings.soak_s.map_or(loops * (window + rest), |s| s * 1_000_000));
    let least = Duration::from_secs(cpus.len() as u64);
    let started = kernel.now();
    let largest = hwlat::largest_gaps(&cpus, asked.max(least)).map_err(|error| {
        match error.raw_os_error() {
            Some(libc::ENOENT) => Refusal::not_offered("this kernel has no tracer hwlat"),
            code => {
                let what = "the tracer hwlat cannot be used";
                let refusal =
                    Refusal::new(Reason::NotPermitted, what, "run as root, with no other tracer");
                code.map_or(refusal, |code| refusal.with_code(code))
            }
        }
    })?;
    let watched = (kernel.now() - started) as f64 / kernel.hertz() as f64;
    trial.evidence(
        "seconds that the tracer had",
        watched,
        asked.max(least).as_secs_f64(),
        f64::INFINITY,
    );
    for (cpu, gap) in cpus.iter().zip(largest) {
        let text = name(format_args!("cpu {cpu}"));
        let us = (gap * kernel.hertz() / 1_000_000).cast_signed();
        trial.samples(Series::measured(&text), [(0, us)]);
    }
    trial.mark_control(&Marks::new(trial.arena, CONTROL)?, 1.0);
    Ok(())
}

/// Returns the size of the buffers in the arena, in bytes.
pub fn arena_bytes(request: &Request<'_>) -> usize {
    let is_own = ["soak_s", "break_us", "workload_bytes", "by"];
    let is_own = is_own.iter().any(|name| request.given(name).is_some());
    let several = request.given("cpu").and_then(|cpu| Processors::parse(cpu).ok());
    let is_own = is_own || several.is_some_and(|cpus| cpus.several().is_some());
    if is_own { size_of::<u64>() * (CONTROL + 1) } else { noise::arena_bytes() }
}

/// The settings that all loops share; times in ticks.
struct Plan {
    kernel: &'static Linux,
    /// The ticks of a µs.
    us: u64,
    /// The number of windows; `None` for a case with a length.
    windows: Option<usize>,
    /// The time from the start to the end of the last window.
    length: u64,
    window: u64,
    rest: u64,
    threshold: u64,
    /// A longer gap ends the case.
    longest: u64,
    workload: usize,
    /// The beginning of all loops.
    start: AtomicU64,
    stop: AtomicBool,
    ready: &'static Semaphore,
    gate: &'static Semaphore,
    done: &'static Semaphore,
}

/// A loop, as the director sees it.
struct Loop {
    /// The processor, where there are several.
    cpu: Option<usize>,
    ring: Ring,
    tally: Mutex<Option<Tally>>,
    has_ended: AtomicBool,
}

/// Gaps on their way from a loop to the director: the start of each, and its length.
struct Ring {
    gaps: Box<[[AtomicU64; 2]]>,
    /// The number of gaps that the loop has put in, and that the director has taken out.
    put: AtomicUsize,
    taken: AtomicUsize,
}

impl Ring {
    fn new() -> Self {
        let gap = || [const { AtomicU64::new(0) }; 2];
        Self {
            gaps: (0..ROOM).map(|_| gap()).collect(),
            put: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        }
    }

    /// Puts a gap in. Returns `false` if the ring is full. Called by one thread alone.
    fn put(&self, start: u64, length: u64) -> bool {
        let put = self.put.load(Relaxed);
        if put - self.taken.load(Acquire) == ROOM {
            return false;
        }
        let [to_start, to_length] = &self.gaps[put % ROOM];
        to_start.store(start, Relaxed);
        to_length.store(length, Relaxed);
        self.put.store(put + 1, Release);
        true
    }

    /// Takes all gaps out, with their starts counted from `first`. Called by one thread alone.
    fn take(&self, first: u64) -> Vec<(i64, i64)> {
        let (taken, put) = (self.taken.load(Relaxed), self.put.load(Acquire));
        let gap = |place: usize| {
            let [start, length] = &self.gaps[place % ROOM];
            let since = start.load(Relaxed).wrapping_sub(first);
            (since.cast_signed(), length.load(Relaxed).cast_signed())
        };
        let gaps = (taken..put).map(gap).collect();
        self.taken.store(put, Release);
        gaps
    }
}

/// The counts of a loop; times in ticks.
struct Tally {
    /// The turns by their length in whole µs: place n counts turns from n µs to less than n + 1 µs.
    turns: Vec<u64>,
    threshold: u64,
    watched: u64,
    in_gaps: u64,
    gaps: u64,
    /// Gaps that found the ring full.
    lost: u64,
    /// The number of times that the loop waited within a window.
    waits: u32,
    /// The pauses that the loop saw, if it was to see any.
    pauses: u32,
}

impl Tally {
    fn new(threshold: u64) -> Self {
        let turns = vec![0; LENGTHS];
        let (watched, in_gaps, gaps, lost, waits, pauses) = (0, 0, 0, 0, 0, 0);
        Self { turns, threshold, watched, in_gaps, gaps, lost, waits, pauses }
    }

    #[inline(always)]
    fn count(&mut self, turn: u64, us: u64) {
        let place = if turn < us { 0 } else { (turn / us).min(LENGTHS as u64 - 1) };
        self.turns[place as usize] += 1;
    }
}

/// The two buffers between which a turn copies.
struct Workload {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Workload {
    fn new(bytes: usize) -> Self {
        // Written, so that no page is missing when the loop begins.
        Self { from: vec![1; bytes], to: vec![2; bytes] }
    }

    #[inline(always)]
    fn turn(&mut self) {
        if !self.from.is_empty() {
            self.to.copy_from_slice(black_box(&self.from));
            black_box(&mut self.to);
        }
    }
}

async fn run(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    let (kernel, request) = (trial.kernel, trial.request);
    let cpus: Vec<Option<usize>> = match kernel.settings.processors.several() {
        Some(set) => set.map(Some).collect(),
        None => vec![None],
    };
    if cpus.len() > MOST_LOOPS {
        let what = "at most 60 processors take part";
        return Err(Refusal::new(Reason::Invalid, what, "see `chronoscope list noise`"));
    }
    let us = trial.ticks(1);
    let threshold_ns = u128::from(request.number("threshold_ns"));
    let settings = &kernel.settings;
    let plan = Arc::new(Plan {
        kernel,
        us,
        windows: settings.soak_s.is_none().then(|| request.count("loops")),
        length: settings.soak_s.map_or(u64::MAX, |seconds| trial.ticks(seconds * 1_000_000)),
        window: trial.ticks(request.number("window_us")),
        rest: trial.ticks(request.number("rest_us")),
        threshold: (threshold_ns * u128::from(kernel.hertz()) / 1_000_000_000) as u64,
        longest: settings.break_us.map_or(u64::MAX, |us| trial.ticks(us)),
        workload: settings.workload.unwrap_or(0),
        start: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        ready: trial.semaphore(0)?,
        gate: trial.semaphore(0)?,
        done: trial.semaphore(0)?,
    });
    let control: Marks<Linux> = Marks::new(trial.arena, CONTROL)?;
    if settings.soak_s.is_some() {
        stop::on_request();
    }
    let pause: &'static Pause = Box::leak(Box::new(Pause::new(kernel, trial)));
    let looped = |cpu| {
        let (tally, has_ended) = (Mutex::new(None), AtomicBool::new(false));
        Arc::new(Loop { cpu, ring: Ring::new(), tally, has_ended })
    };
    let loops: Vec<Arc<Loop>> = cpus.into_iter().map(looped).collect();
    for (number, me) in loops.iter().cloned().enumerate() {
        let plan = plan.clone();
        Thread::spawn(kernel, Priority::Urgent(1), async move {
            let tally = plan.watch(&me, (number == 0).then_some(pause)).await;
            *me.tally.lock().unwrap_or_else(PoisonError::into_inner) = Some(tally);
            me.has_ended.store(true, Release);
            kernel.give(plan.done);
        })?;
    }
    trial.wait(plan.ready, loops.len()).await;
    Processors::leave();
    let first = kernel.now();
    let open = |one: &Arc<Loop>| trial.open(Series::measured(&one.name()));
    let mut series: Vec<Opened> = loops.iter().map(open).collect();
    plan.start.store(first, Relaxed);
    mark_live(true);
    loops.iter().for_each(|_| kernel.give(plan.gate));
    loop {
        thread::sleep(LOOK);
        // Read before the rings, so that nothing is put in after the last look at them.
        let have_ended = loops.iter().all(|one| one.has_ended.load(Acquire));
        for (one, series) in loops.iter().zip(&mut series) {
            one.drain(trial, series, first);
        }
        if have_ended {
            break;
        }
        if stop::is_requested() {
            plan.stop.store(true, Relaxed);
        }
    }
    mark_live(false);
    trial.wait(plan.done, loops.len()).await;
    report(trial, &plan, &loops);
    trial.mark_control(&control, 1.0);
    Ok(())
}

impl Loop {
    fn name(&self) -> Name {
        match self.cpu {
            Some(cpu) => name(format_args!("cpu {cpu}")),
            None => name(format_args!("gap")),
        }
    }

    /// Sends the gaps that the loop has put into its ring; the beginning of all loops is `first`.
    fn drain(&self, trial: &mut Trial<'_, Linux>, series: &mut Opened, first: u64) {
        let is_first = self.ring.taken.load(Relaxed) == 0;
        let gaps = self.ring.take(first);
        if let (true, Some((since, _))) = (is_first, gaps.first()) {
            trial.kernel.series_starts(&self.name(), first.wrapping_add_signed(*since));
        }
        trial.more(series, gaps);
    }
}

impl Plan {
    /// Watches all windows, and then `pause`, if there is one.
    async fn watch(&self, me: &Loop, pause: Option<&'static Pause>) -> Tally {
        let kernel = self.kernel;
        let mut workload = Workload::new(self.workload);
        let mut tally = Tally::new(self.threshold_of(&mut workload));
        kernel.give(self.ready);
        Thread::take(kernel, self.gate).await;
        let start = self.start.load(Relaxed);
        let (mut due, mut windows) = (start, 0);
        while self.windows.is_none_or(|all| windows < all)
            && due.max(kernel.now()) - start < self.length
            && !self.stop.load(Relaxed)
        {
            due = due.max(kernel.now()) + self.rest;
            if self.rest > 0 {
                Thread::delay_until(kernel, due).await;
            }
            let before = waits_of_thread();
            let end = start.saturating_add(self.length);
            self.watch_window(me, &mut tally, &mut workload, end);
            tally.waits += waits_of_thread().wrapping_sub(before);
            windows += 1;
        }
        tally.pauses = pause.map_or(0, |pause| see_pauses(kernel, pause));
        tally
    }

    /// The length above which a turn is a gap: longer than the threshold of the case where a turn with
    /// its workload takes longer.
    fn threshold_of(&self, workload: &mut Workload) -> u64 {
        if self.workload == 0 {
            return self.threshold;
        }
        let start = self.kernel.now();
        let (mut last, mut shortest) = (start, u64::MAX);
        while last - start < WARM_UP_US * self.us {
            workload.turn();
            let time = self.kernel.now();
            shortest = shortest.min(time - last);
            last = time;
        }
        self.threshold.max(OVER_SHORTEST.saturating_mul(shortest))
    }

    /// Watches one window, until `latest` at most.
    fn watch_window(&self, me: &Loop, tally: &mut Tally, workload: &mut Workload, latest: u64) {
        let kernel = self.kernel;
        let start = kernel.now();
        let end = latest.min(start + self.window);
        let (mut last, mut longest, mut has_gap) = (start, (start, 0), false);
        while last < end {
            workload.turn();
            let time = kernel.now();
            let turn = time - last;
            tally.count(turn, self.us);
            if turn > tally.threshold {
                if turn > self.longest && !self.stop.swap(true, Relaxed) {
                    kernel.trace.iter().for_each(Trace::miss);
                }
                tally.lost += u64::from(!me.ring.put(last, turn));
                tally.gaps += 1;
                tally.in_gaps += turn;
                has_gap = true;
                if self.stop.load(Relaxed) {
                    last = time;
                    break;
                }
            } else if turn > longest.1 {
                longest = (last, turn);
            }
            last = time;
        }
        if !has_gap {
            tally.lost += u64::from(!me.ring.put(longest.0, longest.1));
        }
        tally.watched += last - start;
    }
}

fn report(trial: &mut Trial<'_, Linux>, plan: &Plan, loops: &[Arc<Loop>]) {
    let tally = |one: &Arc<Loop>| one.tally.lock().unwrap_or_else(PoisonError::into_inner).take();
    let tallies: Vec<(&Arc<Loop>, Tally)> =
        loops.iter().filter_map(|one| Some((one, tally(one)?))).collect();
    let sum = |count: fn(&Tally) -> u64| tallies.iter().map(|(_, one)| count(one)).sum::<u64>();
    let hertz = trial.kernel.hertz() as f64;
    let (watched, in_gaps) = (sum(|one| one.watched) as f64, sum(|one| one.in_gaps) as f64);
    let (gaps, pauses) = (sum(|one| one.gaps) as f64, PAUSES.into());
    trial.evidence("waits within the windows", sum(|one| one.waits.into()) as f64, 0.0, 0.0);
    trial.evidence("gaps that were not kept", sum(|one| one.lost) as f64, 0.0, 0.0);
    let seen = sum(|one| one.pauses.into()) as f64;
    trial.evidence("pauses that the loop saw", seen, pauses, pauses);
    trial.figure("watched", "s", watched / hertz);
    trial.figure("time in gaps", "%", 100.0 * in_gaps / watched);
    trial.figure("gaps in a second", "", gaps / (watched / hertz));
    for (one, tally) in tallies {
        if one.cpu.is_some() {
            let name = name(format_args!("{}, watched", one.name()));
            trial.figure(&name, "s", tally.watched as f64 / hertz);
        }
        if tally.threshold > plan.threshold {
            let name = name(format_args!("{}, threshold", one.name()));
            trial.figure(&name, "us", tally.threshold as f64 / plan.us as f64);
        }
        let name = name(format_args!("{}, turns by length", one.name()));
        // The first length is always there, since starts are counted from the first sample.
        let counts = (1..).zip(&tally.turns);
        let counts = counts.filter(|(length, count)| *length == 1 || **count > 0);
        let counts = counts.map(|(length, count): (u64, _)| {
            ((length * plan.us).cast_signed(), count.cast_signed())
        });
        trial.samples(Series { unit: Unit::Count, ..Series::auxiliary(&name) }, counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_gives_its_gaps_once_and_in_order() {
        let ring = Ring::new();
        assert!(ring.put(107, 3) && ring.put(120, 5));
        assert_eq!(ring.take(100), [(7, 3), (20, 5)]);
        assert_eq!(ring.take(100), []);
        for number in 0..ROOM as u64 {
            assert!(ring.put(number, number), "{number}");
        }
        assert!(!ring.put(0, 0));
        assert_eq!(ring.take(0).len(), ROOM);
        assert!(ring.put(9, 1));
        assert_eq!(ring.take(0), [(9, 1)]);
    }

    #[test]
    fn turns_are_counted_by_whole_microseconds() {
        let mut tally = Tally::new(1000);
        for turn in [1, 999, 1000, 1001, 1999, 2000, 4_094_999, 4_095_000, u64::MAX] {
            tally.count(turn, 1000);
        }
        let last = (tally.turns[4094], tally.turns[4095]);
        assert_eq!((&tally.turns[..4], last), (&[2, 3, 1, 0][..], (1, 2)));
    }
}
