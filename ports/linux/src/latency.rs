//! The implementation of the experiment `latency`, which the suite's module of that name specifies.

use std::{
    hint,
    sync::atomic::{
        AtomicBool, AtomicI32, AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
};

use chronoscope_suite::{
    Kernel, Priority, Reason, Refusal, Tasks, Trial,
    kernel::{CallFailure, Transport},
    mark::Marks,
    trial::name,
    wire::Series,
    work::{steps_in, work},
};
use libc::c_int;

use crate::{
    class::{class_of_caller, set_class},
    kernel::Linux,
    process::Process,
    semaphore::Semaphore,
    trace::Trace,
};

const FIFO: (c_int, c_int) = (libc::SCHED_FIFO, 99);

/// The identity, scheduling class and processor of a thread: six numbers, which are also the
/// content of a message.
#[derive(Clone, Copy, Default)]
struct Who([i32; 5]);

/// A message's content.
const BYTES: usize = 5 * size_of::<i32>();

impl Who {
    /// Reads the values of the calling thread.
    fn here() -> Self {
        let (policy, priority) = class_of_caller();
        // SAFETY: these take no arguments, and cannot fail.
        let (pid, tid, cpu) = unsafe { (libc::getpid(), libc::gettid(), libc::sched_getcpu()) };
        Self([pid, tid, cpu, policy, priority])
    }

    fn pid(self) -> i32 {
        self.0[0]
    }

    fn tid(self) -> i32 {
        self.0[1]
    }

    fn cpu(self) -> i32 {
        self.0[2]
    }

    fn class(self) -> (c_int, c_int) {
        (self.0[3], self.0[4])
    }

    /// Returns whether this server runs at its caller's real-time priority. The policies are not
    /// compared: a driver that inherits adds `SCHED_RESET_ON_FORK` to the caller's, and Android's
    /// program compares priorities only.
    fn has_priority_of(self, caller: Self) -> bool {
        self.class().1 == caller.class().1
    }

    /// Formats the values like the original program: a line for the identity, and a line for class
    /// and processor.
    fn told(self, name: &str) -> String {
        let policy = match self.class().0 {
            libc::SCHED_OTHER => "SCHED_OTHER",
            libc::SCHED_FIFO => "SCHED_FIFO",
            libc::SCHED_RR => "SCHED_RR",
            // The policy may be combined with SCHED_RESET_ON_FORK.
            _ => "???",
        };
        let (pid, tid, cpu) = (self.pid(), self.tid(), self.cpu());
        let line = "-".repeat(50);
        format!(
            "{line}\n{name:<12} pid: {pid} tid: {tid} cpu: {cpu}\n{policy:<12}{}\n",
            self.class().1
        )
    }

    fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (place, number) in bytes.chunks_exact_mut(4).zip(self.0) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut numbers = bytes
            .chunks_exact(4)
            .filter_map(|place| Some(i32::from_ne_bytes(place.try_into().ok()?)));
        let all = [(); 5].map(|()| numbers.next());
        all.iter().all(Option::is_some).then(|| Self(all.map(Option::unwrap_or_default)))
    }
}

/// A [`Who`] in shared memory.
struct Kept([AtomicI32; 5]);

impl Kept {
    const fn new() -> Self {
        Self([const { AtomicI32::new(0) }; 5])
    }

    fn set(&self, who: Who) {
        self.0.iter().zip(who.0).for_each(|(place, number)| place.store(number, Relaxed));
    }

    fn get(&self) -> Who {
        Who([0, 1, 2, 3, 4].map(|place: usize| self.0[place].load(Relaxed)))
    }
}

/// The two kinds of caller: at SCHED_FIFO and at SCHED_OTHER.
const CALLERS: [&str; 2] = ["fifo", "other"];

