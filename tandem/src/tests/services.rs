//! Groups, watches, streams, buffers, timers and mutexes: coroutines and a handler that runs
//! wherever interrupts are unmasked, against simple models.

use super::{NOW, Random, rounds, steps};
use crate::{
    AsyncMutex, Callback, Callbacks, Coroutine, Group, MessageBuffer, Priority, Signal, Stream,
    Want, Watch,
    arch::{self, masked},
    delay_until,
    tests::begin_test,
    time, yield_now,
};
use std::{
    cell::RefCell,
    rc::Rc,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn spawn<F: Future<Output = ()> + Send + 'static>(
    priority: u8,
    future: F,
) -> &'static Coroutine<2048> {
    let coroutine = leak(Coroutine::new());
    coroutine.spawn(Priority::new(priority), "task", future).unwrap();
    coroutine
}

#[test]
fn a_group_serves_any_and_all_and_keeps_flags_that_are_not_taken() {
    let _turn = begin_test();
    let (group, log) = (leak(Group::new()), leak(std::sync::Mutex::new(Vec::new())));
    for (name, want) in [
        ("any", Want::any(3)),
        ("all", Want::all(3)),
        ("taken", Want::any(2).take()),
        ("later", Want::all(6).take()),
    ] {
        spawn(3, async move {
            let flags = group.wait_async(want).await;
            log.lock().unwrap().push((name, flags));
        });
    }
    group.set(8);
    assert!(log.lock().unwrap().is_empty());
    group.set(1);
    assert_eq!(log.lock().unwrap().drain(..).collect::<Vec<_>>(), [("any", 1)]);
    group.set(2);
    // Those that leave the flags come first here, since they have waited longer.
    assert_eq!(log.lock().unwrap().drain(..).collect::<Vec<_>>(), [("all", 3), ("taken", 2)]);
    assert_eq!(group.flags(), 9);
    group.set(4);
    group.set(2);
    assert_eq!(log.lock().unwrap().drain(..).collect::<Vec<_>>(), [("later", 6)]);
    assert_eq!((group.clear(1), group.flags()), (9, 8));
    assert_eq!((group.try_wait(Want::all(9)), group.try_wait(Want::any(9).take())), (0, 8));
    assert_eq!(group.flags(), 0);
}

/// A flag that is taken reaches exactly one task, whatever interrupts the walks, and although waits
/// are given up at any point.
#[test]
fn flags_taken_are_neither_lost_nor_doubled() {
    for seed in 0..rounds(40) as u64 {
        NOW.set(0);
        let _turn = begin_test();
        let group = leak(Group::new());
        let (set, taken) = (leak(AtomicU32::new(0)), leak(AtomicU32::new(0)));
        let random = Rc::new(RefCell::new(Random::new(seed)));
        let chance = Rc::clone(&random);
        // Sets the flag only when it is clear and nobody has it: each setting is one to be taken.
        let raise = move || {
            if set.load(Relaxed) == taken.load(Relaxed) {
                set.fetch_add(1, Relaxed);
                group.set(1);
            }
        };
        arch::set_handler(Some(Box::new(move || match chance.borrow_mut().below(12) {
            0 => raise(),
            1 => group.set(2),
            2 => _ = group.clear(2),
            3 => {
                NOW.set(NOW.get() + 1);
                crate::tests::expire();
            }
            _ => {}
        })));
        let tasks: Vec<_> = (0..8_u64)
            .map(|i| {
                let priority = random.borrow_mut().below(5) as u8;
                spawn(priority, async move {
                    let mut random = Random::new(seed * 100 + i);
                    for _ in 0..steps(200) {
                        match random.below(4) {
                            0 => {
                                let wait = group.wait_async(Want::any(1).take());
                                let time = delay_until(time::now() + random.below(4) as u64);
                                if first(wait, time).await.is_some() {
                                    taken.fetch_add(1, Relaxed);
                                }
                            }
                            1 => {
                                let wait = group.wait_async(Want::all(3));
                                first(wait, delay_until(time::now() + 3)).await;
                            }
                            2 => raise(),
                            _ => yield_now().await,
                        }
                    }
                })
            })
            .collect();
        arch::set_handler(None);
        while tasks.iter().any(|task| task.info().is_alive()) {
            NOW.set(NOW.get() + 10);
            crate::tests::expire();
        }
        let left = group.try_wait(Want::any(1).take());
        assert_eq!(set.load(Relaxed), taken.load(Relaxed) + left, "seed {seed}");
    }
}

/// Polls two futures. `None` if the second completes first; both are dropped then.
async fn first<A: Future, B: Future>(a: A, b: B) -> Option<A::Output> {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    std::future::poll_fn(|context| {
        if let std::task::Poll::Ready(output) = a.as_mut().poll(context) {
            return std::task::Poll::Ready(Some(output));
        }
        b.as_mut().poll(context).map(|_| None)
    })
    .await
}

