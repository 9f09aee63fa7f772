//! The soak test: threads and coroutines of random priorities do random work, end, and are spawned
//! again, under random interrupts. At the end nothing may be lost. The same seed yields the same
//! output.
#![no_std]
#![no_main]

use core::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
};
use portable_atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use tandem::{
    Ceiling, Coroutine, Event, Info, Me, Mutex, Priority, Queue, Semaphore, SharedStack, Thread,
    delay_until, time, yield_now,
};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
};

/// The number of switches.
const SWITCHES: u32 = if cfg!(feature = "long-soak") { 10_000_000 } else { 1_000_000 };
/// The number of pieces of work that a task does before it ends.
const LIFE: u32 = 2000;
const FLAGS: u32 = 0b111;

static SHARED: SharedStack<4096> = SharedStack::new();
static THREADS: [Thread<1024>; 6] = [const { Thread::new() }; 6];
static COROUTINES: [Coroutine<512>; 6] = [const { Coroutine::new() }; 6];
static REPORTER: Thread<2048> = Thread::new();
static GIVEN: Semaphore = Semaphore::new(0);
static QUEUE: Queue<u32, 3> = Queue::new();
static EVENT: Event = Event::new();
static OUTER: Mutex<u32> = Mutex::new(0);
static INNER: Mutex<u32> = Mutex::new(0);
static CEILING: Ceiling<u32> = Ceiling::new(Priority::HIGHEST, 0);
static OVER: AtomicBool = AtomicBool::new(false);
static GIVES: AtomicU32 = AtomicU32::new(0);
static TAKES: AtomicU32 = AtomicU32::new(0);
static SENT: AtomicU32 = AtomicU32::new(0);
static RECEIVED: AtomicU32 = AtomicU32::new(0);
static LOCKS: AtomicU32 = AtomicU32::new(0);
static RAISED: AtomicU32 = AtomicU32::new(0);
static HANDLED: AtomicU32 = AtomicU32::new(0);

fn count(what: &AtomicU32) {
    what.fetch_add(1, Relaxed);
}

/// A xorshift generator.
struct Random(u32);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (self.0 >> 8) % n
    }
}

fn soon(random: &mut Random) -> u64 {
    time::now() + nanoseconds(random.below(2000).into())
}

fn give() {
    count(&GIVES);
    GIVEN.give();
}

fn take_note(message: Option<u32>) {
    if let Some(message) = message {
        assert_eq!(message, 7);
        count(&RECEIVED);
    }
}

/// Work that threads and coroutines have in common.
fn share(random: &mut Random) {
    count(&RAISED);
    CEILING.with(|value| *value += 1);
    board::raise(random.below(2) as usize);
}

fn thread(me: &Me, mut random: Random, listens: bool) {
    for _ in 0..LIFE {
        if OVER.load(Relaxed) {
            return;
        }
        match random.below(32) {
            0 => me.delay_until(soon(&mut random)),
            1 if GIVEN.take_until(me, soon(&mut random)).is_ok() => count(&TAKES),
            2 if QUEUE.send_until(me, 7, soon(&mut random)).is_ok() => count(&SENT),
            3 => take_note(QUEUE.receive_until(me, soon(&mut random)).ok()),
            4 => nest(me, &mut random),
            5 => {
                let _inner = INNER.lock(me);
                me.delay_until(soon(&mut random));
            }
            6 => {
                let mut value = CEILING.lock(me);
                *value += 1;
                count(&RAISED);
                give();
            }
            7 => share(&mut random),
            8 if listens => {
                let flags = EVENT.wait_until(me, soon(&mut random)).unwrap_or(FLAGS);
                assert!(flags != 0 && flags & !FLAGS == 0);
            }
            9..11 => {
                GIVEN.take(me);
                count(&TAKES);
            }
            11..15 => give(),
            15..18 => {
                QUEUE.send(me, 7);
                count(&SENT);
            }
            18..21 => take_note(Some(QUEUE.receive(me))),
            21 => EVENT.signal(1),
            _ => me.yield_now(),
        }
    }
}

/// Locks two mutexes, the second with a time limit.
fn nest(me: &Me, random: &mut Random) {
    let mut outer = OUTER.lock(me);
    let before = *outer;
    if let Ok(mut inner) = INNER.lock_until(me, soon(random)) {
        *inner += 1;
        me.yield_now();
    } else if let Some(mut inner) = INNER.try_lock(me) {
        *inner += 1;
    }
    assert_eq!(*outer, before, "nobody else had the mutex");
    *outer += 1;
    count(&LOCKS);
}