struct Pair {
    /// The marks, indexed by caller.
    starts: [Marks<Linux>; 2],
    ends: [Marks<Linux>; 2],
    service: Kept,
    client: Kept,
    /// The caller and the server of each call: round by round, FIFO before OTHER. A single round,
    /// unless the case asks for all.
    calls: &'static [[Kept; 2]],
    /// The number of calls served at another priority than the caller's, by caller; `elsewhere` counts
    /// the calls served on another processor.
    not_inherited: [AtomicU32; 2],
    elsewhere: AtomicU32,
    /// The number of callers that read back their class, and of calls answered by the intended
    /// process.
    in_class: AtomicU32,
    answered: AtomicU32,
    /// The number of completed rounds: fewer than requested if a miss has stopped the trace.
    rounds: AtomicU32,
    /// The number of calls counted by the driver, and whether it counts.
    carried: AtomicU32,
    is_counted: AtomicBool,
    failed: AtomicBool,
}

struct Case<W: Transport> {
    kernel: &'static Linux,
    services: &'static W::Services,
    pairs: &'static [Pair],
    loops: usize,
    boost: bool,
    verbose: bool,
    /// The service's work before it answers.
    steps: u64,
    /// The duration of the work, in ticks.
    deadline: i64,
    gate: &'static Semaphore,
    done: &'static Semaphore,
    ended: &'static Semaphore,
    over: AtomicBool,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena; [`Reason::Failed`] when a call fails.
pub async fn run<W: Transport<Kernel = Linux>>(
    trial: &mut Trial<'_, Linux>,
) -> Result<(), Refusal> {
    let (kernel, arena, request) = (trial.kernel, trial.arena, trial.request);
    let [pairs, loops, hogs] = ["pairs", "loops", "hogs"].map(|name| request.count(name));
    let verbose = request.word("verbose") == "yes";
    // Check the class first, so that a refusal is known before anything runs.
    let present = class_of_caller();
    set_class(FIFO)?;
    set_class(present)?;
    let marks = || Ok::<_, Refusal>([Marks::new(arena, loops)?, Marks::new(arena, loops)?]);
    let pair = |_| {
        Ok(Pair {
            starts: marks()?,
            ends: marks()?,
            service: Kept::new(),
            client: Kept::new(),
            calls: arena
                .fill(if verbose { 2 * loops } else { 0 }, |_| Ok([Kept::new(), Kept::new()]))?,
            not_inherited: [const { AtomicU32::new(0) }; 2],
            elsewhere: AtomicU32::new(0),
            in_class: AtomicU32::new(0),
            answered: AtomicU32::new(0),
            rounds: AtomicU32::new(0),
            carried: AtomicU32::new(0),
            is_counted: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        })
    };
    let steps = match request.number("work_us") {
        0 => 0,
        work_us => steps_in(kernel, trial.ticks(work_us)),
    };
    let case: &'static Case<W> = arena.place(Case {
        kernel,
        services: W::services(kernel, arena, pairs, pairs, BYTES)?,
        pairs: arena.fill(pairs, pair)?,
        loops,
        boost: request.word("boost") == "yes",
        verbose,
        steps,
        deadline: trial.ticks(request.number("deadline_us")).cast_signed(),
        gate: trial.semaphore(0)?,
        done: trial.semaphore(0)?,
        ended: trial.semaphore(0)?,
        over: AtomicBool::new(false),
    })?;
    for place in 0..pairs {
        Process::spawn(kernel, Priority::Ordinary, serve(case, place))?;
    }
    for place in 0..pairs {
        Process::spawn(kernel, Priority::Ordinary, call(case, place))?;
    }
    for _ in 0..hogs {
        Process::spawn(kernel, Priority::Ordinary, hog(case))?;
    }
    W::release(case.services);
    trial.wait(case.done, pairs).await;
    (0..pairs + hogs).for_each(|_| kernel.give(case.gate));
    trial.wait(case.done, pairs).await;
    case.over.store(true, Release);
    if case.pairs.iter().any(|pair| pair.failed.load(Relaxed)) {
        return Err(Refusal::new(Reason::Failed, "a call failed, or was not answered in time", ""));
    }
    trial.wait(case.ended, pairs + hogs).await;
    report(trial, case);
    Ok(())
}

