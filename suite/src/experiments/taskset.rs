//! `taskset`: the response times of a set of tasks that interrupts release, as an application has
//! them.
//!
//! The request names up to seven tasks by falling priority. A timer's interrupt raises another one,
//! whose handler releases each task by its semaphore, once in its period; the task then works, a
//! part of it with a lock, and waits for its next release. In the first phase all tasks are
//! released together. In the second and the third, each release has a handler of its own straight
//! after the one before: from the most urgent task on, and from the least urgent one, which are the
//! worst moments for the first and for the last task without locks. In each further phase they
//! start with offsets drawn from `seed`. A phase lasts for two of the longest periods, and ends
//! when all released jobs are done.
//!
//! The work is a number of steps, calibrated once, so a pre-empted job still does all of it. Before
//! the phases three costs are measured that no other experiment has. A more urgent task than all
//! spins and reads the clock, and what interrupts it is the handler that releases one task (figure
//! `release`), or the kernel's tick (figure `tick`). A less urgent one is interrupted by all of a
//! job without work (figure `job`).
//!
//! - **Start**: the time that the release is due.
//! - **End**: the job's mark after its work.
//! - **Sample**: one job. A series for each task.
//! - **Control**: marks one straight after the other.
//! - **Evidence**: the handler gave as many releases as there are jobs; a phase begins after all
//!   jobs of the one before are done. As many releases and jobs were probed as asked for.
//! - **Pin**: D0 to D4 belong to the first five tasks: high while a job works.
//! - **Source**: Liu and Layland 1973; Joseph and Pandya 1986, whose analysis `chronoscope
//!   schedule` compares with it.

mod sets;

