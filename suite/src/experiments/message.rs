//! `message`: one word of 32 bits from a task to a more urgent one.
//!
//! A sender at the lower priority sends a word to a receiver at the higher one, which answers with
//! the word's complement; the sender waits for the answer before it sends the next word. So every
//! word finds the receiver waiting, and one message is two words and two switches, whichever end is
//! timed. Several `pairs` alternate: each sender yields after every message.
//!
//! - **Start**: the sender's mark, immediately before it sends.
//! - **End**: `one-way`: the receiver's mark, its first instruction after its receive has returned.
//!   `round-trip`: the sender's mark, immediately after it has received the answer.
//! - **Sample**: one message. Round trips too short to be timed alone are timed in batches
//!   (`batch`). One-way messages cannot be, because each ends in another task than it starts in.
//! - **Control**: marks one straight after the other.
//! - **Evidence**: every word and every answer arrived once and in order; switches to receivers,
//!   counted by the kernel, are at least one a message. (Switches to senders are reported, but are
//!   no evidence: if a receiver runs on the sender's stack, the way back is a return, which no
//!   kernel counts.)
//! - **Pin**: D0: high from before the mark at the start to after the one at the end, with
//!   `pairs=1`; the messages of several pairs may overlap where tasks are not pre-empted.
//! - **Source**: the procedure of `hackbench` (pairs of senders and receivers), and the queue and
//!   message tests that makers of small kernels publish.
//!
//! How it differs from the sources: hackbench times all messages together, over sockets or pipes of
//! 100 bytes, and its senders run ahead of their receivers; here each message is timed alone and
//! holds one wake-up. A coroutine is not pre-empted, so its receiver runs when the sender begins to
//! wait for the answer.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::{
    kernel::{Kernel, Messages, Priority, Reason, Refusal, switches_since},
    mark::{MEASURED, Marks},
    spec::{KIND, MEDIAN, Parameter, Reading, Spec, Values},
    trial::Trial,
    wire::{Pin, Series},
};

/// The description of `message`.
pub static SPEC: Spec = Spec {
    name: "message",
    summary: "one 32-bit word from a task to a more urgent one",
    start: "immediately before the sender sends",
    end: "one-way: the receiver's first instruction after its receive; round-trip: when the \
          sender has the answer",
    statistic: "one message; round trips between coroutines, which are shorter than some marks, \
                100 together",
    control: "marks set one straight after the other",
    evidence: "every word and answer arrived in order; switches to receivers, counted by the \
               kernel: one a message",
    pin: "D0: high from start to end",
    source: "hackbench; queue and message tests of small kernels",
    parameters: &[
        KIND,
        Parameter {
            name: "shape",
            unit: "",
            default: "one-way",
            values: Values::Word(&["one-way", "round-trip"]),
            help: "whether a message ends at the receiver, or with its answer at the sender",
        },
        Parameter {
            name: "primitive",
            unit: "",
            default: "queue",
            values: Values::Word(&["queue", "futex", "pipe"]),
            help: "queue: the kernel's usual one; futex and pipe are what Linux can make queues of",
        },
        Parameter {
            name: "pairs",
            unit: "",
            default: "1",
            values: Values::Number(1, 100),
            help: "pairs of a sender and a receiver that take turns",
        },
        Parameter {
            name: "loops",
            unit: "",
            default: "10000",
            values: Values::Number(10, 1_000_000),
            help: "messages, of all pairs together",
        },
        Parameter {
            name: "batch",
            unit: "",
            default: "0",
            values: Values::Number(0, 10_000),
            help: "round trips timed together; 0: 1, but 100 between coroutines",
        },
    ],
    duration_us: |request| {
        let (loops, pairs) = (request.number("loops"), request.number("pairs"));
        match request.tasks() {
            "coroutine" => 5_000 + loops / 5,
            "process" => 6 * loops + 4_000 * pairs,
            _ => 5 * loops + 300 * pairs,
        }
    },
};

