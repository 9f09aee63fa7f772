//! `transaction`: a call that carries bytes to a server in another task, and brings them back.
//!
//! Workers call services: each worker calls a service, waits for the answer, compares it with what
//! it sent, and calls again. With several services, a worker chooses one for each call (from
//! `seed`). A service answers with the bytes that it was given. The bytes count up from another
//! value in each call, so that an answer to an earlier call is noticed.
//!
//! - **Start**: the worker's mark, immediately before the call. The bytes are in the worker's
//!   memory.
//! - **End**: the worker's mark, immediately after the call has returned with a readable answer.
//! - **Sample**: one call. Auxiliary: `processor time`, the worker's own for a call, by the
//!   kernel's accounting over all calls, less the time of as many rounds without a call, where the
//!   kernel keeps an account. Figure: the calls of all workers in a second.
//! - **Control**: the same rounds without the call: two marks, and the comparison.
//! - **Evidence**: every answer equalled the sent bytes; the services, if they are tasks of their
//!   own, counted every call; so did the driver, if it counts (binder).
//! - **Source**: P3, throughput: `BM_sendVec_binderize` (`transport=hwbinder`),
//!   `BM_sendVec_binder`, and `BM_sendVec_passthrough`, where server and client are one task;
//!   several workers and services as in Android's throughput program. `size` goes on beyond P3's
//!   65536 bytes, to where transports refuse.
//!
//! How it differs from the source: P3 reports the mean wall time of all iterations, the loop
//! included, and no percentiles; here each call is timed by itself, and answers are compared
//! outside the marks. P3's servers have a pool of threads; a service here is one task.