use core::{
    hint::black_box,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use self::sets::{MOST_TASKS, Set};
use crate::{
    kernel::{Clock, Interrupts, Kernel, Mutexes, Priority, Protocol, Refusal, Source},
    mark::{self, Marks, Slot},
    random::Random,
    spec::{Figure, Parameter, Reading, Spec, Values, WORST},
    trial::{Trial, name},
    wire::{Domain, Pin, Series},
};

/// The description of `taskset`.
pub static SPEC: Spec = Spec {
    name: "taskset",
    summary: "response times of a set of periodic tasks, released by interrupts",
    start: "the time that a task's release is due",
    end: "the mark after the job's work",
    statistic: "one job, a series for each task; beside it `release` and `tick`: the longest handler \
                that releases a task, and of the kernel's tick; `job`: all of a job without work",
    control: "marks set one straight after the other",
    evidence: "as many releases given by the handler as there are jobs, and as many probed as asked \
               for",
    pin: "D0 to D4: high while a job of this task works",
    source: "Liu and Layland 1973; Joseph and Pandya 1986",
    parameters: &[
        Parameter {
            name: "kind",
            unit: "",
            default: "thread",
            values: Values::Word(&["thread", "process"]),
            help: "the kind of task",
        },
        Parameter {
            name: "set",
            unit: "ns",
            default: "500000.50000.0.0+1000000.100000.1.20000+4000000.200000.1.40000",
            values: Values::Text(
                "tasks by falling priority, joined by +, each PERIOD.WORK.LOCK.HOLD: times in ns, \
                 and a lock from 1 to 7, or 0",
            ),
            help: "the tasks, in ns: period, work, number of the lock, and how long of the work it is \
                   held; `chronoscope schedule` writes it",
        },
        Parameter {
            name: "phases",
            unit: "",
            default: "4",
            values: Values::Number(1, 64),
            help: "the first with all tasks released together, two with each straight after the one \
                   before, the others with offsets",
        },
        Parameter {
            name: "seed",
            unit: "",
            default: "1",
            values: Values::Number(0, u32::MAX as u64),
            help: "of the offsets",
        },
    ],
    duration_us: |request| {
        let set = Set::parse(request.word("set")).unwrap_or_default();
        20_000 + request.number("phases") * 3 * set.horizon() / 1000
    },
};

/// The time from the set-up of a phase to its first release, as a fraction of a second: 1 / `LEAD`.
const LEAD: u64 = 2000;

/// The probes of the handler that releases a task, and of a job without work.
const PROBES: usize = 4;

/// The ticks of the kernel that are looked at.
const TICKS: u64 = 2;

/// The ticks from a probe to the next release of any other task: it does not come.
const FAR: u32 = 1 << 29;

/// The steps of a calibration, and of one that is longer.
const CALIBRATION: [u32; 2] = [1000, 5000];

struct Bench<T: Mutexes> {
    kernel: &'static T::Kernel,
    actors: &'static [Actor<T>],
    ends: Marks<T::Kernel>,
    phases: usize,
    /// The origin of the phase, as the clock reads, and its low and its high half. Set while no
    /// release is due.
    start: <T::Kernel as Clock>::Slot,
    origin: [AtomicU32; 2],
    /// The releases that the handler has given.
    given: AtomicU32,
    /// Given by a task that was released by a probe.
    probed: <T::Kernel as Kernel>::Semaphore,
    /// The longest handlers that interrupted the prober, in ticks.
    release: AtomicU32,
    tick: AtomicU32,
    /// The longest job without work that interrupted the director, in ticks.
    job: AtomicU32,
    done: &'static <T::Kernel as Kernel>::Semaphore,
}

/// A task of the set.
struct Actor<T: Mutexes> {
    /// In ticks of the clock.
    period: u32,
    /// The steps of the work before, with and after the lock.
    steps: [u32; 3],
    mutex: Option<&'static T::Mutex>,
    released: <T::Kernel as Kernel>::Semaphore,
    /// The next release, in ticks after the origin of the phase.
    due: AtomicU32,
    /// The number of releases that are left in the phase.
    left: AtomicU32,
    /// The number of jobs of a phase.
    jobs: usize,
    /// The place of the first job's mark.
    first: usize,
}

/// The times of a phase, in ticks.
struct Phase {
    origin: u64,
    offsets: [u32; MOST_TASKS],
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] for a set that cannot be read, and from the kernel or the arena.
pub async fn run<T>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal>
where
    T: Mutexes,
    T::Kernel: Interrupts,
{
    let (kernel, arena) = (trial.kernel, trial.arena);
    let set = Set::parse(trial.request.word("set"))?;
    let phases = trial.request.count("phases");
    let ticks = |ns: u64| (u128::from(ns) * u128::from(kernel.hertz()) / 1_000_000_000) as u64;
    // Offsets and releases are counted in 32 bits.
    trial.stretch(set.horizon() / 1000)?;
    let pace = Pace::measured(kernel);
    let mut mutexes = [None; MOST_TASKS + 1];
    for lock in set.tasks.iter().filter_map(|task| task.lock) {
        if mutexes[lock.number].is_none() {
            mutexes[lock.number] = Some(T::mutex(kernel, arena, Protocol::Inheritance)?);
        }
    }
    let mut places = 0;
    let actors = arena.fill(set.tasks.len(), |place| {
        let task = &set.tasks[place];
        let jobs = (set.horizon() / task.period) as usize;
        let first = places;
        places += jobs * phases;
        let held = task.lock.map_or(0, |lock| lock.hold);
        let before = (task.work - held) / 2;
        Ok(Actor {
            period: ticks(task.period) as u32,
            steps: [before, held, task.work - held - before].map(|ns| pace.steps(ticks(ns))),
            mutex: task.lock.and_then(|lock| mutexes[lock.number]),
            released: kernel.semaphore(0)?,
            due: AtomicU32::new(0),
            left: AtomicU32::new(0),
            jobs,
            first,
        })
    })?;
    let bench: &'static Bench<T> = arena.place(Bench {
        kernel,
        actors,
        ends: Marks::new(arena, places)?,
        phases,
        start: Slot::empty(),
        origin: [AtomicU32::new(0), AtomicU32::new(0)],
        given: AtomicU32::new(0),
        probed: kernel.semaphore(0)?,
        release: AtomicU32::new(0),
        tick: AtomicU32::new(0),
        job: AtomicU32::new(0),
        done: trial.semaphore(0)?,
    })?;
    let times = arena.lend(phases, |_| Ok(Phase { origin: 0, offsets: [0; MOST_TASKS] }))?;
    let handler = arena.place(|| bench.release_due())?;
    kernel.attach(Source::Software, handler)?;
    // A port may stop its timer after the timer's handler, so another handler sets it again.
    let timer = arena.place(|| kernel.raise())?;
    kernel.attach(Source::Timer, timer)?;
    for place in 0..actors.len() {
        T::spawn(kernel, bench.urgency(place), actor(bench, place))?;
    }
    T::spawn(kernel, Priority::Urgent(actors.len() as u8 + 1), prober(bench))?;
    trial.wait(bench.done, 1).await;
    // The director is less urgent than all tasks of the set.
    for actor in actors {
        for _ in 0..PROBES {
            bench.probe(actor, &bench.job);
        }
    }

    let probes = bench.given.load(Relaxed);
    let mut random = Random::new(trial.request.number("seed"));
    for (number, phase) in times.iter_mut().enumerate() {
        for (place, actor) in actors.iter().enumerate() {
            let handlers = |count: usize| bench.release.load(Relaxed).saturating_mul(count as u32);
            phase.offsets[place] = match number {
                0 => 0,
                1 => handlers(place),
                2 => handlers(actors.len() - 1 - place),
                _ => random.below(actor.period),
            };
        }
        for (actor, offset) in actors.iter().zip(phase.offsets) {
            actor.due.store(offset, Relaxed);
            actor.left.store(actor.jobs as u32, Relaxed);
        }
        phase.origin = bench.begin(kernel.hertz() / LEAD);
        trial.wait(bench.done, actors.len()).await;
    }
    actors.iter().for_each(|actor| kernel.give(&actor.released));
    bench.report(trial, times, probes);
    Ok(())
}

