//! Checks that code written for embassy runs in Tandem: timers, channels, signals, and combinators
//! over them.
#![no_std]
#![no_main]

use core::future::Future;
use embassy_futures::{
    join::{join, join3},
    select::{Either, select},
};
use embassy_sync::{
    blocking_mutex::raw::CriticalSectionRawMutex, channel::Channel, mutex::Mutex, signal::Signal,
};
use embassy_time::{Duration, Instant, Ticker, Timer, with_timeout};
use portable_atomic::{AtomicU32, Ordering::Relaxed};
use tandem::{Coroutine, Me, Priority, Semaphore, SharedStack, Thread, time};
use tandem_firmware::{
    board::{self, nanoseconds},
    println,
};

static SHARED: SharedStack<4096> = SharedStack::new();
static DIRECTOR: Thread<4096> = Thread::new();
static COROUTINES: [Coroutine<1024>; 40] = [const { Coroutine::new() }; 40];
static DONE: Semaphore = Semaphore::new(0);
static LATE_GIVEN: Semaphore = Semaphore::new(0);
static CHANNEL: Channel<CriticalSectionRawMutex, u32, 2> = Channel::new();
static SIGNAL: Signal<CriticalSectionRawMutex, u32> = Signal::new();
static MUTEX: Mutex<CriticalSectionRawMutex, u32> = Mutex::new(0);
static TICKED: AtomicU32 = AtomicU32::new(0);
static ORDER: AtomicU32 = AtomicU32::new(0);

/// The largest delay allowed for a timer, 10,000 instructions, if no more urgent task is ready.
const LATE: u64 = nanoseconds(10_000);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[track_caller]
fn assert_passed(since: Instant, expected: Duration) {
    let passed = since.elapsed().as_ticks();
    let late = passed.checked_sub(expected.as_ticks());
    assert!(
        late.is_some_and(|late| late < LATE),
        "{passed} ticks, expected {}",
        expected.as_ticks()
    );
}

/// Runs a coroutine and waits for its end.
fn run(me: &Me, name: &'static str, body: impl Future<Output = ()> + Send + 'static) {
    let done = async {
        body.await;
        DONE.give();
    };
    assert!(COROUTINES[0].spawn(Priority::new(3), name, done).is_ok());
    DONE.take(me);
    me.delay_until(time::now() + nanoseconds(100_000));
    println!("{}: ok", name);
}

async fn several_timers() {
    let start = Instant::now();
    ORDER.store(0, Relaxed);
    let after = |n| async move {
        Timer::after(ms(n)).await;
        assert_passed(start, ms(n));
        ORDER.fetch_add(1, Relaxed)
    };
    let order = join3(after(3), after(1), after(2)).await;
    assert_eq!(order, (2, 0, 1));
    assert_passed(start, ms(3));
    // A time in the past completes at once.
    Timer::at(start).await;
    assert_passed(start, ms(3));
}

async fn cancelled_timers() {
    let start = Instant::now();
    let Either::First(()) = select(Timer::after(ms(2)), Timer::after(ms(1) * 5)).await else {
        panic!()
    };
    assert_passed(start, ms(2));
    let Either::Second(()) = select(Timer::after(ms(4)), Timer::after(ms(1))).await else {
        panic!()
    };
    assert_passed(start, ms(3));
    // The task's alarm is still set for timers at 5 ms and 6 ms that were dropped. They must not
    // end this wait early.
    Timer::after(ms(10)).await;
    assert_passed(start, ms(13));
    assert!(with_timeout(ms(1), Timer::after(ms(3))).await.is_err());
    assert!(with_timeout(ms(3), Timer::after(ms(1))).await.is_ok());
    assert_passed(start, ms(15));
    let mut ticker = Ticker::every(ms(1));
    for n in 16..26 {
        ticker.next().await;
        assert_passed(start, ms(n));
    }
}

/// The handler fills the channel and then signals.
async fn from_a_handler() {
    assert!(with_timeout(ms(1), SIGNAL.wait()).await.is_err());
    for n in 0..4 {
        assert_eq!(CHANNEL.len(), 0);
        board::raise(0);
        assert_eq!(with_timeout(ms(1), CHANNEL.receive()).await, Ok(2 * n));
        let second = select(Timer::after(ms(1)), CHANNEL.receive()).await;
        assert!(matches!(second, Either::Second(message) if message == 2 * n + 1));
        assert_eq!(SIGNAL.wait().await, 2 * n + 1);
    }
}

