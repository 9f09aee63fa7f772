//! A round for each call, over and over, for the observer that has an interrupt arrive at each of its
//! instructions (`chronoscope observe --arrivals timer --from NAME`). A round begins where the function of
//! its name is called, which does nothing.
//!
//! Each round leaves all as it was: the next one takes the same instructions. A more urgent thread answers
//! where a call has another to wake.
#![no_std]
#![no_main]

use portable_atomic::{AtomicU32, Ordering::Relaxed};
use tandem::{
    AsyncMutex, Callback, Callbacks, Ceiling, Condvar, Event, Group, Me, MessageBuffer, Mutex,
    Priority, Queue, Semaphore, SharedStack, Signal, Stream, Thread, Want, Watch, time,
};
use tandem_firmware::board::{self, nanoseconds};

static SHARED: SharedStack<1024> = SharedStack::new();
static DIRECTOR: Thread<2048> = Thread::new();
static SLEEPER: Thread<1024> = Thread::new();
static THREADS: [Thread<1024>; 4] = [const { Thread::new() }; 4];
static ENDED: AtomicU32 = AtomicU32::new(0);

static UNITS: Semaphore = Semaphore::new(0);
static MORE: Semaphore = Semaphore::new(0);
static VALUE: Mutex<u32> = Mutex::new(0);
static OTHER: Mutex<u32> = Mutex::new(0);
static CEILING: Ceiling<u32> = Ceiling::new(Priority::HIGHEST, 0);
static EVENT: Event = Event::new();
static GROUP: Group = Group::new();
static SIGNAL: Signal<u32> = Signal::new();
static WATCH: Watch<u32> = Watch::new(0);
static CHANGED: Condvar = Condvar::new();
static STREAM: Stream<24> = Stream::new();
static MESSAGES: MessageBuffer<40> = MessageBuffer::new();
static QUEUE: Queue<u32, 1> = Queue::new();
static LOCK: AsyncMutex<u32> = AsyncMutex::new(0);
static CALLBACKS: Callbacks = Callbacks::new();
static CALLBACK: Callback = Callback::new(&CALLBACKS, || {});

/// The rounds of a call: more than the arrivals of most.
const ROUNDS: u32 = 2000;

const MS: u64 = nanoseconds(1_000_000);

/// Gives each round a function by whose address an observer knows its begin.
macro_rules! begins {
    ($($name:ident)*) => {
        mod begin {
            $(
                #[unsafe(no_mangle)]
                #[inline(never)]
                pub extern "C" fn $name() {
                    // The comment makes it another function than its neighbours.
                    // SAFETY: does nothing.
                    unsafe {
                        core::arch::asm!(
                            concat!("/* ", stringify!($name), " */"),
                            options(nomem, nostack, preserves_flags)
                        )
                    };
                }
            )*
        }
    };
}

begins! {
    mutex mutex_waited mutex_chain mutex_limit ceiling priority async_mutex
    equal shuffle_limit semaphore_limit queue_limit queue_full
    event event_limit group group_of_four signal watch_of_two condvar condvar_of_four
    stream message spawn join callback
}

fn rounds(begin: extern "C" fn(), mut round: impl FnMut()) {
    for _ in 0..ROUNDS {
        begin();
        round();
    }
}

fn thread(i: usize, priority: u8, body: impl Fn(&Me) + Send + 'static) {
    let all = move |me: &Me| {
        (0..ROUNDS).for_each(|_| body(me));
        ENDED.fetch_add(1, Relaxed);
    };
    assert!(THREADS[i].spawn(Priority::new(priority), "other", all).is_ok());
}

/// Waits until this many threads have ended.
fn ended(me: &Me, count: u32) {
    while ENDED.load(Relaxed) < count || THREADS.iter().any(|thread| thread.info().is_alive()) {
        me.delay_until(time::now() + MS);
    }
    ENDED.store(0, Relaxed);
}

/// A time limit that does not come.
fn far() -> u64 {
    time::now() + 1000 * MS
}

fn mutexes(me: &Me) {
    rounds(begin::mutex, || drop(VALUE.lock(me)));
    thread(0, 8, |me| {
        UNITS.take(me);
        drop(VALUE.lock(me));
    });
    rounds(begin::mutex_waited, || {
        let guard = VALUE.lock(me);
        UNITS.give();
        drop(guard);
    });
    ended(me, 1);
    // Three threads: the most urgent one waits for the second, which waits for this one.
    thread(0, 6, |me| {
        UNITS.take(me);
        let guard = OTHER.lock(me);
        MORE.give();
        drop(VALUE.lock(me));
        drop(guard);
    });
    thread(1, 8, |me| {
        MORE.take(me);
        drop(OTHER.lock(me));
    });
    rounds(begin::mutex_chain, || {
        let guard = VALUE.lock(me);
        UNITS.give();
        drop(guard);
    });
    ended(me, 2);
    rounds(begin::mutex_limit, || drop(VALUE.lock_until(me, far())));
    rounds(begin::ceiling, || CEILING.with(|value| *value += 1));
    rounds(begin::priority, || {
        DIRECTOR.set_priority(me, Priority::new(5));
        DIRECTOR.set_priority(me, Priority::new(4));
    });
    rounds(begin::async_mutex, || drop(LOCK.lock_blocking(me)));
}