impl<T> Bench<T>
where
    T: Mutexes,
    T::Kernel: Interrupts,
{
    /// The priority of a task: the first one is the most urgent.
    fn urgency(&self, place: usize) -> Priority {
        Priority::Urgent((self.actors.len() - place) as u8)
    }

    /// Sets the origin `lead` ticks ahead, and the timer for the first release. Returns the origin.
    fn begin(&self, lead: u64) -> u64 {
        let origin = self.kernel.now() + lead;
        self.start.store(<T::Kernel as Clock>::Slot::truncate(origin));
        self.origin[0].store(origin as u32, Relaxed);
        self.origin[1].store((origin >> 32) as u32, Relaxed);
        let waiting = self.actors.iter().filter(|actor| actor.left.load(Relaxed) > 0);
        let first = waiting.map(|actor| actor.due.load(Relaxed)).min().unwrap_or(0);
        self.kernel.arm(origin + u64::from(first));
        origin
    }

    /// The handler: gives all releases that are due, and sets the timer for the next one.
    fn release_due(&'static self) {
        let start = self.start.load();
        let elapsed = || <T::Kernel as Clock>::Slot::between(start, self.kernel.read());
        loop {
            let now = elapsed();
            let mut next = u32::MAX;
            for actor in self.actors {
                let mut left = actor.left.load(Relaxed);
                let mut due = actor.due.load(Relaxed);
                if left > 0 && i64::from(due) <= now {
                    due += actor.period;
                    left -= 1;
                    actor.due.store(due, Relaxed);
                    actor.left.store(left, Relaxed);
                    self.given.store(self.given.load(Relaxed) + 1, Relaxed);
                    self.kernel.give_from_handler(&actor.released);
                }
                if left > 0 {
                    next = next.min(due);
                }
            }
            if next == u32::MAX {
                return;
            }
            if i64::from(next) > elapsed() {
                let [low, high] = [0, 1].map(|half| u64::from(self.origin[half].load(Relaxed)));
                self.kernel.arm((high << 32 | low) + u64::from(next));
                return;
            }
        }
    }

    /// Spins until the handler has released one task alone. Keeps the longest interruption in `cost`.
    fn probe(&self, actor: &Actor<T>, cost: &AtomicU32) {
        let given = self.given.load(Relaxed);
        // The others wait for releases too, so the handler looks at all, and sets the timer.
        for other in self.actors {
            other.due.store(FAR, Relaxed);
            other.left.store(1, Relaxed);
        }
        actor.due.store(0, Relaxed);
        self.begin(self.kernel.hertz() / LEAD / 16);
        let longest = longest_gap(self.kernel, || self.given.load(Relaxed) == given);
        cost.store(cost.load(Relaxed).max(longest), Relaxed);
    }

    fn report(&self, trial: &mut Trial<'_, T::Kernel>, times: &[Phase], probes: u32) {
        let jobs = self.ends.len() as f64;
        let given = f64::from(self.given.load(Relaxed) - probes);
        trial.evidence("releases", given, jobs, jobs);
        let all = (2 * PROBES * self.actors.len()) as f64;
        trial.evidence("probes of the handler", probes.into(), all, all);
        let (unit, tick) = match trial.kernel.domain() {
            Domain::Wall => ("ns", 1e9 / trial.kernel.hertz() as f64),
            Domain::Instructions => ("instructions", 1.0),
            Domain::Cycles => ("cycles", 1.0),
        };
        for (name, cost) in [("release", &self.release), ("tick", &self.tick), ("job", &self.job)] {
            trial.figure(name, unit, f64::from(cost.load(Relaxed)) * tick);
        }
        trial.figure("tick period", "us", self.kernel.tick_us() as f64);
        for (place, actor) in self.actors.iter().enumerate() {
            let text = name(format_args!("task {}", place + 1));
            let pin = mark::pin_of(place).map(Pin::Pulse);
            let samples = (0..self.phases * actor.jobs).map(|job| {
                let phase = &times[job / actor.jobs];
                let releases = (job % actor.jobs) as u64 * u64::from(actor.period);
                let due = phase.origin + u64::from(phase.offsets[place]) + releases;
                (due.cast_signed(), self.ends.lateness(actor.first + job, due))
            });
            trial.samples(Series { pin, ..Series::measured(&text) }, samples);
        }
        trial.mark_control(&self.ends, 1.0);
    }
}

