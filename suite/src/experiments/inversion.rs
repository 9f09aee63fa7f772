//! `inversion`: the time for which an urgent task waits for a lock held by a less urgent one, while
//! a third task, which uses no lock, hogs the processor.
//!
//! ```text
//!   high    ·········▼asks············································▲has it
//!   medium  ·········ready ▐▐▐▐▐▐ hog ▐▐▐▐▐▐··························
//!   low     ▐▐ holds ▐                       ▐▐ holds on ▐▐ unlocks
//! ```
//!
//! The picture shows a lock without a protocol: high also waits for the hog. With inheritance low
//! runs at high's priority while high waits, so the hog runs later. With a ceiling low runs at
//! high's priority while it holds the lock.
//!
//! One processor, three tasks: low at `Urgent(1)`, medium at 2, high at 3. In each round low locks,
//! works a third of `hold`, releases high and then medium, works the rest and unlocks. Low itself
//! releases them, so that both become ready while the lock is held, in every round and on every
//! kernel, without a race against a timer.
//!
//! Low's hold is an amount of work ([`work`]), so pre-emption makes it longer. Medium's hog is a
//! time on the clock, which makes x exact; only high is more urgent, and high sleeps on the lock.
//!
//! - **Start**: high's mark, immediately before it locks.
//! - **End**: high's mark, immediately after the lock was granted.
//! - **Sample**: one round. A series for each length of the hog: nothing, a quarter, half, and all
//!   of the maximum. x is the length, in ticks, so the slope is a plain number: ticks waited for
//!   each tick hogged.
//! - **Control**: marks one straight after the other. Auxiliary: the same lock while it is free.
//! - **Evidence**: low held the lock when high asked for it, by a flag that the lock guards
//!   (without a ceiling, see below); high was switched to at least twice a round, once released and
//!   once granted the lock, by the kernel's count; every round and every hog was completed; low's
//!   work and the hog did not overlap in time, so they shared one processor.
//! - **Pin**: D0 to D3 belong to the four lengths of the hog, D4 to the lock that nobody holds:
//!   high from before the mark at the start to after the one at the end.
//! - **Source**: the priority inversion that P3 explains; Sha, Rajkumar and Lehoczky 1990.
//!
//! Expected: slope 1 and the rest of the hold without a protocol; slope 0 and the rest of the hold
//! with inheritance; slope 0 and 1 or 2 µs with a ceiling, the cost of a free lock whose code has
//! left the caches. High does not run sooner with a ceiling: low is as urgent as high, so high is
//! ready but cannot *start* before low unlocks. It waits as long as with inheritance, only earlier.
//! The auxiliary series from low's release of high to high's lock show it; by them all protocols
//! can be compared.
//!
//! Where tasks have no real-time priorities (Linux with `policy=other`) there is no order to
//! invert: the scheduler may let low finish before high asks. Then the evidence does not hold.

mod stage;

use core::{
    hint,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};

use self::stage::{Actor, Point, Stage, Waits};
use crate::{
    kernel::{Clock, Kernel, Mutexes, Priority, Protocol, Refusal, Tasks, switches_since},
    mark::Marks,
    spec::{Figure, MEDIAN, Parameter, Reading, Spec, Values},
    trial::{Trial, name},
    wire::{Pin, Series},
    work::{steps_in, work},
};

/// The lengths of the hog, in quarters of the maximum.
const QUARTERS: [u64; 4] = [0, 1, 2, 4];

/// The number of locks of the free mutex, timed at the end.
const UNHELD: usize = 100;

const HIGH: Priority = Priority::Urgent(3);