#[test]
fn a_watch_shows_every_receiver_the_latest_value() {
    let _turn = begin_test();
    let watch = leak(Watch::new(7));
    let seen = leak([const { std::sync::Mutex::new(Vec::new()) }; 3]);
    for (priority, seen) in seen.iter().enumerate() {
        spawn(priority as u8, async move {
            let mut receiver = watch.receiver();
            loop {
                let value = receiver.changed_async().await;
                seen.lock().unwrap().push(value);
            }
        });
    }
    watch.set(8);
    watch.set(8);
    for seen in seen {
        assert_eq!(*seen.lock().unwrap(), [7, 8, 8]);
    }
    let mut receiver = watch.receiver();
    assert_eq!((receiver.try_changed(), receiver.try_changed(), watch.get()), (Some(8), None, 8));
}

#[test]
fn a_signal_keeps_the_latest_value() {
    let _turn = begin_test();
    let (signal, seen) = (leak(Signal::new()), leak(std::sync::Mutex::new(Vec::new())));
    signal.signal(Box::new(1));
    signal.signal(Box::new(2));
    assert_eq!(signal.try_take(), Some(Box::new(2)));
    assert_eq!(signal.try_take(), None);
    spawn(3, async {
        for _ in 0..2 {
            let value = signal.taken().await;
            seen.lock().unwrap().push(*value);
        }
    });
    signal.signal(Box::new(3));
    signal.signal(Box::new(4));
    assert_eq!(*seen.lock().unwrap(), [3, 4]);
}

/// All bytes arrive once and in order, through rings of several sizes, with a handler as the writer
/// or the reader, and copies of every length.
#[test]
fn streams_and_buffers_keep_every_byte() {
    /// Fewer under Miri, but more than twice as many as the largest ring holds.
    const BYTES: u32 = if cfg!(miri) { 80 } else { 400 };
    /// Fewer under Miri, but a message of each length.
    const MESSAGES: usize = if cfg!(miri) { 30 } else { 60 };

    fn run<const N: usize>(seed: u64) {
        NOW.set(0);
        let _turn = begin_test();
        let (stream, buffer) = (leak(Stream::<N>::new()), leak(MessageBuffer::<N>::new()));
        let (written, read) = (leak(AtomicU32::new(0)), leak(AtomicU32::new(0)));
        let mut random = Random::new(seed);
        arch::set_handler(Some(Box::new(move || {
            let from = written.load(Relaxed);
            let bytes: Vec<u8> = (0..random.below(5) as u32).map(|i| (from + i) as u8).collect();
            written.fetch_add(stream.try_write(&bytes) as u32, Relaxed);
        })));
        let reader = spawn(seed as u8 % 4, async move {
            let mut random = Random::new(seed + 1000);
            while read.load(Relaxed) < BYTES {
                let mut bytes = [0; 9];
                let size = random.below(9) + 1;
                let count = stream.read_async(&mut bytes[..size]).await;
                for byte in &bytes[..count] {
                    assert_eq!(*byte, read.fetch_add(1, Relaxed) as u8);
                }
                yield_now().await;
            }
        });
        let sender = spawn(1, async move {
            for n in 0..MESSAGES {
                let length = n % (N - 3);
                buffer.send_async(&vec![n as u8; length]).await.unwrap();
            }
            assert!(buffer.send_async(&[0; 100]).await.is_err());
        });
        let receiver = spawn(2, async move {
            for n in 0..MESSAGES {
                let mut message = [0; 100];
                let length = buffer.receive_async(&mut message).await.unwrap();
                assert_eq!((length, &message[..length]), (n % (N - 3), &vec![n as u8; length][..]));
            }
        });
        while reader.info().is_alive() {
            masked(|_| ());
        }
        assert!(!sender.info().is_alive() && !receiver.info().is_alive());
        assert!(buffer.try_receive(&mut []).unwrap().is_none());
        arch::set_handler(None);
    }
    for seed in 0..rounds(20) as u64 {
        run::<5>(seed);
        run::<16>(seed);
        run::<33>(seed);
    }
}

/// The handler comes while the stream is being written to.
#[test]
#[should_panic(expected = "one task or handler at a time may write to a stream")]
fn a_second_writer_is_reported() {
    let _turn = begin_test();
    let stream = leak(Stream::<64>::new());
    arch::set_handler(Some(Box::new(|| _ = stream.try_write(&[1]))));
    stream.try_write(&[2]);
}

#[test]
fn a_message_that_is_too_long_for_the_receiver_stays() {
    let buffer = MessageBuffer::<32>::new();
    let _turn = begin_test();
    assert_eq!(buffer.try_send(b"message"), Ok(true));
    assert!(buffer.try_send(&[0; 29]).is_err());
    assert_eq!(buffer.try_send(&[0; 28]), Ok(false));
    assert!(buffer.try_receive(&mut [0; 6]).is_err());
    let mut message = [0; 8];
    assert_eq!(buffer.try_receive(&mut message), Ok(Some(7)));
    assert_eq!(&message[..7], b"message");
}