use core::{
    hint::black_box,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use crate::{
    kernel::{
        CallFailure, Clock, Fault, Kernel, Priority, ProcessorTime, Reason, Refusal, Tasks,
        Transport,
    },
    mark::{Marks, Slot},
    spec::{MEDIAN, Parameter, Reading, Spec, Values},
    task::block_on,
    trial::{Trial, name},
    wire::Series,
};

/// The maximum length of a message, in bytes: more than some transports accept.
const LARGEST: u64 = 1 << 20;

/// The description of `transaction`.
pub static SPEC: Spec = Spec {
    name: "transaction",
    summary: "a call that carries bytes to a server in another task, and brings them back",
    start: "immediately before the worker calls",
    end: "immediately after the call has returned with the answer",
    statistic: "one call; the worker's processor time for it; calls of all workers in a second",
    control: "the same rounds without the call",
    evidence: "every answer held what was sent; the services counted every call, and the driver \
               where it tells",
    pin: "",
    source: "P3, throughput",
    parameters: &[
        Parameter {
            name: "kind",
            unit: "",
            default: "process",
            values: Values::Word(&["process"]),
            help: "the kind of task that workers and services are",
        },
        Parameter {
            name: "transport",
            unit: "",
            default: "unix",
            values: Values::Word(&[
                "binder",
                "hwbinder",
                "unix",
                "seqpacket",
                "pipe",
                "tcp",
                "mq",
                "futex",
                "eventfd",
                "process_vm",
                "passthrough",
                "ipc",
            ]),
            help: "tcp: over the loopback device; mq: POSIX message queues; futex, eventfd: \
                   shared memory, and what rings; process_vm: read from the other's memory; passthrough: no server; ipc: a microkernel's call and answer, \
                   few bytes in registers",
        },
        Parameter {
            name: "size",
            unit: "B",
            default: "64",
            values: Values::Number(1, LARGEST),
            help: "bytes there, and back",
        },
        Parameter {
            name: "class",
            unit: "",
            default: "ordinary",
            values: Values::Word(&["ordinary", "urgent"]),
            help: "of workers and services",
        },
        Parameter {
            name: "workers",
            unit: "",
            default: "1",
            values: Values::Number(1, 64),
            help: "tasks that call",
        },
        Parameter {
            name: "services",
            unit: "",
            default: "1",
            values: Values::Number(1, 64),
            help: "tasks that answer",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "5000",
            values: Values::Number(10, 1_000_000),
            help: "calls of each worker",
        },
        Parameter {
            name: "seed",
            unit: "",
            default: "1",
            values: Values::Number(0, u32::MAX as u64),
            help: "of the choice of services",
        },
        Parameter {
            name: "fault",
            unit: "",
            default: "none",
            values: Values::Word(&["none", "dead", "mute", "hoard", "descriptors", "memory"]),
            help: "to see what becomes of it: the first service ends, or says no more, after half \
                   of its share of the calls; binder's workers free no answer, or find no \
                   descriptors or no memory to connect with",
        },
    ],
    duration_us: |request| {
        let workers = request.number("workers");
        5_000
            + request.number("loops") * workers * (15 + request.number("size") / 1000)
            + 1000 * workers
    },
};

/// The kernel's account of a task's processor time, if it keeps one.
trait Account<K: Kernel>: 'static {
    const IS_KEPT: bool;

    /// Returns the processor time of the calling task, in ticks of the clock; 0 without an account.
    fn processor_time(kernel: &'static K) -> u64;
}

/// The account of tasks of the kind `T`.
enum Kept<T> {
    #[expect(dead_code, reason = "the type is never instantiated")]
    Of(T),
}

impl<T: ProcessorTime> Account<T::Kernel> for Kept<T> {
    const IS_KEPT: bool = true;

    fn processor_time(kernel: &'static T::Kernel) -> u64 {
        T::processor_time(kernel)
    }
}

enum Missing {}

impl<K: Kernel> Account<K> for Missing {
    const IS_KEPT: bool = false;

    fn processor_time(_: &'static K) -> u64 {
        0
    }
}

struct Traffic<K: Kernel, W: Transport> {
    kernel: &'static K,
    services: &'static W::Services,
    /// The bytes to send: each call takes `size` bytes from one of the first 256 offsets.
    payload: &'static [u8],
    /// The fault to inject into the workers.
    fault: Option<Fault>,
    /// The number of calls that the first service answers before its fault.
    limit: u32,
    /// The semaphore that a mute service waits for; never given.
    never: Option<&'static K::Semaphore>,
    size: usize,
    seed: u64,
    servers: &'static [Server],
    workers: &'static [Worker<K>],
    /// Given once for each worker to begin.
    gate: &'static K::Semaphore,
    /// Given by each worker when it is ready, and again at its end.
    done: &'static K::Semaphore,
    /// Given by each server at its end.
    ended: &'static K::Semaphore,
}

struct Server {
    answered: AtomicU32,
}

struct Worker<K: Kernel> {
    starts: Marks<K>,
    ends: Marks<K>,
    control_starts: Marks<K>,
    control_ends: Marks<K>,
    /// The processor time of the rounds without a call, and with one.
    spent: [K::Slot; 2],
    right: AtomicU32,
    /// The number of calls counted by the driver, or `UNCOUNTED`.
    carried: AtomicU32,
    failure: Failure,
}

const UNCOUNTED: u32 = u32::MAX;

/// A [`CallFailure`] encoded in a word; 0 for none.
struct Failure(AtomicU32);

impl Failure {
    const DEAD: u32 = 1;
    const REFUSED: u32 = 2;
    const TIMED_OUT: u32 = 3;
    /// The base of a code to which the system's error number, below 4096, is added.
    const UNCONNECTED: u32 = 1 << 12;
    const FAILED: u32 = 2 << 12;

    fn set(&self, failure: CallFailure) {
        let word = match failure {
            CallFailure::Dead => Self::DEAD,
            CallFailure::Refused => Self::REFUSED,
            CallFailure::TimedOut => Self::TIMED_OUT,
            CallFailure::Unconnected(code) => Self::UNCONNECTED | code.unsigned_abs() & 0xfff,
            CallFailure::Failed(code) => Self::FAILED | code.unsigned_abs() & 0xfff,
        };
        self.0.store(word, Relaxed);
    }

    fn refusal(&self) -> Option<Refusal> {
        let failed = |what, mend| Some(Refusal::new(Reason::Failed, what, mend));
        match self.0.load(Relaxed) {
            0 => None,
            Self::DEAD => failed("the server died while it was called", ""),
            Self::REFUSED => failed(
                "the transport refused a call",
                "it was too long, or there was no room: ask for a smaller size",
            ),
            Self::TIMED_OUT => failed("the server did not answer a call in time", ""),
            word => {
                let refusal = match word & !0xfff {
                    Self::UNCONNECTED => failed("a worker could not connect to the services", ""),
                    _ => failed("a call failed", ""),
                };
                refusal.map(|refusal| refusal.with_code((word & 0xfff).cast_signed()))
            }
        }
    }
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena; [`Reason::Failed`] when a call fails.
pub async fn run<T, W>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal>
where
    T: ProcessorTime,
    W: Transport<Kernel = T::Kernel>,
{
    run_by::<T, W, Kept<T>>(trial).await
}

/// Runs the experiment without the workers' processor time, of which the kernel keeps no account.
///
/// # Errors
/// The errors of [`run`].
pub async fn run_without_account<T, W>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal>
where
    T: Tasks,
    W: Transport<Kernel = T::Kernel>,
{
    run_by::<T, W, Missing>(trial).await
}

async fn run_by<T, W, P>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal>
where
    T: Tasks,
    W: Transport<Kernel = T::Kernel>,
    P: Account<T::Kernel>,
{
    let (kernel, arena, request) = (trial.kernel, trial.arena, trial.request);
    let [size, workers, services, loops] =
        ["size", "workers", "services", "loops"].map(|name| request.count(name));
    let class = match request.word("class") {
        "urgent" => Priority::Urgent(1),
        _ => Priority::Ordinary,
    };
    let limit = match request.word("fault") {
        "dead" | "mute" => (loops * workers / services / 2) as u32,
        _ => u32::MAX,
    };
    let fault = match request.word("fault") {
        "hoard" => Some(Fault::Hoard),
        "descriptors" => Some(Fault::Descriptors),
        "memory" => Some(Fault::Memory),
        _ => None,
    };
    if fault.is_some() && !W::FAULTS {
        return Err(Refusal::not_offered(
            "this transport's workers cannot be made to fail so: binder's can",
        ));
    }
    let worker = |_| {
        Ok(Worker {
            starts: Marks::new(arena, loops)?,
            ends: Marks::new(arena, loops)?,
            control_starts: Marks::new(arena, loops)?,
            control_ends: Marks::new(arena, loops)?,
            spent: [Slot::empty(), Slot::empty()],
            right: AtomicU32::new(0),
            carried: AtomicU32::new(UNCOUNTED),
            failure: Failure(AtomicU32::new(0)),
        })
    };
    let traffic: &'static Traffic<T::Kernel, W> = arena.place(Traffic {
        kernel,
        services: W::services(kernel, arena, services, workers, size)?,
        payload: arena.fill(size + 255, |place| Ok(place as u8))?,
        fault,
        limit,
        never: (request.word("fault") == "mute").then(|| trial.semaphore(0)).transpose()?,
        size,
        seed: request.number("seed"),
        servers: arena.fill(services, |_| Ok(Server { answered: AtomicU32::new(0) }))?,
        workers: arena.fill(workers, worker)?,
        gate: trial.semaphore(0)?,
        done: trial.semaphore(0)?,
        ended: trial.semaphore(0)?,
    })?;
    if W::SERVED {
        for place in 0..services {
            T::spawn(kernel, class, server::<T, W>(traffic, place))?;
        }
    }
    for place in trial.order(workers) {
        T::spawn(kernel, class, work::<T, W, P>(traffic, place))?;
    }
    W::release(traffic.services);
    trial.wait(traffic.done, workers).await;
    (0..workers).for_each(|_| kernel.give(traffic.gate));
    trial.wait(traffic.done, workers).await;
    if let Some(refusal) = traffic.workers.iter().find_map(|worker| worker.failure.refusal()) {
        return Err(refusal);
    }
    if W::SERVED {
        // The workers have left, so the services end.
        trial.wait(traffic.ended, services).await;
    }
    report(trial, traffic, P::IS_KEPT);
    Ok(())
}