/// The description of `inversion`.
pub static SPEC: Spec = Spec {
    name: "inversion",
    summary: "how long an urgent task waits for a less urgent one's lock while a third hogs the \
              processor",
    start: "immediately before the most urgent task locks",
    end: "immediately after the lock was granted",
    statistic: "one wait; slope over the hog's length: 1 is inversion, 0 is none",
    control: "marks set one straight after the other; beside it, the lock with nobody holding it",
    evidence: "the lock was held when asked for; switches to the waiting task, counted by the \
               kernel: two a round; every round and every hog complete; low's work and the hog \
               not side by side",
    pin: "D0 to D3, one for each length of the hog: high from asking to having the lock; D4: the \
          same with nobody holding it",
    source: "P3 (priority inversion), Sha, Rajkumar and Lehoczky 1990",
    parameters: &[
        Parameter {
            name: "kind",
            unit: "",
            default: "thread",
            values: Values::Word(&["thread", "process"]),
            help: "the kind of task",
        },
        Parameter {
            name: "protocol",
            unit: "",
            default: "none",
            values: Values::Word(&["none", "inheritance", "ceiling"]),
            help: "what the lock does about inversion",
        },
        Parameter {
            name: "hog_us",
            unit: "us",
            default: "20000",
            values: Values::Number(1000, 400_000),
            help: "the longest hog; nothing, a quarter and half of it are measured as well",
        },
        Parameter {
            name: "hold_us",
            unit: "us",
            default: "3000",
            values: Values::Number(10, 100_000),
            help: "low's work while it holds the lock; high asks after a third of it",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "3",
            values: Values::Number(1, 1000),
            help: "rounds with each length of the hog",
        },
    ],
    duration_us: |request| {
        let hogs = request.number("hog_us") * QUARTERS.iter().sum::<u64>() / 4;
        let holds = request.number("hold_us") * QUARTERS.len() as u64;
        50_000 + request.number("loops") * (holds + hogs) * 3 / 2
    },
};

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run<T: Mutexes>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal> {
    let (kernel, arena) = (trial.kernel, trial.arena);
    let (hog_us, hold_us) = (trial.request.number("hog_us"), trial.request.number("hold_us"));
    let loops = trial.request.count("loops");
    let rounds = loops * QUARTERS.len();
    let protocol = match trial.request.word("protocol") {
        "inheritance" => Protocol::Inheritance,
        "ceiling" => Protocol::Ceiling(HIGH),
        _ => Protocol::None,
    };
    let hold = trial.ticks(hold_us);
    let steps = steps_in(kernel, hold);
    let stage: &'static Stage<T> = arena.place(Stage {
        kernel,
        mutex: T::mutex(kernel, arena, protocol)?,
        points: arena.fill(QUARTERS.len(), |place| {
            Ok(Point {
                hog: trial.ticks(hog_us * QUARTERS[place] / 4),
                released: Marks::new(arena, loops)?,
                worked: Marks::new(arena, loops)?,
                hogged: Marks::new(arena, loops)?,
                waits: Waits::new(arena, place, loops)?,
            })
        })?,
        unheld: Waits::new(arena, QUARTERS.len(), UNHELD)?,
        low: Actor::new(kernel)?,
        medium: Actor::new(kernel)?,
        high: Actor::new(kernel)?,
        done: trial.semaphore(0)?,
        rounds,
        hold: [steps / 3, steps - steps / 3],
        held: AtomicBool::new(false),
        asked_while_held: AtomicU32::new(0),
        switches: AtomicU32::new(0),
    })?;
    T::spawn(kernel, HIGH, high(stage))?;
    T::spawn(kernel, Priority::Urgent(2), medium(stage))?;
    T::spawn(kernel, Priority::Urgent(1), low(stage))?;
    trial.wait(stage.done, 3).await;
    for round in 0..rounds {
        // Rest, so that real-time work never takes more than two thirds of the processor: Linux
        // throttles at 95 %.
        let rest = (hold + stage.point(round).0.hog) / 2;
        <T::Kernel as Kernel>::Director::delay_until(kernel, kernel.now() + rest).await;
        kernel.give(&stage.low.go);
        trial.wait(stage.done, 3).await;
    }
    kernel.give(&stage.high.go);
    trial.wait(stage.done, 1).await;
    report(trial, stage, protocol, hold - hold / 3);
    Ok(())
}

async fn low<T: Mutexes>(stage: &'static Stage<T>) {
    let kernel = stage.kernel;
    kernel.give(stage.done);
    for round in 0..stage.rounds {
        T::take(kernel, &stage.low.go).await;
        let (point, place) = stage.point(round);
        T::lock(kernel, stage.mutex).await;
        stage.held.store(true, Relaxed);
        work(stage.hold[0]);
        point.released.mark(kernel, place);
        kernel.give(&stage.high.go);
        kernel.give(&stage.medium.go);
        work(stage.hold[1]);
        point.worked.mark(kernel, place);
        stage.held.store(false, Relaxed);
        T::unlock(kernel, stage.mutex);
        stage.low.count();
        kernel.give(stage.done);
    }
}