async fn hog<W: Transport>(case: &'static Case<W>) {
    case.gate.take();
    while !case.over.load(Acquire) {
        hint::black_box(work(1000));
    }
    case.ended.give();
}

async fn serve<W: Transport>(case: &'static Case<W>, place: usize) {
    case.pairs[place].service.set(Who::here());
    let answer = |message: &mut [u8]| {
        let here = Who::here().to_bytes();
        if case.steps > 0 {
            hint::black_box(work(case.steps));
        }
        // All callers send messages of this length.
        message.copy_from_slice(&here);
        true
    };
    // A failure shows in the client's calls.
    let _ = W::serve(case.services, place, answer);
    case.ended.give();
}

async fn call<W: Transport<Kernel = Linux>>(case: &'static Case<W>, place: usize) {
    let pair = &case.pairs[place];
    pair.client.set(Who::here());
    // The first call identifies the server.
    let client = W::connect(case.services, place).and_then(|mut client| {
        let first = W::call(&mut client, place, &Who::here().to_bytes())?;
        let server = Who::from_bytes(first).ok_or(CallFailure::Refused)?;
        Ok((client, server))
    });
    case.done.give();
    case.gate.take();
    let outcome = client.and_then(|(mut client, server)| {
        let carried = W::counted(&client);
        for round in 0..case.loops {
            if case.kernel.trace.as_ref().is_some_and(Trace::is_over) {
                break;
            }
            let real_time = || {
                // A failure shows in the class that is read back, which is evidence.
                let _ = set_class(FIFO);
                let outcome = one_call(case, pair, &mut client, place, server, 0, round);
                W::end_thread(&mut client);
                outcome
            };
            thread::scope(|scope| {
                let caller =
                    thread::Builder::new().stack_size(64 * 1024).spawn_scoped(scope, real_time);
                let caller = caller
                    .map_err(|error| CallFailure::Failed(error.raw_os_error().unwrap_or(0)))?;
                caller.join().unwrap_or(Err(CallFailure::Refused))
            })?;
            one_call(case, pair, &mut client, place, server, 1, round)?;
            pair.rounds.store(round as u32 + 1, Relaxed);
        }
        if let (Some(before), Some(after)) = (carried, W::counted(&client)) {
            pair.carried.store(after.wrapping_sub(before), Relaxed);
            pair.is_counted.store(true, Relaxed);
        }
        Ok(())
    });
    pair.failed.store(outcome.is_err(), Relaxed);
    case.done.give();
}

/// Makes one call from the calling thread. `which` is its index in [`CALLERS`].
fn one_call<W: Transport>(
    case: &Case<W>,
    pair: &Pair,
    client: &mut W::Client,
    place: usize,
    server: Who,
    which: usize,
    round: usize,
) -> Result<(), CallFailure> {
    let caller = Who::here();
    let message = caller.to_bytes();
    pair.starts[which].mark(case.kernel, round);
    if case.boost {
        give_class(server.tid(), caller.class());
    }
    if !W::SERVED && case.steps > 0 {
        // The server is a function of the caller's thread.
        hint::black_box(work(case.steps));
    }
    let answer = W::call(client, place, &message)?;
    pair.ends[which].mark(case.kernel, round);
    let served = Who::from_bytes(answer).ok_or(CallFailure::Refused)?;
    if let Some(trace) = &case.kernel.trace
        && which == 0
        && pair.starts[which].until(round, &pair.ends[which], round) > case.deadline
    {
        trace.miss();
    }
    let add =
        |count: &AtomicU32, what: bool| count.store(count.load(Relaxed) + u32::from(what), Relaxed);
    add(&pair.not_inherited[which], !served.has_priority_of(caller));
    add(&pair.elsewhere, served.cpu() != caller.cpu());
    add(&pair.in_class, caller.class() == [FIFO, (libc::SCHED_OTHER, 0)][which]);
    let service = if W::SERVED { pair.service.get() } else { pair.client.get() };
    add(&pair.answered, served.pid() == service.pid());
    if let Some([kept, kept_server]) = pair.calls.get(2 * round + which) {
        kept.set(caller);
        kept_server.set(served);
    }
    Ok(())
}