async fn server<T, W>(traffic: &'static Traffic<T::Kernel, W>, place: usize)
where
    T: Tasks,
    W: Transport<Kernel = T::Kernel>,
{
    let limit = if place == 0 { traffic.limit } else { u32::MAX };
    let answered = &traffic.servers[place].answered;
    let echo = |_: &mut [u8]| {
        if answered.load(Relaxed) < limit {
            answered.store(answered.load(Relaxed) + 1, Relaxed);
            return true;
        }
        if let Some(never) = traffic.never {
            block_on(T::take(traffic.kernel, never));
        }
        false
    };
    // A failure shows in the clients' calls.
    let _ = W::serve(traffic.services, place, echo);
    traffic.kernel.give(traffic.ended);
}

async fn work<T, W, P>(traffic: &'static Traffic<T::Kernel, W>, place: usize)
where
    T: Tasks,
    W: Transport<Kernel = T::Kernel>,
    P: Account<T::Kernel>,
{
    let kernel = traffic.kernel;
    let worker = &traffic.workers[place];
    let client = match traffic.fault {
        None => W::connect(traffic.services, place),
        Some(fault) => W::connect_with(traffic.services, place, fault),
    };
    kernel.give(traffic.done);
    T::take(kernel, traffic.gate).await;
    let size = traffic.size;
    let outcome = client.and_then(|mut client| {
        let carried = W::counted(&client);
        let timed =
            [(&worker.control_starts, &worker.control_ends), (&worker.starts, &worker.ends)];
        for (spent, (calling, (starts, ends))) in
            worker.spent.iter().zip([false, true].into_iter().zip(timed))
        {
            let mut choice = Choice::new(traffic, place);
            let before = P::processor_time(kernel);
            let mut right = 0;
            for round in 0..starts.len() {
                let bytes = &traffic.payload[round % 256..][..size];
                let service = choice.next();
                starts.mark(kernel, round);
                let answer =
                    if calling { W::call(&mut client, service, bytes)? } else { black_box(bytes) };
                ends.mark(kernel, round);
                right += u32::from(answer == bytes);
            }
            let ran = P::processor_time(kernel) - before;
            spent.store(<T::Kernel as Clock>::Slot::truncate(ran));
            worker.right.store(right, Relaxed);
        }
        if let (Some(before), Some(after)) = (carried, W::counted(&client)) {
            worker.carried.store(after.wrapping_sub(before), Relaxed);
        }
        Ok(())
    });
    if let Err(failure) = outcome {
        worker.failure.set(failure);
    }
    kernel.give(traffic.done);
}

/// A pseudo-random sequence of services for a worker.
struct Choice {
    services: u64,
    state: u64,
}

impl Choice {
    fn new<K: Kernel, W: Transport>(traffic: &Traffic<K, W>, place: usize) -> Self {
        Self { services: traffic.servers.len() as u64, state: traffic.seed << 8 ^ place as u64 }
    }

    fn next(&mut self) -> usize {
        // Knuth's linear congruential generator (MMIX). Its high bits are the better ones.
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 32) % self.services) as usize
    }
}