async fn medium<T: Mutexes>(stage: &'static Stage<T>) {
    let kernel = stage.kernel;
    kernel.give(stage.done);
    for round in 0..stage.rounds {
        T::take(kernel, &stage.medium.go).await;
        let (point, place) = stage.point(round);
        let end = kernel.now() + point.hog;
        while kernel.now() < end {
            hint::spin_loop();
        }
        point.hogged.mark(kernel, place);
        stage.medium.count();
        kernel.give(stage.done);
    }
}

async fn high<T: Mutexes>(stage: &'static Stage<T>) {
    let kernel = stage.kernel;
    kernel.give(stage.done);
    let before = T::switches(kernel);
    for round in 0..stage.rounds {
        T::take(kernel, &stage.high.go).await;
        let (point, place) = stage.point(round);
        let held = u32::from(stage.held.load(Relaxed));
        stage.asked_while_held.store(stage.asked_while_held.load(Relaxed) + held, Relaxed);
        lock_once(stage, &point.waits, place).await;
        stage.high.count();
        kernel.give(stage.done);
    }
    stage.switches.store(switches_since::<T>(kernel, before), Relaxed);
    T::take(kernel, &stage.high.go).await;
    for place in 0..UNHELD {
        lock_once(stage, &stage.unheld, place).await;
    }
    kernel.give(stage.done);
}

#[inline(always)]
async fn lock_once<T: Mutexes>(stage: &'static Stage<T>, waits: &Waits<T::Kernel>, place: usize) {
    waits.asked.start(stage.kernel, place, waits.pin);
    T::lock(stage.kernel, stage.mutex).await;
    waits.granted.end(stage.kernel, place, waits.pin);
    T::unlock(stage.kernel, stage.mutex);
}

fn report<T: Mutexes>(
    trial: &mut Trial<'_, T::Kernel>,
    stage: &Stage<T>,
    protocol: Protocol,
    rest: u64,
) {
    let rounds = stage.rounds as f64;
    let ceiling = matches!(protocol, Protocol::Ceiling(_));
    for (who, actor) in [("low", &stage.low), ("medium", &stage.medium), ("high", &stage.high)] {
        trial.evidence(
            &name(format_args!("rounds of {who}")),
            actor.rounds.load(Relaxed).into(),
            rounds,
            rounds,
        );
    }
    let held = f64::from(stage.asked_while_held.load(Relaxed));
    if ceiling {
        // With a ceiling this count is 0 on one processor, because high cannot start: a result, no
        // proof.
        trial.figure("low held the lock when high asked", "", held);
    } else {
        trial.evidence("low held the lock when high asked", held, rounds, rounds);
    }
    // A switch at the release and, without a ceiling, one at the grant. The first release may come
    // before high sleeps.
    let switches = if ceiling { rounds } else { 2.0 * rounds } - 1.0;
    trial.evidence(
        "switches to high",
        stage.switches.load(Relaxed).into(),
        switches,
        f64::INFINITY,
    );

    let overlaps = stage.points.iter().map(|point| point.overlap(rest));
    let (overlap, most) = overlaps.fold((0, 0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
    trial.evidence("low's work done beside the hog", overlap as f64 / most as f64, 0.0, 0.5);

    for Point { hog, released, waits, .. } in stage.points {
        let us = hog * 1_000_000 / stage.kernel.hertz();
        let text = name(format_args!("hog {us} us"));
        let (x, pin) = (Some(*hog as f64), waits.pin.map(Pin::Pulse));
        trial.durations(Series { x, pin, ..Series::measured(&text) }, &waits.asked, &waits.granted);
        let text = name(format_args!("hog {us} us, from release"));
        trial.durations(Series::auxiliary(&text), released, &waits.granted);
    }
    let Waits { asked, granted, pin } = &stage.unheld;
    let pin = pin.map(Pin::Pulse);
    trial.durations(Series { pin, ..Series::auxiliary("nobody holds the lock") }, asked, granted);
    trial.mark_control(&stage.unheld.asked, 1.0);
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long does an urgent task wait for a lock beside a hog?",
    compared: "an urgent task waits for a lock beside a hog",
    typical: Figure::Last("p50"),
    worst: Some(Figure::Last("max")),
    sentences: &[
        "an urgent task waits {last p50} for a lock beside a hog, {p50} without; slope {slope}",
        "an urgent task waits {last p50} for a lock beside a hog, {p50} without",
    ],
    ..MEDIAN
};