/// Raises or lowers the server's class, with `SCHED_RESET_ON_FORK` as a driver that inherits sets it.
/// A failure shows in the class that the server reads back.
fn give_class(thread: i32, (policy, priority): (c_int, c_int)) {
    let parameter = libc::sched_param { sched_priority: priority };
    let policy = policy | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the parameter is valid for the length of the call.
    unsafe { libc::sched_setscheduler(thread, policy, &raw const parameter) };
}

fn report<W: Transport>(trial: &mut Trial<'_, Linux>, case: &Case<W>) {
    for (place, pair) in case.pairs.iter().enumerate() {
        let rounds = pair.rounds.load(Relaxed) as usize;
        let calls = 2.0 * rounds as f64;
        let count = |count: &AtomicU32| f64::from(count.load(Relaxed));
        let mut evidence = |what: &str, value: f64| {
            trial.evidence(&name(format_args!("P{place} {what}")), value, calls, calls);
        };
        evidence("callers in their class", count(&pair.in_class));
        evidence("calls answered by its service", count(&pair.answered));
        if pair.is_counted.load(Relaxed) {
            evidence("transactions counted by the driver", count(&pair.carried));
        }
        let mut figure = |what: &str, value: f64| {
            trial.figure(&name(format_args!("P{place} {what}")), "", value)
        };
        figure("calls", calls);
        figure("calls on one processor", calls - count(&pair.elsewhere));
        for (which, caller) in CALLERS.into_iter().enumerate() {
            figure(
                &format!("{caller} served at another priority"),
                count(&pair.not_inherited[which]),
            );
            let late = |&round: &usize| {
                pair.starts[which].until(round, &pair.ends[which], round) > case.deadline
            };
            figure(&format!("{caller} misses"), (0..rounds).filter(late).count() as f64);
        }
        for (which, caller) in CALLERS.into_iter().enumerate() {
            let series = name(format_args!("P{place} {caller}"));
            let starts = pair.starts[which].first(rounds);
            trial.durations(Series::measured(&series), &starts, &pair.ends[which]);
        }
        if case.verbose {
            tell(trial, pair, rounds);
        }
    }
    trial.mark_control(&case.pairs[0].starts[0], 1.0);
}

/// Attaches the callers and servers in the original's order. A file, because there may be many
/// lines, and equal ones.
fn tell(trial: &mut Trial<'_, Linux>, pair: &Pair, rounds: usize) {
    let server = trial.request.word("transport");
    let mut tell = |name: &str, who: Who| trial.attach("calls", who.told(name).as_bytes());
    tell("service", pair.service.get());
    tell("main", Who::here());
    tell("client", pair.client.get());
    for (place, [caller, served]) in pair.calls.iter().take(2 * rounds).enumerate() {
        tell(["fifo-caller", "other-caller"][place % 2], caller.get());
        tell(server, served.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(policy: c_int, priority: c_int) -> Who {
        Who([1, 1, 0, policy, priority])
    }

    #[test]
    fn a_server_inherits_a_priority_whatever_its_policy() {
        let caller = at(libc::SCHED_FIFO, 99);
        let inherits = at(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 99);
        assert!(inherits.has_priority_of(caller) && caller.has_priority_of(caller));
        assert!(inherits.told("hwbinder").contains("???         99"));
        assert!(!at(libc::SCHED_OTHER, 0).has_priority_of(caller));
        assert!(!at(libc::SCHED_FIFO, 98).has_priority_of(caller));
        let ordinary = at(libc::SCHED_OTHER, 0);
        assert!(at(libc::SCHED_RESET_ON_FORK, 0).has_priority_of(ordinary));
    }
}