fn limits(me: &Me) {
    thread(0, 4, |me| UNITS.take(me));
    rounds(begin::equal, || {
        UNITS.give();
        me.yield_now();
    });
    ended(me, 1);
    thread(0, 8, |me| assert!(UNITS.take_until(me, far()).is_ok()));
    rounds(begin::shuffle_limit, || UNITS.give());
    ended(me, 1);
    thread(0, 8, |me| {
        let message = QUEUE.receive_until(me, far());
        assert!(message.is_ok());
    });
    rounds(begin::queue_limit, || QUEUE.send(me, 1));
    ended(me, 1);
    // The less urgent thread ends each wait.
    thread(0, 2, |_| UNITS.give());
    rounds(begin::semaphore_limit, || assert!(UNITS.take_until(me, far()).is_ok()));
    ended(me, 1);
    thread(0, 2, |_| EVENT.signal(1));
    rounds(begin::event_limit, || assert!(EVENT.wait_until(me, far()).is_ok()));
    ended(me, 1);
}

fn objects(me: &Me) {
    thread(0, 8, |me| {
        EVENT.wait(me);
    });
    rounds(begin::event, || EVENT.signal(1));
    ended(me, 1);
    thread(0, 8, |me| {
        GROUP.wait(me, Want::any(1).take());
    });
    rounds(begin::group, || GROUP.set(1));
    ended(me, 1);
    (0..4).for_each(|i| {
        thread(i, 8, |me| {
            GROUP.wait(me, Want::any(1));
            GROUP.wait(me, Want::any(2));
        });
    });
    rounds(begin::group_of_four, || {
        GROUP.set(1);
        GROUP.clear(1);
        GROUP.set(2);
        GROUP.clear(2);
    });
    ended(me, 4);
    thread(0, 8, |me| {
        SIGNAL.take(me);
    });
    rounds(begin::signal, || SIGNAL.signal(1));
    ended(me, 1);
    (0..2).for_each(|i| {
        let all = |me: &Me| {
            let mut receiver = WATCH.receiver();
            for _ in 0..=ROUNDS {
                receiver.changed(me);
            }
            ENDED.fetch_add(1, Relaxed);
        };
        assert!(THREADS[i].spawn(Priority::new(8), "other", all).is_ok());
    });
    rounds(begin::watch_of_two, || WATCH.set(1));
    ended(me, 2);
    for (count, begin) in [(1, begin::condvar as extern "C" fn()), (4, begin::condvar_of_four)] {
        (0..count).for_each(|i| {
            thread(i, 8, |me| drop(CHANGED.wait(me, VALUE.lock(me))));
        });
        rounds(begin, || CHANGED.notify_all());
        ended(me, count as u32);
    }
}

fn transfers(me: &Me) {
    // The queue is full: each message waits for the less urgent thread.
    QUEUE.send(me, 0);
    thread(0, 2, |me| {
        QUEUE.receive(me);
    });
    rounds(begin::queue_full, || QUEUE.send(me, 1));
    ended(me, 1);
    thread(0, 8, |me| assert_eq!(STREAM.read_at_least(me, 8, &mut [0; 8]), 8));
    rounds(begin::stream, || STREAM.write(me, &[1; 8]));
    ended(me, 1);
    thread(0, 8, |me| assert_eq!(MESSAGES.receive(me, &mut [0; 8]), Ok(8)));
    rounds(begin::message, || assert!(MESSAGES.send(me, &[1; 8]).is_ok()));
    ended(me, 1);
}

fn tasks(me: &Me) {
    rounds(begin::spawn, || {
        assert!(THREADS[0].spawn(Priority::new(8), "other", |_| {}).is_ok());
    });
    rounds(begin::join, || {
        assert!(THREADS[0].spawn(Priority::new(2), "other", |_| {}).is_ok());
        THREADS[0].info().join(me);
    });
    assert!(THREADS[1].spawn(Priority::new(8), "timers", |me| CALLBACKS.run(me)).is_ok());
    rounds(begin::callback, || {
        CALLBACK.start_once(far());
        CALLBACK.stop();
    });
}

fn director(me: &Me) {
    // Its delay keeps the alarm's interrupt enabled.
    let sleeper = |me: &Me| me.delay_until(time::now() + 10_000 * MS);
    assert!(SLEEPER.spawn(Priority::new(12), "sleeper", sleeper).is_ok());
    mutexes(me);
    limits(me);
    objects(me);
    transfers(me);
    tasks(me);
    board::exit(true)
}

fn on_alarm() {
    board::stop_alarm();
    time::expire();
}

tandem_firmware::alarm!(on_alarm);
tandem_firmware::interrupts![];

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&SHARED, || {
        assert!(DIRECTOR.spawn(Priority::new(4), "director", director).is_ok());
    })
}
