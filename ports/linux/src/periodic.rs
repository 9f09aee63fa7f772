//! The experiment `period` where the suite's own form does not suit: a soak, which lasts for hours,
//! one task on each of several processors, and a case that ends at the first late start.
//!
//! Start, end, sample and evidence are as in the suite's module `period`. Each task stores its
//! wake-ups in one of two buffers. The director, in the ordinary class, asks for the buffer several
//! times a second, and sends its samples while the task fills the other one. So memory does not
//! grow with time, and a task makes no system call for the exchange.
//!
//! Evidence besides the suite's: all due times up to the last wake-up, by the clock, were answered
//! and handed over.

use std::{
    slice,
    sync::atomic::{
        AtomicBool, AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
    time::Duration,
};

use chronoscope_suite::{
    Clock, Kernel, Priority, Reason, Refusal, Request, Tasks, Trial,
    arena::Arena,
    experiments::{
        period,
        timing::{DueAlready, Spinner, descending},
    },
    kernel::switches_since,
    trial::{Name, Opened, name},
    wire::Series,
};

use crate::{
    coroutine::Coroutine, kernel::Linux, output::mark_live, process::Process,
    processors::Processors, semaphore::Semaphore, stop, thread::Thread, trace::Trace,
};

/// The number of wake-ups in a buffer. A task that finds both buffers full loses due times, which
/// the evidence shows.
const CAPACITY: usize = 1 << 16;

/// The time, in microseconds, from the release of the tasks to the first due time.
const LEAD_US: u64 = 20_000;

/// How often the director empties the buffers.
const LOOK: Duration = Duration::from_millis(100);

/// The most tasks; the series of each, and one of all, must fit a stream.
const MOST_TASKS: usize = 60;

/// Runs `period`: the suite's, or this module's for a soak, several processors, or an end at a late
/// start.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena, or for parameters that exclude each other.
pub async fn period(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    let settings = &trial.kernel.settings;
    let is_own = settings.soak_s.is_some()
        || settings.break_us.is_some()
        || settings.processors.several().is_some();
    match (trial.request.tasks(), is_own) {
        ("process", false) => period::run::<Process>(trial).await,
        ("coroutine", false) => period::run::<Coroutine>(trial).await,
        (_, false) => period::run::<Thread>(trial).await,
        ("process", true) => run::<Process>(trial).await,
        ("coroutine", true) if settings.processors.several().is_some() => {
            Err(Refusal::not_offered("coroutines share one thread, on one processor"))
        }
        ("coroutine", true) => run::<Coroutine>(trial).await,
        (_, true) => run::<Thread>(trial).await,
    }
}

struct Period {
    kernel: &'static Linux,
    /// The first due time of all tasks.
    first: AtomicU64,
    tasks: &'static [Member],
    due_already: DueAlready<Linux>,
    done: &'static Semaphore,
    /// A start that is later ends the case, in ticks.
    latest: u64,
    /// The tasks are to end before they have answered all their due times.
    stop: AtomicBool,
}

struct Member {
    /// The processor that the task belongs to, where there are several.
    cpu: Option<usize>,
    gate: Semaphore,
    interval: u64,
    /// The number of due times to answer.
    due_times: u64,
    buffers: Buffers,
    wakeups: AtomicU64,
    skipped: AtomicU64,
    early: AtomicU64,
    switches: AtomicU32,
    /// The time of the last wake-up.
    last: AtomicU64,
    has_ended: AtomicBool,
}

impl Member {
    /// The name of the task's series, which is at this place of all.
    fn name(&self, place: usize) -> Name {
        match self.cpu {
            Some(cpu) => name(format_args!("cpu {cpu}")),
            None => name(format_args!("task {}", place + 1)),
        }
    }
}

/// A wake-up: how late it answered its first due time, and how many due times it answered.
#[derive(Default)]
struct Wake {
    late: AtomicU64,
    answered: AtomicU32,
}

/// Two buffers, of which the task fills one while the director reads the other. They take turns.
struct Buffers {
    wakes: [&'static [Wake]; 2],
    /// The wake-ups in a buffer that the task has handed over; 0 while the task may fill it.
    full: [AtomicU32; 2],
    /// The director asks for the buffer under way.
    is_wanted: AtomicBool,
    /// Due times that found no room.
    lost: AtomicU64,
}

/// The task's end of its buffers.
struct Filling<'a> {
    buffers: &'a Buffers,
    current: usize,
    used: usize,
}

impl Buffers {
    fn new(arena: &Arena) -> Result<Self, Refusal> {
        let wakes = || arena.fill(CAPACITY, |_| Ok(Wake::default()));
        Ok(Self {
            wakes: [wakes()?, wakes()?],
            full: [const { AtomicU32::new(0) }; 2],
            is_wanted: AtomicBool::new(false),
            lost: AtomicU64::new(0),
        })
    }

    fn fill(&self) -> Filling<'_> {
        Filling { buffers: self, current: 0, used: 0 }
    }

    /// Returns the wake-ups in the buffer, if the task has handed it over. Give it back with
    /// [`free`](Self::free).
    fn handed_over(&self, buffer: usize) -> Option<slice::Iter<'static, Wake>> {
        let length = self.full[buffer].load(Acquire) as usize;
        (length > 0).then(|| self.wakes[buffer][..length].iter())
    }

    fn free(&self, buffer: usize) {
        self.full[buffer].store(0, Release);
    }
}