/// The receiver asks for the length of the first message and leaves out one that is too long; the
/// sender that waits for the space gets it.
#[test]
fn a_message_is_left_out_unread() {
    let _turn = begin_test();
    let buffer = leak(MessageBuffer::<32>::new());
    assert_eq!((buffer.next_len(), buffer.skip()), (None, None));
    assert_eq!(buffer.try_send(&[1; 28]), Ok(true));
    let sender = spawn(3, async { assert_eq!(buffer.send_async(b"next").await, Ok(())) });
    assert!(sender.info().is_alive() && buffer.next_len() == Some(28));
    assert!(buffer.try_receive(&mut [0; 8]).is_err());
    assert_eq!(buffer.skip(), Some(28));
    assert!(!sender.info().is_alive() && buffer.next_len() == Some(4));
    let mut message = [0; 8];
    assert_eq!(buffer.try_receive(&mut message), Ok(Some(4)));
    assert_eq!((&message[..4], buffer.next_len()), (&b"next"[..], None));
}

/// A handler that looks at the first message while a task receives ends the program by name.
#[test]
#[should_panic(expected = "task idle: one task or handler at a time may read from a stream")]
fn a_second_look_at_messages_is_reported() {
    let _turn = begin_test();
    let buffer = leak(MessageBuffer::<32>::new());
    assert_eq!(buffer.try_send(b"message"), Ok(true));
    arch::set_handler(Some(Box::new(|| _ = buffer.skip())));
    let _ = buffer.try_receive(&mut [0; 8]);
}

static CALLS: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];
static TIMERS: Callbacks = Callbacks::new();
static ONCE: Callback = Callback::new(&TIMERS, || _ = CALLS[0].fetch_add(1, Relaxed));
static PERIODIC: Callback = Callback::new(&TIMERS, || _ = CALLS[1].fetch_add(1, Relaxed));
static RESTARTS: Callback = Callback::new(&TIMERS, || {
    if CALLS[2].fetch_add(1, Relaxed) < 2 {
        RESTARTS.start_once(time::now() + 5);
        PERIODIC.stop();
    }
});

#[test]
fn timers_call_their_functions() {
    let _turn = begin_test();
    NOW.set(0);
    let calls = || CALLS.each_ref().map(|calls| calls.load(Relaxed));
    let advance = |to: u64| {
        while NOW.get() < to {
            NOW.set(NOW.get() + 1);
            crate::tests::expire();
        }
        calls()
    };
    PERIODIC.start_periodic(10, 10);
    ONCE.start_once(25);
    spawn(3, TIMERS.run_async());
    RESTARTS.start_once(32);
    assert_eq!(advance(9), [0, 0, 0]);
    assert_eq!(advance(31), [1, 3, 0]);
    assert_eq!((ONCE.due(), PERIODIC.due()), (None, Some(40)));
    assert_eq!(advance(100), [1, 3, 3]);
    ONCE.start_once(110);
    ONCE.start_once(105);
    assert_eq!(advance(104), [1, 3, 3]);
    assert_eq!(advance(120), [2, 3, 3]);
    ONCE.start_once(130);
    ONCE.stop();
    ONCE.start_once(50); // in the past
    assert_eq!(calls(), [3, 3, 3]);
    assert_eq!(advance(140), [3, 3, 3]);
}

#[test]
fn an_async_mutex_is_held_across_awaits_by_one_task() {
    for seed in 0..rounds(20) as u64 {
        NOW.set(0);
        let _turn = begin_test();
        let mutex = leak(AsyncMutex::new((0, false)));
        arch::set_handler(Some(Box::new(|| {
            NOW.set(NOW.get() + 1);
            crate::tests::expire();
        })));
        let tasks: Vec<_> = (0..6_u64)
            .map(|i| {
                spawn((seed + i) as u8 % 4, async move {
                    let mut random = Random::new(seed * 10 + i);
                    for _ in 0..10 {
                        // A wait that may be given up must leave the mutex free for others.
                        let time = delay_until(time::now() + random.below(6) as u64);
                        let Some(mut value) = first(mutex.lock(), time).await else { continue };
                        assert!(!std::mem::replace(&mut value.1, true));
                        yield_now().await;
                        delay_until(time::now() + random.below(3) as u64).await;
                        value.0 += 1;
                        value.1 = false;
                    }
                })
            })
            .collect();
        let have_ended = || tasks.iter().all(|task| !task.info().is_alive());
        for _ in 0..steps(60_000) {
            masked(|_| ());
            // Miri takes 20 ms for a handler that finds nothing to do.
            if cfg!(miri) && have_ended() {
                break;
            }
        }
        arch::set_handler(None);
        assert!(have_ended());
        let value = mutex.try_lock().unwrap();
        assert!(value.0 > 5 && !value.1 && mutex.try_lock().is_none());
    }
}
