//! Scenarios of the objects that are built on semaphores and events.

use super::{NOW, Run, begin, leak, must, once, spawn};
use crate::{
    AsyncMutex, Callback, Callbacks, Group, MessageBuffer, Semaphore, Signal, Stream, Want, Watch,
    arch::masked, time,
};
use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::atomic::{
        AtomicBool, AtomicU8, AtomicU32,
        Ordering::{self, Relaxed},
    },
    task::Poll,
};

/// Two tasks wait for one flag, and the first to run clears it: the other is woken all the same. A wait that takes its flags and is given up gives them back.
pub(super) fn groups(run: &mut Run) {
    const CLEARED: u32 = 1;
    const TAKEN: u32 = 2;
    let (group, woken) = (leak(Group::new()), leak(AtomicU32::new(0)));
    let (urgent, begun) = (leak(Semaphore::new(0)), leak(AtomicBool::new(false)));
    let wait = |clears: bool| async move {
        must(group.try_wait(Want::any(CLEARED)) == 0);
        group.wait_async(Want::any(CLEARED)).await;
        woken.fetch_add(1, Relaxed);
        if clears {
            group.clear(CLEARED);
        }
    };
    let take = async move {
        let mut given_up = pin!(Some(group.wait_async(Want::all(TAKEN).take())));
        if once(given_up.as_mut()).await.is_pending() {
            given_up.set(None);
            group.wait_async(Want::all(TAKEN).take()).await;
        }
        must(begun.load(Relaxed));
    };
    let set = async move {
        group.set(CLEARED);
        must(woken.load(Relaxed) == 2 && group.flags() & CLEARED == 0);
        begun.store(true, Relaxed);
        group.set(TAKEN);
    };
    let starts = vec![
        spawn(run, 4, async { urgent.taken().await }),
        spawn(run, 3, wait(true)),
        spawn(run, 2, wait(false)),
        spawn(run, 2, take),
        spawn(run, 1, set),
    ];
    run.actions = vec![Box::new(|| urgent.give()), Box::new(|| group.set(4))];
    begin(run, starts, || urgent.give());
    run.check = Box::new(|| assert_eq!(group.flags() & (CLEARED | TAKEN), 0));
}

/// Receivers and the taker of a signal see the latest value, and the end of a task reaches all that
/// wait for it.
pub(super) fn watches(run: &mut Run) {
    let watch = leak(Watch::new(0_u32));
    let signal = leak(Signal::new());
    let take = async { while signal.taken().await < 2 {} };
    let follow = || async {
        let mut receiver = watch.receiver();
        while receiver.changed_async().await < 2 {}
        must(watch.get() == 2);
    };
    let ends = spawn(run, 3, follow());
    let task = run.tasks[0];
    let starts = vec![
        ends,
        spawn(run, 2, follow()),
        spawn(run, 1, async move { task.ended().await }),
        spawn(run, 4, async move { task.ended().await }),
        spawn(run, 2, take),
        spawn(run, 1, async {
            watch.set(1);
            signal.signal(1);
        }),
    ];
    let set = || {
        watch.set(2);
        signal.signal(2);
    };
    run.actions.push(Box::new(set));
    begin(run, starts, set);
}

/// Bytes and messages pass between a coroutine and a handler, in both directions, in their order.
pub(super) fn streams(run: &mut Run) {
    const BYTES: u8 = 3;
    let (up, down) = (leak(Stream::<2>::new()), leak(Stream::<2>::new()));
    let (out, back) = (leak(MessageBuffer::<6>::new()), leak(MessageBuffer::<6>::new()));
    let counters = leak([const { AtomicU8::new(0) }; 4]);
    let next = |counter: usize| counters[counter].fetch_add(1, Relaxed) + 1;
    let handle = move || {
        let mut byte = [0];
        must(up.len() + up.free() == up.capacity());
        must(matches!(out.next_len(), None | Some(1)));
        if up.try_read(&mut byte) == 1 {
            must(byte[0] == next(0));
        }
        if out.try_receive(&mut byte) == Ok(Some(1)) {
            must(byte[0] == next(1));
        }
        let sent = counters[2].load(Relaxed);
        if sent < BYTES && down.try_write(&[sent + 1]) == 1 {
            next(2);
        }
        let sent = counters[3].load(Relaxed);
        if sent < BYTES && back.try_send(&[sent + 1]) == Ok(true) {
            next(3);
        }
    };
    let starts = vec![
        spawn(run, 1, async {
            up.write_async(&[1, 2, 3]).await;
            must(up.len() <= 2);
        }),
        spawn(run, 2, async {
            for number in 1..=BYTES {
                must(out.send_async(&[number]).await.is_ok());
            }
        }),
        spawn(run, 3, async {
            let mut byte = [0];
            for number in 1..=BYTES {
                must(down.read_async(&mut byte).await == 1 && byte[0] == number);
            }
        }),
        spawn(run, 4, async {
            let mut byte = [0];
            for number in 1..=BYTES {
                must(back.receive_async(&mut byte).await == Ok(1) && byte[0] == number);
            }
        }),
    ];
    run.actions.push(Box::new(handle));
    // Masked, as the handler is the other end.
    begin(run, starts, move || masked(|_| handle()));
}

/// A value that is locked across an await has one user at a time.
pub(super) fn locks(run: &mut Run) {
    let (mutex, uses) = (leak(AsyncMutex::new(0_u32)), leak(AtomicU32::new(0)));
    let user = || async {
        let mut value = mutex.lock().await;
        let before = *value;
        crate::yield_now().await;
        must(*value == before);
        *value += 1;
        uses.fetch_add(1, Relaxed);
    };
    let starts = vec![spawn(run, 2, user()), spawn(run, 2, user()), spawn(run, 3, user())];
    run.actions.push(Box::new(|| {
        if let Some(mut value) = mutex.try_lock() {
            *value += 1;
            uses.fetch_add(1, Relaxed);
        }
    }));
    begin(run, starts, || ());
    run.check = Box::new(|| {
        assert_eq!(mutex.try_lock().map(|value| *value), Some(uses.load(Relaxed)));
    });
}

/// Timers are started and stopped by handlers while they run: one that nobody stops calls once.
pub(super) fn callbacks(run: &mut Run) {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    CALLS.store(0, Ordering::Relaxed);
    let set = leak(Callbacks::new());
    let once = leak(Callback::new(set, || _ = CALLS.fetch_add(1, Ordering::Relaxed)));
    let other = leak(Callback::new(set, || ()));
    let stop = leak(Semaphore::new(0));
    let runner = async {
        let (mut run, mut stopped) = (pin!(set.run_async()), pin!(stop.taken()));
        poll_fn(|context| {
            let is_over = stopped.as_mut().poll(context).is_ready();
            must(is_over || run.as_mut().poll(context).is_pending());
            if is_over { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    };
    NOW.set(0);
    let starts = vec![
        spawn(run, 2, runner),
        spawn(run, 1, async {
            once.start_once(2);
            other.start_periodic(1, 2);
            other.stop();
        }),
    ];
    let tick = || {
        NOW.set(NOW.get() + 1);
        super::super::tick();
    };
    run.actions =
        vec![Box::new(tick), Box::new(|| other.start_once(time::now())), Box::new(|| other.stop())];
    begin(run, starts, move || {
        tick();
        if NOW.get() >= 2 {
            must(CALLS.load(Ordering::Relaxed) == 1 && once.due().is_none());
            stop.give();
        }
    });
}