impl Filling<'_> {
    /// Stores a wake-up. Hands the buffer over if it is full or wanted, and the other is free.
    #[inline]
    fn push(&mut self, late: u64, answered: u32) {
        let Some(wake) = self.buffers.wakes[self.current].get(self.used) else {
            // Only when the director had no processor time for the whole length of a buffer.
            self.buffers.lost.fetch_add(answered.into(), Relaxed);
            self.hand_over();
            return;
        };
        wake.late.store(late, Relaxed);
        wake.answered.store(answered, Relaxed);
        self.used += 1;
        if self.buffers.is_wanted.load(Relaxed) || self.used == CAPACITY {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let other = 1 - self.current;
        if self.buffers.full[other].load(Acquire) == 0 {
            self.buffers.is_wanted.store(false, Relaxed);
            self.buffers.full[self.current].store(self.used as u32, Release);
            (self.current, self.used) = (other, 0);
        }
    }

    /// Hands over the rest. The task stores nothing afterwards.
    fn end(self) {
        self.buffers.full[self.current].store(self.used as u32, Release);
    }
}

/// The director's end of a task's buffers, and the task's series.
struct Drain {
    member: &'static Member,
    /// The buffer that is handed over next.
    next: usize,
    /// The number of due times that were sent.
    sent: u64,
    every: Opened,
    /// The first due time of each wake-up alone; left out of a soak.
    woken: Option<Opened>,
}

impl Drain {
    /// Sends the samples of the buffers that were handed over. `all` is the series of all tasks.
    fn send(&mut self, trial: &mut Trial<'_, Linux>, mut all: Option<&mut Opened>) {
        while let Some(wakes) = self.member.buffers.handed_over(self.next) {
            let interval = self.member.interval;
            let samples = |of_wake: bool| {
                let mut due = self.sent;
                wakes.clone().flat_map(move |wake| {
                    let (late, answered) = (wake.late.load(Relaxed), wake.answered.load(Relaxed));
                    let first = due;
                    due += u64::from(answered);
                    (0..if of_wake { 1 } else { u64::from(answered) }).map(move |number| {
                        let since = (first + number) * interval;
                        (since.cast_signed(), late.saturating_sub(number * interval).cast_signed())
                    })
                })
            };
            trial.more(&mut self.every, samples(false));
            if let Some(series) = &mut self.woken {
                trial.more(series, samples(true));
            }
            if let Some(series) = &mut all {
                trial.more(series, samples(false));
            }
            self.sent += wakes.map(|wake| u64::from(wake.answered.load(Relaxed))).sum::<u64>();
            self.member.buffers.free(self.next);
            self.next = 1 - self.next;
        }
    }
}