const SENDER: Priority = Priority::Urgent(1);
const RECEIVER: Priority = Priority::Urgent(2);

/// The minimum capacity of a queue. It holds one word at a time.
const CAPACITY: usize = 4;

struct Traffic<T: Messages> {
    kernel: &'static T::Kernel,
    /// The starts of batches: place n * pairs + p belongs to batch n of pair p. `ends` has the same
    /// places.
    starts: Marks<T::Kernel>,
    ends: Marks<T::Kernel>,
    pairs: &'static [Pair<T>],
    /// Given by each task when it is ready, and again at its end.
    done: &'static <T::Kernel as Kernel>::Semaphore,
    /// The number of batches of each pair, and of messages of each batch.
    batches: usize,
    batch: usize,
}

struct Pair<T: Messages> {
    /// Given to let the sender begin; `leave`, to let the receiver end.
    gate: <T::Kernel as Kernel>::Semaphore,
    leave: <T::Kernel as Kernel>::Semaphore,
    words: T::Queue,
    answers: T::Queue,
    /// The number of expected words, and of expected answers.
    words_in_order: AtomicU32,
    answers_in_order: AtomicU32,
    sender_switches: AtomicU32,
    receiver_switches: AtomicU32,
}

/// Runs the experiment.
///
/// # Errors
/// [`Refusal`] from the kernel or the arena.
pub async fn run<T: Messages>(trial: &mut Trial<'_, T::Kernel>) -> Result<(), Refusal> {
    let kernel = trial.kernel;
    let pairs = trial.request.count("pairs");
    let round_trip = trial.request.word("shape") == "round-trip";
    let batch = match trial.request.count("batch") {
        0 if round_trip && trial.request.tasks() == "coroutine" => 100,
        0 => 1,
        batch if round_trip || batch == 1 => batch,
        _ => {
            return Err(Refusal::new(
                Reason::Invalid,
                "only round trips can be timed together",
                "leave out batch",
            ));
        }
    };
    let batches = trial.request.count("loops").div_ceil(pairs * batch).max(2);
    let pair = |_| {
        Ok(Pair {
            gate: kernel.semaphore(0)?,
            leave: kernel.semaphore(0)?,
            words: T::queue(kernel, CAPACITY)?,
            answers: T::queue(kernel, CAPACITY)?,
            words_in_order: AtomicU32::new(0),
            answers_in_order: AtomicU32::new(0),
            sender_switches: AtomicU32::new(0),
            receiver_switches: AtomicU32::new(0),
        })
    };
    let traffic: &'static Traffic<T> = trial.arena.place(Traffic {
        kernel,
        starts: Marks::new(trial.arena, batches * pairs)?,
        ends: Marks::new(trial.arena, batches * pairs)?,
        pairs: trial.arena.fill(pairs, pair)?,
        done: trial.semaphore(0)?,
        batches,
        batch,
    })?;
    for seat in trial.order(pairs) {
        if round_trip {
            T::spawn(kernel, RECEIVER, receiver::<T, true>(traffic, seat))?;
            T::spawn(kernel, SENDER, sender::<T, true>(traffic, seat))?;
        } else {
            T::spawn(kernel, RECEIVER, receiver::<T, false>(traffic, seat))?;
            T::spawn(kernel, SENDER, sender::<T, false>(traffic, seat))?;
        }
    }
    // All tasks are ready; the receivers wait, or are about to.
    trial.wait(traffic.done, 2 * pairs).await;
    kernel.give(&traffic.pairs[0].gate);
    trial.wait(traffic.done, 2 * pairs).await;

    let sent = (batches * batch * pairs) as f64;
    let sum = |count: fn(&Pair<T>) -> &AtomicU32| -> f64 {
        traffic.pairs.iter().map(|pair| f64::from(count(pair).load(Relaxed))).sum()
    };
    let to_receivers = sum(|pair| &pair.receiver_switches);
    let switches = sum(|pair| &pair.sender_switches) + to_receivers;
    trial.evidence("words received in order", sum(|pair| &pair.words_in_order), sent, sent);
    trial.evidence("answers received in order", sum(|pair| &pair.answers_in_order), sent, sent);
    trial.evidence("switches to receivers", to_receivers, 0.99 * sent, f64::INFINITY);
    trial.figure("switches per message", "", switches / sent);
    let series = if round_trip { "round trip" } else { "message" };
    let per = batch as f64;
    // Messages of several pairs may overlap where tasks are not pre-empted.
    let pin = (pairs == 1).then_some(Pin::Pulse(MEASURED));
    trial.durations(
        Series { per, pin, ..Series::measured(series) },
        &traffic.starts,
        &traffic.ends,
    );
    trial.mark_control(&traffic.starts, per);
    Ok(())
}