/// Forty coroutines of eight priorities, with three waits of two timers each, are woken in the
/// order in which the timers are due.
fn many_coroutines(me: &Me) {
    let start = Instant::now() + ms(1);
    ORDER.store(0, Relaxed);
    for (i, coroutine) in COROUTINES.iter().enumerate() {
        let body = async move {
            for round in 0..3 {
                let nth = (i as u32 * 23) % 40 + 40 * round;
                let due = start + Duration::from_micros(50) * nth;
                join(Timer::at(due), Timer::at(start - Duration::from_micros(500))).await;
                assert_passed(due, ms(0));
                assert_eq!(ORDER.fetch_add(1, Relaxed), nth);
            }
        };
        assert!(coroutine.spawn(Priority::new((i % 8) as u8), "one of many", body).is_ok());
    }
    me.delay_until(time::now() + nanoseconds(20_000_000));
    assert_eq!(ORDER.load(Relaxed), 120);
    println!("many coroutines: ok");
}

/// Channels and a mutex between coroutines: a producer faster than its consumer, and equals that
/// share.
fn between_coroutines(me: &Me) {
    let producer = COROUTINES[1].spawn(Priority::new(4), "producer", async {
        for n in 0..100 {
            CHANNEL.send(n).await;
        }
        DONE.give();
    });
    let consumer = COROUTINES[2].spawn(Priority::new(2), "consumer", async {
        for n in 0..100 {
            assert_eq!(CHANNEL.receive().await, n);
        }
        DONE.give();
    });
    for sharer in &COROUTINES[3..6] {
        let body = async {
            for _ in 0..10 {
                let mut value = MUTEX.lock().await;
                let before = *value;
                Timer::after_micros(10).await;
                *value = before + 1;
            }
            DONE.give();
        };
        assert!(sharer.spawn(Priority::new(3), "sharer", body).is_ok());
    }
    assert!(producer.is_ok() && consumer.is_ok());
    for _ in 0..5 {
        DONE.take(me);
    }
    assert!(MUTEX.try_lock().is_ok_and(|value| *value == 30));
    println!("between coroutines: ok");
}

/// A thread polls embassy's futures. A late wake-up does not end another call in which the thread
/// blocks.
fn in_a_thread(me: &Me) {
    let start = Instant::now();
    me.block_on(several_timers());
    me.block_on(from_a_handler());
    let first = me.block_on(async { select(Timer::after(ms(2)), async {}).await });
    assert!(matches!(first, Either::Second(())));
    me.block_on(async {
        // Within a poll, the thread blocks and polls another future, without losing a wake-up.
        let inner = async {
            let giver = async {
                Timer::after(ms(5)).await;
                LATE_GIVEN.give();
            };
            assert!(COROUTINES[0].spawn(Priority::new(3), "giver", giver).is_ok());
            let start = Instant::now();
            LATE_GIVEN.take(me);
            assert_passed(start, ms(5));
            me.block_on(Timer::after(ms(1)));
            Timer::after(ms(1)).await;
        };
        join(Timer::after(ms(2)), inner).await;
    });
    assert!(start.elapsed() < ms(30));
    println!("in a thread: ok");
}

/// Measures from the first instruction of the alarm's handler to the one behind the timer's
/// `await`.
fn costs(me: &Me) {
    let measured = async {
        let (mut least, mut most) = (u32::MAX, 0);
        for _ in 0..100 {
            Timer::after(ms(1)).await;
            let cost = board::ticks().wrapping_sub(TICKED.load(Relaxed));
            (least, most) = (least.min(cost), most.max(cost));
        }
        println!(
            "tick -> coroutine in a timer of embassy's: least {} most {} instructions",
            least, most
        );
        DONE.give();
    };
    assert!(COROUTINES[0].spawn(Priority::new(7), "measured", measured).is_ok());
    DONE.take(me);
    let beside = size_of::<Coroutine<64>>() - 64;
    println!("RAM of a coroutine beside its future, with embassy's timers: {} bytes", beside);
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    board::enable_interrupt(0);
    tandem::start(&SHARED, || {
        let director = DIRECTOR.spawn(Priority::new(6), "director", |me| {
            run(me, "several timers", several_timers());
            run(me, "cancelled timers", cancelled_timers());
            run(me, "from a handler", from_a_handler());
            many_coroutines(me);
            between_coroutines(me);
            in_a_thread(me);
            costs(me);
            board::exit(true)
        });
        assert!(director.is_ok());
    })
}

extern "C" fn on_raise() {
    static SENT: AtomicU32 = AtomicU32::new(0);
    let n = SENT.fetch_add(2, Relaxed);
    assert!(CHANNEL.try_send(n % 8).is_ok() && CHANNEL.try_send(n % 8 + 1).is_ok());
    assert!(CHANNEL.try_send(0).is_err(), "the channel is full");
    SIGNAL.signal(n % 8 + 1);
}

fn on_alarm() {
    TICKED.store(board::ticks(), Relaxed);
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![on_raise];