/// A task of the set.
async fn actor<T>(bench: &'static Bench<T>, place: usize)
where
    T: Mutexes,
    T::Kernel: Interrupts,
{
    let (kernel, actor) = (bench.kernel, &bench.actors[place]);
    let pin = mark::pin_of(place);
    for _ in 0..PROBES {
        T::take(kernel, &actor.released).await;
        kernel.give(&bench.probed);
    }
    // A job without work: the first real job overwrites its mark.
    for _ in 0..PROBES {
        T::take(kernel, &actor.released).await;
        work(bench, [0; 3], None, actor.first, pin).await;
    }
    for phase in 0..bench.phases {
        for job in 0..actor.jobs {
            T::take(kernel, &actor.released).await;
            let mark = actor.first + phase * actor.jobs + job;
            work(bench, actor.steps, actor.mutex, mark, pin).await;
        }
        kernel.give(bench.done);
    }
    // Ending a task takes some kernels longer than all else: no job of another may meet it.
    T::take(kernel, &actor.released).await;
}

/// A job from its release on: its steps, the second with the lock, and its mark.
#[inline(always)]
async fn work<T>(
    bench: &'static Bench<T>,
    steps: [u32; 3],
    mutex: Option<&'static T::Mutex>,
    mark: usize,
    pin: Option<u8>,
) where
    T: Mutexes,
{
    let kernel = bench.kernel;
    mark::drive(kernel, pin, true);
    spend(steps[0]);
    if let Some(mutex) = mutex {
        T::lock(kernel, mutex).await;
        spend(steps[1]);
        T::unlock(kernel, mutex);
    }
    spend(steps[2]);
    bench.ends.end(kernel, mark, pin);
}

/// A task more urgent than all others: looks at what interrupts it while it spins, the kernel's
/// tick and then the handler that releases one task.
async fn prober<T>(bench: &'static Bench<T>)
where
    T: Mutexes,
    T::Kernel: Interrupts,
{
    let kernel = bench.kernel;
    let tick = kernel.tick_us() * kernel.hertz() / 1_000_000;
    if tick > 0 {
        let end = kernel.now() + TICKS * tick;
        let cost = longest_gap(kernel, || kernel.now() < end);
        bench.tick.store(cost, Relaxed);
        // The probes begin right after a tick, so that none comes in between.
        let mut before = kernel.read();
        let limit = kernel.now() + 2 * tick;
        loop {
            let now = kernel.read();
            let gap = <T::Kernel as Clock>::Slot::between(before, now);
            before = now;
            if gap > i64::from(cost) || kernel.now() > limit {
                break;
            }
        }
    }
    for actor in bench.actors {
        for _ in 0..PROBES {
            bench.probe(actor, &bench.release);
            T::take(kernel, &bench.probed).await;
        }
    }
    kernel.give(bench.done);
}

/// Spins and reads the clock while `goes_on`, and once more. Returns the longest time between two
/// reads less the shortest one, in ticks: the longest interruption.
fn longest_gap<K: Kernel>(kernel: &K, goes_on: impl Fn() -> bool) -> u32 {
    let (mut shortest, mut longest) = (i64::MAX, 0);
    let mut before = kernel.read();
    loop {
        let ends = !goes_on();
        // A read of the clock is slow in an emulator.
        spend(16);
        let now = kernel.read();
        let gap = K::Slot::between(before, now);
        shortest = shortest.min(gap);
        longest = longest.max(gap);
        before = now;
        if ends {
            return u32::try_from(longest - shortest).unwrap_or(u32::MAX);
        }
    }
}

/// How long a step of work takes, from two calibrations: the ticks of a number of steps.
struct Pace {
    steps: u64,
    ticks: u64,
}

impl Pace {
    /// Measures it, by the shortest of five tries.
    fn measured<K: Kernel>(kernel: &K) -> Self {
        let [few, many] = CALIBRATION.map(|steps| {
            let once = || {
                let start = kernel.now();
                spend(steps);
                kernel.now() - start
            };
            (0..5).map(|_| once()).min().unwrap_or(0)
        });
        let [first, second] = CALIBRATION.map(u64::from);
        Self { steps: second - first, ticks: many.saturating_sub(few).max(1) }
    }

    /// The steps of work that take at most `ticks`.
    fn steps(&self, ticks: u64) -> u32 {
        u32::try_from(ticks * self.steps / self.ticks).unwrap_or(u32::MAX)
    }
}

/// Does `steps` steps of work of equal length.
#[inline(never)]
fn spend(steps: u32) {
    for step in 0..steps {
        black_box(step);
    }
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "within which time are the jobs of a set of tasks done?",
    compared: "the jobs of the least urgent task are done within at most",
    typical: Figure::Last("p50"),
    worst: Some(Figure::Last("max")),
    sentences: &[
        "the jobs of the least urgent task are done within {last max} at worst, of the most urgent \
         one within {max}",
    ],
    ..WORST
};