/// Returns the word of a message. It differs for every message of a pair, so that loss, doubling
/// and overtaking are noticed.
fn word(seat: usize, message: usize) -> u32 {
    (message as u32).wrapping_mul(0x9E37_79B9) ^ seat as u32
}

async fn sender<T: Messages, const ROUND_TRIP: bool>(traffic: &'static Traffic<T>, seat: usize) {
    let kernel = traffic.kernel;
    let pairs = traffic.pairs.len();
    let pair = &traffic.pairs[seat];
    kernel.give(traffic.done);
    let before = T::switches(kernel);
    T::take(kernel, &pair.gate).await;
    // Pass the start on: the next sender becomes ready behind this one.
    traffic.pairs.get(seat + 1).inspect(|next| kernel.give(&next.gate));
    let mut in_order = 0;
    for batch in 0..traffic.batches {
        let place = batch * pairs + seat;
        traffic.starts.start(kernel, place, MEASURED);
        for message in batch * traffic.batch..(batch + 1) * traffic.batch {
            let word = word(seat, message);
            T::send(kernel, &pair.words, word).await;
            let answer = T::receive(kernel, &pair.answers).await;
            in_order += u32::from(answer == !word);
        }
        if ROUND_TRIP {
            traffic.ends.end(kernel, place, MEASURED);
        }
        if pairs > 1 {
            T::yield_now(kernel).await;
        }
    }
    pair.answers_in_order.store(in_order, Relaxed);
    pair.sender_switches.store(switches_since::<T>(kernel, before), Relaxed);
    kernel.give(&pair.leave);
    kernel.give(traffic.done);
}

async fn receiver<T: Messages, const ROUND_TRIP: bool>(traffic: &'static Traffic<T>, seat: usize) {
    let kernel = traffic.kernel;
    let pairs = traffic.pairs.len();
    let pair = &traffic.pairs[seat];
    kernel.give(traffic.done);
    let before = T::switches(kernel);
    let mut in_order = 0;
    for message in 0..traffic.batches * traffic.batch {
        let received = T::receive(kernel, &pair.words).await;
        if !ROUND_TRIP {
            traffic.ends.end(kernel, message * pairs + seat, MEASURED);
        }
        T::send(kernel, &pair.answers, !received).await;
        in_order += u32::from(received == word(seat, message));
    }
    // Wait as after any other message: the end of the task may take longer than a message, and
    // would delay the last answer.
    T::take(kernel, &pair.leave).await;
    pair.words_in_order.store(in_order, Relaxed);
    pair.receiver_switches.store(switches_since::<T>(kernel, before), Relaxed);
    kernel.give(traffic.done);
}

/// The sentences that read the result.
pub const READING: Reading = Reading {
    question: "how soon does a message reach a more urgent task?",
    compared: "a message reaches a more urgent task in",
    sentences: &["a message reaches a more urgent task in {p50} at the median, {max} at worst"],
    ..MEDIAN
};
