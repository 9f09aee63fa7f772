//! Threads and coroutines do random work under random interrupts; at the end nothing is lost. Same seed, same bytes.
#![no_std]
#![no_main]

use portable_atomic::{AtomicU32, Ordering::Relaxed};
use tandem::{
    Ceiling, Coroutine, Me, Mutex, Priority, Queue, Semaphore, SharedStack, Thread, delay_until, time, yield_now,
};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
};

/// How many pieces of work are done; each is one switch or more.
const WORK: u32 = 2_000_000;

static SHARED: SharedStack<4096> = SharedStack::new();
static THREADS: [Thread<1024>; 6] = [const { Thread::new() }; 6];
static COROUTINES: [Coroutine<512>; 6] = [const { Coroutine::new() }; 6];
static REPORTER: Thread<2048> = Thread::new();
static GIVEN: Semaphore = Semaphore::new(0);
static QUEUE: Queue<u32, 3> = Queue::new();
static OUTER: Mutex<u32> = Mutex::new(0);
static INNER: Mutex<u32> = Mutex::new(0);
static CEILING: Ceiling<u32> = Ceiling::new(Priority::HIGHEST, 0);
static DONE: AtomicU32 = AtomicU32::new(0);
static GIVES: AtomicU32 = AtomicU32::new(0);
static TAKES: AtomicU32 = AtomicU32::new(0);
static SENT: AtomicU32 = AtomicU32::new(0);
static RECEIVED: AtomicU32 = AtomicU32::new(0);
static LOCKS: AtomicU32 = AtomicU32::new(0);
static HANDLED: AtomicU32 = AtomicU32::new(0);

fn count(what: &AtomicU32) {
    what.fetch_add(1, Relaxed);
}

/// A small generator (xorshift).
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

fn is_over() -> bool {
    DONE.fetch_add(1, Relaxed) >= WORK
}

fn thread(me: &Me, seed: u32) {
    let mut random = Random(seed);
    while !is_over() {
        match random.below(9) {
            0 => me.yield_now(),
            1 => me.delay_until(soon(&mut random)),
            2 if GIVEN.take_until(me, soon(&mut random)).is_ok() => count(&TAKES),
            3 => give(),
            4 if QUEUE.send_until(me, 7, soon(&mut random)).is_ok() => count(&SENT),
            5 => {
                if let Ok(message) = QUEUE.receive_until(me, soon(&mut random)) {
                    assert_eq!(message, 7);
                    count(&RECEIVED);
                }
            }
            6 => {
                let mut outer = OUTER.lock(me);
                let before = *outer;
                if let Ok(mut inner) = INNER.lock_until(me, soon(&mut random)) {
                    *inner += 1;
                    me.yield_now();
                }
                assert_eq!(*outer, before, "nobody else had the mutex");
                *outer += 1;
                count(&LOCKS);
            }
            7 => {
                let _inner = INNER.lock(me);
                me.delay_until(soon(&mut random));
            }
            _ => {
                CEILING.with(|value| *value += 1);
                board::raise(0);
            }
        }
    }
}

async fn coroutine(seed: u32) {
    let mut random = Random(seed);
    while !is_over() {
        match random.below(7) {
            0 => yield_now().await,
            1 => delay_until(soon(&mut random)).await,
            2 => {
                GIVEN.taken().await;
                count(&TAKES);
            }
            3 => give(),
            4 => {
                QUEUE.sent(7).await;
                count(&SENT);
            }
            5 => {
                assert_eq!(QUEUE.received().await, 7);
                count(&RECEIVED);
            }
            _ => {
                CEILING.with(|value| *value += 1);
                board::raise(0);
            }
        }
    }
}

/// Keeps the others from waiting forever, until all have ended; then balances the books.
fn report(me: &Me) {
    let started = time::now();
    let some_alive = || THREADS.iter().any(|t| t.info().is_alive()) || COROUTINES.iter().any(|c| c.info().is_alive());
    while some_alive() {
        me.delay_until(time::now() + nanoseconds(3000));
        give();
        if QUEUE.try_receive().is_some() {
            count(&RECEIVED);
        } else if QUEUE.try_send(7).is_ok() {
            count(&SENT);
        }
    }
    while GIVEN.try_take() {
        count(&TAKES);
    }
    while QUEUE.try_receive().is_some() {
        count(&RECEIVED);
    }
    let of = |what: &AtomicU32| what.load(Relaxed);
    println!(
        "work {} gives {} sent {} locks {} interrupts {} ticks {}",
        of(&DONE),
        of(&GIVES),
        of(&SENT),
        of(&LOCKS),
        of(&HANDLED),
        time::now() - started
    );
    #[cfg(feature = "count")]
    {
        let switches = |sum: u32, info: tandem::Info| sum + info.switches();
        let infos =
            THREADS.iter().map(Thread::info).chain(COROUTINES.iter().map(Coroutine::info)).chain([REPORTER.info()]);
        println!("switches {}", infos.fold(0, switches));
    }
    let balanced = of(&GIVES) == of(&TAKES) && of(&SENT) == of(&RECEIVED) && *OUTER.lock(me) == of(&LOCKS);
    println!("{}", if balanced { "soak: nothing was lost" } else { "soak: the books do not balance" });
    board::exit(balanced)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    tandem::start(&SHARED, || {
        for (i, task) in THREADS.iter().enumerate() {
            let seed = 1 + 77 * i as u32;
            assert!(task.spawn(Priority::new((i % 4) as u8), "thread", move |me| thread(me, seed)).is_ok());
        }
        for (i, task) in COROUTINES.iter().enumerate() {
            let seed = 1000 + 77 * i as u32;
            assert!(task.spawn(Priority::new((i % 5) as u8), "coroutine", coroutine(seed)).is_ok());
        }
        assert!(REPORTER.spawn(Priority::new(6), "reporter", report).is_ok());
    })
}

extern "C" fn on_raise() {
    count(&HANDLED);
    if HANDLED.load(Relaxed).is_multiple_of(3) {
        give();
    } else if QUEUE.try_send(7).is_ok() {
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
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![on_raise];