async fn run<T: Tasks<Kernel = Linux>>(trial: &mut Trial<'_, Linux>) -> Result<(), Refusal> {
    let (kernel, arena, request) = (trial.kernel, trial.arena, trial.request);
    let processors: Vec<Option<usize>> = match kernel.settings.processors.several() {
        Some(_) if request.count("tasks") > 1 => {
            return Err(exclude("each of several processors has one task"));
        }
        Some(_) if request.word("idle") == "spin" => {
            return Err(exclude("one processor alone can be kept from halting"));
        }
        Some(set) => set.map(Some).collect(),
        None => vec![None; request.count("tasks")],
    };
    let count = processors.len();
    if count > MOST_TASKS {
        return Err(exclude("at most 60 processors take part"));
    }
    let member = |number: usize| {
        let interval_us =
            request.number("interval_us") + number as u64 * request.number("distance_us");
        let due_times = match kernel.settings.soak_s {
            Some(seconds) => (seconds * 1_000_000).div_ceil(interval_us),
            None => request.number("loops"),
        };
        Ok(Member {
            cpu: processors[number],
            gate: kernel.semaphore(0)?,
            interval: trial.ticks(interval_us),
            due_times,
            buffers: Buffers::new(arena)?,
            wakeups: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            early: AtomicU64::new(0),
            switches: AtomicU32::new(0),
            last: AtomicU64::new(0),
            has_ended: AtomicBool::new(false),
        })
    };
    let all: &'static Period = arena.place(Period {
        kernel,
        first: AtomicU64::new(0),
        tasks: arena.fill(count, member)?,
        due_already: DueAlready::new(trial)?,
        done: trial.semaphore(0)?,
        latest: kernel.settings.break_us.map_or(u64::MAX, |late| trial.ticks(late)),
        stop: AtomicBool::new(false),
    })?;
    if kernel.settings.soak_s.is_some() {
        stop::on_request();
    }
    for (number, task) in all.tasks.iter().enumerate() {
        let priority =
            if task.cpu.is_some() { Priority::Urgent(1) } else { descending(number, count) };
        T::spawn(kernel, priority, riser::<T>(all, number))?;
    }
    trial.wait(all.done, count).await;
    let spinner = Spinner::start(trial).await?;
    Processors::leave();
    let mut together =
        (count > 1 && all.tasks[0].cpu.is_some()).then(|| trial.open(measured("all processors")));
    let tasks = all.tasks.iter().enumerate();
    let mut drains: Vec<Drain> = tasks.map(|(place, task)| drain(trial, place, task)).collect();
    mark_live(true);
    let first = kernel.now() + trial.ticks(LEAD_US);
    all.first.store(first, Relaxed);
    for (place, task) in all.tasks.iter().enumerate() {
        kernel.series_starts(&task.name(place), first);
    }
    all.tasks.iter().for_each(|task| kernel.give(&task.gate));
    loop {
        thread::sleep(LOOK);
        // Read before the buffers, so that nothing is handed over after the last look at them.
        let have_ended = all.tasks.iter().all(|task| task.has_ended.load(Acquire));
        drains.iter_mut().for_each(|drain| drain.send(trial, together.as_mut()));
        if have_ended {
            break;
        }
        if stop::is_requested() {
            all.stop.store(true, Relaxed);
        }
        all.tasks.iter().for_each(|task| task.buffers.is_wanted.store(true, Relaxed));
    }
    mark_live(false);
    trial.wait(all.done, count).await;
    kernel.give(&all.tasks[0].gate);
    trial.wait(all.done, 1).await;
    all.tasks[1..].iter().for_each(|task| kernel.give(&task.gate));
    if let Some(spinner) = spinner {
        spinner.stop().await;
    }
    let sent = drains.iter().map(|drain| drain.sent).sum();
    report(trial, all, first, sent);
    Ok(())
}

fn exclude(what: &'static str) -> Refusal {
    Refusal::new(Reason::Invalid, what, "see `chronoscope list period`")
}

fn measured(name: &str) -> Series<'_> {
    Series::measured(name)
}

/// Announces the series of the task at this place.
fn drain(trial: &mut Trial<'_, Linux>, place: usize, member: &'static Member) -> Drain {
    let task_name = member.name(place);
    let every = trial.open(measured(&task_name));
    let woken = trial.kernel.settings.soak_s.is_none().then(|| {
        let woken = name(format_args!("{task_name}, as cyclictest counts"));
        trial.open(Series::auxiliary(&woken))
    });
    Drain { member, next: 0, sent: 0, every, woken }
}

async fn riser<T: Tasks<Kernel = Linux>>(all: &'static Period, number: usize) {
    let kernel = all.kernel;
    let me = &all.tasks[number];
    kernel.give(all.done);
    T::take(kernel, &me.gate).await;
    let mut filling = me.buffers.fill();
    let mut due = all.first.load(Relaxed);
    let (mut answered, mut wakeups, mut early, mut last) = (0, 0, 0, 0);
    let before = T::switches(kernel);
    while answered < me.due_times && !all.stop.load(Relaxed) {
        T::delay_until(kernel, due).await;
        last = kernel.now();
        wakeups += 1;
        early += u64::from(last < due);
        let late = last.saturating_sub(due);
        // This due time, and all that have passed since.
        let passed = (late / me.interval + 1).min(me.due_times - answered).min(u32::MAX.into());
        if late > all.latest {
            all.stop.store(true, Relaxed);
            kernel.trace.iter().for_each(Trace::miss);
        }
        filling.push(late, passed as u32);
        answered += passed;
        due += passed * me.interval;
    }
    me.switches.store(switches_since::<T>(kernel, before), Relaxed);
    me.wakeups.store(wakeups, Relaxed);
    me.skipped.store(answered - wakeups, Relaxed);
    me.early.store(early, Relaxed);
    me.last.store(last, Relaxed);
    filling.end();
    me.has_ended.store(true, Release);
    kernel.give(all.done);
    // The end of a task takes long, so no task may end before all have woken for the last time.
    T::take(kernel, &me.gate).await;
    if number == 0 {
        all.due_already.run::<T>(kernel).await;
        kernel.give(all.done);
    }
}