fn report<K: Kernel, W: Transport>(
    trial: &mut Trial<'_, K>,
    traffic: &Traffic<K, W>,
    has_account: bool,
) {
    let workers = traffic.workers;
    let loops = workers[0].starts.len();
    let calls = (loops * workers.len()) as f64;
    let right: f64 = workers.iter().map(|worker| f64::from(worker.right.load(Relaxed))).sum();
    trial.evidence("answers that held what was sent", right, calls, calls);
    if W::SERVED {
        let answered: f64 =
            traffic.servers.iter().map(|server| f64::from(server.answered.load(Relaxed))).sum();
        trial.evidence("calls counted by the services", answered, calls, calls);
    }
    let carried = || workers.iter().map(|worker| worker.carried.load(Relaxed));
    if carried().all(|count| count != UNCOUNTED) {
        trial.evidence(
            "transactions counted by the driver",
            carried().map(f64::from).sum(),
            calls,
            calls,
        );
    }
    let spent = |worker: &Worker<K>| {
        let [without, with] = [0, 1].map(|place| worker.spent[place].load());
        K::Slot::between(without, with).max(0).unsigned_abs()
    };
    if has_account {
        let series = Series { per: loops as f64, ..Series::auxiliary("processor time") };
        trial.values(series, workers.iter().map(spent));
    }
    // From the first start of all workers to the last end.
    let first = &workers[0].starts;
    let began = workers.iter().map(|worker| first.until(0, &worker.starts, 0)).min().unwrap_or(0);
    let ended =
        workers.iter().map(|worker| first.until(0, &worker.ends, loops - 1)).max().unwrap_or(0);
    let seconds = (ended - began).max(1) as f64 / trial.kernel.hertz() as f64;
    trial.figure("calls in a second", "", calls / seconds);
    trial.figure(
        "bytes in a second, there and back",
        "",
        2.0 * calls * traffic.size as f64 / seconds,
    );
    for (place, worker) in workers.iter().enumerate() {
        let text = if workers.len() == 1 {
            name(format_args!("call"))
        } else {
            name(format_args!("worker {place}"))
        };
        trial.durations(Series::measured(&text), &worker.starts, &worker.ends);
    }
    trial.durations(
        Series::control("no call"),
        &workers[0].control_starts,
        &workers[0].control_ends,
    );
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how long does a call to another process take?",
    compared: "a call to another process takes",
    sentences: &["a call to another process takes {p50} at the median, {max} at worst"],
    ..MEDIAN
};