/// Polls a future until the task has been woken `times`, then drops it.
async fn give_up<F: Future>(mut times: u32, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| match Pin::as_mut(&mut future).poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if times == 0 => Poll::Ready(None),
        Poll::Pending => {
            times -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

async fn coroutine(mut random: Random) {
    for _ in 0..LIFE {
        if OVER.load(Relaxed) {
            return;
        }
        match random.below(32) {
            0 => delay_until(soon(&mut random)).await,
            1 => drop(give_up(random.below(3), delay_until(soon(&mut random))).await),
            2 if give_up(random.below(3), GIVEN.taken()).await.is_some() => count(&TAKES),
            3 => take_note(give_up(random.below(3), QUEUE.received()).await),
            4 => share(&mut random),
            5..8 => {
                GIVEN.taken().await;
                count(&TAKES);
            }
            8..13 => give(),
            13..16 => {
                QUEUE.sent(7).await;
                count(&SENT);
            }
            16..19 => take_note(Some(QUEUE.received().await)),
            19 => EVENT.signal(2),
            _ => yield_now().await,
        }
    }
}

/// Spawns the tasks that have ended, at random priorities.
fn spawn(random: &mut Random) {
    for (i, task) in THREADS.iter().enumerate() {
        let (priority, seed) = (Priority::new(random.below(5) as u8), 1 + random.below(1 << 20));
        let _still_alive =
            task.spawn(priority, "thread", move |me| thread(me, Random(seed), i == 0));
    }
    for task in &COROUTINES {
        let (priority, seed) = (Priority::new(random.below(5) as u8), 1 + random.below(1 << 20));
        let _still_alive = task.spawn(priority, "coroutine", coroutine(Random(seed)));
    }
}

fn tasks() -> impl Iterator<Item = Info> {
    THREADS.iter().map(Thread::info).chain(COROUTINES.iter().map(Coroutine::info))
}

fn switches() -> u32 {
    tasks().chain([REPORTER.info()]).map(Info::switches).sum()
}

/// Keeps the tasks supplied until all have ended, then compares gives with takes and messages sent
/// with messages received.
fn report(me: &Me) {
    let (started, mut random) = (time::now(), Random(1));
    while tasks().any(Info::is_alive) || !OVER.load(Relaxed) {
        OVER.store(switches() >= SWITCHES, Relaxed);
        if !OVER.load(Relaxed) {
            spawn(&mut random);
        }
        me.delay_until(time::now() + nanoseconds(3000));
        EVENT.signal(4);
        for _ in &THREADS {
            give();
            if QUEUE.try_receive().is_some() {
                count(&RECEIVED);
            } else if QUEUE.try_send(7).is_ok() {
                count(&SENT);
            }
        }
    }
    while GIVEN.try_take() {
        count(&TAKES);
    }
    while QUEUE.try_receive().is_some() {
        count(&RECEIVED);
    }
    let of = |what: &AtomicU32| what.load(Relaxed);
    println!("switches {} in {} ticks", switches(), time::now() - started);
    println!(
        "gives {} sent {} locks {} interrupts {}",
        of(&GIVES),
        of(&SENT),
        of(&LOCKS),
        of(&HANDLED)
    );
    let balanced = of(&GIVES) == of(&TAKES)
        && of(&SENT) == of(&RECEIVED)
        && *OUTER.lock(me) == of(&LOCKS)
        && CEILING.with(|value| *value) == of(&RAISED);
    println!(
        "{}",
        if balanced { "soak: nothing was lost" } else { "soak: the books do not balance" }
    );
    board::exit(balanced)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    board::enable_interrupt(1);
    tandem::start(&SHARED, || assert!(REPORTER.spawn(Priority::new(6), "reporter", report).is_ok()))
}

extern "C" fn on_give() {
    count(&HANDLED);
    if HANDLED.load(Relaxed).is_multiple_of(3) {
        EVENT.signal(1);
    }
    give();
}

extern "C" fn on_send() {
    count(&HANDLED);
    if QUEUE.try_send(7).is_ok() {
        count(&SENT);
    }
}

fn on_alarm() {
    board::stop_alarm();
    count(&HANDLED);
    time::expire();
    if HANDLED.load(Relaxed).is_multiple_of(2) && QUEUE.try_receive().is_some() {
        count(&RECEIVED);
    }
    if CEILING.try_with(|value| *value += 1).is_some() {
        count(&RAISED);
    }
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![on_give, on_send];