fn report(trial: &mut Trial<'_, Linux>, all: &Period, first: u64, sent: u64) {
    let sum = |count: fn(&Member) -> &AtomicU64| {
        all.tasks.iter().map(|task| count(task).load(Relaxed)).sum::<u64>()
    };
    let (wakeups, skipped) = (sum(|task| &task.wakeups), sum(|task| &task.skipped));
    let answered = (wakeups + skipped) as f64;
    // By the clock alone, and by the case's end.
    let due: u64 = all
        .tasks
        .iter()
        .filter(|task| task.wakeups.load(Relaxed) > 0)
        .map(|task| {
            let elapsed = task.last.load(Relaxed).saturating_sub(first);
            (elapsed / task.interval + 1).min(task.due_times)
        })
        .sum();
    let last = all.tasks.iter().map(|task| task.last.load(Relaxed)).max().unwrap_or(first);
    let elapsed = last.saturating_sub(first) as f64 / trial.kernel.hertz() as f64;
    trial.figure("elapsed", "s", elapsed);
    trial.figure("due times", "", due as f64);
    trial.figure("measured wake-ups", "", wakeups as f64);
    trial.figure("skipped periods", "", skipped as f64);
    trial.evidence("wake-ups and skipped periods", answered, due as f64, due as f64);
    trial.evidence("due times handed over", sent as f64, due as f64, due as f64);
    trial.evidence("early wake-ups", sum(|task| &task.early) as f64, 0.0, 0.0);
    let switches = all.tasks.iter().map(|task| u64::from(task.switches.load(Relaxed))).sum::<u64>();
    trial.evidence("switches", switches as f64, 0.9 * wakeups as f64 - 1.0, f64::INFINITY);
    all.due_already.report(trial);
}

/// Returns the room for the buffers of each task; 0 where the suite runs the case.
pub fn arena_bytes(request: &Request<'_>) -> usize {
    let processors = request.given("cpu").and_then(|cpu| Processors::parse(cpu).ok());
    let tasks = match processors.and_then(|processors| processors.several()) {
        Some(several) => several.count(),
        None if ["soak_s", "break_us"].iter().any(|name| request.given(name).is_some()) => {
            request.count("tasks")
        }
        None => 0,
    };
    tasks * BUFFERS
}

/// The room for the buffers of a task, in bytes.
const BUFFERS: usize = 2 * CAPACITY * size_of::<Wake>() + size_of::<Member>() + 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers() -> Buffers {
        let region = Box::leak(Box::new_uninit_slice(BUFFERS));
        Buffers::new(&Arena::new(region)).unwrap()
    }

    fn read(buffers: &Buffers, buffer: usize) -> Vec<(u64, u32)> {
        let wakes = buffers.handed_over(buffer).into_iter().flatten();
        wakes.map(|wake| (wake.late.load(Relaxed), wake.answered.load(Relaxed))).collect()
    }

    #[test]
    fn a_buffer_is_handed_over_when_it_is_wanted() {
        let buffers = buffers();
        let mut filling = buffers.fill();
        filling.push(7, 1);
        assert!(buffers.handed_over(0).is_none());
        buffers.is_wanted.store(true, Relaxed);
        filling.push(8, 3);
        assert_eq!(read(&buffers, 0), [(7, 1), (8, 3)]);
        // The first is not read yet, so the second stays with the task.
        buffers.is_wanted.store(true, Relaxed);
        filling.push(9, 1);
        assert!(buffers.handed_over(1).is_none());
        buffers.free(0);
        filling.push(10, 1);
        assert_eq!(read(&buffers, 1), [(9, 1), (10, 1)]);
        filling.push(11, 1);
        filling.end();
        assert_eq!(read(&buffers, 0), [(11, 1)]);
        assert_eq!(buffers.lost.load(Relaxed), 0);
    }

    #[test]
    fn due_times_without_room_are_counted() {
        let buffers = buffers();
        let mut filling = buffers.fill();
        for number in 0..2 * CAPACITY as u64 + 5 {
            filling.push(number, 2);
        }
        assert_eq!(buffers.lost.load(Relaxed), 10);
        assert_eq!(read(&buffers, 0).len(), CAPACITY);
        buffers.free(0);
        // The first one that finds the other buffer free is lost as well, and frees this one.
        filling.push(0, 2);
        filling.push(1, 2);
        filling.end();
        assert_eq!((read(&buffers, 1).len(), read(&buffers, 0)), (CAPACITY, vec![(1, 2)]));
        assert_eq!(buffers.lost.load(Relaxed), 12);
    }
}
